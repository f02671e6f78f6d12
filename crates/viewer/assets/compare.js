// Any number of runs side by side: what each came to, where the time went, every statistic, the machine files.
import { el, ask, time, bytes, count, figures, percent, segments, chosen } from "./dom.js";
import { table } from "./table.js";
import { stacked, bars } from "./charts.js";

export async function compare(ids) {
  const wanted = ids ? ids.split(",") : chosen.all();
  if (wanted.length < 2) {
    return { title: "Compare", node: el("div", {}, el("h1", {}, "Compare"), el("p", {}, "Choose two runs or more in the ", el("a", { href: "#/runs" }, "list of runs"), ".")) };
  }
  const runs = await Promise.all(wanted.map(async id => {
    const [about, { lines }] = await Promise.all([ask(`/api/runs/${id}`), ask(`/api/runs/${id}/statistics`)]);
    return { id, ...about, each: new Map(lines.map(([path, , value]) => [path, value])), alike: alike(lines) };
  }));
  const names = labels(runs.map(run => run.entry));
  const node = el("article", {}, el("div", { class: "bar" }, el("h1", { class: "grow" }, `${runs.length} runs side by side`),
    el("a", { href: `#/compare/${wanted.join(",")}` }, "Address of this comparison")));
  node.append(overview(runs, names));
  const whole = runs.map((run, at) => [run, names[at]]).filter(([run]) => run.summary);
  node.append(el("section", {}, el("h2", {}, "Where the time went"), where(whole)));
  const statistics = differences(runs, names);
  node.append(el("section", {}, el("h2", {}, "Every statistic"), statistics.node));
  if (whole.length > 1) node.append(el("section", {}, el("h2", {}, "Machine files"), machines(whole)));
  return { title: `${runs.length} runs`, node, table: statistics.table };
}

/** What tells runs apart, as short as it can be. */
function labels(entries) {
  const same = key => entries.every(entry => entry[key] === entries[0][key]);
  const parts = ["program", "system", "arguments", "changes"].filter(key => !same(key));
  // Of arguments, those that not all have; one that begins with a dash goes with its value.
  const words = entry => entry.arguments.match(/-\S+( [^-]\S*)?|\S+/g) ?? [];
  const own = entry => words(entry).filter(word => !entries.every(other => words(other).includes(word))).join(" ");
  const names = entries.map(entry => parts.map(key => key === "arguments" ? own(entry) : entry[key]).filter(Boolean).join(" ") || entry.name);
  return names.map((name, at) => names.indexOf(name) === at && names.lastIndexOf(name) === at ? name : `${name} (${entries[at].name})`);
}

function overview(runs, names) {
  const first = runs[0].entry;
  const rate = (run, level) => {
    const cache = run.summary?.caches.find(cache => cache.level === level);
    const all = cache && cache.reads.hits + cache.reads.misses + cache.reads.merged;
    return all ? percent(cache.reads.hits / all) : "-";
  };
  const rows = [
    ["program", run => run.entry.program], ["arguments", run => run.entry.arguments], ["system", run => run.entry.system],
    ["time", run => time(run.entry.total_fs)], ["times as fast as the first", run => run.entry.total_fs ? figures(first.total_fs / run.entry.total_fs) : "-"],
    ["kernel time", run => run.entry.kernel_fs ? time(run.entry.kernel_fs) : "-"],
    ["L1V read hits", run => rate(run, "l1v")], ["L2 read hits", run => rate(run, "l2")],
    ["memory traffic", run => run.summary?.memory ? bytes(run.summary.memory.bytes) : "-"],
    ["moved between memories", run => run.entry.moved ? bytes(run.entry.moved) : "-"],
    ["held up by", run => run.entry.bottleneck || "-"],
  ];
  return el("div", { class: "wide" }, el("table", { class: "overview" },
    el("thead", {}, el("tr", {}, el("th", {}), runs.map((run, at) => el("th", { scope: "col" }, el("a", { href: `#/run/${run.id}` }, names[at]))))),
    el("tbody", {}, rows.map(([name, of]) => el("tr", {}, el("th", { scope: "row" }, name), runs.map(run => el("td", {}, of(run))))))));
}

