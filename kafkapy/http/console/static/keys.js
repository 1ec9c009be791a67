// / to the search, j and k through the rows, Enter opens, g and a letter goes to a page.
const PAGES = {
  o: "/",
  t: "/console/topics",
  g: "/console/groups",
  x: "/console/transactions",
  s: "/console/schemas",
  a: "/console/acls",
  w: "/console/alerts",
  l: "/console/logs",
  r: "/console/relays",
};

export function keys() {
  let goes = false;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const goesNow = goes;
    goes = false;
    if (goesNow && PAGES[event.key]) {
      location.href = PAGES[event.key];
    } else if (event.key === "/") {
      const search = document.querySelector("input[type=search]");
      if (!search) return;
      search.focus();
      search.select();
    } else if (event.key === "j" || event.key === "k") {
      step(event.key === "j" ? 1 : -1);
    } else if (event.key === "g") {
      goes = true;
    } else {
      return;
    }
    event.preventDefault();
  });
}

// The link of the row gets the focus, so that Enter is the browser's own.
function step(by) {
  const rows = [...document.querySelectorAll("table.rows tbody tr")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.classList.contains("chosen"));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
  if (at >= 0) rows[at].classList.remove("chosen");
  next.classList.add("chosen");
  next.scrollIntoView({ block: "nearest" });
  next.querySelector("a.open")?.focus({ preventScroll: true });
}
