"""The page of an audit: the estimated noise, and the suspects for a person to decide on."""

from .overview import AuditOverview
from .page import Neighborhood, build_audit_page

__all__ = ["AuditOverview", "Neighborhood", "build_audit_page"]
