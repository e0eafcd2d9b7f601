"""Sixty small tables in as many styles: every column is read as a person would, or named as left out."""

from __future__ import annotations

import csv
import gzip
import io
import math
import warnings
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from pignn.core.errors import PignnWarning
from pignn.graphs import load_feature_encoder, read_graph, summarize_import
from pignn.graphs.importers.column_kinds import guess_column_kind
from pignn.graphs.importers.encoders import NumericEncoder
from pignn.graphs.tables.styles import parse_numbers_or_nan

MISSING_WORDS = ["", ".", "NA", "-", "n/a", "null", "?", "#N/A", "None", "NaN"]


def marks(decimal: str, group: str) -> Callable[[float], str]:
    def write(value: float) -> str:
        return f"{value:,.2f}".replace(",", "\0").replace(".", decimal).replace("\0", group)

    return write


NUMBERS: dict[str, Callable[[float], str]] = {
    "plain": "{:.2f}".format,
    "english": marks(".", ","),
    "german": marks(",", "."),
    "french": marks(",", "\u202f"),
    "swiss": marks(".", "'"),
    "nordic": marks(",", " "),
    "dollars": lambda v: f"-${abs(v):,.2f}" if v < 0 else f"${v:,.2f}",
    "euros": lambda v: marks(",", ".")(v) + " €",
    "parentheses": lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}",
    "unit": "{:.2f} kg".format,
    "attached unit": "{:.2f}cm".format,
    "trailing minus": lambda v: f"{-v:.2f}-" if v < 0 else f"{v:.2f}",
    "true minus": lambda v: f"{v:.2f}".replace("-", "\u2212"),
    "scientific": "{:.6e}".format,
    "rupees": lambda v: f"Rs. {v:,.2f}",
}
PERCENT: list[Callable[[float], str]] = [
    "{:.1%}".format,
    lambda v: f"{100 * v:.1f} %".replace(".", ","),
    "{:.3f}".format,
]
MONTHS = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
ENGLISH, GERMAN, FRENCH = (names.split() for names in MONTHS.values())
DATES: list[Callable[[date], str]] = [
    "{:%Y-%m-%d}".format,
    "{:%d.%m.%Y}".format,
    "{:%m/%d/%Y}".format,
    "{:%d/%m/%Y}".format,
    lambda d: f"{ENGLISH[d.month - 1]} {d.day} {d.year}",
    lambda d: f"{ENGLISH[d.month - 1]} {d.day}, {d.year}",
    lambda d: f"{d.day}. {GERMAN[d.month - 1]} {d.year}",
    lambda d: f"{d.day} {FRENCH[d.month - 1]} {d.year}",
    lambda d: f"{d.day}-{ENGLISH[d.month - 1]}-{d.year % 100:02d}",
    lambda d: f"{d.month}/{d.day}/{d.year} 12:00 AM",
    "{:%Y-%m-%dT00:00:00Z}".format,
    "{:%Y/%m/%d}".format,
    "{:%Y%m%d}".format,
    "{:%d.%m.%y}".format,
]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "cp1252"]
DELIMITERS = [",", ";", "\t", "|"]
TEXTS = [
    "the quick brown fox jumps over the dog",
    "der schnelle braune Fuchs springt über den Hund",
    "le rapide renard brun saute par-dessus le chien",
]
ROWS = 60


def make_truth(seed: int, rows: int = ROWS) -> dict[str, list[object]]:
    """What the table says: None where nothing is."""
    rng = np.random.default_rng(seed)
    amount = [None if rng.random() < 0.1 else round(float(v), 2) for v in rng.normal(500, 3000, rows)]
    share = [round(float(v), 3) for v in rng.random(rows)]
    day = [None if rng.random() < 0.05 else date(2020, 1, 1) + timedelta(int(v)) for v in rng.integers(0, 1500, rows)]
    return {
        "amount": amount,
        "share": share,
        "day": day,
        "place": [f"Größe {v}" for v in rng.integers(0, 5, rows)],
        "note": [f"{TEXTS[v % 3]} {v}" for v in rng.integers(0, rows, rows)],
        "nothing": [None] * rows,
        "constant": ["x"] * rows,
        "name": [f"Müller{v}" for v in rng.permutation(rows)],
    }


