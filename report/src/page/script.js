"use strict";
// Marks the lines that belong to the one that is clicked: the same IR line, the same source line.
document.addEventListener("click", (event) => {
  const row = event.target.closest(".code tr");
  if (!row) return;
  const section = row.closest("section");
  for (const old of document.querySelectorAll("tr.on")) old.classList.remove("on");
  const { i, s } = row.dataset;
  // Of machine code and IR the IR line counts, of source the source line; each brings the source line along.
  const same = (other) => other === row || (i !== undefined
    ? other.dataset.i === i || (other.id[0] === "s" && s !== undefined && other.dataset.s === s)
    : s !== undefined && other.dataset.s === s);
  for (const column of section.querySelectorAll(".column")) {
    let first = null;
    for (const other of column.querySelectorAll("tr[data-i],tr[data-s]")) {
      if (!same(other)) continue;
      other.classList.add("on");
      first = first || other;
    }
    if (first && !column.contains(row)) column.scrollTop += first.getBoundingClientRect().top - column.getBoundingClientRect().top - 40;
  }
  row.classList.add("on");
});
