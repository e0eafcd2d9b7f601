"""Replace labels in GraphML and GML files. All other bytes stay."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import escape

from ..core.errors import DataError, build_unknown_name_error
from .label_rewriting import LabelChooser

OWN_ID = ("id", "node_id", None)  # names of the id that a node has by itself, not by an attribute
_GML_TOKEN = re.compile(rb'#[^\n]*|"[^"]*"|\[|\]|[^\s\[\]"#]+')


@dataclass
class _Node:
    """A node of a file: its own id, and its attributes with the bytes that hold their values."""

    id: str = ""
    values: dict[str, tuple[int, int]] = field(default_factory=dict)


def build_graphml_bytes_with_new_labels(
    path: Path, choose_label: LabelChooser, label_column: str, id_column: str | None
) -> bytes:
    """GraphML: only the text of changed ``<data>`` elements differs."""
    content = path.read_bytes()
    nodes, open_data = list[_Node](), list[tuple[str, int]]()
    names: dict[str, str] = {}
    inside = list[bool]()  # whether each open <node> is the innermost element that data belongs to
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "key" and attributes.get("for") in ("node", "all"):
            names[attributes["id"]] = attributes.get("attr.name", attributes["id"])
        elif tag in ("node", "edge"):
            inside.append(tag == "node")
            if tag == "node":
                nodes.append(_Node(attributes.get("id", "")))
        elif tag == "data" and inside and inside[-1] and attributes.get("key") in names:
            open_data.append((names[attributes["key"]], _find_position_after_tag(content, parser.CurrentByteIndex)))

    def end(tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if tag in ("node", "edge"):
            inside.pop()
        elif tag == "data" and open_data:
            name, begin = open_data.pop()
            if parser.CurrentByteIndex >= begin:  # <data/> has no text
                nodes[-1].values[name] = begin, parser.CurrentByteIndex

    parser.StartElementHandler, parser.EndElementHandler = start, end
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise DataError(f"{path} is refused: a GraphML file declares no entities")
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, KeyError) as error:
        raise DataError(f"cannot read {path}: {error}; is it GraphML?") from None
    return _build_content_with_new_labels(path, content, nodes, choose_label, label_column, id_column)


def build_gml_bytes_with_new_labels(
    path: Path, choose_label: LabelChooser, label_column: str, id_column: str | None
) -> bytes:
    """GML: only changed values of nodes differ."""
    content = path.read_bytes()
    nodes, stack, key = list[_Node](), list[bytes](), b""
    for match in _GML_TOKEN.finditer(content):
        token = match[0]
        if token.startswith(b"#"):
            continue
        if token == b"[":
            stack.append(key)
            if stack == [b"graph", b"node"]:
                nodes.append(_Node())
            key = b""
        elif token == b"]":
            if stack:
                stack.pop()
        elif not key:
            key = token
            continue
        elif stack == [b"graph", b"node"]:
            nodes[-1].values[key.decode("utf-8", "replace")] = match.span()
            if key == b"id":
                nodes[-1].id = token.decode()
        key = b""
    return _build_content_with_new_labels(path, content, nodes, choose_label, label_column, id_column)


def _find_position_after_tag(content: bytes, start: int) -> int:
    """Where the text of an element begins: behind the > of its tag, which may have one within quotes."""
    match = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""").match(content, start)
    return start if match is None else match.end()


def _build_content_with_new_labels(
    path: Path,
    content: bytes,
    nodes: list[_Node],
    choose_label: LabelChooser,
    label_column: str,
    id_column: str | None,
) -> bytes:
    known = {name for node in nodes for name in node.values}
    for name in (label_column, id_column):
        if name not in known and (name == label_column or name not in OWN_ID):
            raise build_unknown_name_error(f"attribute of the nodes of {path}", name, known)
    parts, kept = [], 0
    for node in nodes:
        by_attribute = id_column in known and id_column not in (None, "id")
        id_span = node.values.get(str(id_column)) if by_attribute else None
        name = _unquote_and_unescape(content[slice(*id_span)]) if id_span else node.id
        span = node.values.get(label_column)
        new = choose_label(name, None if span is None else _unquote_and_unescape(content[slice(*span)]))
        if new is None:
            continue
        if span is None:
            raise DataError(
                f"{path}: node '{name[:40]}' has no '{label_column}' to correct; give it one, empty if unknown"
            )
        parts += [content[kept : span[0]], _encode_graph_value(new, content[slice(*span)], path)]
        kept = span[1]
    return b"".join([*parts, content[kept:]])


def _unquote_and_unescape(value: bytes) -> str:
    text = value.decode("utf-8", "surrogateescape").strip()
    return html.unescape(text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text).strip()


def _encode_graph_value(text: str, old_value: bytes, path: Path) -> bytes:
    """The bytes of a value: as XML has it, or as GML has it, where texts are quoted and ASCII."""
    if path.suffix.lower() == ".graphml":
        return escape(text).encode()
    if not old_value.startswith(b'"') and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        return text.encode()
    quoted = re.sub(r'[^ -~]|[&"]', lambda match: f"&#{ord(match[0])};", text)
    return f'"{quoted}"'.encode()
