// What a page marks as live is asked for again now and then, as long as somebody sees it.
const EVERY_MS = 10_000;

export function fresh() {
  if (!document.querySelector("[data-live]")) return;
  const stale = document.getElementById("stale");
  let since = new Date();
  // Numbers that stand still because nobody answers are not taken for numbers that stand still.
  const say = (why) => {
    const at = since.toISOString().slice(11, 19);
    stale.textContent = `What you see is of ${at}: ${why}`;
    stale.hidden = false;
  };
  setInterval(async () => {
    if (document.hidden) return;
    let text;
    try {
      const answer = await fetch(location.href);
      if (answer.status === 401) return say("your login is no longer taken. Reload the page to log in.");
      if (!answer.ok) return say(`the node answers with ${answer.status} now.`);
      text = await answer.text();
    } catch {
      return say("the node does not answer."); // the next time, maybe
    }
    since = new Date();
    stale.hidden = true;
    const page = new DOMParser().parseFromString(text, "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const newer = page.getElementById(part.id);
      if (newer && !part.contains(document.activeElement)) part.replaceWith(newer);
    }
  }, EVERY_MS);
}
