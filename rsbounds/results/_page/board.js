"use strict";
const [head, body] = document.getElementById("rows").children;
const cells = [...head.rows[0].cells];

// What stands first in a cell: a number by its value, text behind numbers.
function key(row, i) {
  const text = row.cells[i].firstChild.textContent;
  const value = text === "inf" ? Infinity : parseFloat(text);
  return [Number.isNaN(value), Number.isNaN(value) ? text : value];
}

function sort(i) {
  const up = cells[i].ariaSort === "descending";
  const rows = [...body.rows].map((row) => [key(row, i), row]);
  rows.sort(([[a, x]], [[b, y]]) => a - b || (up ? 1 : -1) * (x < y ? -1 : x > y ? 1 : 0));
  body.replaceChildren(...rows.map(([, row]) => row));
  cells.forEach((th, k) => { th.ariaSort = k !== i ? "none" : up ? "ascending" : "descending"; });
}

cells.forEach((th, i) => {
  th.addEventListener("click", () => sort(i));
  th.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(i); });
});
