// The height of a step curve at a place: "M x y" and then "V y H x" for each step.
function height(path, place) {
  const [, first, ...rest] = path.getAttribute("d").match(/[\d.]+/g).map(Number);
  if (place <= 0) return first;
  for (let i = 0; i < rest.length; i += 2) if (rest[i + 1] >= place) return rest[i];
  return rest.at(-2);
}

// What a chart says at a share of its width: of the axis first, then of each series.
function values(chart, share) {
  const series = [...chart.querySelectorAll("[data-series]")];
  series.sort((a, b) => a.dataset.series - b.dataset.series);
  const lines = series.map((own) => own.querySelector(".line"));
  if (chart.dataset.end) {
    const radius = Number((share * chart.dataset.end).toPrecision(3));
    const reach = chart.dataset.reach;  // of an axis of differences, whose middle is 0
    const shares = lines.map((own) => 1 - height(own, 1000 * share) / 1000);
    return [radius, ...shares.map((own) => (reach ? (2 * own - 1) * reach : own).toFixed(3))];
  }
  const classes = chart.dataset.classes.split(" ");
  const at = Math.min(Math.floor(share * classes.length), classes.length - 1);
  return [classes[at], ...lines.map((own) => own.dataset.values.split(";")[at])];
}

for (const chart of document.querySelectorAll(".chart")) {
  const plot = chart.querySelector(".plot"), cursor = plot.querySelector("i");
  const boxes = [...chart.querySelectorAll("input")], outputs = [...chart.querySelectorAll("output")];
  const show = (event) => {
    const { left, width } = plot.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - left) / width, 0), 1);
    cursor.style.cssText = `display: block; left: ${100 * share}%`;
    values(chart, share).forEach((text, i) => { outputs[i].textContent = text; });
  };
  for (const name of ["pointermove", "pointerdown"]) plot.addEventListener(name, show);
  plot.addEventListener("pointerleave", () => {
    cursor.style.display = "none";
    for (const own of outputs) own.textContent = "";
  });
  boxes.forEach((box, i) => box.addEventListener("change", () => {
    chart.querySelector(`[data-series="${i}"]`).style.display = box.checked ? "" : "none";
  }));
}

// The rows, text until they are asked for, as a table whose columns sort.
document.getElementById("rows").addEventListener("toggle", (event) => {
  const text = event.target.querySelector("pre");
  const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
  const [names, ...lines] = text.textContent.split("\n").map((line) => line.split("\t"));
  for (const name of names) {
    const cell = head.appendChild(document.createElement("th"));
    cell.textContent = name;
    cell.tabIndex = 0;
  }
  for (const line of lines) {
    const row = body.insertRow();
    for (const value of line) row.insertCell().textContent = value;
  }
  text.replaceWith(table);
}, { once: true });
