"use strict";
// Everything that comes from the data is put in as text (textContent, value, setAttribute of names), never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const PAGE = 50, STEPS = 500, KEY = "pignn-audit-" + data.key;
  const DECISIONS = ["relabel", "keep", "unsure"];
  const COLUMNS = ["node", "given", "suggested", "p_wrong", "agree", "part", "stratum", "inclusion", "decision", "label", "reviewer", "time"];

  const suspects = data.rows.map((row, at) => {
    const [node, given, suggested, p, agree, neighbours, similar, flagged, source, part, stratum, inclusion, likely] = row;
    return { at, node, given, suggested, p, agree, neighbours, similar, flagged, source, part, stratum, inclusion, likely };
  });
  const byNode = new Map(suspects.map((one) => [one.node, one]));
  const classNumber = new Map(data.classes.map((name, c) => [name, c]));

  // ---- small helpers ----

  function make(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (name === "text") element.textContent = value;
      else if (name === "class") element.className = value;
      else if (name === "click") element.addEventListener("click", value);
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }
  function draw(tag, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  function svgText(tag, attributes, text) {
    const element = draw(tag, attributes);
    element.textContent = text;
    return element;
  }
  const className = (c) => (c < 0 ? "no label" : data.classes[c]);
  const whole = (n) => n.toLocaleString("en");
  function percent(share) {
    if (share === null || share === undefined) return "–";
    const value = share * 100;
    if (value > 0 && value < 0.01) return "<0.01\u00a0%";
    const digits = value === 0 || value >= 99.95 ? 0 : value >= 99 ? 1 : value >= 10 ? 0 : value >= 1 ? 1 : 2;
    return value.toFixed(digits) + "\u00a0%";
  }
  const small = (p) => (p >= 0.9995 ? "1.000" : p >= 0.001 ? p.toFixed(3) : p === 0 ? "0" : "<0.001");
  function meter(share) {
    const bar = make("span", { class: "meter", "aria-hidden": "true" });
    bar.style.width = Math.max(0, Math.min(1, share)) * 100 + "%";
    return bar;
  }
  const clip = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

  // ---- decisions: what was decided, what it was before, and where it is kept ----

  let decided = new Map(); // node -> {decision, label, reviewer, time}
  let past = []; // steps to undo: lists of [node, what was there before or null]
  let stored = true;

  function restore() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY) || "null");
      if (kept) {
        decided = new Map(kept.decided.filter(([node]) => byNode.has(node)));
        past = kept.past;
      }
      $("reviewer").value = localStorage.getItem("pignn-reviewer") || "";
    } catch { stored = false; }
  }
  function keep() {
    try {
      localStorage.setItem(KEY, JSON.stringify({ decided: [...decided], past }));
      localStorage.setItem("pignn-reviewer", $("reviewer").value);
      stored = true;
    } catch { stored = false; }
  }
  function change(changes) { // [[node, decision or null], ...] as one step
    past.push(changes.map(([node]) => [node, decided.get(node) || null]));
    if (past.length > STEPS) past.shift();
    for (const [node, value] of changes) value ? decided.set(node, value) : decided.delete(node);
    keep();
    tell();
  }
  function decide(one, decision, label = "") {
    const value = decision && { decision, label, reviewer: $("reviewer").value.trim(), time: new Date().toISOString().slice(0, 19) + "Z" };
    change([[one.node, value || null]]);
    say(decision ? `${clip(one.node, 40)}: ${words(decided.get(one.node))}` : `${clip(one.node, 40)}: decision cleared`);
    if (decision) step(1); else refresh();
  }
  function undo() {
    const last = past.pop();
    if (!last) return say("There is nothing to undo.");
    for (const [node, value] of last) value ? decided.set(node, value) : decided.delete(node);
    keep();
    tell();
    if (last.length === 1 && byNode.has(last[0][0])) select(byNode.get(last[0][0])); else refresh();
    say(last.length === 1 ? `Undone: ${clip(last[0][0], 40)}` : `Undone: ${whole(last.length)} decisions`);
  }
  function words(value) {
    if (!value) return "";
    return value.decision === "relabel" ? "→ " + value.label : value.decision === "keep" ? "✓ keep" : "? unsure";
  }
  function say(text) { $("status").textContent = text; }

  // ---- decisions.csv: text that a spreadsheet would run gets an apostrophe, as in every table of pignn ----

  const guarded = /^[=+\-@\t\r\n']/;
  const neutral = (text) => (guarded.test(text) ? "'" + text : text);
  const plain = (text) => (text.startsWith("'") && guarded.test(text.slice(1)) ? text.slice(1) : text);
  const cell = (text) => (/[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

  function toCsv() {
    const rows = suspects.filter((one) => one.part || decided.has(one.node)).sort((a, b) => b.p - a.p);
    const lines = rows.map((one) => {
      const value = decided.get(one.node) || { decision: "", label: "", reviewer: "", time: "" };
      const texts = [one.node, className(one.given), className(one.suggested)].map(neutral);
      const numbers = [one.p, one.agree, one.part, one.stratum, one.inclusion].map((v) => (v === null ? "" : String(v)));
      const made = [value.decision, value.label, value.reviewer, value.time].map(neutral);
      return [...texts, ...numbers, ...made].map(cell).join(",");
    });
    return [COLUMNS.join(","), ...lines].join("\n") + "\n";
  }
  function download() {
    const link = make("a", { href: URL.createObjectURL(new Blob([toCsv()], { type: "text/csv" })), download: "decisions.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    say(`decisions.csv: ${whole(decided.size)} decisions.`);
  }
  function parseCsv(text) {
    const rows = [];
    let row = [], value = "", quoted = false;
    for (let i = text.startsWith("\ufeff") ? 1 : 0; i < text.length; i++) {
      const c = text[i];
      if (quoted) {
        if (c !== '"') value += c;
        else if (text[i + 1] === '"') { value += '"'; i++; } else quoted = false;
      } else if (c === '"' && value === "") quoted = true;
      else if (c === ",") { row.push(value); value = ""; }
      else if (c === "\n" || c === "\r") {
        if (c === "\r" && text[i + 1] === "\n") i++;
        row.push(value);
        if (row.length > 1 || value) rows.push(row);
        row = []; value = "";
      } else value += c;
    }
    if (quoted) throw new Error("a quote is not closed");
    if (value || row.length) rows.push([...row, value]);
    return rows.map((cells) => cells.map(plain));
  }
  function load(text) {
    const [header, ...rows] = parseCsv(text);
    const column = new Map((header || []).map((name, i) => [name.trim(), i]));
    for (const name of ["node", "decision", "label"]) if (!column.has(name)) throw new Error(`it has no column '${name}'`);
    const changes = [];
    let unknown = 0;
    rows.forEach((row, i) => {
      const get = (name) => (column.has(name) ? row[column.get(name)] || "" : "");
      const decision = get("decision").trim().toLowerCase(), one = byNode.get(get("node"));
      if (!decision) return;
      if (!DECISIONS.includes(decision)) throw new Error(`row ${i + 2} has the decision '${clip(decision, 40)}'`);
      if (!one) return void unknown++;
      const label = decision === "relabel" ? get("label").trim() || className(one.suggested) : "";
      if (decision === "relabel" && !classNumber.has(label)) throw new Error(`row ${i + 2} has the class '${clip(label, 40)}', which is not one of this audit`);
      changes.push([one.node, { decision, label, reviewer: get("reviewer"), time: get("time") }]);
    });
    if (changes.length) change(changes);
    refresh();
    say(`${whole(changes.length)} decisions loaded` + (unknown ? `; ${whole(unknown)} rows are of nodes that are not on this page and were left out.` : "."));
  }

  // ---- what was found ----

  function table(caption, heads, rows) {
    const head = make("tr", {}, ...heads.map((text, i) => make("th", { scope: "col", text, class: i ? "" : "text" })));
    const body = rows.map((cells) => make("tr", {}, ...cells.map((value, i) => {
      const own = make(i ? "td" : "th", i ? {} : { scope: "row", class: "name" });
      own.append(i || value instanceof Node ? value : named(value));
      return own;
    })));
    const whole = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
    whole.setAttribute("aria-label", caption);
    return whole;
  }
  const named = (text) => make("span", { class: "clip long", text, title: clip(text, 300) });
  function track(share) { return make("div", { class: "track" }, meter(share)); }

  function showFound() {
    document.title = data.title;
    $("title").textContent = data.title;
    const [low, high] = data.interval || [null, null];
    const about = (share) => whole(Math.round(share * data.labels));
    const apart = data.flagged / data.labels > Math.max(3 * data.rate, data.rate + 0.03);
    const tile = (name, value, more) => make("div", {}, make("dt", { text: name }), make("dd", { text: value }), make("dd", { text: more }));
    $("tiles").append(
      tile("given labels", whole(data.labels), `${whole(data.classes.length)} classes, ${whole(data.trusted)} labels trusted`),
      tile("probably wrong", percent(data.rate), `about ${about(data.rate)} of them` + (low === null ? "" : `; 95\u00a0% interval ${percent(low)} to ${percent(high)}`) + (apart ? ". Probably too low: see below" : "")),
      tile("flagged by confident learning", whole(data.flagged), `${percent(data.flagged / data.labels)} of the labels`),
      tile("more wrong than right", whole(data.likely), "labels with p wrong above one half"),
      tile("neighbours alike", data.homophily === null ? "–" : percent(data.homophily), "of edges join equal given labels"));

    const trust = [
      ...(apart ? [`The two estimates lie far apart: ${percent(data.rate)} wrong by the noise model, ${percent(data.flagged / data.labels)} flagged by confident learning. Do not read the first as the share of wrong labels: errors that follow the features, such as those of a language model or a rule, look like the truth to it. The order of the list still tells where to look first.`] : []),
      ...data.notes.map((note) => note[0].toUpperCase() + note.slice(1) + "."),
      `Every label was judged by a model that did not see it (${data.folds} folds, '${data.method}').`,
      "The interval holds if errors depend on the true class alone. Errors that follow the features or a region of the graph are underestimated.",
      data.budget ? `Deciding the ${whole(data.budget)} labels of the review tells the rate whatever the errors are: some of them were drawn at random. pignn apply computes it.`
        : "Labels drawn at random tell the rate whatever the errors are: pignn audit --review 100 adds them to this page.",
      ...(data.rows.length < data.labels - data.trusted ? [`The page lists ${whole(data.rows.length)} of ${whole(data.labels - data.trusted)} labels that are not trusted, the most suspect ones; suspects.csv has all.`] : []),
      ...(data.around.length < data.rows.length ? [`Neighbourhoods are in the page for ${whole(data.around.length)} of them.`] : []),
      ...(data.cells.rows.length < data.rows.length ? [`Columns of the file are in the page for ${whole(data.cells.rows.length)} of them.`] : []),
    ];
    $("trust-list").append(...trust.map((text) => make("li", { text })));
    showTransition();
    $("by-class").append(table("quality by given class", ["class", "labels", "wrong (expected)", "p wrong > ½", "quality"],
      data.byClass.map((row) => [row.class, whole(row.labels), row.expected_wrong.toFixed(1), whole(row.suspects), percent(row.quality)])));
    if (data.bySource.length) {
      $("by-source").append(make("h3", { text: "Error by source" }), table("error by source", ["source", "labels", "error", ""],
        data.bySource.map((row) => [row.source, whole(row.labels), percent(row.error), track(row.error)])));
      for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", "Error by source"]]) $("by-source").setAttribute(name, value);
    }
  }
  function showTransition() {
    const share = (v) => (v * 100 >= 9.95 ? (v * 100).toFixed(0) : (v * 100).toFixed(v < 0.0095 ? 2 : 1));
    heat("heat", data.transition, { corner: "true \\ given", least: 0.05, text: share, full: percent, join: "given as" });
    heat("confused", data.confused, { corner: "given \\ suggested", least: 5, text: whole, full: (n) => `${whole(n)} labels`, join: "suggested" });
  }
  function heat(id, matrix, { corner, least, text, full, join }) {
    const pairs = matrix.flatMap((row, i) => row.map((value, j) => [value, i, j])).filter(([value, i, j]) => i !== j && value > 0);
    pairs.sort((a, b) => b[0] - a[0]);
    if (matrix.length > 40) { // too many for a map
      const [one, other] = corner.split(" \\ ");
      $(id).append(table(corner, [one, other, ""], pairs.slice(0, 40).map(([value, i, j]) => [className(i), className(j), full(value)])));
      return;
    }
    const most = Math.max(pairs.length ? pairs[0][0] : 0, least);
    const map = table(corner, [corner, ...data.classes.map((_, c) => String(c + 1))], matrix.map((row, i) => [`${i + 1} ${className(i)}`, ...row.map(text)]));
    map.className = "heat";
    map.querySelectorAll("thead th").forEach((th, j) => { if (j) th.title = clip(className(j - 1), 300); });
    map.querySelectorAll("tbody tr").forEach((line, i) => line.querySelectorAll("td").forEach((td, j) => {
      // Off the diagonal the shade grows with the value, as far as text stays readable on it.
      if (i === j) td.className = "own";
      else td.style.backgroundColor = `rgb(var(--heat) / ${(0.4 * matrix[i][j] / most).toFixed(3)})`;
      td.title = clip(`${className(i)}, ${join} ${className(j)}: ${full(matrix[i][j])}`, 300);
    }));
    $(id).append(map);
    if (pairs.length && pairs[0][0] >= least) $(id).append(make("p", { class: "note", text: "Most: " + pairs.slice(0, 3).map(([value, i, j]) => `${clip(className(i), 60)}, ${join} ${clip(className(j), 60)}: ${full(value)}`).join("; ") + "." }));
  }
  function showDistribution() {
    const { count, edges } = data.histogram, bins = count.length;
    const done = count.map(() => [0, 0, 0]); // decided, expected wrong, found wrong
    for (const [node, value] of decided) {
      const one = byNode.get(node);
      if (!one || value.decision === "unsure") continue;
      const bin = done[Math.min(bins - 1, Math.floor(one.p * bins))];
      bin[0]++; bin[1] += one.p; bin[2] += value.decision === "relabel";
    }
    const most = Math.log1p(Math.max(...count));
    const rows = count.map((labels, b) => [`${edges[b].toFixed(2)} – ${edges[b + 1].toFixed(2)}`, track(most ? Math.log1p(labels) / most : 0), whole(labels), done[b][0] || "", done[b][0] ? done[b][1].toFixed(1) : "", done[b][0] ? done[b][2] : ""]);
    $("dist").replaceChildren(table("distribution of p wrong", ["p wrong", "", "labels", "decided", "expected", "wrong"], rows.filter((row, b) => count[b] || b === 0 || b === bins - 1)));
  }

  // ---- the list: a view of the suspects, a page at a time ----

  const order = new Intl.Collator(undefined, { numeric: true });
  const HEADS = [
    ["node", "Node", (a, b) => order.compare(a.node, b.node), ""],
    ["given", "Given → suggested", (a, b) => a.given - b.given || a.suggested - b.suggested, ""],
    ["p", "p wrong", (a, b) => a.p - b.p, ""],
    ["agree", "Neighbours agree", (a, b) => (a.agree ?? 2) - (b.agree ?? 2), "minor"],
    ...(data.hasSimilar ? [["similar", "Similar agree", (a, b) => (a.similar ?? 2) - (b.similar ?? 2), "minor"]] : []),
    ...(data.sources.length ? [["source", "Source", (a, b) => a.source - b.source, "minor"]] : []),
    ["decision", "Decision", (a, b) => order.compare(words(decided.get(a.node)), words(decided.get(b.node))), ""],
  ];
  let view = [], start = 0, now = null, sort = { by: "p", down: true };
  let texts = null; // what the search looks through, made at the first search

  function filter() {
    const query = $("search").value.trim().toLowerCase();
    if (query && !texts) texts = suspects.map((one) => {
      const cells = data.cells.names.length ? data.cells.rows[one.at] || [] : [];
      return [one.node, className(one.given), className(one.suggested), ...cells].join("\n").toLowerCase();
    });
    const [given, suggested, source] = ["given", "suggested", "source"].map((id) => $(id).value);
    const from = Number($("from").value || 0), to = $("to").value === "" ? 1 : Number($("to").value), show = $("show").value;
    view = suspects.filter((one) => (given === "" || one.given === Number(given)) && (suggested === "" || one.suggested === Number(suggested))
      && (source === "" || one.source === Number(source)) && one.p >= from && one.p <= to && shown(one, show)
      && (!query || texts[one.at].includes(query)));
    const compare = HEADS.find(([name]) => name === sort.by)[2];
    view.sort((a, b) => (sort.down ? -1 : 1) * compare(a, b) || b.p - a.p || a.at - b.at);
    start = 0;
    now = view[0] || null;
    refresh();
  }
  function shown(one, what) {
    if (what === "review") return one.part !== "";
    if (what === "flagged") return one.flagged === 1;
    if (what === "open") return !decided.has(one.node);
    if (what === "open-review") return one.part !== "" && !decided.has(one.node);
    return what === "decided" ? decided.has(one.node) : true;
  }
  function refresh() {
    const place = now ? view.indexOf(now) : -1;
    if (place >= 0) start = Math.floor(place / PAGE) * PAGE;
    for (const th of $("heads").children) th.setAttribute("aria-sort", th.dataset.name === sort.by ? (sort.down ? "descending" : "ascending") : "none");
    for (const th of $("heads").children) th.firstChild.lastChild.textContent = th.dataset.name === sort.by ? (sort.down ? " ▼" : " ▲") : "";
    $("rows").replaceChildren(...view.slice(start, start + PAGE).map(line));
    $("page").textContent = view.length ? `${whole(start + 1)} to ${whole(Math.min(start + PAGE, view.length))} of ${whole(view.length)}` : "No suspect matches.";
    $("before").disabled = start === 0;
    $("after").disabled = start + PAGE >= view.length;
    showOne();
  }
  function line(one) {
    const value = decided.get(one.node);
    const cells = {
      node: make("td", { class: "text" }, make("button", { class: "clip", text: clip(one.node, 60), ...(one === now ? { "aria-current": "true" } : {}) })),
      given: make("td", { class: "text" }, make("span", { class: "clip", text: className(one.given), title: clip(className(one.given), 300) }), make("span", { class: "clip", text: "→ " + className(one.suggested), title: clip(className(one.suggested), 300) })),
      p: make("td", { text: small(one.p) }),
      agree: make("td", { class: "minor", text: one.agree === null ? "none" : `${percent(one.agree)} of ${one.neighbours}` }),
      similar: make("td", { class: "minor", text: percent(one.similar) }),
      source: make("td", { class: "minor text" }, make("span", { class: "clip", text: one.source < 0 ? "" : data.sources[one.source] })),
      decision: make("td", { class: "text" }, make("span", { class: "clip mark " + (value ? value.decision : ""), text: value ? words(value) : one.part ? "to review" : "" })),
    };
    return make("tr", { class: one === now ? "now" : "", click: () => select(one) }, ...HEADS.map(([name]) => cells[name]));
  }
  function select(one) {
    if (!view.includes(one)) { view.push(one); }
    const focused = $("rows").contains(document.activeElement);
    now = one;
    refresh();
    const current = $("rows").querySelector("tr.now");
    if (current && focused) current.querySelector("button").focus({ preventScroll: true });
  }
  function step(by) {
    const place = view.indexOf(now) + by;
    if (place >= 0 && place < view.length) select(view[place]); else refresh();
    const current = $("rows").querySelector("tr.now");
    if (current && matchMedia("(min-width: 60rem)").matches) current.scrollIntoView({ block: "nearest" });
  }

  // ---- one suspect ----

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
    const facts = [["given", given], ["suggested", suggested], ["p wrong", small(one.p) + (one.flagged ? ", flagged by confident learning" : "")],
      ...(one.source >= 0 ? [["source", data.sources[one.source]]] : []), ...(one.part ? [["here as", why[one.part]]] : []),
      ["decision", value ? words(value) + (value.reviewer ? ` by ${clip(value.reviewer, 60)}` : "") : "none yet"]];
    const other = make("select", { id: "other" }, make("option", { value: "", text: "another class …" }),
      ...data.classes.map((name, c) => make("option", { value: String(c), text: clip(name, 80) })).filter((_, c) => c !== one.given));
    other.addEventListener("change", () => { if (other.value !== "") decide(one, "relabel", className(Number(other.value))); });
    const likely = one.likely.map(([c, p], i) => make("li", {},
      c === one.given ? make("span", { text: "" }) : make("button", { "aria-label": `${i + 1}: relabel to ${clip(className(c), 80)}`, click: () => decide(one, "relabel", className(c)) }, make("kbd", { text: String(i + 1) })),
      make("span", { class: "clip", text: className(c) + (c === one.given ? " (given)" : "") }), make("span", { text: percent(p) }), meter(p)));
    box.replaceChildren(
      make("h3", { class: "id", text: one.node, ...(one.node.length > 200 ? { tabindex: "0" } : {}) }),
      make("dl", { class: "said" }, ...facts.flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text: clip(text, 400) })])),
      make("div", { class: "choices" }, button("R", "Relabel: " + suggested, "relabel", suggested), button("K", "Keep: " + given, "keep"), button("U", "Unsure", "unsure"),
        make("label", { for: "other", class: "tick", text: "or" }), other, make("button", { click: () => decide(one, null) }, "Clear ", make("kbd", { text: "C" }))),
      make("h3", { text: "Probable classes, without its own label" }), make("ul", { class: "votes likely" }, ...likely),
      around(one), cells(one));
    if (!value) box.querySelector(".choices").lastChild.disabled = true;
  }
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
    // Class numbers inside the shapes; circle: the given class, square: the suggested one, diamond: another, dashed: none.
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
      return draw("g", {}, svgText("title", {}, `${clip(name, 60)}: ${className(c)}`), shape, svgText("text", { x, y }, c < 0 ? "–" : String(c + 1)));
    };
    const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, role: "img" }, ...lines.map(([x1, y1, x2, y2]) => draw("line", { x1, y1, x2, y2 })),
      ...at.map(([x, y], i) => node(x, y, data.names[neighbours[i]][1], data.names[neighbours[i]][0], false)), node(W / 2, H / 2, one.given, one.node, true));
    svg.setAttribute("aria-label", `Neighbourhood of ${clip(one.node, 60)}: ` + neighbours.map((i) => className(data.names[i][1])).join(", "));
    const form = (c) => (c === one.given ? "○" : c === one.suggested ? "□" : "◇");
    const legend = [...used].filter((c) => c >= 0).map((c) => make("li", {}, make("b", { text: `${form(c)} ${c + 1}` }), make("span", { text: " " + clip(className(c), 80) + (c === one.given ? " (given)" : c === one.suggested ? " (suggested)" : "") })));
    return make("div", {}, svg, make("ul", { class: "legend" }, ...legend));
  }
  function cells(one) {
    const row = data.cells.rows[one.at], names = data.cells.names;
    if (!row || !row.length) return "";
    if (!names.length) return make("div", {}, make("h3", { text: `Largest of ${whole(data.cells.of)} features` }), make("p", { class: "note", text: row.map(([f, v]) => `${f}: ${v}`).join(", ") }));
    const pairs = names.map((name, i) => [name, row[i]]).filter(([, text]) => text !== "");
    return make("div", {}, make("h3", { text: "From the file" }), make("dl", { class: "cells" }, ...pairs.flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text, ...(text.length > 600 ? { tabindex: "0" } : {}) })])));
  }

  // ---- progress, events, start ----

  function tell() {
    const review = suspects.filter((one) => one.part), count = { relabel: 0, keep: 0, unsure: 0 };
    for (const value of decided.values()) count[value.decision]++;
    const done = review.filter((one) => decided.has(one.node)).length;
    const of = data.budget || suspects.length;
    $("progress").max = Math.max(of, 1);
    $("progress").value = data.budget ? done : decided.size;
    $("progress-text").textContent = (data.budget ? `${whole(done)} of ${whole(of)} of the review decided` : `${whole(decided.size)} decided`)
      + ` (${whole(count.relabel)} relabel, ${whole(count.keep)} keep, ${whole(count.unsure)} unsure` + (data.budget ? `; ${whole(decided.size - done)} besides)` : ")");
    $("undo").disabled = !past.length;
    $("kept").textContent = stored ? "Decisions are kept in this browser, for this audit, until you download them." : "This browser keeps nothing for this page: download your decisions before you leave.";
    showDistribution();
  }
  function onKey(event) {
    const target = event.target, typing = target.matches("input:not([type=checkbox]), select, textarea");
    if (typing && event.key === "Escape") return target.blur();
    if (typing || !$("keys").checked || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    const act = { r: () => decide(now, "relabel", className(now.suggested)), k: () => decide(now, "keep"), u: () => decide(now, "unsure"), c: () => decided.has(now.node) && decide(now, null) };
    if (key === "z") undo();
    else if (key === "/") $("search").focus();
    else if (!now) return;
    else if (act[key]) act[key]();
    else if (key === "n" || key === "arrowdown") step(1);
    else if (key === "p" || key === "arrowup") step(-1);
    else if (/^[1-9]$/.test(key) && one(key)) decide(now, "relabel", className(one(key)[0]));
    else return;
    event.preventDefault();
  }
  function one(key) {
    const entry = now.likely[Number(key) - 1];
    return entry && entry[0] !== now.given ? entry : null;
  }
  function options(id, entries) { $(id).append(...entries.map(([value, text]) => make("option", { value: String(value), text: clip(text, 80) }))); }

  restore();
  showFound();
  const many = data.classes.map((name, c) => [c, name]);
  options("given", [["", "all classes"], ...many]);
  options("suggested", [["", "all classes"], ...many]);
  options("source", [["", "all sources"], ...data.sources.map((name, s) => [s, name])]);
  $("source-box").hidden = !data.sources.length;
  options("show", [["all", "all suspects"], ...(data.budget ? [["review", "the review"], ["open-review", "the review, undecided"]] : []), ["flagged", "flagged"], ["open", "undecided"], ["decided", "decided"]]);
  if (data.budget) $("show").value = "review";
  $("heads").append(...HEADS.map(([name, text, , extra]) => {
    const th = make("th", { scope: "col", class: extra + (["node", "given", "source", "decision"].includes(name) ? " text" : "") }, make("button", { click: () => { sort = { by: name, down: sort.by === name ? !sort.down : name === "p" }; filter(); } }, text, make("span", { "aria-hidden": "true" })));
    th.dataset.name = name;
    return th;
  }));
  for (const id of ["show", "given", "suggested", "source", "from", "to"]) $(id).addEventListener("change", filter);
  let wait = 0;
  $("search").addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(filter, 120); });
  $("before").addEventListener("click", () => { now = view[Math.max(start - PAGE, 0)]; refresh(); });
  $("after").addEventListener("click", () => { now = view[Math.min(start + PAGE, view.length - 1)]; refresh(); });
  $("undo").addEventListener("click", undo);
  $("download").addEventListener("click", download);
  $("reviewer").addEventListener("change", keep);
  $("load").addEventListener("change", async () => {
    const [file] = $("load").files;
    if (!file) return;
    try { load(await file.text()); } catch (error) { say(`${clip(file.name, 60)} was not loaded: ${error.message}`); }
    $("load").value = "";
  });
  document.addEventListener("keydown", onKey);
  addEventListener("storage", (event) => { if (event.key === KEY) { restore(); tell(); refresh(); } }); // another tab decided
  tell();
  filter();
})();
