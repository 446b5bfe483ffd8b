"use strict";
// The tables of a data set and a norm; the page shows all of them without this.
const form = document.querySelector("form"), sections = [...document.querySelectorAll("section")];

function filter() {
  const shown = sections.filter((section) => {
    const fits = ["data", "norm"].every((name) => !form[name].value || form[name].value === section.dataset[name]);
    section.hidden = !fits;
    return fits;
  });
  form.querySelector("output").textContent = `${shown.length} of ${sections.length} tables`;
}

// The curve of the row that is pointed at, or has the focus.
function mark(event) {
  const row = event.target.closest?.("tr[data-curve]");
  for (const curve of document.querySelectorAll(".curve.on")) curve.classList.remove("on");
  if (row) document.getElementById(row.dataset.curve)?.classList.add("on");
}

form.hidden = false;
form.addEventListener("change", filter);
for (const name of ["mouseover", "focusin"]) document.addEventListener(name, mark);
filter();
