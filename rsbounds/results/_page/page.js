"use strict";
// Text from files goes through textContent alone; names in charts come escaped.
const at = (id) => document.getElementById(id);
const { charts, columns, runs, rows } = JSON.parse(at("data").textContent);

// The toolbar shows on hover, by the style; the library's own button would send data to its makers.
const CONFIG = { responsive: true, displayModeBar: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "" };
const font = { family: getComputedStyle(document.body).fontFamily, size: 13 };
for (const [id, { traces, layout }] of Object.entries(charts)) {
  const look = { margin: { l: 60, r: 20, t: 30, b: 50 }, font, hovermode: "closest" };
  Plotly.newPlot(id, traces, { ...look, ...layout }, CONFIG);
}

const PAGE = 100;
const [head, body] = at("rows").children;
let column = null, down = false, shown = PAGE;

function add(parent, tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  parent.append(element);
  return element;
}

// Numbers by value, then text; what is unknown last.
function compare(a, b) {
  const [x, y] = [a, b].map((v) => (v === "inf" ? Infinity : v));
  const rank = (v) => (v === "-" || v === "" ? 2 : typeof v === "number" ? 0 : 1);
  return rank(x) - rank(y) || (x < y ? -1 : x > y ? 1 : 0);
}

function draw() {
  const chosen = rows.filter((row) => at("run").value === "" || row[0] === Number(at("run").value));
  const value = (row) => (column === 0 ? runs[row[0]] : row[column]);
  if (column !== null) chosen.sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)));
  const lines = document.createElement("tbody");
  for (const [run, ...values] of chosen.slice(0, shown)) {
    const line = add(lines, "tr", "");
    for (const text of [runs[run], ...values]) add(line, "td", text);
  }
  body.replaceChildren(...lines.children);
  at("shown").textContent = `${body.children.length} of ${chosen.length} rows`;
  at("more").hidden = body.children.length === chosen.length;
  [...head.rows[0].cells].forEach((th, i) =>
    th.setAttribute("aria-sort", i !== column ? "none" : down ? "descending" : "ascending"));
}

const line = add(head, "tr", "");
columns.forEach((name, i) => add(line, "th", name).addEventListener("click", () => {
  [column, down] = [i, column === i && !down];
  draw();
}));
add(at("run"), "option", "all").value = "";
runs.forEach((name, i) => { add(at("run"), "option", name).value = String(i); });
at("run").addEventListener("change", () => { shown = PAGE; draw(); });
at("more").addEventListener("click", () => { shown += 10 * PAGE; draw(); });
draw();
