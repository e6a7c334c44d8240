"""``reproduce PAPER --on LINK``: a paper's design on another link, and which of its statements
survive there.

``<paper>/on_link.toml`` has the paper's conclusion, the points that are run on the link, the
questions asked of them, and the experiments that cannot be put on another link.
"""
