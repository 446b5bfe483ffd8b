"use strict";
// Text from files goes through textContent alone; names in charts come escaped.
const { charts, columns, runs, rows } = JSON.parse(document.getElementById("data").textContent);

// The toolbar shows on hover, by the style; the library's own button would send data to its makers.
const CONFIG = { responsive: true, displayModeBar: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "" };
const font = { family: getComputedStyle(document.body).fontFamily, size: 13 };
for (const [id, { traces, layout }] of Object.entries(charts)) {
  const look = { margin: { l: 60, r: 20, t: 30, b: 50 }, font, hovermode: "closest" };
  Plotly.newPlot(id, traces, { ...look, ...layout }, CONFIG);
}

const PAGE = 100;
const run = document.getElementById("run");
const [head, body] = document.getElementById("rows").children;
let sorted = { column: null, down: false };
let shown = PAGE;

function cell(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

// Numbers by value, then text; what is unknown last.
function compare(a, b) {
  const key = (v) => (v === "inf" ? Infinity : v);
  const [x, y] = [key(a), key(b)];
  const rank = (v) => (v === "-" || v === "" ? 2 : typeof v === "number" ? 0 : 1);
  if (rank(x) !== rank(y)) return rank(x) - rank(y);
  return x < y ? -1 : x > y ? 1 : 0;
}

function draw() {
  let chosen = run.value === "" ? rows.slice() : rows.filter((row) => row[0] === Number(run.value));
  const { column, down } = sorted;
  if (column !== null) {
    const value = (row) => (column === 0 ? runs[row[0]] : row[column]);
    chosen.sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)));
  }
  const lines = chosen.slice(0, shown).map((row) => {
    const line = document.createElement("tr");
    line.append(...row.map((value, i) => cell("td", i === 0 ? runs[value] : value)));
    return line;
  });
  body.replaceChildren(...lines);
  document.getElementById("shown").textContent = `${lines.length} of ${chosen.length} rows`;
  document.getElementById("more").hidden = lines.length === chosen.length;
  [...head.rows[0].cells].forEach((th, i) =>
    th.setAttribute("aria-sort", i !== column ? "none" : down ? "descending" : "ascending"));
}

const line = document.createElement("tr");
columns.forEach((name, i) => {
  const th = cell("th", name);
  th.addEventListener("click", () => {
    sorted = { column: i, down: sorted.column === i && !sorted.down };
    draw();
  });
  line.append(th);
});
head.append(line);
const all = cell("option", "all");
all.value = "";
run.append(all, ...runs.map((name, i) => {
  const option = cell("option", name);
  option.value = String(i);
  return option;
}));
run.addEventListener("change", () => { shown = PAGE; draw(); });
document.getElementById("more").addEventListener("click", () => { shown += 10 * PAGE; draw(); });
draw();
