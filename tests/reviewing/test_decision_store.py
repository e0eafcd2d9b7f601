"""No decision is lost or doubled: not by many writers, not by kills, not by answers that got lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from pignn.core.errors import DataError
from pignn.reviewing.decision_store import DecisionStore, Verdict

KEEP, UNSURE = Verdict(decision="keep"), Verdict(decision="unsure")


@pytest.fixture
def store(tmp_path):
    return DecisionStore(tmp_path / "decisions.sqlite")


def current(store):
    return {(node, who, settles): verdict.decision for node, who, settles, verdict in store.list_current_verdicts()}


def test_a_decision_is_kept_with_who_when_before_and_after(store):
    store.decide("a", "ann", [(3, KEEP)])
    store.decide("b", "ann", [(3, Verdict(decision="relabel", label="x", note="<b>"))])
    last, first = store.list_actions_newest_first(node=3)
    assert (first.changes[0].before, first.changes[0].after.decision) == (None, "keep")
    assert (last.changes[0].before.decision, last.changes[0].after.label) == ("keep", "x")
    assert last.changes[0].after.note == "<b>"
    assert last.reviewer == "ann"
    assert last.time == last.changes[0].after.time


def test_undo_and_redo_go_through_all_steps_and_survive_a_reopening(store):
    for i in range(300):
        store.decide(f"k{i}", "ann", [(i % 7, Verdict(decision="keep", note=str(i)))])
    full = store.list_current_verdicts()
    for i in range(150):
        store.undo(f"u{i}", "ann")
    again = DecisionStore(store.path)
    for i in range(150, 300):
        again.undo(f"u{i}", "ann")
    assert again.list_current_verdicts() == []
    assert again.undo("u300", "ann") is None
    for i in range(300):
        assert again.redo(f"r{i}", "ann") is not None
    assert again.list_current_verdicts() == full
    assert again.redo("r300", "ann") is None
    assert len(again.list_actions_newest_first(limit=10_000)) == 900


def test_a_new_decision_ends_what_can_be_redone(store):
    store.decide("a", "ann", [(1, KEEP)])
    store.undo("b", "ann")
    assert store.count_undoable_and_redoable("ann") == (0, 1)
    store.decide("c", "ann", [(2, KEEP)])
    assert store.redo("d", "ann") is None
    assert store.count_undoable_and_redoable("ann") == (1, 0)
    store.undo("e", "ann")
    assert current(store) == {}


def test_a_bulk_action_is_undone_at_once_and_only_ones_own(store):
    store.decide("z", "bob", [(5, KEEP)])
    store.decide("a", "ann", [(i, UNSURE) for i in range(1000)])
    store.decide("b", "ann", [(7, None)])
    assert (7, "ann", False) not in current(store)
    store.undo("c", "ann")
    store.undo("d", "ann")
    assert current(store) == {(5, "bob", False): "keep"}


def test_an_action_that_is_sent_twice_happens_once(store):
    first = store.decide("same", "ann", [(1, KEEP)])
    assert store.decide("same", "ann", [(1, KEEP)]) == first
    undone = store.undo("undo", "ann")
    assert store.undo("undo", "ann") == undone
    assert len(store.list_actions_newest_first()) == 2


def test_settling_keeps_what_the_reviewers_said(store):
    store.decide("a", "ann", [(1, KEEP)])
    store.decide("b", "ann", [(1, UNSURE)], verb="settle")
    assert current(store) == {(1, "ann", False): "keep", (1, "ann", True): "unsure"}


def test_a_thousand_concurrent_writes_of_two_reviewers_are_neither_lost_nor_doubled(store):
    others = [store, DecisionStore(store.path)]  # two connections, as of two processes
    failures = []

    def write(reviewer, thread):
        try:
            for i in range(125):
                node = thread * 125 + i
                for connection in (others[i % 2], others[(i + 1) % 2]):  # each is sent twice
                    connection.decide(f"{reviewer}-{node}", reviewer, [(node, Verdict(decision="keep", note=reviewer))])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(who, n)) for who in ("ann", "bob") for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    actions = store.list_actions_newest_first(limit=10_000)
    assert len(actions) == 1000
    assert Counter(action.reviewer for action in actions) == {"ann": 500, "bob": 500}
    assert set(current(store)) == {(node, who, False) for who in ("ann", "bob") for node in range(500)}


WRITER = """
import sys
from pathlib import Path
from pignn.reviewing.decision_store import DecisionStore, Verdict
store = DecisionStore(Path(sys.argv[1]))
for i in range(int(sys.argv[2]), 10**6):
    store.decide(f"k{i}", "ann", [(i, Verdict(decision="keep"))])
    print(i, flush=True)
"""


def test_nothing_that_was_answered_is_lost_by_fifty_kills(store):
    store.close()
    answered, start = set(), 0
    for _ in range(50):
        command = [sys.executable, "-c", WRITER, str(store.path), str(start)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        first = process.stdout.readline()
        time.sleep(random.Random(start).random() * 0.03)
        os.kill(process.pid, signal.SIGKILL)
        answered |= {int(line) for line in [first, *process.stdout] if line.endswith("\n")}
        process.wait()
        start = max(answered) + 1
    again = DecisionStore(store.path)
    nodes = [node for node, *_ in again.list_current_verdicts()]
    assert len(nodes) == len(set(nodes))
    assert answered <= set(nodes)
    assert len(nodes) - len(answered) <= 50, "a write that was not answered may be there: at most the last of each"
    assert len(again.list_actions_newest_first(limit=10**6)) == len(nodes)


def test_a_damaged_file_is_refused_in_one_line(tmp_path):
    path = tmp_path / "decisions.sqlite"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(DataError, match="restore it from a copy"):
        DecisionStore(path)
