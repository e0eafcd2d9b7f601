"""What counts of several reviewers' verdicts on one label."""

from __future__ import annotations

from collections.abc import Iterable

from .decision_store import Verdict

UNDECIDED, RELABEL, KEEP, UNSURE, DISPUTED = range(5)
STATUS_NAMES = ("open", "relabel", "keep", "unsure", "disputed")
SETTLED = (RELABEL, KEEP)


def combine_verdicts_to_status_and_verdict(verdicts: Iterable[tuple[str, bool, Verdict]]) -> tuple[int, Verdict | None]:
    """The status of a label, and the verdict behind it, from (reviewer, settles, verdict).

    A settling verdict counts instead of the others, the latest where there are several. Reviewers who differ make the
    label disputed, which counts as not decided. To skip a label, or to note something, decides nothing.
    """
    deciding = [each for each in verdicts if each[2].decision not in ("skip", "")]
    if settling := [verdict for _, settles, verdict in deciding if settles]:
        deciding = [("", True, max(settling, key=lambda verdict: verdict.time))]
    if not deciding:
        return UNDECIDED, None
    if len({(verdict.decision, verdict.label) for *_, verdict in deciding}) > 1:
        return DISPUTED, None
    return STATUS_NAMES.index(deciding[0][2].decision), deciding[0][2]
