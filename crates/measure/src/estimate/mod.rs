//! From packets' times to figures.
