"""The figures of the site's concepts: `make figures` writes them into docs/figures."""
