"""``import``: tc scripts, SQM, mahimahi and dummynet set-ups as link files, with lints."""

from ackclock.link_import.result import LinkImport
from ackclock.link_import.run import FORMATS, import_link

__all__ = ["FORMATS", "LinkImport", "import_link"]
