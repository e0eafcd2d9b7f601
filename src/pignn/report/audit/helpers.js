// The data of the page, by the names that every part uses.

const data = JSON.parse(document.getElementById("data").textContent);
const PAGE_SIZE = 50, MAX_UNDO_STEPS = 500, STORAGE_KEY = "pignn-audit-" + data.key;
const DECISIONS = ["relabel", "keep", "unsure"];

// Columns come by name: one object per suspect has a field per column.
const suspects = data.suspects.node.map((_, index) => {
  const suspect = { index };
  for (const [name, values] of Object.entries(data.suspects)) suspect[name] = values[index];
  return suspect;
});
const suspectByNode = new Map(suspects.map((suspect) => [suspect.node, suspect]));
const knownClasses = new Set(data.class_names);
const numNeighborhoods = (data.neighborhoods.degree || []).length;

// The cell of a declared column, by its kind.
function formatColumn(column, suspect) {
  const value = suspect[column.name];
  if (value === null || value === undefined) return column.total ? "none" : "–";
  if (column.kind === "probability") return formatProbability(value);
  if (column.kind === "share") return formatPercent(value) + (column.total ? ` of ${formatCount(suspect[column.total])}` : "");
  if (column.kind === "category") return data.categories[column.name][value];
  return column.kind === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 6 }) : value;
}
