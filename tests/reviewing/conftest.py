"""A project of a small graph, whose true labels are known, and open sessions of copies of it."""

from __future__ import annotations

import shutil

import pytest

import pignn
from pignn.reviewing.project import open_project
from pignn.reviewing.project_creation import audit_and_create_project
from pignn.reviewing.project_folder import project_lock_context
from pignn.reviewing.review_session import ReviewSession


@pytest.fixture(scope="session")
def noisy_graph():
    clean = pignn.graphs.csbm(400, 3, homophily=0.9, degree=6, signal=2.0, num_features=8, seed=0)
    return pignn.corrupt(clean, "symmetric", 0.2, seed=0, splits=("all",))


@pytest.fixture(scope="session")
def project_folder(noisy_graph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("projects") / "first"
    audit_and_create_project(folder, {"graph": noisy_graph}, audit={"warn": False, "intervals": False})
    return folder


@pytest.fixture
def folder(project_folder, tmp_path):
    return shutil.copytree(project_folder, tmp_path / "project")


@pytest.fixture
def session(folder):
    with project_lock_context(folder):
        session = ReviewSession(open_project(folder))
        yield session
        session.close()


def wait_for_refit(session, number=1, seconds=60):
    import time

    for _ in range(seconds * 50):
        if session.ranking.number >= number:
            return session.ranking
        time.sleep(0.02)
    raise AssertionError("no refit")
