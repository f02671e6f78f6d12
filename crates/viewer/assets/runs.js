// The list of all runs.
import { el, ask, time, bytes, count, when, chosen } from "./dom.js";
import { table } from "./table.js";

const GROUPS = { "": null, program: row => row.program, system: row => row.system, arguments: row => `${row.program} ${row.arguments}`, folder: row => row.name.split("/").slice(0, -1).join("/") || "." };
// Kept while the window is open, so that going back finds the list as it was.
const kept = { words: "", group: "" };

export async function runs() {
  const { folders, runs } = await ask("/api/runs");
  const go = el("button", { type: "button", class: "first", onclick: () => { location.hash = "#/compare"; } });
  const none = el("button", { type: "button", class: "quiet", onclick: () => { chosen.clear(); told(); list.redraw(); } }, "Clear");
  const told = () => {
    const number = chosen.all().length;
    go.textContent = number ? `Compare ${number}` : "Compare";
    go.disabled = number < 2;
    none.hidden = number === 0;
  };
  const all = el("button", { type: "button", class: "quiet", onclick: () => { list.kept().forEach(row => chosen.set(row.id, true)); told(); list.redraw(); } }, "Choose all shown");
  const group = el("select", { "aria-label": "Group by", onchange: event => { kept.group = event.target.value; list.groupBy(GROUPS[kept.group]); } },
    Object.keys(GROUPS).map(name => el("option", { value: name, selected: name === kept.group }, name ? `by ${name}` : "not grouped")));
  const list = table([
    { name: "", of: row => chosen.has(row.id) ? 1 : 0, show: (_, row) => el("input", {
      type: "checkbox", checked: chosen.has(row.id), "aria-label": `Choose ${row.name}`,
      onchange: event => { chosen.set(row.id, event.target.checked); event.target.closest("tr").classList.toggle("chosen", event.target.checked); told(); },
    }) },
    { name: "program", of: row => row.program, class: "name", show: (value, row) => el("a", { href: `#/run/${row.id}` }, value) },
    { name: "arguments", of: row => row.arguments, class: "clip" },
    { name: "system", of: row => row.system, class: "name" },
    { name: "changes", of: row => row.changes, class: "clip", css: "optional" },
    { name: "time", of: row => row.total_fs, show: time, number: true },
    { name: "kernels", of: row => row.kernel_fs, show: value => value ? time(value) : "-", number: true },
    { name: "moved", of: row => row.moved, show: value => value ? bytes(value) : "-", number: true, css: "optional" },
    { name: "held up by", of: row => row.bottleneck, class: "clip", css: "optional" },
    { name: "outcome", of: row => row.outcome, class: "clip", css: "optional" },
    { name: "written", of: row => row.written, show: when, number: true, css: "optional" },
    { name: "folder", of: row => row.name, class: "clip", css: "optional" },
  ].filter(({ name }) => (name !== "changes" || runs.some(row => row.changes)) && (name !== "outcome" || runs.some(row => row.outcome !== "finished")) && (name !== "moved" || runs.some(row => row.moved))), {
    rows: runs, file: "runs.csv", sort: [1, true], words: kept.words, group: GROUPS[kept.group],
    placeholder: "filter: words, system=apu, -word",
    text: row => [row.program, row.arguments, row.system, row.changes, row.outcome, row.bottleneck, row.name].join(" "),
    filtered: words => { kept.words = words; },
    row: (row, line) => line.classList.toggle("chosen", chosen.has(row.id)),
    tools: [group, all, none, go],
    empty: "No run here. Write one with: cohesim run matmul --out DIR",
  });
  told();
  const node = el("div", {}, el("h1", {}, "Runs"), el("p", { class: "faint" }, `${count(runs.length)} in ${folders.join(", ")}`), list.node);
  return { title: "Runs", node, table: list };
}
