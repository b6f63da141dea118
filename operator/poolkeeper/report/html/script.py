"""The one script: tables of a fleet's page can be sorted by any column and filtered by name.

It is inside the page, loads nothing and sends nothing: the page's policy allows exactly this text
and no network. What it needs is made by it, so that without it the page is whole and shows no dead
control. Heads of columns become buttons, which the keyboard reaches; a sorted column says so to
screen readers. Values that are unknown come last in either direction. The filter stands in the
page's address (`#main`), so that somebody can be sent to their cluster.
"""

SCRIPT = """
"use strict";
(() => {
  const find = document.querySelector(".find");
  if (!find) return;
  const box = find.querySelector("input"), told = find.querySelector("output");
  const key = (cell) => {
    const order = cell.dataset.o;
    if (order !== undefined) return order === "" ? null : Number(order);
    const text = cell.textContent.trim();
    if (/^\\d+$/.test(text)) return Number(text);
    return text === "" ? null : text.toLowerCase();
  };
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    if (typeof a === "number") return sign * (a - b);
    return sign * a.localeCompare(b, "en", { numeric: true });
  };
  const sort = (head, column) => {
    const body = head.closest("table").tBodies[0];
    const was = head.getAttribute("aria-sort");
    const down = was ? was === "ascending" : head.classList.contains("n");
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = Array.from(body.rows, (row, place) => [key(row.cells[column]), place, row]);
    rows.sort((a, b) => compare(a[0], b[0], down ? -1 : 1) || a[1] - b[1]);
    body.append(...rows.map((each) => each[2]));
  };
  for (const table of document.querySelectorAll("table")) {
    if (table.tBodies[0].rows.length < 2) continue;
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(head, column));
      head.append(button);
    });
  }
  const found = [];
  for (const table of document.querySelectorAll("table[data-by]")) {
    const column = Number(table.dataset.by);
    for (const row of table.tBodies[0].rows) {
      found.push([row.cells[column].textContent.toLowerCase(), row]);
    }
  }
  for (const item of document.querySelectorAll("li[data-by]")) {
    found.push([item.dataset.by.toLowerCase(), item]);
  }
  const filter = () => {
    const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let shown = 0;
    for (const [name, element] of found) {
      const fits = !words.length || words.some((word) => name.includes(word));
      element.hidden = !fits;
      shown += fits;
    }
    told.value = words.length
      ? `${shown.toLocaleString("en")} of ${found.length.toLocaleString("en")} rows` : "";
  };
  const read = () => {
    try { box.value = decodeURIComponent(location.hash.slice(1)); } catch { box.value = ""; }
    filter();
  };
  let waits = 0;
  box.addEventListener("input", () => {
    clearTimeout(waits);
    waits = setTimeout(() => {
      filter();
      history.replaceState(null, "", `#${encodeURIComponent(box.value.trim())}`);
    }, 120);
  });
  addEventListener("hashchange", read);
  find.hidden = false;
  read();
})();
"""

SCRUB = """
const box = document.querySelector(".scrub");
if (box) {
  const slider = box.querySelector("input");
  const told = box.querySelector("output");
  const moments = [...box.querySelectorAll("li")].map((each) => each.textContent);
  const cursors = [...document.querySelectorAll(".cursor")];
  const show = () => {
    const place = Number(slider.value);
    told.textContent = moments[place];
    slider.setAttribute("aria-valuetext", moments[place]);
    for (const cursor of cursors) {
      const x = Number(cursor.dataset.from) + (place + 0.5) * Number(cursor.dataset.step);
      cursor.setAttribute("transform", `translate(${x} 0)`);
      const picture = cursor.ownerSVGElement, frame = picture.parentElement;
      const shown = (x * frame.scrollWidth) / picture.viewBox.baseVal.width;
      frame.scrollLeft = shown - frame.clientWidth / 2;
    }
  };
  slider.addEventListener("input", show);
  box.hidden = false;
  show();
}
"""
"""Moves the cursor of pictures through time: a slider, which the keyboard moves as well.

Where a picture is wider than the screen, it is scrolled so that the cursor stays in sight.
"""
