"""The former path of `ackclock.congestion_control`."""

from ackclock.congestion_control import *  # noqa: F403
