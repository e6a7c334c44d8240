"""The five papers: their claims, their experiments as scenarios, and what we find when we run them."""
