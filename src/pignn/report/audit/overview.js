// The headline numbers, reasons for doubt, tables and matrices of the audit.

function showOverview() {
  const { num_labels, num_trusted, num_flagged, num_suspects, rate, rate_interval, rate_dawid_skene, is_rate_doubtful, homophily, notes } = data.overview;
  document.title = data.title;
  byId("title").textContent = data.title;
  const createTile = (name, value, detail) => createElement("div", {}, createElement("dt", { text: name }), createElement("dd", { text: value }), createElement("dd", { text: detail }));
  const rateDetail = `about ${formatCount(Math.round(rate * num_labels))} labels`
    + (rate_interval ? `; 95\u00a0% interval ${formatPercent(rate_interval[0])} to ${formatPercent(rate_interval[1])}` : "")
    + (rate_dawid_skene === null ? "" : `; Dawid–Skene estimate ${formatPercent(rate_dawid_skene)}`) + (is_rate_doubtful ? ". Probably too low, see below" : "");
  byId("tiles").append(
    createTile("given labels", formatCount(num_labels), `${formatCount(data.class_names.length)} classes, ${formatCount(num_trusted)} trusted labels`),
    createTile("estimated wrong", formatPercent(rate), rateDetail),
    createTile("flagged by confident learning", formatCount(num_flagged), `${formatPercent(num_flagged / num_labels)} of the labels`),
    createTile("clear suspects", formatCount(num_suspects), "these would change with pignn train --relabel-suspects"),
    createTile("homophily", homophily === null ? "–" : formatPercent(homophily), "of the edges connect equal given labels"));
  byId("trust-list").append(...listReasons(notes).map((text) => createElement("li", { text })));
  if (data.apply_command) byId("apply").textContent = data.apply_command;
  showMatrices();
  byId("by-class").append(createTable("Quality by given class", ["class", "labels", "expected wrong", "clear suspects", "quality"],
    data.by_class.map((row) => [row.class_name, formatCount(row.labels), row.expected_wrong.toFixed(1), formatCount(row.suspects), formatPercent(row.quality)])));
  if (data.by_source.length) {
    byId("by-source").append(createElement("h3", { text: "Error rate by source" }), createTable("Error rate by source", ["source", "labels", "error rate", ""],
      data.by_source.map((row) => [row.source, formatCount(row.labels), formatPercent(row.error_rate), createTrack(row.error_rate)])));
    for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", "Error rate by source"]]) byId("by-source").setAttribute(name, value);
  }
}
function listReasons(notes) {
  const { num_folds, method, num_labels, num_trusted } = data.overview;
  const numUntrusted = num_labels - num_trusted, numListed = suspects.length;
  return [
    ...notes.map((note) => capitalize(note) + "."),
    `Each label was judged by a model that never saw it (${num_folds} folds, '${method}').`,
    "The interval holds if errors depend on the true class alone. Errors that follow the features or a region of the graph are underestimated.",
    data.review_size ? `Once you decide the ${formatCount(data.review_size)} labels of the review, pignn apply estimates the error rate whatever the errors are, because some of them were drawn at random.`
      : "Randomly drawn labels reveal the error rate whatever the errors are: pignn audit --review 100 adds them to this page.",
    ...(numListed < numUntrusted ? [`This page lists the ${formatCount(numListed)} most suspicious of ${formatCount(numUntrusted)} untrusted labels; suspects.csv has all of them.`] : []),
    ...(numNeighborhoods < numListed ? [`Neighborhoods are included for ${formatCount(numNeighborhoods)} of them.`] : []),
    ...(data.cells.rows.length < numListed ? [`Columns of the file are included for ${formatCount(data.cells.rows.length)} of them.`] : []),
  ];
}
function showMatrices() {
  const formatShare = (v) => (v * 100 >= 9.95 ? (v * 100).toFixed(0) : (v * 100).toFixed(v < 0.0095 ? 2 : 1));
  showMatrix("transition", data.transition, { axes: ["true", "given"], minMax: 0.05, format: formatShare, describe: formatPercent, verb: "given as" });
  showMatrix("confusion", data.flagged_confusion, { axes: ["given", "suggested"], minMax: 5, format: formatCount, describe: (n) => `${formatCount(n)} labels`, verb: "suggested" });
}
// One matrix over classes. Its shades reach their darkest at the largest value, or at minMax if all are smaller.
function showMatrix(id, matrix, { axes, minMax, format, describe, verb }) {
  const pairs = matrix.flatMap((row, i) => row.map((value, j) => [value, i, j])).filter(([value, i, j]) => i !== j && value > 0);
  pairs.sort((a, b) => b[0] - a[0]);
  const caption = axes.join(" \\ ");
  const listed = pairs.slice(0, 40);
  if (matrix.length > 40 && listed.length > 1 && describe(listed[0][0]) === describe(listed.at(-1)[0])) {
    const text = `No pair of classes stands out: each of the ${formatCount(pairs.length)} pairs has at most ${describe(listed[0][0])}.`;
    byId(id).append(createElement("p", { class: "note", text }));
    return;
  }
  if (matrix.length > 40) { // too many classes for a matrix
    byId(id).append(createTable(caption, [...axes, ""], listed.map(([value, i, j]) => [className(i), className(j), describe(value)])));
    return;
  }
  const max = Math.max(pairs.length ? pairs[0][0] : 0, minMax);
  const table = createTable(caption, [caption, ...data.class_names.map((_, c) => shortClassName(c))], matrix.map((row, i) => [hasShortNames() ? className(i) : `${i + 1} ${className(i)}`, ...row.map(format)]));
  table.className = "heat";
  table.querySelectorAll("thead th").forEach((th, j) => { if (j) th.title = clip(className(j - 1), 300); });
  table.querySelectorAll("tbody tr").forEach((tr, i) => tr.querySelectorAll("td").forEach((td, j) => {
    // Off the diagonal the shade grows with the value, as far as text stays readable on it.
    if (i === j) td.className = "own";
    else td.style.backgroundColor = `rgb(var(--heat) / ${(0.4 * matrix[i][j] / max).toFixed(3)})`;
    td.title = clip(`${className(i)}, ${verb} ${className(j)}: ${describe(matrix[i][j])}`, 300);
  }));
  byId(id).append(table);
  if (pairs.length && pairs[0][0] >= minMax) byId(id).append(createElement("p", { class: "note", text: "Most frequent: " + pairs.slice(0, 3).map(([value, i, j]) => `${clip(className(i), 60)}, ${verb} ${clip(className(j), 60)}: ${describe(value)}`).join("; ") + "." }));
}
function showHistogram() {
  const { counts, edges } = data.histogram, numBins = counts.length;
  const bins = counts.map(() => ({ decided: 0, expected: 0, wrong: 0 }));
  for (const [node, value] of decisions) {
    const suspect = suspectByNode.get(node);
    if (!suspect || value.decision === "unsure") continue;
    const bin = bins[Math.min(numBins - 1, Math.floor(suspect.p_wrong * numBins))];
    bin.decided++; bin.expected += suspect.p_wrong; bin.wrong += value.decision === "relabel";
  }
  const max = Math.log1p(Math.max(...counts));
  const rows = counts.map((count, b) => [`${edges[b].toFixed(2)} – ${edges[b + 1].toFixed(2)}`, createTrack(max ? Math.log1p(count) / max : 0), formatCount(count), bins[b].decided || "", bins[b].decided ? bins[b].expected.toFixed(1) : "", bins[b].decided ? bins[b].wrong : ""]);
  byId("histogram").replaceChildren(createTable("Distribution of p wrong", ["p wrong", "", "labels", "decided", "expected wrong", "found wrong"], rows.filter((row, b) => counts[b] || b === 0 || b === numBins - 1)));
}
