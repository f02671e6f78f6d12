// One run: what it came to, what held it up, its machine, its time line, its wires, every statistic.
import { el, ask, time, bytes, count, percent, figures, when, chosen } from "./dom.js";
import { table } from "./table.js";
import { curves, stacked, bars, figure, reason, legend } from "./charts.js";
import { machine } from "./machine.js";

export async function run(id) {
  const address = `/api/runs/${id}`;
  const [{ entry, run, summary, machine: text, files }, { lines }] = await Promise.all([ask(address), ask(`${address}/statistics`)]);
  const file = name => `${entry.program}-${entry.system}-${name}.csv`;
  const choose = el("button", { type: "button", onclick: () => { chosen.set(id, !chosen.has(id)); choose.textContent = word(); } });
  const word = () => chosen.has(id) ? "Chosen for comparison" : "Choose for comparison";
  choose.textContent = word();
  const about = [["outcome", entry.outcome], ["arguments", entry.arguments || "none"], ["changes", entry.changes], ["folder", entry.name], ["written", when(entry.written)],
    ["host", `${figures(entry.host_seconds)} s, ${count(entry.events)} events${run?.host?.checked ? ", every read checked" : ""}`],
    ["fast-forward", summary?.fast_forward && `to ${summary.fast_forward.to}`]];
  const node = el("article", {},
    el("div", { class: "bar" }, el("h1", { class: "grow" }, `${entry.program} on ${entry.system}`), choose,
      files.length ? el("span", { class: "faint" }, files.filter(name => name !== "run.json" && name !== "plan.json").map(name => [el("a", { href: `/files/${id}/${name}`, target: "_blank", rel: "noopener" }, name), " "])) : null),
    el("dl", { class: "about" }, about.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
  if (summary) {
    node.append(cards(summary));
    section(node, "What held it up most", bottlenecks(summary));
    section(node, "Where the time went", phases(summary, file));
    const later = [
      ["The machine", address + "/elements", ({ elements }) => [machine(elements, lines, file)]],
      ["Over time", address + "/timeline", line => timeline(line, file)],
      ["What the wires carried", address + "/wires", ({ freight }) => wires(summary, freight, file)],
    ];
    const parts = await Promise.all(later.map(async ([title, address, draw]) => {
      try {
        return [title, draw(await ask(address))];
      } catch (error) {
        return [title, [el("p", { class: "faint" }, error.message)]];
      }
    }));
    parts.forEach(([title, nodes]) => section(node, title, nodes));
    section(node, "Machine file", [el("details", {}, el("summary", {}, "Every key, resolved"), el("pre", {}, text))]);
  }
  const statistics = table([
    { name: "path", of: line => line[0], class: "path" },
    { name: "kind", of: line => line[1] },
    { name: "value", of: line => line[2], number: true },
    { name: "more", of: line => line[3], class: "words", css: "optional" },
  ], { rows: lines, file: file("statistics"), placeholder: "filter: l2 accesses", part: 50 });
  section(node, summary ? "Every statistic" : "What is kept of it", [statistics.node]);
  return { title: `${entry.program} on ${entry.system}`, node, table: statistics };
}

function section(node, title, nodes) {
  nodes = nodes.filter(Boolean);
  if (nodes.length) node.append(el("section", { "aria-label": title }, el("h2", {}, title), nodes));
}

function cards(summary) {
  const cards = [["total time", time(summary.total_fs), summary.outcome]];
  if (summary.kernel_fs) cards.push(["kernel time", time(summary.kernel_fs), `${count(summary.kernel_cycles)} cycles`]);
  if (summary.cores) cards.push(["CPU instructions a cycle", figures(summary.cores.instructions / Math.max(1, summary.cores.cycles)), `${count(summary.cores.instructions)} on ${summary.cores.used} of ${summary.cores.count} cores`]);
  if (summary.kernel_cycles) cards.push(["GPU instructions a cycle", figures(summary.wave_instructions / summary.kernel_cycles), `${count(summary.wave_instructions)} by wavefronts`]);
  if (summary.units) cards.push(["wavefront slots filled", figures(summary.units.waves.mean), `of ${summary.units.wave_slots} in each of ${summary.units.count} units`]);
  for (const cache of [...(summary.cores?.caches ?? []).map(cache => ({ ...cache, level: `CPU ${cache.level}` })), ...summary.caches]) {
    const all = cache.reads.hits + cache.reads.misses + cache.reads.merged;
    if (all && /^(CPU l[123]d?|l1v|l2)$/.test(cache.level)) cards.push([`${cache.level} read hits`, percent(cache.reads.hits / all), `of ${count(all)} reads`]);
  }
  if (summary.memory) cards.push(["memory bandwidth", `${figures(summary.memory.bandwidth / 1e9)} GB/s`, `of ${figures(summary.memory.peak_bandwidth / 1e9)} GB/s`]);
  const moved = Object.values(summary.moved ?? {}).reduce((sum, n) => sum + n, 0);
  if (moved) cards.push(["moved between memories", bytes(moved), Object.keys(summary.moved).filter(cause => summary.moved[cause]).join(", ")]);
  return el("div", { class: "cards" }, cards.map(([name, value, note]) => el("div", {}, el("span", {}, name), el("b", {}, value), el("small", {}, note))));
}

function bottlenecks(summary) {
  if (!summary.bottlenecks.length) return [];
  return [el("ol", { class: "bottlenecks" }, summary.bottlenecks.map(one => el("li", {},
    el("div", { class: "meter", role: "img", "aria-label": percent(one.weight), title: percent(one.weight) }, el("i", { style: `width:${(one.weight * 100).toFixed(1)}%` })),
    el("div", {}, el("b", {}, one.what), el("div", { class: "faint" }, one.evidence)))))];
}

/** Reasons for the cycles of cores, of compute units, and of GPUs on a fabric. */
function phases(summary, file) {
  const charts = [];
  if (summary.cores) {
    const names = summary.cores.phases.map(([name]) => name);
    charts.push(stacked("Cycles of each core", names, summary.cores.each.map(core => [core.name, core.shares, `${count(core.instructions)} instructions`]), file("cores")));
  }
  if (summary.units && summary.kernel_fs) {
    const names = summary.units.breakdown.map(({ reason }) => reason);
    const mean = summary.units.breakdown.map(({ share }) => share.mean);
    charts.push(stacked("Cycles of compute units in kernel time, on average", names, [[`${summary.units.count} units`, mean, time(summary.kernel_fs)]], file("units")));
  }
  if (summary.gpus?.length) {
    const names = summary.gpus[0].shares.map(([name]) => name);
    charts.push(stacked("What each GPU spent the run on", names, summary.gpus.map(gpu => [gpu.name, gpu.shares.map(([, share]) => share), ""]), file("gpus")));
  }
  if (summary.kernels.length) {
    const all = summary.kernel_fs || 1;
    const rows = summary.kernels.slice().sort((a, b) => b.time_fs - a.time_fs);
    charts.push(figure("Kernels", el("div", { class: "stack" }, rows.slice(0, 12).flatMap(kernel => [
      el("span", {}, kernel.name), el("div", { class: "track" }, el("i", { style: `width:${kernel.time_fs / all * 100}%;background:var(--accent)` })),
      el("span", { class: "number faint" }, `${time(kernel.time_fs)}, ${kernel.launches} x`)])),
    ["kernel", "launches", "femtoseconds"], rows.map(kernel => [kernel.name, kernel.launches, kernel.time_fs]), file("kernels")));
  }
  return charts;
}

function timeline(line, file) {
  const all = line.end - line.start;
  const place = (from, to) => `left:${((from - line.start) / all * 100).toFixed(3)}%;width:${((to - from) / all * 100).toFixed(3)}%`;
  const lanes = [el("label", {}, "regions"), el("div", { class: "lane" }, line.regions.map(region => el("span", { style: place(region.start, region.end), title: `${region.name}: ${time(region.end - region.start)}` }, region.name)))];
  const used = new Set();
  for (const lane of line.phases) {
    lanes.push(el("label", {}, lane.element), el("div", { class: "lane" }, line.regions.map((region, number) => el("span", { class: "parts", style: place(region.start, region.end) },
      lane.shares[number].map((share, at) => {
        if (!share) return null;
        used.add(lane.reasons[at]);
        return el("i", { style: `width:${share * 100}%;background:var(--c${reason(lane.reasons[at])[1]})`, title: `${lane.element} in ${region.name}: ${reason(lane.reasons[at])[0]} ${percent(share)}` });
      })))));
  }
  const elements = [...new Set(line.spans.map(span => span.element))];
  for (const element of elements.slice(0, 16)) {
    lanes.push(el("label", {}, element), el("div", { class: "lane" }, line.spans.filter(span => span.element === element).map(span => el("span", { style: place(span.start, span.end), title: `${span.name}: ${time(span.end - span.start)}` }, span.name))));
  }
  const data = [
    ...line.regions.map(region => ["region", region.name, region.start, region.end, ""]),
    ...line.phases.flatMap(lane => line.regions.flatMap((region, number) => lane.reasons.map((name, at) => [lane.element, `${region.name}: ${name}`, region.start, region.end, lane.shares[number][at]]))),
    ...line.spans.map(span => [span.element, span.name, span.start, span.end, ""]),
  ];
  const note = line.phases.length ? "Within a region, shares of each reason, not their order." : "";
  const chart = el("div", {}, used.size ? legend([...used]) : null, el("div", { class: "lanes" }, lanes));
  return [figure(`Regions, GPUs and copies, ${time(all)}`, chart, ["element", "what", "start_fs", "end_fs", "share"], data, file("timeline")), note ? el("p", { class: "faint" }, note) : null,
    ...curves(line.start, line.end, line.curves.map(curve => ({ ...curve, name: `${curve.name} (${curve.elements})` })), file("curve"))];
}

function wires(summary, freight, file) {
  const parts = [];
  const moved = Object.entries(summary.moved ?? {}).filter(([, n]) => n);
  if (moved.length) parts.push(bars("Bytes moved between memories, by cause", [["bytes", "var(--accent)"]], moved.map(([cause, n]) => [cause, [n]]), file("moved")));
  if (freight.length) {
    parts.push(el("h3", {}, "Wires of the fabric, by cause"), table([
      { name: "wire", of: row => row.wire, class: "path" },
      { name: "cause", of: row => row.cause },
      { name: "messages", of: row => row.messages, number: true },
      { name: "bytes", of: row => row.bytes, number: true },
    ], { rows: freight, file: file("freight"), sort: [3, false], part: 12 }).node);
  }
  parts.push(el("h3", {}, "All wires, alike ones together"), table([
    { name: "wire", of: row => row.name, class: "path" },
    { name: "number", of: row => row.count, number: true, css: "optional" },
    { name: "messages", of: row => row.messages, number: true },
    { name: "a cycle", of: row => row.rate, number: true },
    { name: "sender waited", of: row => row.held_up, show: percent, number: true },
    { name: "waiting", of: row => row.waiting, number: true, css: "optional" },
    { name: "at most", of: row => row.most_waiting, number: true, css: "optional" },
  ], { rows: summary.wires, file: file("wires"), sort: [4, false], part: 12 }).node);
  return parts;
}
