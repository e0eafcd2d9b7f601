// The map of all nodes: a canvas that moves, zooms and takes a lasso.

const POINT_BYTES = 16, NO_CLASS = 65535, NO_LABEL_INK = "#9aa0a8", STATUS_TEXTS = ["open", "relabel", "keep", "unsure", "disputed"];
let points = null; // typed arrays by name
let mapView = { x: 0, y: 0, zoom: 1 }, lassoPath = null, isLasso = false, chosen = [], drag = null;

async function loadMap() {
  const bytes = new DataView(await ask("/api/map")), count = bytes.byteLength / POINT_BYTES;
  points = { count, numLabeled: 0, x: new Float32Array(count), y: new Float32Array(count), node: new Uint32Array(count), given: new Uint16Array(count), status: new Uint8Array(count), p: new Uint8Array(count) };
  for (let i = 0; i < count; i++) {
    const at = i * POINT_BYTES;
    points.x[i] = bytes.getFloat32(at, true);
    points.y[i] = bytes.getFloat32(at + 4, true);
    points.node[i] = bytes.getUint32(at + 8, true);
    points.given[i] = bytes.getUint16(at + 12, true);
    points.status[i] = bytes.getUint8(at + 14);
    points.p[i] = bytes.getUint8(at + 15);
    if (points.given[i] !== NO_CLASS) points.numLabeled = i + 1; // those without a label come last
  }
  drawMap();
}
const seriesColor = (i) => getComputedStyle(document.documentElement).getPropertyValue(`--s${i % 10}`).trim();
function groupOf() {
  const { of, names, colors } = groupOfLabeled();
  if (points.numLabeled === points.count) return { of, names, colors };
  return { of: (i) => (i < points.numLabeled ? of(i) : names.length), names: [...names, "no label"], colors: [...colors, NO_LABEL_INK] };
}
function groupOfLabeled() {
  const kind = byId("color").value;
  if (kind === "given") return { of: (i) => points.given[i] % Math.max(data.class_names.length, 1), names: data.class_names, colors: data.class_names.map((_, c) => seriesColor(c)) };
  if (kind === "status") return { of: (i) => points.status[i], names: STATUS_TEXTS, colors: [4, 0, 2, 5, 7].map(seriesColor) };
  const colors = ["#8a8f98", seriesColor(2), seriesColor(5), seriesColor(1), seriesColor(7)];
  return { of: (i) => Math.min(4, points.p[i] / 51 | 0), names: ["p wrong below 0.2", "0.2 to 0.4", "0.4 to 0.6", "0.6 to 0.8", "0.8 and more"], colors };
}
function toScreen({ width, height }) { // the map fills the canvas, up to twice as wide or high as it is
  const wide = Math.min(width, 2 * height) * 0.96 * mapView.zoom, high = Math.min(height, 2 * width) * 0.96 * mapView.zoom;
  return { wide, high, left: width / 2 + (mapView.x - 0.5) * wide, top: height / 2 + (mapView.y - 0.5) * high };
}
function drawMap() {
  const canvas = byId("canvas"), ratio = devicePixelRatio || 1;
  if (!points || !canvas.clientWidth) return;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  const paint = canvas.getContext("2d"), screen = toScreen(canvas), { wide, high, left, top } = screen, group = groupOf();
  const side = Math.max(2, Math.round((points.count > 20000 ? 1.5 : points.count > 3000 ? 2.5 : 4) * Math.min(3, Math.sqrt(mapView.zoom)) * ratio));
  paintPoints(paint, group, side, screen);
  paint.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  paint.lineWidth = 2 * ratio;
  for (const i of chosen.slice(0, 2000)) paint.strokeRect(left + points.x[i] * wide - side, top + points.y[i] * high - side, 2 * side, 2 * side);
  if (lassoPath) { paint.beginPath(); lassoPath.forEach(([x, y]) => paint.lineTo(x * ratio, y * ratio)); paint.closePath(); paint.stroke(); }
  showLegend(group);
}
function paintPoints(paint, { of, colors }, sideOfLabeled, { wide, high, left, top }) { // pixel by pixel: so 100,000 points are fluid
  const { width, height } = paint.canvas, image = paint.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
  const inks = colors.map((color) => { const [r, g, b] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)); return (255 << 24 | b << 16 | g << 8 | r) >>> 0; });
  for (let i = points.count - 1; i >= 0; i--) { // labels above nodes without one
    const side = i < points.numLabeled ? sideOfLabeled : Math.max(1, sideOfLabeled - 1);
    const x = left - side / 2 + points.x[i] * wide | 0, y = top - side / 2 + points.y[i] * high | 0;
    if (x < 0 || y < 0 || x + side >= width || y + side >= height) continue;
    const ink = inks[of(i)];
    for (let row = y * width + x, end = row + side * width; row < end; row += width) for (let at = row; at < row + side; at++) pixels[at] = ink;
  }
  paint.putImageData(image, 0, 0);
}
let shownLegend = "";
function showLegend({ names, colors }) {
  const key = JSON.stringify([names, colors]);
  if (key === shownLegend) return;
  shownLegend = key;
  const shown = names.map((name, group) => [name, group]);
  byId("map-legend").replaceChildren(...[...shown.slice(0, 20), ...shown.slice(20).filter(([name]) => name === "no label")].map(([name, group]) => {
    const swatch = createElement("span", { class: "swatch" });
    swatch.style.background = colors[group];
    return createElement("li", {}, swatch, createElement("span", { class: "clip", text: name }));
  }));
}
let isDrawing = false;
function drawSoon() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => { isDrawing = false; drawMap(); });
}
function zoomMap(factor) { mapView = { ...mapView, zoom: Math.max(0.5, Math.min(200, mapView.zoom * factor)) }; drawSoon(); }
function moveMap(dx, dy) {
  const canvas = byId("canvas"), ratio = devicePixelRatio || 1, { wide, high } = toScreen(canvas);
  mapView = { ...mapView, x: mapView.x + dx * ratio / wide, y: mapView.y + dy * ratio / high };
  drawSoon();
}
function findPointsInLasso() {
  const canvas = byId("canvas"), ratio = devicePixelRatio || 1, { wide, high, left, top } = toScreen(canvas), found = [];
  const loop = lassoPath.map(([x, y]) => [(x * ratio - left) / wide, (y * ratio - top) / high]);
  const [xs, ys] = [loop.map(([x]) => x), loop.map(([, y]) => y)];
  const [west, east, north, south] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  for (let i = 0; i < points.numLabeled; i++) {
    const x = points.x[i], y = points.y[i];
    if (x < west || x > east || y < north || y > south) continue;
    let isInside = false;
    for (let a = 0, b = loop.length - 1; a < loop.length; b = a++)
      if (ys[a] > y !== ys[b] > y && x < ((xs[b] - xs[a]) * (y - ys[a])) / (ys[b] - ys[a]) + xs[a]) isInside = !isInside;
    if (isInside) found.push(i);
  }
  return found;
}
function findNearestPoint(x, y) {
  const canvas = byId("canvas"), ratio = devicePixelRatio || 1, { wide, high, left, top } = toScreen(canvas);
  let best = -1, least = (12 * ratio) ** 2;
  for (let i = 0; i < points.count; i++) {
    const distance = (left + points.x[i] * wide - x * ratio) ** 2 + (top + points.y[i] * high - y * ratio) ** 2;
    if (distance < least) { least = distance; best = i; }
  }
  return best;
}
function showChosen() {
  byId("map-text").textContent = chosen.length ? `Chosen: ${countOf(chosen.length, "label")}.` : "";
  byId("map-queue").disabled = !chosen.length;
  drawSoon();
}
function listenToMap() {
  const canvas = byId("canvas"), place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    drag = { from: place(event), last: place(event), isMoved: false };
    if (isLasso) lassoPath = [place(event)];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [x, y] = place(event);
    drag.isMoved ||= Math.hypot(x - drag.from[0], y - drag.from[1]) > 4;
    if (isLasso) { lassoPath.push([x, y]); drawSoon(); } else if (drag.isMoved) moveMap(x - drag.last[0], y - drag.last[1]);
    drag.last = [x, y];
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!drag || !points) return;
    if (isLasso && lassoPath.length > 2) { chosen = findPointsInLasso(); lassoPath = null; toggleLasso(false); showChosen(); }
    else if (!drag.isMoved) { const nearest = findNearestPoint(...place(event)); if (nearest >= 0) orShowError(() => visit(points.node[nearest])); }
    drag = null;
  });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoomMap(event.deltaY < 0 ? 1.15 : 1 / 1.15); }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) moveMap(...moves[event.key]); else if (event.key === "+") zoomMap(1.3); else if (event.key === "-" || event.key === "−") zoomMap(1 / 1.3); else return;
    event.preventDefault();
    event.stopPropagation();
  });
  byId("lasso").addEventListener("click", () => toggleLasso(!isLasso));
  byId("zoom-in").addEventListener("click", () => zoomMap(1.3));
  byId("zoom-out").addEventListener("click", () => zoomMap(1 / 1.3));
  byId("zoom-all").addEventListener("click", () => { mapView = { x: 0, y: 0, zoom: 1 }; drawSoon(); });
  byId("color").addEventListener("change", drawSoon);
  byId("map-queue").addEventListener("click", () => {
    query = { ...EMPTY_QUERY, order: "errors", nodes: chosen.map((i) => points.node[i]) };
    writeQuery();
    showView("review");
    orShowError(() => loadQueue());
  });
  addEventListener("resize", () => view === "map" && drawSoon());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
}
function toggleLasso(isOn) {
  isLasso = isOn;
  byId("lasso").setAttribute("aria-pressed", String(isOn));
  byId("canvas").classList.toggle("lasso", isOn);
}
