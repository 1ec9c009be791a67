// What pages do beyond being pages; all of them work without.
import { fresh } from "./fresh.js";
import { keys } from "./keys.js";
import { follow } from "./tail.js";

// A field that belongs to one choice of a select is there with that choice only.
function fitting(form) {
  const select = form.querySelector("select");
  const show = () => {
    for (const part of form.querySelectorAll("[data-for]")) {
      part.hidden = part.dataset.for !== select.value;
    }
  };
  select.addEventListener("change", show);
  show();
}

// On a phone these are one line that scrolls.
for (const here of document.querySelectorAll("nav [aria-current=page]")) {
  here.parentElement.scrollLeft = here.offsetLeft - 40;
}
keys();
fresh();
const filters = document.getElementById("filters");
if (filters) fitting(filters);
const button = document.getElementById("follow");
if (button) follow(button, filters, document.getElementById("records"));
