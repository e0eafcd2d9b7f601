"""The page of an audit: what was found, and the suspects for a person to decide on. One file, nothing fetched."""

from .page import Around, audit_page

__all__ = ["Around", "audit_page"]
