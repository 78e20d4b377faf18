// Sorting, searching and the crosshair of charts, by listeners on the document: parts of a page may
// come and go, and a notebook may hold several of them.
if (!globalThis.dwindlePage) {
  globalThis.dwindlePage = true;
  const near = (event, what) => event.target.closest?.(what);

  const value = (row, column) => {
    const cell = row.cells[column];
    const exact = cell.dataset.v;
    return exact === undefined ? cell.textContent : exact === "" ? NaN : Number(exact);
  };

  // Names go up first, numbers down; the button turns the order round.
  document.addEventListener("click", (event) => {
    const button = near(event, ".dwindle .sort");
    if (!button) return;
    const head = button.closest("th");
    const body = head.closest("table").tBodies[0];
    const column = head.cellIndex;
    const rows = [...body.rows].map((row) => ({ row, value: value(row, column) }));
    const numeric = rows.some((each) => typeof each.value === "number");
    const before = head.getAttribute("aria-sort");
    const first = numeric ? "descending" : "ascending";
    const now = before === first ? (numeric ? "ascending" : "descending") : first;
    const sign = now === "ascending" ? 1 : -1;
    const compare = numeric
      ? (a, b) => isNaN(a.value) - isNaN(b.value) || sign * (a.value - b.value)
      : (a, b) => sign * a.value.localeCompare(b.value, undefined, { numeric: true });
    rows.sort(compare);
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", now);
    body.append(...rows.map((each) => each.row));
  });

  // Every word must be in a row, whatever its case; the menu picks values of the first column.
  const filter = (event) => {
    const part = near(event, ".dwindle .searched");
    if (!part) return;
    const words = part.querySelector("input").value.toLowerCase().split(/\s+/);
    const picked = part.querySelector("select")?.value ?? "";
    let shown = 0;
    const rows = part.querySelector("table").tBodies[0].rows;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word));
      const here = fits && (picked === "" || `=${row.cells[0].textContent}` === picked);
      row.classList.toggle("hide", !here);
      shown += here;
    }
    part.querySelector(".count").textContent = shown === rows.length ? "" : `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
  };
  document.addEventListener("input", filter);
  document.addEventListener("change", filter);

  // The crosshair tells the row of the chart's table that is nearest to the pointer.
  const tell = (svg, k) => {
    const plot = svg.parentNode;
    const table = svg.closest("figure").querySelector("details table");
    const row = table?.tBodies[0].rows[k];
    if (!row) return;
    const heads = table.tHead.rows[0].cells;
    const at = Number(svg.dataset.at.split(" ")[k]);
    const cross = svg.querySelector(".cross");
    cross.setAttribute("x1", at);
    cross.setAttribute("x2", at);
    const tip = plot.querySelector(".tip");
    tip.textContent = [...row.cells].map((cell, i) => `${heads[i].textContent}  ${cell.textContent}`).join("\n");
    svg.dataset.k = k;
    plot.classList.add("on");
    const width = svg.getBoundingClientRect().width;
    const left = (at / svg.viewBox.baseVal.width) * width;
    tip.style.left = `${left > width / 2 ? Math.max(0, left - tip.offsetWidth - 10) : left + 10}px`;
  };
  const leave = (event) => near(event, ".dwindle .plot")?.classList.remove("on");
  document.addEventListener("pointermove", (event) => {
    const svg = near(event, ".dwindle svg[data-at]");
    if (!svg || !svg.dataset.at) return;
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const far = svg.dataset.at.split(" ").map((at) => Math.abs(at - x));
    tell(svg, far.indexOf(Math.min(...far)));
  });
  document.addEventListener("pointerout", leave);
  document.addEventListener("focusout", leave);
  document.addEventListener("keydown", (event) => {
    const svg = near(event, ".dwindle svg[data-at]");
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") leave(event);
    if (!svg || !step || !svg.dataset.at) return;
    event.preventDefault();
    const last = svg.dataset.at.split(" ").length - 1;
    const k = svg.dataset.k === undefined ? (step > 0 ? 0 : last) : Number(svg.dataset.k) + step;
    tell(svg, Math.min(Math.max(k, 0), last));
  });
}
