"""`ackclock fit` beside links of known parameters."""
