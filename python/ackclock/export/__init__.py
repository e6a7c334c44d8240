"""``export``: a link for other people's emulators, and what they cannot express said in so many words."""

from ackclock.export.write import FORMATS, Exported, export_link

__all__ = ["FORMATS", "Exported", "export_link"]
