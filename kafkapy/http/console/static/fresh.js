// What a page marks as live is asked for again now and then, as long as somebody sees it.
const EVERY_MS = 10_000;

export function fresh() {
  if (!document.querySelector("[data-live]")) return;
  setInterval(async () => {
    if (document.hidden) return;
    let text;
    try {
      const answer = await fetch(location.href);
      if (!answer.ok) return;
      text = await answer.text();
    } catch {
      return; // the node is away: the next time
    }
    const page = new DOMParser().parseFromString(text, "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const newer = page.getElementById(part.id);
      if (newer && !part.contains(document.activeElement)) part.replaceWith(newer);
    }
  }, EVERY_MS);
}
