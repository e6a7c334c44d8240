"""Sphinx configuration of the site: `make docs` builds it into target/site.

The pages are Markdown (MyST). What is generated from the program (keys, commands, columns) is
filled in where a page has a marker, and links to source files lead to pages with their text:
tools/docsite.
"""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

project = "ackclock"
author = "the ackclock developers"
project_copyright = author
release = version_of("ackclock")
version = release

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docsite"]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["_static", "_templates"]
nitpicky = True
# Types of other packages have no page here: the site is complete without a network.
nitpick_ignore_regex = [(r"py:.*", r".*")]
# `{...}` and `..` stand for omitted parts in JSON and TOML of the pages.
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "none"

# Notebooks are run at each build, and a cell that raises ends it. Their output loads nothing.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_ipywidgets_js = {}

myst_heading_anchors = 4
myst_links_external_new_tab = False
myst_enable_extensions = ["attrs_block", "deflist"]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
templates_path = ["_templates"]
html_title = f"ackclock {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": False}
pygments_style = "default"
pygments_dark_style = "github-dark"
