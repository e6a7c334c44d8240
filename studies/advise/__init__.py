"""The accuracy of `advise`: drawn situations, and the full grid of its changes on other seeds."""
