"""`hunt` on links on which it is known that a congestion control breaks."""
