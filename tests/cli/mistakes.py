"""Mistakes that people make on the command line: arguments, and a word that the message must have.

``{p}`` is the folder of the files that `write_files` makes, ``{own}`` a graph of them that can be read.
"""

from __future__ import annotations

from pathlib import Path

OWN = "--nodes {p}/n.csv --edges {p}/e.csv"
SETTINGS = {
    "epochs": ("0", "-5", "1.5", "many"),
    "lr": ("-1", "fast"),
    "dropout": ("1", "-0.1", "2"),
    "backbone": ("gnc", "resnet"),
    "selection": ("best",),
    "pairs": ("all",),
    "num-layers": ("0",),
    "hidden-channels": ("0", "-3"),
    "weight-decay": ("-1",),
    "patience": ("0",),
    "batch-size": ("1",),
    "init": ("xavier",),
    "preset": ("papers",),
    "feature-scaling": ("unit",),
    "target": ("hard",),
    "schedule": ("both",),
    "edge-fraction": ("0", "2"),
}


def write_files(folder: Path) -> None:
    """The files that the mistakes are about."""
    nodes = ["id,color,size,topic,ok"] + [f"a{i},{'rgb'[i % 3]},{i},{'xyz'[i % 3]},{i % 2}" for i in range(30)]
    edges = ["source,target"] + [f"a{i},a{(i * 7 + 1) % 30}" for i in range(30)]
    contents = {
        "n.csv": nodes,
        "e.csv": edges,
        "empty.csv": [],
        "header.csv": nodes[:1],
        "noedges.csv": edges[:1],
        "twice.csv": [*nodes, nodes[1]],
        "other.csv": ["source,target", "b1,b2", "b2,b3"],
        "nolabel.csv": [line.rsplit(",", 2)[0] + ",," for line in nodes[1:]],
        "text.txt": ["hello world", "no table"],
        "samecol.csv": ["id,topic,topic", "a1,x,y"],
        "oneclass.csv": ["id,size,topic"] + [f"a{i},{i},x" for i in range(30)],
        "onecol.csv": ["source", "a1", "a2"],
        "zeros.csv": ["source,target", "1,2"],
        "coded.csv": ["id,topic"] + [f"{i:04},{'xy'[i % 2]}" for i in range(30)],
        "unquoted.csv": ["id,topic", 'a1,"x'],
        "d_bad.csv": ["node,decision,label", "a1,maybe,x"],
        "d_none.csv": ["node,decision,label", "a1,,"],
        "d_other.csv": ["node,decision,label", "zz,relabel,x"],
        "d_class.csv": ["node,decision,label", "a1,relabel,qq"],
        "d_cols.csv": ["a,b", "1,2"],
        "d_twice.csv": ["node,decision,label", "a1,keep,", "a1,keep,"],
        "d_empty.csv": ["node,decision,label", "a1,relabel,"],
        "v_cols.csv": ["node,who,what", "a1,b,c"],
        "matrix.csv": ["1,2", "3"],
    }
    for name, lines in contents.items():
        (folder / name).write_text("\n".join(lines) + ("\n" if lines else ""))
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 8)
    (folder / "bad.graphml").write_text("<graphml><node")
    (folder / "bad.gml").write_text("graph [ node [")
    (folder / "bad.npz").write_bytes(b"no zip")
    (folder / "bad.pt").write_bytes(b"no pickle")
    (folder / "bad.parquet").write_bytes(b"PAR1 no")
    for name in ("folder", "damaged", "run", "audit"):
        (folder / name).mkdir()
    (folder / "damaged" / "model.json").write_text("{")
    (folder / "run" / "run.json").write_text("{}")
    (folder / "audit" / "audit.json").write_text("{}")


