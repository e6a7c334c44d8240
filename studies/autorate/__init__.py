"""A shaper whose rate follows its line, beside fixed ones, on recorded cellular lines."""
