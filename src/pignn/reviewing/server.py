"""Open a project, start its server, and go on until somebody ends it."""

from __future__ import annotations

import secrets
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from ..core.errors import ConfigError
from ..serving.server import check_server_packages_installed, serve_app_until_signal
from .guard import LOCAL_NAMES, hash_token, make_token
from .project import open_project
from .project_creation import audit_and_create_project, create_project_from_audit
from .project_folder import find_review_source, project_lock_context
from .review_session import ReviewSession, check_and_trim_reviewer_name


def review(
    project: str | Path | None = None,
    graph: Data | str | Path | None = None,
    *,
    audit: Mapping[str, Any] | None = None,
    reviewers: Sequence[str] = (),
    overlap: float | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
    on_ready: Callable[[str, Mapping[str, str]], None] | None = None,
    **graph_options: Any,
) -> None:
    """Review labels in the browser. A new project is audited first; an old one goes on where it was.

    Args:
        project: folder of the project; by default one in `reviews` that is called like the graph. It may also be the
            folder of an audit, which then gets the project as its folder `review`, or a graph store.
        graph: what to review: a graph, the name of a dataset or the folder of a graph store; None for files, and for a
            project that is there.
        audit: options of `pignn.audit` for a new project, such as `method`, `noise` and `seed`.
        reviewers: who gets a new token, where `host` is not this machine.
        overlap: deal the labels out to `reviewers`, and this share of them to two.
        host: address to listen on; the default is reached from this machine only.
        port: its port; 0 takes a free one.
        open_browser: whether to show the page in the browser.
        on_ready: called with the address, and the new tokens by reviewer, when the port is open.
        graph_options: `nodes=`, `edges=`, `label=`, ... as `pignn.audit` takes them.
    """
    check_server_packages_installed("review")
    added = {name: (audit or {}).get(name) for name in ("noise", "rate", "seed")}
    source = find_review_source(project, {"graph": graph, **graph_options, **added})
    source.check_can_be_opened_or_created()
    names = [check_and_trim_reviewer_name(name) for name in reviewers]
    if source.is_new and source.audit_folder is not None:
        create_project_from_audit(source.folder, source.audit_folder, source.arguments)
    elif source.is_new:
        arguments = {name: value for name, value in source.arguments.items() if name not in added}
        audit_and_create_project(source.folder, arguments, audit=audit)

    def announce(address: str, tokens: Mapping[str, str]) -> None:
        if on_ready is not None:
            on_ready(address, tokens)
        if open_browser:
            webbrowser.open(address)

    _serve_project_until_signal(source.folder, graph, names, overlap, host, port, announce)


def _serve_project_until_signal(
    folder: Path,
    graph: Data | str | Path | None,
    names: list[str],
    overlap: float | None,
    host: str,
    port: int,
    on_ready: Callable[[str, Mapping[str, str]], None],
) -> None:
    from .api import build_app

    is_local = host in LOCAL_NAMES
    with project_lock_context(folder):
        session = ReviewSession(open_project(folder))
        try:
            if isinstance(graph, Data):
                session.check_graph_has_labels_of_project(graph)
            store = session.project.decisions
            tokens = {} if is_local else {name: make_token() for name in names}
            for name in names:
                store.add_or_update_reviewer(name, hash_token(tokens[name]) if name in tokens else None)
            if not is_local and not any(hashed for _, hashed in store.list_reviewers_and_token_hashes()):
                raise ConfigError(f"on {host}, others can come in: name the reviewers who get a token with --reviewer")
            if overlap is not None:
                session.deal_labels_to_reviewers(names, overlap)
            app = build_app(session, is_local=is_local, csrf=secrets.token_urlsafe(24))
            serve_app_until_signal(app, host, port, lambda address: on_ready(address, tokens))
        finally:
            session.close()
