// A table that can be filtered by words, sorted by a click on a head, grouped, and saved as CSV. It shows a part of its rows at a
// time, so that thousands of them cost nothing.
import { el, count, download } from "./dom.js";

const PART = 100;
const natural = new Intl.Collator("en", { numeric: true });

/**
 * columns: [{ name, of(row) -> value, key(row) -> what it is sorted by, show(value, row) -> text or node, number, class, grow, css }]
 * options: { rows, file, placeholder, text(row), group(row), sort: [at, upwards], row(row, line), tools: [nodes], empty, part }
 */
export function table(columns, options) {
  let rows = options.rows, [at, upwards] = options.sort ?? [0, true];
  let shown = options.part ?? PART, group = options.group ?? null, here = -1;
  const first = shown;
  const texts = new Map();
  const filter = el("input", { type: "search", placeholder: options.placeholder ?? "filter", "aria-label": "Filter", value: options.words ?? "" });
  const heads = columns.map((column, number) => el("th", { class: [column.number && "number", column.css].filter(Boolean).join(" ") || null, scope: "col" },
    el("button", { type: "button", onclick: () => { upwards = at === number ? !upwards : !column.number; at = number; draw(); } }, column.name)));
  const body = el("tbody"), found = el("span", { class: "found", "aria-live": "polite" });
  const more = el("button", { type: "button", onclick: () => { shown *= 10; draw(); } }, "Show more");
  let kept = [];

  function text(row) {
    let known = texts.get(row);
    if (known === undefined) {
      known = (options.text ? options.text(row) : columns.map(column => column.of(row)).join(" ")).toLowerCase();
      texts.set(row, known);
    }
    return known;
  }

  function line(row) {
    const cells = columns.map(column => {
      const value = column.of(row);
      const shown = column.show ? column.show(value, row) : column.number ? (value === null || value === undefined ? "-" : count(value)) : value;
      const names = [column.number && "number", column.class, column.css].filter(Boolean).join(" ");
      return el("td", { class: names || null, title: column.class === "clip" ? value : null }, shown ?? "");
    });
    const line = el("tr", {}, cells);
    options.row?.(row, line);
    return line;
  }

  function draw() {
    // A word that begins with a minus must not be there; `name=text` asks one column.
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const tests = words.map(word => {
      const not = word.startsWith("-") && word.length > 1, plain = not ? word.slice(1) : word;
      const [name, wanted] = plain.split("=", 2);
      const column = wanted !== undefined && columns.find(column => column.name.toLowerCase() === name);
      const test = column ? row => String(column.of(row)).toLowerCase().includes(wanted) : row => text(row).includes(plain);
      return not ? row => !test(row) : test;
    });
    kept = tests.length ? rows.filter(row => tests.every(test => test(row))) : rows.slice();
    const { key, number } = columns[at], of = key ?? columns[at].of;
    const order = number ? (a, b) => (of(a) ?? -Infinity) - (of(b) ?? -Infinity) : (a, b) => natural.compare(of(a), of(b));
    kept.sort((a, b) => (group && natural.compare(group(a), group(b))) || (upwards ? order(a, b) : order(b, a)));
    heads.forEach((head, number) => number === at ? head.setAttribute("aria-sort", upwards ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
    const lines = [];
    let last;
    for (const row of kept.slice(0, shown)) {
      const own = group?.(row);
      if (group && own !== last) {
        const members = kept.filter(other => group(other) === own).length;
        lines.push(el("tr", { class: "group" }, el("td", { colspan: columns.length }, own || "none", el("span", { class: "faint" }, ` ${members}`))));
        last = own;
      }
      lines.push(line(row));
    }
    body.replaceChildren(...lines);
    if (!kept.length) body.append(el("tr", {}, el("td", { colspan: columns.length, class: "faint" }, rows.length ? "Nothing fits the filter." : options.empty ?? "Nothing here.")));
    found.textContent = kept.length === rows.length ? `${count(rows.length)}` : `${count(kept.length)} of ${count(rows.length)}`;
    more.hidden = kept.length <= shown;
    here = -1;
  }

  function step(by) {
    const lines = [...body.querySelectorAll("tr:not(.group)")];
    if (!kept.length) return;
    lines[here]?.classList.remove("here");
    here = Math.max(0, Math.min(lines.length - 1, here + by));
    lines[here].classList.add("here");
    lines[here].scrollIntoView({ block: "nearest" });
  }

  filter.addEventListener("input", () => { shown = first; draw(); options.filtered?.(filter.value); });
  const save = el("button", { type: "button", class: "quiet", onclick: () => download(options.file ?? "table.csv", columns.map(column => column.name), kept.map(row => columns.map(column => column.of(row)))) }, "CSV");
  const node = el("div", { class: "table" },
    el("div", { class: "bar" }, el("div", { class: "grow" }, filter), options.tools ?? [], found, save),
    el("div", { class: "wide" }, el("table", {}, el("thead", {}, el("tr", {}, heads)), body)),
    el("div", { class: "under" }, more));
  draw();
  return {
    node,
    kept: () => kept,
    update(fresh) { rows = fresh; texts.clear(); draw(); },
    groupBy(by) { group = by; shown = first; draw(); },
    redraw: draw,
    step,
    focus: () => filter.focus(),
    here: () => body.querySelector("tr.here"),
  };
}
