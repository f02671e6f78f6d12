// Charts: curves by uPlot, stacked bars by boxes. Each has its data as a table and as CSV beside it.
import { el, download, percent, count, time, figures } from "./dom.js";

/** The colour that the style sheet gives a name. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A chart with a title, and its data as a table or a file. `heads` and `rows` are that data. */
export function figure(title, chart, heads, rows, file) {
  let table = null;
  const place = el("div");
  const show = el("button", {
    type: "button", class: "quiet", "aria-expanded": "false",
    onclick: () => {
      const open = !table;
      table = open ? el("div", { class: "wide" }, el("table", {},
        el("thead", {}, el("tr", {}, heads.map((head, at) => el("th", { class: at && "number" }, head)))),
        el("tbody", {}, rows.map(row => el("tr", {}, row.map((cell, at) => el("td", { class: at && "number" }, typeof cell === "number" ? count(cell) : cell ?? ""))))))) : null;
      place.replaceChildren(...(table ? [table] : []));
      show.setAttribute("aria-expanded", String(open));
    },
  }, "Table");
  const save = el("button", { type: "button", class: "quiet", onclick: () => download(file, heads, rows) }, "CSV");
  return el("figure", {}, el("figcaption", {}, el("b", {}, title), el("span", { class: "actions" }, show, save)), chart, place);
}

/** Curves over simulated time: [{ name, unit, values, colour }], one below the other, with one cursor. */
export function curves(start, end, lines, file) {
  const sync = uPlot.sync(`time-${Math.random()}`);
  return lines.map(line => {
    const step = (end - start) / line.values.length;
    const times = line.values.map((_, at) => (start + step * (at + 0.5)) / 1e9);
    const box = el("div", { class: "chart", "data-points": line.values.length });
    const title = `${line.name}: ${figures(Math.max(...line.values))} ${line.unit} at most`;
    const node = figure(title, box, ["time in us", line.unit], times.map((at, number) => [Number(at.toFixed(6)), line.values[number]]), file);
    requestAnimationFrame(() => plot(box, [times, line.values], line, sync));
    return node;
  });
}

function plot(box, data, line, sync) {
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") }, font: "11px system-ui" };
  const options = {
    width: Math.max(200, box.clientWidth), height: 130, legend: { live: true },
    cursor: { sync: { key: sync.key }, drag: { x: true, y: false } },
    scales: { x: { time: false }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [{ ...axis, values: (_, splits) => splits.map(at => time(at * 1e9)) }, { ...axis, size: 60 }],
    series: [{ label: "time", value: (_, at) => at === null ? "-" : time(at * 1e9) },
      { label: line.unit, stroke: colour("--accent"), fill: colour("--accent") + "33", width: 1.2, points: { show: false }, value: (_, at) => at === null ? "-" : figures(at) }],
  };
  const chart = new uPlot(options, data, box);
  new ResizeObserver(() => chart.setSize({ width: Math.max(200, box.clientWidth), height: 130 })).observe(box);
}

export const REASONS = {
  issue: ["issuing", 0], vector: ["vector ALUs busy", 1], vector_memory: ["waiting for vector memory", 2], scalar: ["waiting for scalar data", 3],
  local: ["waiting for local memory", 4], code: ["waiting for code", 5], barrier: ["at a barrier", 6], no_wave: ["no wavefront", 7], launch: ["launching", 8],
  busy: ["busy", 0], read_stall: ["waiting for loads", 2], write_stall: ["held up by stores", 3], fetch_stall: ["nothing fetched", 5], system: ["in the kernel", 8], idle: ["idle", 7],
  kernel: ["a kernel runs", 0], fault: ["waiting for page faults", 2], peers: ["other GPUs still run", 3], flush: ["flushing caches", 5], copy: ["copying", 6],
};

export function reason(name) {
  return REASONS[name] ?? [name.replaceAll("_", " "), 8];
}

export function legend(names) {
  return el("div", { class: "legend" }, names.map(name => {
    const [told, number] = reason(name);
    return el("span", {}, el("i", { style: `background:var(--c${number})` }), told);
  }));
}

/** Bars of shares: rows are [label, [share of each reason], note, length]. */
export function stacked(title, reasons, rows, file) {
  const bars = el("div", { class: "stack" }, rows.flatMap(([label, shares, note, length = 1]) => [
    el("span", {}, label),
    el("div", { class: "track", style: `width:${(length * 100).toFixed(2)}%` }, shares.map((share, at) => share > 0 ? el("i", {
      style: `width:${(share * 100).toFixed(3)}%;background:var(--c${reason(reasons[at])[1]})`,
      title: `${label}: ${reason(reasons[at])[0]} ${percent(share)}`,
    }) : null)),
    el("span", { class: "number faint" }, note ?? ""),
  ]));
  const chart = el("div", {}, legend(reasons), bars);
  return figure(title, chart, ["", ...reasons.map(name => reason(name)[0])], rows.map(([label, shares]) => [label, ...shares.map(share => percent(share))]), file);
}

/** Bars of values beside each other, by name: groups are [name, [value, ..]]; `series` are [name, colour]. */
export function bars(title, series, groups, file) {
  const most = Math.max(...groups.flatMap(([, values]) => values.filter(value => value !== null)), 1e-12);
  const chart = el("div", {}, el("div", { class: "legend" }, series.map(([name, colour]) => el("span", {}, el("i", { style: `background:${colour}` }), name))),
    el("div", { class: "stack" }, groups.flatMap(([name, values]) => [
      el("span", {}, name),
      el("div", {}, values.map((value, at) => value === null ? null : el("div", {
        class: "pair", style: `width:${Math.max(0.3, value / most * 100).toFixed(2)}%;height:9px;margin:1px 0;border-radius:2px;background:${series[at][1]}`, title: `${series[at][0]}: ${figures(value)}`,
      }))),
      el("span", { class: "number faint" }, values.map(value => value === null ? "-" : figures(value)).join(" / ")),
    ])));
  return figure(title, chart, ["", ...series.map(([name]) => name)], groups.map(([name, values]) => [name, ...values]), file);
}
