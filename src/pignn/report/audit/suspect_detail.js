// One suspect: what is known about it, a drawing of its neighborhood, and the choices.

const PART_TEXTS = { top: "top suspect of the review", flagged: "drawn at random for the review, from the flagged labels", rest: "drawn at random for the review" };

function showDetail() {
  const box = byId("detail"), suspect = selected;
  if (!suspect) return box.replaceChildren(createElement("p", { text: "No suspect is selected." }));
  const focused = listControls(box).indexOf(document.activeElement);
  box.replaceChildren(
    createElement("h3", { class: "id", text: suspect.node, ...(suspect.node.length > 200 ? { tabindex: "0" } : {}) }),
    createElement("dl", { class: "facts" }, ...listFacts(suspect).flatMap(([name, text]) => [createElement("dt", { text: name }), createElement("dd", { text: clip(text, 400) })])),
    createChoices(suspect),
    createElement("h3", { text: "Probable classes, without its own label" }), createLikelyClasses(suspect),
    createNeighborhood(suspect), createCells(suspect));
  // Whoever decides with a button finds the same button focused for the next suspect.
  if (focused >= 0) (listControls(box)[focused] || box).focus({ preventScroll: true });
}
function listControls(box) { return [...box.querySelectorAll(".choices > :not(:disabled, label)")]; }
function listFacts(suspect) {
  const decision = decisions.get(suspect.node);
  const remarks = (suspect.suspect ? ", clear suspect" : "") + (suspect.flagged ? ", flagged by confident learning" : "");
  return [["given", className(suspect.given)], ["suggested", className(suspect.suggested)],
    ...data.columns.map((column) => [column.heading.toLowerCase(), formatColumn(column, suspect) + (column.name === "p_wrong" ? remarks : "")]),
    ...(suspect.part ? [["listed as", PART_TEXTS[suspect.part]]] : []),
    ["decision", decision ? decisionText(decision) + (decision.reviewer ? ` by ${clip(decision.reviewer, 60)}` : "") : "none yet"]];
}
function createChoices(suspect) {
  const current = decisions.get(suspect.node), given = className(suspect.given), suggested = className(suspect.suggested);
  const isPressed = (decision, label) => String(Boolean(current) && current.decision === decision && (decision !== "relabel" || current.label === label));
  const createButton = (key, text, decision, label = "") => createElement("button", { "aria-pressed": isPressed(decision, label), click: () => decide(suspect, decision, label) }, clip(text, 60) + " ", createElement("kbd", { text: key }));
  const otherClass = createElement("select", { id: "other" }, createElement("option", { value: "", text: "another class …" }),
    ...data.class_names.map((name, c) => createElement("option", { value: String(c), text: clip(name, 80) })).filter((_, c) => c !== suspect.given));
  otherClass.addEventListener("change", () => { if (otherClass.value !== "") decide(suspect, "relabel", className(Number(otherClass.value))); });
  const clear = createElement("button", { click: () => decide(suspect, null) }, "Clear ", createElement("kbd", { text: "C" }));
  clear.disabled = !current;
  return createElement("div", { class: "choices" }, createButton("R", "Relabel: " + suggested, "relabel", suggested), createButton("K", "Keep: " + given, "keep"), createButton("U", "Unsure", "unsure"),
    createElement("label", { for: "other", class: "tick", text: "or" }), otherClass, clear);
}
function createLikelyClasses(suspect) {
  return createElement("ul", { class: "votes likely" }, ...suspect.likely.map(([c, p], i) => createElement("li", {},
    c === suspect.given ? createElement("span", { text: "" }) : createElement("button", { "aria-label": `${i + 1}: relabel to ${clip(className(c), 80)}`, click: () => decide(suspect, "relabel", className(c)) }, createElement("kbd", { text: String(i + 1) })),
    createElement("span", { class: "clip", text: className(c) + (c === suspect.given ? " (given)" : "") }), createElement("span", { text: formatPercent(p) }), createMeter(p))));
}
function createNeighborhood(suspect) {
  if (suspect.index >= numNeighborhoods) return createElement("p", { class: "note", text: "The neighborhood of this suspect is not included in the page." });
  const { neighbors, degree, votes, links, similar, similar_votes } = Object.fromEntries(Object.entries(data.neighborhoods).map(([name, values]) => [name, values[suspect.index]]));
  const near = createElement("div", {}, createElement("h3", { text: `Labels of the neighbors (${formatCount(degree)})` }),
    degree ? createVotes(votes, degree, suspect) : createElement("p", { class: "note", text: "It has no neighbors." }));
  if (degree) near.append(drawNeighborhood(suspect, neighbors, links));
  if (degree > neighbors.length) near.append(createElement("p", { class: "note", text: `${neighbors.length} of ${formatCount(degree)} neighbors are drawn.` }));
  const far = createElement("div", {}, createElement("h3", { text: "Labels of the most similar nodes" }));
  if (similar.length) {
    const total = similar_votes.reduce((sum, [, count]) => sum + count, 0);
    far.append(createVotes(similar_votes, total, suspect), createElement("ul", { class: "legend" }, ...similar.map((i) => createElement("li", {}, createElement("span", { class: "clip", text: data.named_nodes.id[i] + ": " + className(data.named_nodes.given[i]) })))));
  } else far.append(createElement("p", { class: "note", text: "Not available: there are too many labels to compare." }));
  return createElement("div", { class: "two" }, near, far);
}
function createCells(suspect) {
  const row = data.cells.rows[suspect.index], names = data.cells.names;
  if (!row || !row.length) return "";
  if (!names.length) return createElement("div", {}, createElement("h3", { text: `Largest of ${formatCount(data.cells.num_columns)} features` }), createElement("p", { class: "note", text: row.map(([feature, value]) => `${feature}: ${value}`).join(", ") }));
  const pairs = names.map((name, i) => [name, row[i]]).filter(([, text]) => text !== "");
  return createElement("div", {}, createElement("h3", { text: "From the file" }), createElement("dl", { class: "cells" }, ...pairs.flatMap(([name, text]) => [createElement("dt", { text: name }), createElement("dd", { text, ...(text.length > 600 ? { tabindex: "0" } : {}) })])));
}
