"""Tables of made-up papers that look like those people have: ids, texts, categories, dates, wrong labels, sources.

Every paper has a topic, from which its words, its venue and its citations follow by chance. Sources give topics and are
wrong at rates of their own. Nothing is real.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..core.errors import OutputError
from ..io import files

TOPICS = {
    "astronomy": "galaxy telescope redshift spectrum nebula orbit stellar dust supernova exoplanet survey luminosity",
    "ecology": "habitat species forest predator migration wetland biodiversity pollinator river soil canopy season",
    "economics": "market inflation household trade wage credit tariff auction demand price labor subsidy",
    "linguistics": "syntax dialect vowel corpus morphology grammar speaker phoneme translation lexicon tense clause",
    "medicine": "patient trial dose therapy tumor symptom clinical cohort vaccine diagnosis placebo immune",
    "robotics": "gripper lidar actuator controller trajectory grasp sensor navigation torque drone calibration joint",
}
COMMON = "a study of new evidence on methods model data results review analysis effects large small open long"
VENUES = ("Letters", "Annals", "Proceedings", "Journal", "Reports", "Workshop", "Reviews", "Bulletin")
SOURCES = {"keyword rule": 0.35, "student": 0.15, "librarian": 0.03}  # and how often each is wrong
NUM_OLD, NUM_NEW, NUM_DECIDED = 900, 60, 60
CITATIONS_PER_PAPER, SAME_TOPIC = 4, 0.8
NAMES = ("papers.csv", "citations.csv", "decisions.csv", "true_topics.csv", "new_papers.csv", "new_citations.csv")


@dataclass(frozen=True)
class Papers:
    """The papers before they are written: old ones first, then new ones."""

    topics: np.ndarray  # true ones, as numbers
    given: np.ndarray  # -1 where nobody gave one
    sources: np.ndarray
    citations: np.ndarray  # [number, 2]
    rows: list[list[str]]  # id, title, abstract, venue, pages, published


def write_example_papers(folder: Path, seed: int = 0) -> list[Path]:
    """Write the tables into a folder and return their paths. Nothing that is there is replaced."""
    paths = [folder / name for name in NAMES]
    if existing := [path for path in paths if path.exists()]:
        raise OutputError(f"{existing[0]} is there already and stays as it is; choose another folder")
    rng = np.random.default_rng([seed, 20])
    papers = _draw_papers(rng)
    names, ids = list(TOPICS), [row[0] for row in papers.rows]
    header = ["paper", "title", "abstract", "venue", "pages", "published"]
    old = range(NUM_OLD)
    given = ["" if code < 0 else names[code] for code in papers.given]
    who = [list(SOURCES)[source] if topic else "" for topic, source in zip(given, papers.sources, strict=True)]
    files.write_csv(paths[0], [*header, "topic", "labeled_by"], ([*papers.rows[i], given[i], who[i]] for i in old))
    is_old = [max(pair) < NUM_OLD for pair in papers.citations.tolist()]
    pairs = [[ids[a], ids[b]] for a, b in papers.citations.tolist()]
    files.write_csv(paths[1], ["citing", "cited"], (pair for pair, keep in zip(pairs, is_old, strict=True) if keep))
    files.write_csv(paths[2], ["node", "given", "decision", "label"], _draw_decisions(rng, papers, given, ids, names))
    files.write_csv(paths[3], ["paper", "topic"], ([ids[i], names[papers.topics[i]]] for i in range(len(ids))))
    files.write_csv(paths[4], header, papers.rows[NUM_OLD:])
    files.write_csv(paths[5], ["citing", "cited"], (pair for pair, keep in zip(pairs, is_old, strict=True) if not keep))
    return paths


def _draw_papers(rng: np.random.Generator) -> Papers:
    total, num_topics = NUM_OLD + NUM_NEW, len(TOPICS)
    topics = rng.choice(num_topics, total, p=np.arange(num_topics, 0, -1) / (num_topics * (num_topics + 1) / 2))
    sources = rng.choice(len(SOURCES), total, p=[0.5, 0.3, 0.2])
    is_wrong = rng.random(total) < np.array(list(SOURCES.values()))[sources]
    shift = rng.choice([1, 1, 2, 3], total)  # two topics are mistaken for each other most often
    given = np.where(is_wrong, (topics + shift) % num_topics, topics)
    given[rng.random(total) < 0.1] = -1
    days = np.sort(rng.integers(0, 3000, total))
    published = np.datetime_as_string(np.datetime64("2016-01-01") + days)
    words = [text.split() for text in TOPICS.values()]
    venues = (topics + rng.choice([0, 0, 1, 2], total)) % len(VENUES)
    numbers = rng.permutation(90_000)[:total] + 10_000
    rows = []
    for i, topic in enumerate(topics):
        title, abstract = _draw_text(rng, words[topic], 5), _draw_text(rng, words[topic], 22)
        pages = "" if rng.random() < 0.04 else str(int(rng.integers(4, 30)))
        rows.append([f"P{numbers[i]}", title.capitalize(), abstract.capitalize() + ".", VENUES[venues[i]], pages])
        rows[-1].append(str(published[i]))
    return Papers(topics, given, sources, _draw_citations(rng, topics), rows)


def _draw_text(rng: np.random.Generator, words: list[str], num_words: int) -> str:
    is_common = rng.random(num_words) < 0.6
    chosen = np.where(is_common, rng.choice(COMMON.split(), num_words), rng.choice(words, num_words))
    return " ".join(chosen.tolist())


def _draw_citations(rng: np.random.Generator, topics: np.ndarray) -> np.ndarray:
    """Papers cite earlier ones, mostly of their own topic."""
    citing = np.repeat(np.arange(1, len(topics)), CITATIONS_PER_PAPER)
    candidates = rng.integers(0, citing[:, None], (len(citing), 30))
    same = (topics[candidates] == topics[citing][:, None]) == (rng.random(len(citing)) < SAME_TOPIC)[:, None]
    cited = candidates[np.arange(len(citing)), same.argmax(axis=1)]
    return np.unique(np.stack([citing, cited], axis=1), axis=0)


def _draw_decisions(
    rng: np.random.Generator, papers: Papers, given_labels: list[str], ids: list[str], class_names: list[str]
) -> list[list[str]]:
    """Decisions of somebody who looked at some labels."""
    labeled = np.flatnonzero(papers.given[:NUM_OLD] >= 0)
    rows = []
    for i in np.sort(rng.choice(labeled, NUM_DECIDED, replace=False)).tolist():
        true = class_names[papers.topics[i]]
        rows.append([ids[i], given_labels[i], "keep" if true == given_labels[i] else "relabel", true])
    return rows
