// A box of the legend shows and hides what it stands for.
for (const box of document.querySelectorAll("input[data-series]")) {
  box.addEventListener("change", () => {
    for (const part of document.querySelectorAll(`[id^="${box.dataset.series}"]`)) {
      part.style.display = box.checked ? "" : "none";
    }
  });
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
