// A run while it is in progress.
import { $, count, rows, watch } from "./progress.js";

let before = null;

watch("run", run => {
  document.title = `${run.title}: ${run.time}`;
  const spent = before ? run.seconds - before.seconds : run.seconds;
  const rate = (run.time_fs - (before?.time_fs ?? 0)) / 1e9 / Math.max(spent, 1e-3);
  before = run;
  const work = run.expected > 0 ? [["workgroups done", run.done], ["workgroups known", run.expected]] : [];
  const events = run.look ? [["events", run.look.events]] : [];
  rows("progress", [
    ["simulated time", run.time], ["cycles of the clock of compute units", run.cycles], ["simulated us a second", Math.round(rate * 100) / 100], ...events,
    ["instructions of the program", run.instructions], ["functional wavefront instructions", run.wave_instructions],
    ["kernels started", run.kernels], ...work, ["seconds since the start", Math.round(run.seconds)],
  ]);
  if (run.look) {
    $("held_up").textContent = count(run.look.held_up);
    $("filled").textContent = count(run.look.filled);
    $("circle").hidden = run.look.circle.length === 0;
    $("circle").textContent = `These wait for each other in a circle: ${run.look.circle.join(" -> ")}`;
    rows("waiting", run.look.waiting.map(one => [one.context, one.on, Math.round(one.for / 1e6), one.wakers.join(", ")]));
    rows("levels", run.look.levels);
  }
  return run.paused ? `Paused at ${run.time}.` : run.idle_until ? `Running; the machine is idle until ${run.idle_until}.` : "Running.";
});
