"""`python -m ackclock` is the `ackclock` command."""

from ackclock.cli import main

main()
