// The labels around a node: how many of each class, and a drawing.

const roleText = (c, suspect) => (c === suspect.given ? " (given)" : c === suspect.suggested ? " (suggested)" : "");
function createVotes(votes, total, suspect) {
  if (!votes.length) return createElement("p", { class: "note", text: "None of them has a label." });
  return createElement("ul", { class: "votes" }, ...votes.slice(0, 6).map(([c, count]) => createElement("li", {},
    createElement("span", { class: "clip", text: className(c) + roleText(c, suspect) }), createElement("span", { text: String(count) }), createMeter(count / total))));
}
function drawNeighborhood(suspect, neighbors, links) {
  // A short class name is inside each shape. Circle: the given class, square: the suggested one, diamond: another one, dashed: no label.
  const width = 320, height = 220, points = neighbors.map((_, i) => {
    const angle = (2 * Math.PI * i) / neighbors.length - Math.PI / 2;
    return [width / 2 + 125 * Math.cos(angle), height / 2 + 88 * Math.sin(angle)];
  });
  const lines = [...points.map(([x, y]) => [width / 2, height / 2, x, y]), ...links.map(([a, b]) => [...points[a], ...points[b]])];
  const usedClasses = new Set([suspect.given, suspect.suggested]);
  const drawNode = (x, y, c, name, isSuspect) => {
    usedClasses.add(c);
    const role = (c === suspect.given ? "is-given" : c === suspect.suggested ? "is-suggested" : c < 0 ? "none" : "") + (isSuspect ? " self" : "");
    const r = isSuspect ? 16 : 12;
    const shape = c === suspect.given || c < 0 ? createSvg("circle", { cx: x, cy: y, r, class: "shape " + role })
      : c === suspect.suggested ? createSvg("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r, class: "shape " + role })
      : createSvg("path", { d: `M${x} ${y - r - 3}l${r + 3} ${r + 3}l${-r - 3} ${r + 3}l${-r - 3} ${-r - 3}z`, class: "shape " + role });
    return createSvg("g", {}, createSvgText("title", {}, `${clip(name, 60)}: ${className(c)}`), shape, createSvgText("text", { x, y }, c < 0 ? "–" : shortClassName(c)));
  };
  const { id, given } = data.named_nodes;
  const svg = createSvg("svg", { class: "nearby", viewBox: `0 0 ${width} ${height}`, role: "img" }, ...lines.map(([x1, y1, x2, y2]) => createSvg("line", { x1, y1, x2, y2 })),
    ...points.map(([x, y], i) => drawNode(x, y, given[neighbors[i]], id[neighbors[i]], false)), drawNode(width / 2, height / 2, suspect.given, suspect.node, true));
  svg.setAttribute("aria-label", `Neighborhood of ${clip(suspect.node, 60)}: ` + neighbors.map((i) => className(given[i])).join(", "));
  const symbol = (c) => (c === suspect.given ? "○" : c === suspect.suggested ? "□" : "◇");
  const legend = [...usedClasses].filter((c) => c >= 0).map((c) => createElement("li", {}, createElement("b", { text: symbol(c) + " " + shortClassName(c) }), createElement("span", { text: " " + (hasShortNames() ? "" : clip(className(c), 80)) + roleText(c, suspect) })));
  return createElement("div", {}, svg, createElement("ul", { class: "legend" }, ...legend));
}
