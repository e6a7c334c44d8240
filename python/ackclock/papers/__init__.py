"""Five papers: their claims, their experiments as scenarios, and our results."""
