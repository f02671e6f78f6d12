// Shows the page that the address asks for, and listens to the keyboard.
import { el, chosen } from "./dom.js";
import { runs } from "./runs.js";
import { run } from "./run.js";
import { compare } from "./compare.js";
import { experiments, experiment } from "./experiments.js";

const main = document.getElementById("content");
const pages = { runs, run, compare, experiments, experiment };
// What the keyboard speaks to: the table of the page, if it has one.
let active = null, asked = 0;

async function show() {
  const [, name = "runs", ...rest] = (location.hash || "#/runs").split("/");
  const page = pages[name] ?? runs;
  const own = ++asked;
  for (const link of document.querySelectorAll("nav a")) {
    const current = link.dataset.page === name || (name === "run" && link.dataset.page === "runs") || (name === "experiment" && link.dataset.page === "experiments");
    if (current) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  document.body.dataset.ready = "";
  let made;
  try {
    made = await page(...rest.map(decodeURIComponent));
  } catch (error) {
    made = { title: "cohesim", node: el("p", { class: "error" }, error.message) };
  }
  // The user may have gone on meanwhile.
  if (own !== asked) return;
  active = made.table ?? null;
  main.replaceChildren(made.node);
  document.title = `${made.title} - cohesim`;
  window.scrollTo(0, 0);
  document.body.dataset.ready = name;
}

let went = 0;
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select, textarea");
  if (event.key === "Escape" && typing) return event.target.blur();
  if (typing && event.target.type !== "checkbox") return;
  const going = Date.now() - went < 1500;
  went = 0;
  if (going && { r: 1, c: 1, e: 1 }[event.key]) {
    location.hash = { r: "#/runs", c: "#/compare", e: "#/experiments" }[event.key];
  } else if (event.key === "g") {
    went = Date.now();
  } else if (event.key === "?") {
    document.getElementById("keys").showModal();
  } else if (event.key === "/" && active) {
    event.preventDefault();
    active.focus();
  } else if ((event.key === "j" || event.key === "k") && active) {
    active.step(event.key === "j" ? 1 : -1);
  } else if (event.key === "x" && active) {
    active.here()?.querySelector("input[type=checkbox]")?.click();
  } else if (event.key === "Enter" && active && event.target === document.body) {
    active.here()?.querySelector("a")?.click();
  }
});
document.getElementById("help").addEventListener("click", () => document.getElementById("keys").showModal());
window.addEventListener("hashchange", show);
// Charts take their colours when they are drawn.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
chosen.tell();
show();