def list_mistakes() -> list[tuple[str, str]]:
    """Arguments, and a word of the message."""
    rows = [
        ("trian", "train"),
        ("--vesion", "version"),
        ("train", "--nodes"),
        ("train --bogus", "--help"),
        ("audit", "--nodes"),
        ("predict", "model"),
        ("apply", "decisions"),
        ("convert", "edges"),
        ("inspect", "--nodes"),
        ("example paper", "papers"),
        ("example papers --out {p}/n.csv", "another"),
        ("example papers --seed -1", "equal to 0"),
        ("train --dataset corra", "cora"),
        ("train --dataset {p}/n.csv", "--nodes"),
        ("train --dataset {p}/folder", "store"),
        ("train --dataset csbm --data nodes=5", "num_nodes"),
        ("train --dataset csbm --data num_nodes", "KEY=VALUE"),
        ("train --dataset csbm --split mine", "default"),
        ("train --dataset csbm --split-seed -1", "split_seed"),
        ("train --dataset csbm --split-index 3", "split"),
        ("train --dataset cora --root {p}/none", "folder"),
        ("train --dataset csbm --label topic", "--nodes"),
        ("train --dataset csbm --nodes {p}/n.csv", "one of them"),
        ("train --dataset csbm --val 0.2", "--nodes"),
        ("train --dataset csbm --noise symetric --rate 0.2", "symmetric"),
        ("train --dataset csbm --noise asymmetric --rate 0.2", "pair"),
        ("train --dataset csbm --noise pair", "--rate"),
        ("train --dataset csbm --noise pair --rate 2", "between 0 and 1"),
        ("train --dataset csbm --noise pair --rate 40%", "number"),
        ("train --dataset csbm --noise pair --rate -0.1", "between"),
        ("train --dataset csbm --noise none.npz", "no such file"),
        ("train --dataset csbm --noise {p}/text.txt", ".npz"),
        ("train --dataset csbm --noise {p}/bad.npz", "bad.npz"),
        ("train --dataset csbm --noise {p}/matrix.csv", "equal length"),
        ("train --dataset csbm --rate 0.2", "rate"),
        ("train --dataset csbm --method pi-gn", "pi-gnn"),
        ("train --dataset csbm --method transformer", "known"),
        ("train --dataset csbm --method GCN --backbone gat", "give one"),
        ("train --dataset csbm --method auto --epochs 5", "networks"),
        ("train --dataset csbm --set epoch=5", "epochs"),
        ("train --dataset csbm --set epochs", "KEY=VALUE"),
        ("train --dataset csbm --set seed=3", "--seed"),
        ("train --dataset csbm --epochs 5 --set epochs=6", "twice"),
        ("train --dataset csbm --seed -1", "seed"),
        ("train --dataset csbm --seed x", "integer"),
        ("train --dataset csbm --report", "--out"),
        ("train --dataset csbm --resume", "--out"),
        ("train --dataset csbm --resume --force --out {p}/new", "one of them"),
        ("train --dataset csbm --out {p}/n.csv", "folder"),
        ("train --dataset csbm --out {p}/run", "--force"),
        ("train --dataset csbm --out {p}/audit", "another folder"),
        ("train --dataset csbm --drop-suspects --relabel-suspects", "give one"),
        ("train --dataset csbm --checkpoint-every 0 --out {p}/new", "at least 1"),
        ("train --dataset csbm --audit {p}/folder", "pignn audit"),
        ("train --dataset csbm --audit {p}/audit", "audit again"),
        ("train --dataset csbm --decisions {p}/none.csv", "check the path"),
        ("train --dataset csbm --decisions {p}/d_bad.csv", "must be"),
        ("train --dataset csbm --decisions {p}/d_other.csv", "audited"),
        ("train --dataset csbm --device cuda:9", "cpu"),
        ("compare", "--nodes"),
        ("compare --dataset csbm --methods GCN,gcn", "twice"),
        ("compare --dataset csbm --methods auto,pi-gn", "pi-gnn"),
        ("compare --dataset csbm --methods ,", "no method"),
        ("compare --dataset csbm --methods auto --set epochs=5", "epochs"),
        ("compare --dataset csbm --methods GCN --set MLP.epochs=5", "MLP"),
        ("compare --dataset csbm --methods GCN --set GCN.epochs=0", "at least 1"),
        ("compare --dataset csbm --folds 1", "equal to 2"),
        ("compare --dataset csbm --repeats 0", "equal to 1"),
        ("compare --dataset csbm --noise pair", "--rate"),
        ("compare --dataset csbm --out {p}/run", "another folder"),
        ("compare --dataset csbm --out {p}/audit", "another folder"),
        ("compare --dataset csbm --out {p}/n.csv", "folder"),
        ("audit --dataset csbm --review 5", "--out"),
        ("audit --dataset csbm --review 0 --out {p}/new", "equal to 1"),
        ("audit --dataset csbm --folds 1", "equal to 2"),
        ("audit --dataset csbm --random-share 2 --review 3 --out {p}/new", "random_share"),
        ("audit --dataset csbm --method smooth", "known"),
        ("audit --dataset csbm --set C=2", "settings"),
        ("audit --dataset csbm --out {p}/audit", "--force"),
        ("audit --dataset csbm --out {p}/run", "another folder"),
        ("audit {own} --label topic --noise pair --rate 0.2", "--dataset"),
        ("audit --dataset csbm --decisions {p}/none.csv", "no such file"),
        ("predict {p}/none --dataset csbm", "pignn train"),
        ("predict {p}/folder --dataset csbm", "no model"),
        ("predict {p}/damaged --dataset csbm", "damaged"),
        ("predict {p}/damaged --dataset csbm --out {p}/n.csv", "--force"),
        ("predict {p}/damaged --nodes {p}/none.csv --edges {p}/e.csv", "no such file"),
        ("predict {p}/damaged", "--nodes"),
        ("predict {p}/damaged --nodes {p}/n.csv --edges {p}/e.csv --known {p}/none.csv", "no such file"),
        ("apply {p}/none.csv --nodes {p}/n.csv --label topic --out {p}/c.csv", "no such file"),
        ("apply {p}/d_none.csv --nodes {p}/none.csv --label topic --out {p}/c.csv", "no such file"),
        ("apply {p}/d_none.csv --nodes {p}/n.csv --label topic --out {p}/c.csv", "nothing is decided"),
        ("apply {p}/d_bad.csv --nodes {p}/n.csv --label topic --out {p}/c.csv", "relabel"),
        ("apply {p}/d_other.csv --nodes {p}/n.csv --label topic --out {p}/c.csv", "audited"),
        ("apply {p}/d_class.csv --nodes {p}/n.csv --label topic --out {p}/c.csv", "--new-class"),
        ("apply {p}/d_cols.csv --nodes {p}/n.csv --label topic --out {p}/c.csv", "column"),
        ("apply {p}/d_twice.csv --nodes {p}/n.csv --label topic --out {p}/c.csv", "keep one"),
        ("apply {p}/d_empty.csv --nodes {p}/n.csv --label topic --out {p}/c.csv", "fill it in"),
        ("apply {p}/d_class.csv --nodes {p}/n.csv --label tpic --out {p}/c.csv", "topic"),
        ("apply {p}/d_class.csv --nodes {p}/n.csv --label topic --out {p}/e.csv", "--force"),
        ("apply {p}/d_class.csv --nodes {p}/n.csv --label topic --out {p}/n.csv", "another"),
        ("apply {p}/d_class.csv --nodes {p}/n.csv --label topic --out {p}/c.graphml", "same kind"),
        ("apply {p}/d_class.csv --nodes {p}/n.csv --label topic --out {p}/c.csv --level 2", "between 0 and 1"),
        ("apply {p}/d_class.csv --nodes {p}/bad.graphml --label topic --out {p}/c.graphml", "GraphML"),
        ("convert {p}/none.csv {p}/s", "no such file"),
        ("convert {p}/e.csv {p}/s --memory lots", "500MB"),
        ("convert {p}/e.csv {p}/folder", "give"),
        ("convert {p}/empty.csv {p}/s", "empty"),
        ("convert {p}/other.csv {p}/s --num-nodes 2", "other.csv"),
        ("convert {p}/onecol.csv {p}/s --num-nodes 2", "column"),
        ("study run nope", "known"),
        ("study nope", "command"),
        ("task nope", "command"),
        ("demo --epochs 0", "equal to 1"),
        ("demo --out {p}/run", "--out"),
        ("datasets extra", "argument"),
        ("methods --jason", "--json"),
        ("inspect --dataset csbm", "--nodes"),
    ]
    for command in ("train", "audit", "inspect", "compare"):
        rows += [(f"{command} {text}", word) for text, word in OWN_GRAPH if (command, text) != ("inspect", "{own}")]
    rows += [(f"train --dataset csbm --{name}={value}", "") for name, values in SETTINGS.items() for value in values]
    return [(text.replace("{own}", OWN), word) for text, word in rows]


