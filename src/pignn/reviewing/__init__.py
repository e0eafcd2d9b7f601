"""The live review: a person and the model clean the labels together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import make_lazy_getattr_and_dir

if TYPE_CHECKING:
    from .api import build_app
    from .project import Project, open_project
    from .project_creation import audit_and_create_project, create_project_from_audit
    from .review_session import ReviewSession
    from .server import review
    from .training import write_decisions_and_build_training_arguments

__all__ = [
    "Project",
    "ReviewSession",
    "audit_and_create_project",
    "build_app",
    "create_project_from_audit",
    "open_project",
    "review",
    "write_decisions_and_build_training_arguments",
]

# Imported on first use, so that listing things does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
