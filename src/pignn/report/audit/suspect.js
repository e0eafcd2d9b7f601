// One suspect: what is known of it, its neighbourhood as a drawing, and the choices.

function votes(list, total, given, suggested) {
  if (!list.length) return make("p", { class: "note", text: "None of them has a label." });
  return make("ul", { class: "votes" }, ...list.slice(0, 6).map(([c, count]) => make("li", {},
    make("span", { class: "clip", text: className(c) + (c === given ? " (given)" : c === suggested ? " (suggested)" : "") }), make("span", { text: String(count) }), meter(count / total))));
}
function showOne() {
  const box = $("detail"), one = now;
  if (!one) return box.replaceChildren(make("p", { text: "No suspect is chosen." }));
  const value = decided.get(one.node), given = className(one.given), suggested = className(one.suggested);
  const chosen = (decision, label) => String(Boolean(value) && value.decision === decision && (decision !== "relabel" || value.label === label));
  const button = (key, text, decision, label = "") => make("button", { "aria-pressed": chosen(decision, label), click: () => decide(one, decision, label) }, clip(text, 60) + " ", make("kbd", { text: key }));
  const why = { top: "a top suspect of the review", flagged: "drawn at random for the review, among those flagged", rest: "drawn at random for the review" };
  const facts = [["given", given], ["suggested", suggested], ["p wrong", small(one.p) + (one.clear ? ", a clear suspect" : "") + (one.flagged ? ", flagged by confident learning" : "")],
    ...(one.source >= 0 ? [["source", data.sources[one.source]]] : []), ...(one.part ? [["here as", why[one.part]]] : []),
    ["decision", value ? words(value) + (value.reviewer ? ` by ${clip(value.reviewer, 60)}` : "") : "none yet"]];
  const other = make("select", { id: "other" }, make("option", { value: "", text: "another class …" }),
    ...data.classes.map((name, c) => make("option", { value: String(c), text: clip(name, 80) })).filter((_, c) => c !== one.given));
  other.addEventListener("change", () => { if (other.value !== "") decide(one, "relabel", className(Number(other.value))); });
  const likely = one.likely.map(([c, p], i) => make("li", {},
    c === one.given ? make("span", { text: "" }) : make("button", { "aria-label": `${i + 1}: relabel to ${clip(className(c), 80)}`, click: () => decide(one, "relabel", className(c)) }, make("kbd", { text: String(i + 1) })),
    make("span", { class: "clip", text: className(c) + (c === one.given ? " (given)" : "") }), make("span", { text: percent(p) }), meter(p)));
  const focused = controls(box).indexOf(document.activeElement);
  box.replaceChildren(
    make("h3", { class: "id", text: one.node, ...(one.node.length > 200 ? { tabindex: "0" } : {}) }),
    make("dl", { class: "facts" }, ...facts.flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text: clip(text, 400) })])),
    make("div", { class: "choices" }, button("R", "Relabel: " + suggested, "relabel", suggested), button("K", "Keep: " + given, "keep"), button("U", "Unsure", "unsure"),
      make("label", { for: "other", class: "tick", text: "or" }), other, make("button", { click: () => decide(one, null) }, "Clear ", make("kbd", { text: "C" }))),
    make("h3", { text: "Probable classes, without its own label" }), make("ul", { class: "votes likely" }, ...likely),
    around(one), cells(one));
  if (!value) box.querySelector(".choices").lastChild.disabled = true;
  // Whoever decides by a button finds the same button focused for the next suspect.
  if (focused >= 0) (controls(box)[focused] || box).focus({ preventScroll: true });
}
function controls(box) { return [...box.querySelectorAll(".choices > :not(:disabled, label)")]; }
function around(one) {
  const found = data.around[one.at];
  if (!found) return make("p", { class: "note", text: "The neighbourhood of this suspect is not in the page." });
  const [neighbours, degree, said, links, similar, alike] = found;
  const near = make("div", {}, make("h3", { text: `Neighbours say (${whole(degree)})` }),
    degree ? votes(said, degree, one.given, one.suggested) : make("p", { class: "note", text: "It has no neighbours." }));
  if (degree) near.append(picture(one, neighbours, links));
  if (degree > neighbours.length) near.append(make("p", { class: "note", text: `${neighbours.length} of ${whole(degree)} neighbours are drawn.` }));
  const far = make("div", {}, make("h3", { text: "Most similar nodes say" }));
  if (similar.length) {
    const total = alike.reduce((sum, [, count]) => sum + count, 0);
    far.append(votes(alike, total, one.given, one.suggested), make("ul", { class: "legend" }, ...similar.map((i) => make("li", {}, make("span", { class: "clip", text: data.names[i][0] + ": " + className(data.names[i][1]) })))));
  } else far.append(make("p", { class: "note", text: "Not told: too many labels to compare." }));
  return make("div", { class: "two" }, near, far);
}
function picture(one, neighbours, links) {
  // The class inside the shapes, short; circle: the given class, square: the suggested one, diamond: another, dashed: none.
  const W = 320, H = 220, at = neighbours.map((_, i) => {
    const angle = (2 * Math.PI * i) / neighbours.length - Math.PI / 2;
    return [W / 2 + 125 * Math.cos(angle), H / 2 + 88 * Math.sin(angle)];
  });
  const lines = [...at.map(([x, y]) => [W / 2, H / 2, x, y]), ...links.map(([a, b]) => [...at[a], ...at[b]])];
  const used = new Set([one.given, one.suggested]);
  const node = (x, y, c, name, self) => {
    used.add(c);
    const kind = (c === one.given ? "is-given" : c === one.suggested ? "is-suggested" : c < 0 ? "none" : "") + (self ? " self" : "");
    const r = self ? 16 : 12;
    const shape = c === one.given || c < 0 ? draw("circle", { cx: x, cy: y, r, class: "shape " + kind })
      : c === one.suggested ? draw("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r, class: "shape " + kind })
      : draw("path", { d: `M${x} ${y - r - 3}l${r + 3} ${r + 3}l${-r - 3} ${r + 3}l${-r - 3} ${-r - 3}z`, class: "shape " + kind });
    return draw("g", {}, svgText("title", {}, `${clip(name, 60)}: ${className(c)}`), shape, svgText("text", { x, y }, c < 0 ? "–" : brief(c)));
  };
  const svg = draw("svg", { class: "nearby", viewBox: `0 0 ${W} ${H}`, role: "img" }, ...lines.map(([x1, y1, x2, y2]) => draw("line", { x1, y1, x2, y2 })),
    ...at.map(([x, y], i) => node(x, y, data.names[neighbours[i]][1], data.names[neighbours[i]][0], false)), node(W / 2, H / 2, one.given, one.node, true));
  svg.setAttribute("aria-label", `Neighbourhood of ${clip(one.node, 60)}: ` + neighbours.map((i) => className(data.names[i][1])).join(", "));
  const form = (c) => (c === one.given ? "○" : c === one.suggested ? "□" : "◇");
  const legend = [...used].filter((c) => c >= 0).map((c) => make("li", {}, make("b", { text: form(c) + " " + brief(c) }), make("span", { text: " " + (short ? "" : clip(className(c), 80)) + (c === one.given ? " (given)" : c === one.suggested ? " (suggested)" : "") })));
  return make("div", {}, svg, make("ul", { class: "legend" }, ...legend));
}
function cells(one) {
  const row = data.cells.rows[one.at], names = data.cells.names;
  if (!row || !row.length) return "";
  if (!names.length) return make("div", {}, make("h3", { text: `Largest of ${whole(data.cells.of)} features` }), make("p", { class: "note", text: row.map(([f, v]) => `${f}: ${v}`).join(", ") }));
  const pairs = names.map((name, i) => [name, row[i]]).filter(([, text]) => text !== "");
  return make("div", {}, make("h3", { text: "From the file" }), make("dl", { class: "cells" }, ...pairs.flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text, ...(text.length > 600 ? { tabindex: "0" } : {}) })])));
}
