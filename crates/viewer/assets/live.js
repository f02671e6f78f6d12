// A run while it goes on: asks for its state once a second while the page is visible, and gives the orders of the buttons.

const $ = id => document.getElementById(id);
const count = new Intl.NumberFormat("en");
let before = null, ended = false;

/// Replaces the rows of a table body. Each cell is a text, or a number that is set to the right.
function rows(id, content) {
    $(id).replaceChildren(...content.map(cells => {
        const row = document.createElement("tr");
        for (const cell of cells) {
            const place = row.appendChild(document.createElement("td"));
            if (typeof cell === "number") place.className = "number";
            place.textContent = typeof cell === "number" ? count.format(cell) : cell;
        }
        return row;
    }));
}

function show(run) {
    $("title").textContent = run.title;
    document.title = `${run.title}: ${run.time}`;
    $("state").textContent = run.stopped ? "The run has been told to stop."
        : run.paused ? `Paused at ${run.time}.`
        : run.idle_until ? `Running; the machine is idle until ${run.idle_until}.` : "Running.";
    $("pause").hidden = run.paused;
    $("resume").hidden = !run.paused;
    for (const button of ["pause", "resume", "stop"]) $(button).disabled = run.stopped;
    const spent = before ? run.seconds - before.seconds : run.seconds;
    const rate = (run.time_fs - (before?.time_fs ?? 0)) / 1e9 / Math.max(spent, 1e-3);
    before = run;
    const work = run.expected > 0 ? [["workgroups done", run.done], ["workgroups known", run.expected]] : [];
    rows("progress", [
        ["simulated time", run.time], ["cycles of the clock of compute units", run.cycles], ["simulated us a second", Math.round(rate * 100) / 100],
        ["instructions of the program", run.instructions], ["functional wavefront instructions", run.wave_instructions],
        ["kernels started", run.kernels], ...work, ["seconds since the start", Math.round(run.seconds)],
    ]);
    if (!run.look) return;
    $("held_up").textContent = count.format(run.look.held_up);
    $("filled").textContent = count.format(run.look.filled);
    $("circle").hidden = run.look.circle.length === 0;
    $("circle").textContent = `These wait for each other in a circle: ${run.look.circle.join(" -> ")}`;
    rows("waiting", run.look.waiting.map(one => [one.context, one.on, Math.round(one.for / 1e6), one.wakers.join(", ")]));
    rows("levels", run.look.levels);
}

async function ask() {
    if (document.hidden || ended) return;
    try {
        const answer = await fetch("api/live");
        show(await answer.json());
    } catch {
        ended = true;
        $("state").textContent = "The run has ended.";
        for (const button of ["pause", "resume", "stop"]) $(button).disabled = true;
    }
}

for (const order of ["pause", "resume", "stop"]) {
    $(order).addEventListener("click", async () => {
        await fetch(`api/live/${order}`, { method: "POST" }).catch(() => {});
        ask();
    });
}
ask();
setInterval(ask, 1000);
