// One label: what is known about it, why it is suspect, and the choices.

const CLASS_KEYS = "123456789acdilpv"; // letters that no command has
const MAX_BUTTONS = 60; // of classes
let noteNode = null, noteText = ""; // what is being written, kept when the label is shown anew

async function loadDetail(other) {
  const node = other ?? (current >= 0 ? items[current].node : null);
  if (node === null) { detail = null; return showDetail(); }
  const found = await ask(`/api/nodes/${node}`);
  const now = other ?? (current >= 0 ? items[current].node : null);
  if (now === node) { detail = found; isShown = true; showDetail(); }
}
function showDetail() {
  const box = byId("detail");
  if (!detail) {
    const why = query.state === "open" ? "Nothing is left in this queue. Choose another one, or look at the map." : "No label is selected.";
    return box.replaceChildren(createElement("h3", { text: why }));
  }
  const focused = listControls(box).indexOf(document.activeElement);
  box.replaceChildren(
    createElement("h3", { class: "id", text: detail.name, ...(detail.name.length > 200 ? { tabindex: "0" } : {}) }),
    createElement("dl", { class: "facts" }, ...listFacts().flatMap(([name, text]) => [createElement("dt", { text: name }), createElement("dd", { text: clip(text, 400) })])),
    ...(detail.given < 0 ? [createElement("p", { class: "note", text: "This node has no label, so there is nothing to decide." }), createCells()] : [
      createChoices(), createClassKeys(), createNote(), createOpinions(), createCells(),
      createElement("h3", { text: "Probable classes" }),
      createElement("div", { class: "probs" }, createProbabilities("without its own label", detail.without_label), createProbabilities("with its own label", detail.with_label))]),
    createSurroundings());
  box.scrollTop = 0;
  if (focused >= 0) (listControls(box)[focused] || box).focus({ preventScroll: true });
}
function listControls(box) { return [...box.querySelectorAll(".choices > button, .class-keys button")]; }
function listFacts() {
  if (detail.given < 0) return [["id", detail.id]];
  const rate = project.source_error_rates[detail.source];
  const facts = [["id", detail.id], ["given", className(detail.given)], ["suggested", className(detail.suggested)], ["p wrong", formatProbability(detail.p_wrong)]];
  if (detail.expected_change) facts.push(["worth", `to decide it is expected to move p wrong of all labels by ${detail.expected_change.toPrecision(2)} in sum`]);
  if (detail.source >= 0) facts.push(["source", `${project.source_names[detail.source]}, of whose labels about ${formatPercent(rate)} are wrong`]);
  facts.push(["cluster", String(detail.cluster + 1)]);
  if (detail.is_trusted) facts.push(["trusted", "verified before this review; it stays"]);
  return detail.id === detail.name ? facts.slice(1) : facts;
}
function ownVerdict() {
  const own = detail.opinions.find(({ reviewer, settles }) => reviewer === reviewerName() && !settles);
  return own ? own.verdict : null;
}
const canClear = () => Boolean(ownVerdict()) || decidesForAll(null);
function createChoices() {
  const own = ownVerdict();
  const createButton = (key, text, decision, label = "", kind = "") => createElement("button", { class: kind, "aria-pressed": String(Boolean(own) && own.decision === decision && own.label === label), click: () => onShownLabel(() => decide(decision, label)) }, clip(text, 60) + " ", createElement("kbd", { text: key }));
  const clear = createElement("button", { click: () => onShownLabel(() => decide(null)) }, "Clear ", createElement("kbd", { text: "X" }));
  clear.disabled = !canClear();
  return createElement("div", { class: "choices" }, createButton("Space", "Relabel: " + className(detail.suggested), "relabel", className(detail.suggested), "main"), createButton("G", "Keep: " + className(detail.given), "keep"), createButton("U", "Unsure", "unsure"), createButton("S", "Skip", "skip"), clear);
}
function createClassKeys() {
  const own = ownVerdict();
  const buttons = data.class_names.map((name, c) => createElement("li", {}, createElement("button", {
    class: c === detail.given ? "is-given" : c === detail.suggested ? "is-suggested" : "",
    "aria-pressed": String(Boolean(own) && ((own.decision === "relabel" && own.label === name) || (own.decision === "keep" && c === detail.given))),
    click: () => onShownLabel(() => decideClass(c)) }, ...(c < CLASS_KEYS.length ? [createElement("kbd", { text: CLASS_KEYS[c].toUpperCase() })] : []), createElement("span", { class: "clip", text: name + (c === detail.given ? " (given)" : "") }))));
  const added = createElement("li", {}, createElement("button", { click: () => onShownLabel(askNewClass) }, createElement("kbd", { text: "W" }), "new class …"));
  const more = buttons.length > MAX_BUTTONS ? [createElement("li", { class: "note", text: `${formatCount(buttons.length - MAX_BUTTONS)} more classes; W takes their names, too` })] : [];
  return createElement("ul", { class: "class-keys", "aria-label": "It is" }, ...buttons.slice(0, MAX_BUTTONS), ...more, added);
}
function createNote() {
  const own = ownVerdict(), note = createElement("textarea", { id: "note", rows: "1", maxlength: "4000", "aria-label": "Note", placeholder: "Note (N)" });
  note.value = noteNode === detail.node ? noteText : own ? own.note : "";
  note.addEventListener("input", () => { noteNode = detail.node; noteText = note.value; });
  note.addEventListener("change", () => { if (note.value !== (ownVerdict()?.note || "")) onShownLabel(() => saveNote(note.value)); });
  return note;
}
function createOpinions() {
  const texts = detail.opinions.map(({ reviewer, settles, verdict }) => `${clip(reviewer, 60)}${settles ? " settled" : ""}: ${decisionText(verdict) || "note"}${verdict.note ? ` — ${clip(verdict.note, 400)}` : ""} (${verdict.time.replace("T", " ").replace("Z", "")})`);
  return createElement("ul", { class: "opinions" }, ...texts.map((text) => createElement("li", { text })));
}
function createProbabilities(title, classes) {
  return createElement("div", {}, createElement("p", { class: "note", text: title }), createElement("ul", { class: "votes" }, ...classes.slice(0, 6).map(([c, p]) => createElement("li", {},
    createElement("span", { class: "clip", text: className(c) + (c === detail.given ? " (given)" : "") }), createElement("span", { text: formatPercent(p) }), createMeter(p)))));
}
function createSurroundings() {
  const near = createElement("div", {}, createElement("h3", { text: `Labels of the neighbors (${formatCount(detail.degree)})` }));
  if (detail.degree) {
    data.named_nodes = { id: detail.neighbors.map((one) => one.name), given: detail.neighbors.map((one) => one.given) };
    const drawing = drawNeighborhood({ ...detail, node: detail.name }, detail.neighbors.map((_, i) => i), detail.links);
    near.append(createVotes(detail.votes, detail.degree, detail), drawing, createNodeList(detail.neighbors));
    if (detail.degree > detail.neighbors.length) near.append(createElement("p", { class: "note", text: `${detail.neighbors.length} of ${formatCount(detail.degree)} neighbors are shown.` }));
  } else near.append(createElement("p", { class: "note", text: "It has no neighbors." }));
  if (!detail.similar.length) return near;
  const far = createElement("div", {}, createElement("h3", { text: "Most similar nodes" }), createNodeList(detail.similar));
  return createElement("div", { class: "two" }, near, far);
}
function createNodeList(nodes) {
  return createElement("ul", { class: "nodes" }, ...nodes.map((one) => {
    const name = createElement("button", { text: clip(one.name, 80), click: () => orShowError(() => visit(one.node)) });
    return createElement("li", {}, name, " ", createElement("b", { text: one.is_labeled ? clip(className(one.given), 60) : "no label" }), createElement("span", { class: "mark " + one.decision, text: " " + (one.decision === "open" ? "" : decisionText(one)) }), createElement("div", { class: "text", text: one.text }));
  }));
}
async function visit(node) {
  showView("review");
  current = items.findIndex((item) => item.node === node);
  showQueue();
  await loadDetail(node);
  byId("detail").focus({ preventScroll: true });
}
function createCells() {
  if (!detail.cells.length) return "";
  return createElement("div", {}, createElement("h3", { text: "From the file" }), createElement("dl", { class: "cells" }, ...detail.cells.flatMap(([name, text]) => [createElement("dt", { text: name }), createElement("dd", { text, ...(text.length > 600 ? { tabindex: "0" } : {}) })])));
}
