"""``import``: tc scripts, SQM, mahimahi and dummynet set-ups as link files, with lints."""

from ackclock.link_import.lints import LineRates
from ackclock.link_import.result import LinkImport
from ackclock.link_import.run import FORMATS, ImportOptions, import_link

__all__ = ["FORMATS", "ImportOptions", "LineRates", "LinkImport", "import_link"]
