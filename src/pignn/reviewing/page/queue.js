// The queue: which labels, in which order, and the one that is looked at.

const decisionText = (item) => ({ relabel: "→ " + item.label, keep: "✓ keep", unsure: "? unsure", skip: "skipped", disputed: "≠ disputed" })[item.decision] || "";

async function loadQueue(node = null) {
  let page, before;
  do { // a list from before a decision would show its label as undecided
    before = numActs;
    page = await ask("/api/queue", { query, offset: 0, limit: PAGE_SIZE });
  } while (before !== numActs || (isBusy && await wait(50) === undefined));
  ({ items, total } = page);
  current = Math.max(items.findIndex((item) => item.node === node), items.length ? 0 : -1);
  showQueue();
  await loadDetail(node !== null && (current < 0 || items[current].node !== node) ? node : undefined);
}
async function extendQueue() {
  const page = await ask("/api/queue", { query, offset: 0, limit: PAGE_SIZE });
  const known = new Set(items.map((item) => item.node));
  const added = page.items.filter((item) => !known.has(item.node));
  items.push(...added);
  total = page.total;
  return added.length;
}
function showQueue() {
  byId("rows").replaceChildren(...items.map(createRow));
  const undecided = items.filter((item) => !item.decision).length;
  byId("queue-text").textContent = total ? `${countOf(total, "label")} in the queue` + (undecided < items.length ? `; ${undecided} of those listed are undecided` : "") : "No label matches.";
  byId("bulk").disabled = !total;
  showFilterText();
  const row = byId("rows").children[current];
  if (row) keepRowInSight(row);
}
function keepRowInSight(row) {
  const box = byId("rows-box"), top = row.offsetTop, end = top + row.offsetHeight;
  if (top < box.scrollTop + 30) box.scrollTop = top - 30; else if (end > box.scrollTop + box.clientHeight) box.scrollTop = end - box.clientHeight;
}
function createRow(item, index) {
  const name = createElement("button", { class: "clip", text: clip(item.name, 60), ...(index === current ? { "aria-current": "true" } : { tabindex: "-1" }) });
  const classes = [["", item.given], ["→ ", item.suggested]].map(([arrow, c]) => createElement("span", { class: "clip", text: arrow + className(c), title: clip(className(c), 300) }));
  return createElement("tr", { class: index === current ? "now" : "", click: () => { current = index; showQueue(); loadDetail(); } },
    createElement("td", {}, name), createElement("td", { class: "text" }, ...classes), createElement("td", { text: formatProbability(item.p_wrong) }),
    createElement("td", { class: "text" }, createElement("span", { class: "clip mark " + item.decision, text: decisionText(item) })));
}
async function move(by) {
  if (current + by >= items.length && by > 0 && items.length < total) await orShowError(extendQueue);
  if (current + by < 0 || current + by >= items.length) return;
  current += by;
  showQueue();
  await loadDetail();
}
async function moveToUndecided() {
  let next = items.findIndex((item, index) => index > current && !item.decision);
  if (next < 0 && query.state === "open") {
    await loadQueue();
    return;
  }
  if (next < 0) next = Math.min(current + 1, items.length - 1);
  current = next;
  showQueue();
  await loadDetail();
}

// ---- what to look at ----

function readQuery() {
  const number = (id) => (byId(id).value === "" ? null : Number(byId(id).value));
  query = { ...query, order: byId("order").value, state: byId("state").value, search: byId("search").value, given: number("given"), suggested: number("suggested"), source: number("source"), cluster: number("cluster"), low: number("low") ?? 0, high: number("high") ?? 1 };
  orShowError(() => loadQueue());
}
function writeQuery() {
  for (const id of ["order", "state", "search"]) byId(id).value = query[id];
  for (const id of ["given", "suggested", "source", "cluster"]) byId(id).value = query[id] ?? "";
  byId("low").value = query.low > 0 ? query.low : "";
  byId("high").value = query.high < 1 ? query.high : "";
}
function showFilterText() {
  const texts = ["given", "suggested", "source", "cluster"].filter((id) => query[id] !== null).map((id) => `${id}: ${clip(byId(id).selectedOptions[0]?.textContent || "", 40)}`);
  if (query.low > 0 || query.high < 1) texts.push(`p wrong ${query.low} to ${query.high}`);
  if (query.nodes) texts.push(`${formatCount(query.nodes.length)} chosen on the map`);
  byId("filter-text").textContent = texts.length ? "— " + texts.join(", ") : "";
}
function fillOptions(id, entries) { byId(id).replaceChildren(...entries.map(([value, text]) => createElement("option", { value: String(value), text: clip(text, 80) }))); }
function fillQueryOptions() {
  const classes = data.class_names.map((name, c) => [c, name]), chosen = { ...query };
  fillOptions("order", ORDERS);
  fillOptions("state", STATES);
  fillOptions("given", [["", "all classes"], ...classes]);
  fillOptions("suggested", [["", "all classes"], ...classes]);
  fillOptions("source", [["", "all sources"], ...project.source_names.map((name, s) => [s, `${name} (${formatPercent(project.source_error_rates[s])} wrong)`])]);
  fillOptions("cluster", [["", "all clusters"], ...Array.from({ length: project.num_clusters }, (_, c) => [c, `cluster ${c + 1}`])]);
  byId("source-box").hidden = !project.source_names.length;
  query = chosen;
  writeQuery();
}