function where(runs) {
  const charts = [];
  const longest = Math.max(...runs.map(([run]) => run.entry.total_fs), 1);
  charts.push(bars("Total and kernel time in us", [["total", "var(--c8)"], ["kernels", "var(--accent)"]], runs.map(([run, name]) => [name, [run.entry.total_fs / 1e9, run.entry.kernel_fs / 1e9]]), "times.csv"));
  const units = runs.filter(([run]) => run.summary.units && run.summary.kernel_fs);
  if (units.length) {
    const most = Math.max(...units.map(([run]) => run.summary.kernel_fs));
    charts.push(stacked("Kernel time, and what compute units did meanwhile", units[0][0].summary.units.breakdown.map(({ reason }) => reason),
      units.map(([run, name]) => [name, run.summary.units.breakdown.map(({ share }) => share.mean), time(run.summary.kernel_fs), run.summary.kernel_fs / most]), "units.csv"));
  }
  const cores = runs.filter(([run]) => run.summary.cores);
  if (cores.length) {
    charts.push(stacked("Total time, and the activity of cores while they had a thread", cores[0][0].summary.cores.phases.map(([name]) => name).filter(name => name !== "idle"),
      cores.map(([run, name]) => {
        const numbers = run.summary.cores.phases.filter(([name]) => name !== "idle").map(([, n]) => n), all = numbers.reduce((sum, n) => sum + n, 0) || 1;
        return [name, numbers.map(n => n / all), time(run.entry.total_fs), run.entry.total_fs / longest];
      }), "cores.csv"));
  }
  const causes = [...new Set(runs.flatMap(([run]) => Object.keys(run.summary.moved ?? {})))];
  if (causes.length) {
    charts.push(bars("Bytes moved between memories", runs.map(([, name], at) => [name, `var(--c${[0, 2, 3, 6, 4, 5, 1, 8][at % 8]})`]),
      causes.map(cause => [cause, runs.map(([run]) => run.summary.moved?.[cause] ?? 0)]), "moved.csv"));
  }
  return charts;
}

/** Elements that differ in numbers only, together: counts are added up, averages averaged. */
function alike(lines) {
  const groups = new Map();
  for (const [path, kind, value] of lines) {
    // The 1 of l1v and the 2 of l2_3 are no numbers of elements.
    const name = path.replace(/(^|[^a-zA-Z])(l\d)|\d+/g, (_, before, level) => level ? before + level : "*");
    const group = groups.get(name) ?? groups.set(name, { sum: 0, count: 0, mean: kind === "level" || kind === "histogram" }).get(name);
    group.sum += value;
    group.count += 1;
  }
  return new Map([...groups].map(([name, { sum, count, mean }]) => [name, mean ? sum / count : sum]));
}

/** A row for each statistic, a column for each run, and how much the others differ from the first. */
function differences(runs, names) {
  const rowsOf = how => [...new Set(runs.flatMap(run => [...run[how].keys()]))].map(path => {
    const values = runs.map(run => run[how].get(path) ?? null), [first] = values;
    const others = values.slice(1).map(value => Math.abs((value ?? 0) - (first ?? 0)) / Math.max(Math.abs(first ?? 0), Math.abs(value ?? 0), 1e-12));
    return { path, values, most: Math.max(...others) };
  });
  let only = true, how = "alike";
  const rows = { alike: rowsOf("alike") };
  const shown = () => {
    rows[how] ??= rowsOf(how);
    return only ? rows[how].filter(row => row.most > 0) : rows[how];
  };
  const list = table([
    { name: "path", of: row => row.path, class: "path" },
    ...names.map((name, at) => ({
      name, number: true, of: row => row.values[at],
      show: (value, row) => value === null ? "-" : at === 0 ? count(value) : [count(value), el("div", { class: "faint" }, change(row.values[0], value))],
    })),
    { name: "difference", of: row => row.most, key: row => Math.round(row.most * 100) + 1 - 1 / (2 + Math.max(...row.values.map(Math.abs))), number: true, show: percent },
  ], {
    rows: shown(), file: "differences.csv", sort: [names.length + 1, false], text: row => row.path, part: 50, placeholder: "filter: l2 accesses",
    tools: [segments("Elements", [["alike", "alike together"], ["each", "each"]], how, value => { how = value; list.update(shown()); }),
      segments("Rows", [[true, "only differences"], [false, "all"]], only, value => { only = value; list.update(shown()); })],
  });
  return { node: list.node, table: list };
}

function change(first, value) {
  if (first === null) return "new";
  if (!first) return value ? "from 0" : "=";
  const times = value / first;
  return times === 1 ? "=" : times > 2 || times < 0.5 ? `${figures(times)} x` : `${times > 1 ? "+" : ""}${((times - 1) * 100).toFixed(1)}%`;
}

/** Keys whose values differ, and where a file lacks one. */
function machines(runs) {
  const tables = runs.map(([run]) => keys(run.machine));
  const all = [...new Set(tables.flatMap(table => [...table.keys()]))].sort();
  const rows = all.map(key => ({ key, values: tables.map(table => table.get(key) ?? null) })).filter(({ values }) => values.some(value => value !== values[0]));
  if (!rows.length) return el("p", { class: "faint" }, "They are the same.");
  return table([
    { name: "key", of: row => row.key, class: "path" },
    ...runs.map(([, name], at) => ({ name, of: row => row.values[at] ?? "", show: value => value === "" ? el("span", { class: "faint" }, "not there") : value })),
  ], { rows, file: "machines.csv", placeholder: "filter: l2.size", part: 50 }).node;
}

/** The keys of a resolved machine file with their sections: `gpu.l2.size`. */
function keys(text) {
  const found = new Map();
  let section = "";
  for (const line of (text ?? "").split("\n")) {
    const head = /^\[+([^\]]+)\]+$/.exec(line.trim()), pair = /^([\w-]+)\s*=\s*(.*)$/.exec(line.trim());
    if (head) section = head[1] + ".";
    else if (pair) found.set(section + pair[1], pair[2]);
  }
  return found;
}