OWN_GRAPH = [
    ("--nodes {p}/none.csv --edges {p}/e.csv --label topic", "no such file"),
    ("--nodes {p}/n.csv --label topic", "--edges"),
    ("--edges {p}/e.csv --label topic", "--nodes"),
    ("{own}", "--label"),
    ("{own} --label tpic", "topic"),
    ("{own} --label topic --id identity", "id"),
    ("{own} --label id", "another column"),
    ("{own} --label topic --features sizes", "size"),
    ("{own} --label topic --features size:numeric", "number"),
    ("{own} --label topic --features topic", "not a feature"),
    ("{own} --label topic --edge-columns source", "two"),
    ("{own} --label topic --edge-columns from,to", "source"),
    ("{own} --label topic --trusted color", "1 or 0"),
    ("{own} --label topic --source who", "known"),
    ("{own} --label topic --delimiter ab", "one character"),
    ("--nodes {p}/empty.csv --edges {p}/e.csv --label topic", "empty"),
    ("--nodes {p}/header.csv --edges {p}/e.csv --label topic", "no rows"),
    ("--nodes {p}/n.csv --edges {p}/other.csv --label topic", "--id"),
    ("--nodes {p}/n.csv --edges {p}/empty.csv --label topic", "empty"),
    ("--nodes {p}/n.csv --edges {p}/onecol.csv --label topic", "column"),
    ("--nodes {p}/twice.csv --edges {p}/e.csv --label topic", "an id of its own"),
    ("--nodes {p}/samecol.csv --edges {p}/e.csv --label topic", "rename"),
    ("--nodes {p}/coded.csv --edges {p}/zeros.csv --label topic", "leading zeros"),
    ("--nodes {p}/binary.csv --edges {p}/e.csv --label topic", "binary.csv"),
    ("--nodes {p}/folder --edges {p}/e.csv --label topic", "folder"),
    ("--nodes {p}/bad.graphml --label topic", "bad.graphml"),
    ("--nodes {p}/bad.gml --label topic", "bad.gml"),
    ("--nodes {p}/bad.npz --label topic", "bad.npz"),
    ("--nodes {p}/bad.parquet --edges {p}/e.csv --label topic", "bad.parquet"),
    ("--nodes {p}/n.csv --edges {p}/n.csv --label topic", "each needs"),
    ("{own} --label topic,topic", "twice"),
    ("{own} --label topic --name tittle", "known"),
    ("{own} --label topic --split own", "--val"),
]
