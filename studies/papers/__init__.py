"""Alternative readings of the papers, and which claims they make true."""
