"""Self-contained HTML reports: one file without network access, also for print.

`page` has the parts of a page, `render` makes HTML of them, `figures` has its figures by name.
Each result's page is in the package of the result, as `report_page`.
"""

from ackclock.report.figures import figures

__all__ = ["figures"]
