// Experiments of the papers: what a paper reports beside what was measured.
import { el, ask, count, figures, when, segments } from "./dom.js";
import { table } from "./table.js";
import { bars } from "./charts.js";

export async function experiments() {
  const { experiments, findings } = await ask("/api/experiments");
  const written = name => findings.filter(found => found.findings.experiment === name).length;
  const item = ({ name, about, source }) => el("li", {}, el("a", { href: `#/experiment/${name}` }, name),
    el("span", {}, about, " ", el("span", { class: "faint" }, `(${source})`)), el("span", { class: "faint" }, written(name) ? `${written(name)} written` : ""));
  const node = el("div", {}, el("h1", {}, "Experiments"),
    el("p", { class: "faint" }, "What the papers report beside what is measured here: from folders of repro --out, and from results that repro keeps."),
    el("ul", { class: "experiments" }, experiments.map(item)));
  return { title: "Experiments", node };
}

export async function experiment(name, size = "quick") {
  const { experiments, findings } = await ask("/api/experiments");
  const known = experiments.find(experiment => experiment.name === name) ?? { name, about: "", source: "" };
  const node = el("article", {}, el("h1", {}, name), el("p", {}, known.about), el("p", { class: "faint" }, known.source));
  for (const found of findings.filter(found => found.findings.experiment === name)) {
    node.append(el("section", {}, el("h2", {}, `Written to ${found.name}, ${when(found.written)}`), shown(found.findings.rows, name)));
  }
  if (known.kept === false) {
    node.append(el("p", {}, "It measures this computer, so nothing of it is kept. Write what it finds with: ", el("code", {}, `cohesim repro ${name} --out DIR`)));
    return { title: name, node };
  }
  const place = el("div");
  const recall = async size => {
    place.replaceChildren(el("p", { class: "faint" }, "Looking for kept results ..."));
    try {
      const { rows, notes, runs, missing } = await ask(`/api/experiments/${encodeURIComponent(name)}/${size}`);
      place.replaceChildren(el("p", { class: "faint" }, `Results of ${count(runs - missing)} of its ${count(runs)} runs are kept.`),
        rows.length ? shown(rows, name) : el("p", {}, "Run it with: ", el("code", {}, `cohesim repro ${name}${size === "scaled" ? "" : ` --${size}`}`)),
        notes.length ? el("details", {}, el("summary", {}, "Notes"), el("ul", {}, notes.map(note => el("li", {}, note)))) : "");
    } catch (error) {
      place.replaceChildren(el("p", { class: "error" }, error.message));
    }
  };
  node.append(el("section", {}, el("h2", {}, "From kept results"), el("div", { class: "bar" },
    segments("Size", [["quick", "quick"], ["scaled", "scaled"], ["paper", "paper's sizes"]], size, recall)), place));
  await recall(size);
  return { title: name, node };
}

function shown(rows, name) {
  const chart = bars("Paper and measurement", [["paper", "var(--c8)"], ["measured", "var(--accent)"]], rows.map(row => [row.name, [row.paper, row.measured]]), `${name}.csv`);
  const ratio = row => row.ratio === null || row.ratio === undefined ? null : row.ratio;
  const list = table([
    { name: "figure", of: row => row.name },
    { name: "paper", of: row => row.paper, number: true, show: value => value === null ? "-" : figures(value) },
    { name: "measured", of: row => row.measured, number: true, show: value => value === null ? "-" : figures(value) },
    { name: "ratio", of: ratio, number: true, show: value => value === null ? "-" : figures(value) },
    ...(rows.some(row => row.hardware !== undefined) ? [{ name: "hardware", of: row => row.hardware ?? null, number: true }] : []),
  ], { rows, file: `${name}.csv`, part: 200 });
  return el("div", {}, chart, list.node);
}
