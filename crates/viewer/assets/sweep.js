// A sweep while it is in progress; each of its runs has a page of its own.
import { $, count, rows, watch } from "./progress.js";

/** The run's name, which leads to its page when that is known. */
function link(run) {
  if (!run.address) return run.name;
  const link = document.createElement("a");
  Object.assign(link, { href: run.address, target: "_blank", rel: "noopener", textContent: run.name });
  return link;
}

watch("sweep", sweep => {
  document.title = `${sweep.title}: ${sweep.done} of ${sweep.runs}`;
  $("done").max = sweep.runs;
  $("done").value = sweep.done;
  rows("progress", [
    ["runs", sweep.runs], ["done", sweep.done], ["in progress here", sweep.here.length], ["in progress elsewhere", sweep.elsewhere],
    ["waiting", sweep.waiting], ["failed", sweep.failed.length], ["seconds since the start", Math.round(sweep.seconds)],
    ["seconds left, if the rest takes as long", sweep.left === null ? "not known yet" : Math.round(sweep.left)],
  ]);
  $("number").textContent = count(sweep.here.length);
  rows("here", sweep.here.map(run => [link(run), Math.round(run.seconds)]));
  $("failures").hidden = sweep.failed.length === 0;
  rows("failed", sweep.failed.map(run => [run.name, run.why]));
  return sweep.paused ? `Paused: ${sweep.done} of ${sweep.runs} runs are done.` : `Running: ${sweep.done} of ${sweep.runs} runs are done.`;
});
