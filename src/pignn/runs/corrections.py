"""Apply the decisions of a review to a graph or to a copy of the label file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from .. import auditing
from ..auditing import ReviewEstimate
from ..auditing.tables import get_labels_shown_in_review
from ..core.errors import ConfigError, DataError
from ..core.notebook import render_card_html
from .audit_origin import read_audit_origin_or_none
from .run_folder import check_outputs_may_be_written

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class Correction:
    """Decisions of a review, what they tell about all labels, and the labels that they change.

    ``data`` is the graph with the decided labels, trusted, if a graph was given.
    """

    decisions: pd.DataFrame
    estimate: ReviewEstimate
    inputs: tuple[Path, ...]
    new_class: bool = False
    nodes: Path | None = None
    label: str | None = None
    id: str | None = None
    audit_file: Path | None = None  # which named the column of ids
    data: Data | None = None
    out: Path | None = None
    num_changed: int | None = None  # labels, once the file is written

    @cached_property
    def trusted_label_table(self) -> pd.DataFrame:
        """The labels that were verified: node, label, decision and, where they are known, reviewer and time."""
        decided = self._decided_rows
        labels = decided["label"].where(decided["decision"] == "relabel", get_labels_shown_in_review(decided))
        columns = ["node", "label", "decision", *(name for name in ("reviewer", "time") if name in decided)]
        return decided.assign(label=labels)[columns]

    @cached_property
    def _decided_rows(self) -> pd.DataFrame:
        return self.decisions[self.decisions["decision"].isin(["relabel", "keep"])]

    @property
    def trusted_path(self) -> Path | None:
        """The file of trusted labels beside the corrected file."""
        return None if self.out is None else self.out.with_name(f"{self.out.stem}.trusted.csv")

    def save(self, out: str | Path, *, force: bool = False) -> Correction:
        """Write the corrected copy of the label file, and the trusted labels beside it."""
        if self.nodes is None or self.label is None:
            raise ConfigError("there is no file to correct: apply the decisions to nodes and name the label column")
        saved = replace(self, out=Path(out))
        path, trusted_path = Path(out), Path(str(saved.trusted_path))
        check_outputs_may_be_written((path, trusted_path), self.inputs, force=force)
        relabeled = self._decided_rows[self._decided_rows["decision"] == "relabel"]
        num_changed = auditing.write_corrected_labels(
            self.nodes,
            path,
            dict(zip(relabeled["node"], relabeled["label"].str.strip(), strict=True)),
            label_column=self.label,
            id_column=self.id,
            new_class=self.new_class,
            reviewed=dict(zip(self._decided_rows["node"], get_labels_shown_in_review(self._decided_rows), strict=True)),
        )
        auditing.write_spreadsheet_safe_csv(trusted_path, self.trusted_label_table)
        return replace(saved, num_changed=num_changed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        paths = {"out": self.out, "trusted": self.trusted_path}
        written = {name: str(path) for name, path in paths.items() if path is not None}
        return {**self.estimate.to_dict(), "changed": self.num_changed, **written}

    def _repr_html_(self) -> str:
        shown = {key: value for key, value in self.to_dict().items() if not isinstance(value, dict | list)}
        return render_card_html("Decisions of a review", shown)


def apply_decisions(
    decisions: str | Path | pd.DataFrame,
    nodes: str | Path | Data,
    *,
    label: str | None = None,
    id: str | None = None,
    out: str | Path | None = None,
    audit: str | Path | None = None,
    new_class: bool = False,
    level: float = 0.95,
    force: bool = False,
) -> Correction:
    """Apply the decisions of a review, and estimate from them how many of all labels are wrong.

    Args:
        decisions: a filled-in review.csv or decisions.csv, or its table.
        nodes: the table that was audited, which is not changed, or a graph, whose decided labels become trusted.
        label: its column of labels.
        id: its column of ids (default: as the audit says, or ``id``).
        out: the corrected file to write, if any.
        audit: folder of the audit, which knows the column of ids (default: that of ``decisions``).
        new_class: allow decided labels that no row of ``nodes`` has.
        level: confidence level of the intervals.
        force: replace ``out`` if it exists.
    """
    if not 0 < level < 1:
        raise ConfigError(f"level must be between 0 and 1, not {level}")
    folder = None if isinstance(decisions, pd.DataFrame) else Path(decisions).parent
    folder = folder if audit is None else Path(audit)
    audit_file = None if folder is None else folder / "audit.json"
    inputs = tuple(Path(each) for each in (nodes, decisions, audit_file) if isinstance(each, str | Path))
    if out is not None:
        trusted_path = Path(out).with_name(f"{Path(out).stem}.trusted.csv")
        check_outputs_may_be_written((Path(out), trusted_path), inputs, force=force)
    table = decisions if isinstance(decisions, pd.DataFrame) else auditing.read_decisions(decisions)
    estimate = auditing.estimate_from_review(table, level=level)
    if not estimate.reviewed:
        raise DataError(f"{table.attrs.get('file', 'decisions')}: nothing is decided yet; write relabel or keep")
    correction = Correction(decisions=table, estimate=estimate, inputs=inputs, new_class=new_class)
    if not isinstance(nodes, str | Path):
        return replace(correction, data=auditing.apply_decisions_to_graph(nodes, table, new_class=new_class))
    origin = read_audit_origin_or_none(audit_file) if id is None else None
    if audit is not None and id is None and origin is None:
        raise DataError(f"{audit_file} is not there, or does not say which ids it read; name their column with id=")
    id = origin.id if origin is not None else id or "id"
    source = None if origin is None else audit_file
    correction = replace(correction, nodes=Path(nodes), label=label, id=id, audit_file=source)
    return correction if out is None else correction.save(out, force=force)