def write_table(path: Path, seed: int, truth: dict[str, list[object]]) -> None:
    """Render the table in the style of its number. The periods have no common divisor, so that no two are alike."""
    number = list(NUMBERS.values())[seed % len(NUMBERS)]
    missing = MISSING_WORDS[seed % len(MISSING_WORDS)]
    show_day, show_share = DATES[seed % len(DATES)], PERCENT[seed // 4 % len(PERCENT)]
    show: dict[str, Callable[..., str]] = {"amount": number, "share": show_share, "day": show_day}
    rows = len(truth["amount"])
    columns = {
        name: [missing if v is None else show.get(name, str)(v) for v in values] for name, values in truth.items()
    }
    columns = {"id": [f"n{i}" for i in range(rows)], **columns, "label": [("a", "b")[i % 2] for i in range(rows)]}
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if seed % 7 == 3 else csv.QUOTE_MINIMAL
    end = "\r\n" if seed % 3 == 1 else "\n"
    writer = csv.writer(text, delimiter=DELIMITERS[seed // 3 % 4], quoting=quoting, lineterminator=end)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    head = f"sep={DELIMITERS[seed // 3 % 4]}{end}" if seed % 11 == 5 else ""
    encoding = ENCODINGS[seed // 2 % 4]
    content = (head + text.getvalue()).replace("\u202f", " " if encoding == "cp1252" else "\u202f")
    content = content.replace("\u2212", "-" if encoding == "cp1252" else "\u2212")
    data = content.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def recover(data, name: str) -> np.ndarray:
    """The numbers that the features of a column stand for, NaN where it is missing."""
    start = data.encoder.feature_names.index(name)
    encoder = next(e for e in data.encoder.encoders if isinstance(e, NumericEncoder) and e.name == name)
    _, is_logarithmic, mean, deviation = encoder.scales[0]
    values = data.x[:, start].double().numpy() * deviation + mean
    values = np.expm1(values) if is_logarithmic else values
    if encoder.has_missing_flag:
        values = np.where(data.x[:, start + 1].numpy() == 1, np.nan, values)
    return values


def read(folder: Path, seed: int, truth: dict[str, list[object]], suffix: str, **options):
    path = folder / f"n{suffix}"
    write_table(path, seed, truth)
    (folder / "e.csv").write_text("source,target\nn0,n1\nn1,n2\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PignnWarning)
        return read_graph(path, folder / "e.csv", label="label", **options)


@pytest.mark.parametrize("seed", range(60))
def test_every_column_is_read_as_a_person_would(tmp_path, seed):
    truth = make_truth(seed, 3000 if seed == 17 else ROWS)
    suffix = [".csv", ".txt", ".csv.gz"][seed % 3]
    data = read(tmp_path, seed, truth, suffix)
    kinds = data.encoder.column_kinds
    assert kinds == dict.fromkeys(("amount", "share"), "number") | {
        **{"day": "date", "place": "category", "note": "text"},
        **dict.fromkeys(("nothing", "constant", "name"), "none"),
    }
    for name in ("amount", "share"):
        wanted = [math.nan if value is None else value for value in truth[name]]
        np.testing.assert_allclose(recover(data, name), wanted, atol=0.01 if name == "amount" else 1e-3)
    days = [math.nan if value is None else (value - date(1970, 1, 1)).days for value in truth["day"]]
    np.testing.assert_allclose(recover(data, "day"), days, atol=0.01)
    assert len([name for name in data.encoder.feature_names if name.startswith("place = Größe")]) == 5
    assert data.encoder.column_notes["nothing"] == "left out: empty"
    assert {name for name, note in data.encoder.column_notes.items() if "left out" in note} == {
        *("nothing", "constant", "name")
    }
    # The same table again, with what was learned and with the list that the summary offers.
    data.encoder.save(tmp_path)
    again = read(tmp_path, seed, truth, suffix, encoder=load_feature_encoder(tmp_path))
    assert torch.equal(again.x, data.x)
    assert torch.equal(read(tmp_path, seed, truth, suffix, features=summarize_import(data).features).x, data.x)


def test_wide_tables(tmp_path):
    """300 columns with decimal commas, of which none is lost."""
    values = np.random.default_rng(0).normal(0, 1, (50, 300))
    rows = [";".join([str(i), *(f"{v:.3f}".replace(".", ",") for v in row)]) for i, row in enumerate(values)]
    (tmp_path / "n.csv").write_text("\n".join([";".join(["id", *(f"x{i}" for i in range(300))]), *rows]))
    (tmp_path / "e.csv").write_text("source;target\n0;1\n")
    with pytest.warns(PignnWarning, match="columns separated by semicolons"):
        data = read_graph(tmp_path / "n.csv", tmp_path / "e.csv")
    assert data.x.shape == (50, 300)
    np.testing.assert_allclose(recover(data, "x7"), values[:, 7], atol=1e-3)


@pytest.mark.parametrize(
    ("cells", "others", "wanted", "said"),
    [
        (["1,234", "2,500"], [], 1234, "'1,234' is read as 1234"),
        (["1,234", "2,500"], ["0,5", "1,25"], 1.234, ""),
        (["1,234", "2,500"], ["0.5", "1.25"], 1234, ""),
        (["1.234", "2.500"], ["0,5", "1,25"], 1234, ""),
        (["1.234", "2.500"], ["0.5", "1.25"], 1.234, ""),
        (["1.234", "2.500"], ["a", "b"], 1.234, "'1.234' is read as 1.234"),
    ],
)
def test_the_table_tells_what_a_column_leaves_open(tmp_path, cells, others, wanted, said, recwarn):
    rows = [f"{i}\t{cells[i % 2]}\t{(others or ['a', 'b'])[i % 2]}\t{'ab'[i % 2]}" for i in range(20)]
    (tmp_path / "n.tsv").write_text("\n".join(["id\tx\tother\tlabel", *rows]))
    (tmp_path / "e.csv").write_text("source,target\n0,1\n")
    warnings.simplefilter("always", PignnWarning)
    data = read_graph(tmp_path / "n.tsv", tmp_path / "e.csv", label="label")
    assert recover(data, "x")[0] == pytest.approx(wanted, rel=1e-3)
    messages = [str(one.message) for one in recwarn if "read as" in str(one.message)]
    assert bool(messages) == bool(said)
    assert all(said in message for message in messages)


@pytest.mark.parametrize(
    ("values", "kind", "said"),
    [
        (["5 kg", "3 lb", "4 kg", "7 st"] * 10, "category", "several units (kg, lb, st)"),
        ([f"{i} kg" if i % 2 else f"{i}.5 lb" for i in range(40)], "none", "several units"),
        ([f"{i}.5" for i in range(30)] + [f"x{i}" for i in range(10)], "none", "75% of its values are numbers"),
        ([f"{i}.5" for i in range(30)] + ["unknown"] * 10, "number", ""),
        (["01/02/2024", "03/04/2024"] * 20, "date", "read with the month first"),
        ([f"{i:05d}" for i in range(40)], "none", ""),
        (["01067", "04109", "20095"] * 10, "category", ""),
        (["1.2k", "3M", "950", "2.5k"] * 10, "number", ""),
        ([f"今天天气很好我们去公园{i}" for i in range(40)], "text", ""),
        ([f"{h}:{m:02d}" for h in range(8, 18) for m in (0, 15, 30, 45)], "date", ""),
    ],
)
def test_what_else_people_write(values, kind, said):
    guess = guess_column_kind(pd.Series(values))
    assert guess.kind == kind
    assert said in guess.doubt
    assert bool(said) == bool(guess.doubt)


def test_another_style_at_prediction_is_said(tmp_path):
    nodes = pd.DataFrame(
        {"id": range(40), "x": [f"{v:.1f}" for v in np.linspace(-3, 9, 40)], "p": [f"{v}%" for v in range(40)]}
    )
    edges = pd.DataFrame({"source": [0], "target": [1]})
    data = read_graph(nodes, edges)
    new = nodes.assign(x=nodes["x"].str.replace(".", ","), p=range(40))
    with pytest.warns(PignnWarning) as told:
        again = read_graph(new, edges, encoder=data.encoder)
    assert torch.allclose(again.x, data.x)
    messages = sorted(str(one.message) for one in told)
    assert "column 'p': it is written without %, and taken for percent" in messages[0]
    assert "column 'x': it is written in another style (decimal commas" in messages[1]


def test_long_texts_are_summed_up(tmp_path):
    """More than 1,000 words: topics, the same after a trip to disk and for the same nodes in another graph."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(3000)])
    topics = np.arange(200) % 2
    notes = [" ".join(rng.choice(words[t * 1500 : t * 1500 + 1500], 100)) for t in topics]
    nodes = pd.DataFrame({"id": range(200), "note": notes, "label": topics})
    edges = pd.DataFrame({"source": [0], "target": [1]})
    data = read_graph(nodes, edges, label="label")
    assert data.x.shape == (200, 199)
    assert "TF-IDF of 2,972 words, summed up in 199 topics: 100 words" in data.encoder.column_notes["note"]
    first = data.x.numpy() @ data.x.numpy().T
    assert data.x_words.matrix.shape == (200, 2972)  # the words themselves are kept beside their topics
    assert (data.x_words.matrix[[0]].toarray() > 0).sum() == len({*notes[0].split()} & {*data.encoder.encoders[0].idf})
    assert str(data.x_words) == "WordFeatures([200, 2972])"
    same = topics[:, None] == topics[None]
    assert first[same].mean() > first[~same].mean() + 0.01
    data.encoder.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"features.json", "features.safetensors"}
    again = read_graph(nodes[::-1], edges, label="label", encoder=load_feature_encoder(tmp_path))
    assert torch.allclose(again.x.flip(0), data.x, atol=1e-6)


def test_parse_numbers_reads_cells_of_a_column_by_its_style():
    from pignn.graphs.tables.styles import ValueStyle

    texts = pd.Series(["1.234,5", "7", "12,5 €", "x", "", "1.5"])
    np.testing.assert_allclose(
        parse_numbers_or_nan(texts, ValueStyle(",", "€")), [1234.5, 7, 12.5, np.nan, np.nan, np.nan]
    )


@pytest.mark.parametrize(("cells", "kind"), [(["1.75 m", "1.82", "1.6"], "number"), (["12a", "12", "14"], "category")])
def test_a_usual_unit_may_be_missing_in_most_cells(cells, kind):
    guess = guess_column_kind(pd.Series(cells * 20, dtype=object))
    assert guess.kind == kind
    assert guess.style.unit == ("m" if kind == "number" else "")
