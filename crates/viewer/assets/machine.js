// The machine as boxes in boxes, one cell for each element of its plan, coloured by a figure; a click shows its statistics.
import { el, percent, count, figures, segments } from "./dom.js";
import { figure as chart } from "./charts.js";

const FIGURES = {
  busy: { name: "busy", of: element => element.busy, show: percent, about: "share of the run's cycles in which it worked" },
  waiting: { name: "waiting", of: element => element.waiting, show: percent, about: "share of the run's cycles in which cores and compute units waited for others" },
  queued: { name: "queued", of: element => element.queued, show: value => figures(value), about: "messages in its fullest queue, on average" },
  hits: { name: "hit rate", of: element => element.hits, show: percent, about: "reads of caches, look-ups of TLBs, rows of DRAM that were there" },
};
// Names of cells are short: there may be hundreds.
const SHORT = { "compute unit": "cu", dispatcher: "disp", "page walkers": "walk", "front end": "front", "DMA engine": "dma" };

// Where wires meet, and what only passes orders on: nothing is measured there.
const HIDDEN = ["junction", "other"];

export function machine(all, lines, file) {
  const elements = all.filter(element => !HIDDEN.includes(element.kind));
  let figure = "busy", here = null;
  const scale = el("span", { class: "scale" }), side = el("aside", { class: "side", "aria-live": "polite" });
  const cells = new Map(elements.map(element => [element.path, el("button", { type: "button", class: "cell", "data-path": element.path, onclick: () => choose(element) })]));
  const root = { children: new Map(), element: null, name: "" };
  for (const element of elements) {
    let node = root;
    for (const name of element.path.split(".")) {
      if (!node.children.has(name)) node.children.set(name, { children: new Map(), element: null, name });
      node = node.children.get(name);
    }
    node.element = element;
  }

  function draw(node) {
    const cell = node.element && cells.get(node.element.path);
    if (!node.children.size) return cell;
    const flat = [...node.children.values()].every(child => !child.children.size);
    return el("div", { class: flat && node.children.size < 4 ? "part flat" : "part" }, el("b", {}, node.name), cell, [...node.children.values()].map(draw));
  }

  function paint() {
    const { of, show, about } = FIGURES[figure];
    // The deepest colour is the largest figure, so that differences show where all are small.
    const most = figure === "hits" ? 1 : Math.max(...elements.map(of).filter(value => value !== null), 1e-9);
    for (const element of elements) {
      const cell = cells.get(element.path), value = of(element);
      const last = element.path.split(".").at(-1);
      const name = element.kind === "compute unit" || element.kind === "core" ? SHORT[element.kind] ?? "core" : last;
      cell.textContent = name;
      cell.classList.toggle("none", value === null);
      const told = value === null ? "not measured" : show(value);
      cell.title = `${element.path}: ${told}`;
      cell.setAttribute("aria-label", `${element.path}, ${element.kind}, ${FIGURES[figure].name}: ${told}`);
      cell.dataset.value = value ?? "";
      cell.style.setProperty("--heat", value === null ? "transparent" : `color-mix(in srgb, var(${figure === "hits" ? "--c0" : figure === "busy" ? "--accent" : "--c2"}) ${Math.round(Math.min(1, value / most) * 75)}%, transparent)`);
    }
    const tone = figure === "hits" ? "--c0" : figure === "busy" ? "--accent" : "--c2";
    scale.replaceChildren("0", el("i", { style: `background:linear-gradient(90deg, transparent, color-mix(in srgb, var(${tone}) 75%, transparent))` }), show(most), ` ${about}`);
  }

  function choose(element) {
    cells.get(here?.path)?.classList.remove("here");
    here = element;
    cells.get(element.path).classList.add("here");
    const prefix = element.path + ".";
    // What lies within it and is an element of its own is left to that.
    const inner = elements.map(other => other.path).filter(path => path.startsWith(prefix));
    const own = lines.filter(([path]) => path.startsWith(prefix) && !inner.some(other => path.startsWith(other + ".")));
    side.replaceChildren(el("h3", {}, element.path), el("p", { class: "faint" }, [element.kind, element.about].filter(Boolean).join(": ")),
      el("dl", { class: "about" }, Object.values(FIGURES).filter(({ of }) => of(element) !== null).flatMap(({ name, of, show }) => [el("dt", {}, name), el("dd", {}, show(of(element)))])),
      own.length ? el("table", {}, el("tbody", {}, own.map(([path, , value, words]) => el("tr", {}, el("td", { class: "path" }, path.slice(prefix.length)), el("td", { class: "number", title: words }, count(value))))))
        : el("p", { class: "faint" }, "It measured nothing."));
  }

  const pressed = segments("Colour by", Object.entries(FIGURES).map(([key, { name }]) => [key, name]), figure, key => { figure = key; paint(); });
  paint();
  side.append(el("p", { class: "faint" }, "Choose an element to see its statistics."));
  const drawing = el("div", {}, el("div", { class: "bar" }, pressed, scale),
    el("div", { class: "with-side" }, el("div", { class: "machine" }, [...root.children.values()].map(draw)), side));
  const measured = elements.filter(element => Object.values(FIGURES).some(({ of }) => of(element) !== null));
  return chart("Each element, coloured by a figure", drawing, ["element", ...Object.values(FIGURES).map(({ name }) => name)],
    measured.map(element => [element.path, ...Object.values(FIGURES).map(({ of }) => of(element) ?? "")]), file("machine"));
}
