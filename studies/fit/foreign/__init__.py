"""Links that this engine did not make, and what fits to them predict."""
