"use strict";
// What stands first in a cell: a number by its value, text behind numbers.
function key(row, i) {
  const text = row.cells[i].firstChild?.textContent ?? "";
  const value = text === "inf" ? Infinity : parseFloat(text);
  return [Number.isNaN(value), Number.isNaN(value) ? text : value];
}

function sort(event) {
  if (event.type === "keydown" && event.key !== "Enter") return;
  const head = event.target, up = head.ariaSort === "descending", body = head.closest("table").tBodies[0];
  const rows = [...body.rows].map((row) => [key(row, head.cellIndex), row]);
  rows.sort(([[a, x]], [[b, y]]) => a - b || (up ? 1 : -1) * (x < y ? -1 : x > y ? 1 : 0));
  for (const cell of head.parentNode.cells) cell.ariaSort = "none";
  head.ariaSort = up ? "ascending" : "descending";
  body.replaceChildren(...rows.map(([, row]) => row));
}

for (const name of ["click", "keydown"]) {
  document.addEventListener(name, (event) => { if (event.target.tagName === "TH") sort(event); });
}
