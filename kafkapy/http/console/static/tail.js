// Live records by server-sent events: the newest on top, the oldest rows go.
const MOST_ROWS = 200;
const UNITS = ["B", "KiB", "MiB", "GiB"];

export function follow(button, filters, records) {
  const said = document.getElementById("said");
  let source = null;
  let count = 0;

  const say = (text) => {
    said.textContent = text;
  };
  const stop = (text) => {
    source?.close();
    source = null;
    button.setAttribute("aria-pressed", "false");
    button.textContent = "Follow live";
    say(text);
  };
  const start = () => {
    const fields = new FormData(filters);
    const wanted = new URLSearchParams();
    for (const name of ["partition", "q", "where", "as"]) wanted.set(name, fields.get(name));
    count = 0;
    records.replaceChildren();
    document.getElementById("pages").replaceChildren();
    button.setAttribute("aria-pressed", "true");
    button.textContent = "Stop";
    source = new EventSource(`${button.dataset.tail}?${wanted}`);
    source.addEventListener("open", () => say(`Following: ${count} since then.`));
    source.addEventListener("record", (event) => {
      records.prepend(row(JSON.parse(event.data), records.dataset.base));
      while (records.rows.length > MOST_ROWS) records.lastElementChild.remove();
      count += 1;
      say(`Following: ${count} since then.`);
    });
    source.addEventListener("skipped", (event) => {
      const one = JSON.parse(event.data);
      say(`Too fast to follow: ${one.count} of partition ${one.partition} left out.`);
    });
    source.addEventListener("failed", (event) => stop(JSON.parse(event.data).said));
    source.addEventListener("error", () => {
      if (source?.readyState === EventSource.CLOSED) stop("It cannot be followed (any more).");
    });
  };
  button.addEventListener("click", () => {
    if (source) stop(`${count} came while it was followed.`);
    else start();
  });
  button.hidden = false;
}

function row(one, base) {
  const made = document.createElement("tr");
  made.className = "fresh";
  const link = document.createElement("a");
  link.className = "open";
  link.href = `${base}/${one.partition}/${one.offset}`;
  link.textContent = one.offset;
  const time = one.time < 0 ? "–" : new Date(one.time).toISOString().replace("T", " ").slice(0, 23);
  cell(made, "num", String(one.partition));
  cell(made, "num", link);
  cell(made, "time", time);
  cell(made, `mono cell ${one.key_kind}`, one.key);
  cell(made, `mono cell ${one.kind}`, one.value + (one.is_cut ? " …" : ""));
  cell(made, "num", size(one.size));
  cell(made, "num", one.headers ? String(one.headers) : "");
  return made;
}

// As text or as an element, never as markup: records are anybody's.
function cell(row, name, content) {
  const made = document.createElement("td");
  made.className = name;
  made.append(content);
  row.append(made);
}

function size(count) {
  let at = 0;
  let value = count;
  for (; value >= 1024 && at < UNITS.length - 1; at++) value /= 1024;
  return at ? `${value.toFixed(1)} ${UNITS[at]}` : `${count} B`;
}
