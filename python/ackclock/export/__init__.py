"""``export``: a link as files for other emulators, with a list of the properties that they cannot
express.
"""

from ackclock.export.write import FORMATS, Exported, export_link

__all__ = ["FORMATS", "Exported", "export_link"]
