// Work in progress: asks for its state once a second while the page is visible, and gives the orders of the buttons.
export const $ = id => document.getElementById(id);
const numbers = new Intl.NumberFormat("en");
const ORDERS = ["pause", "resume", "stop"];

/** Replaces the rows of a table body. Each cell is a text, a number, which is set to the right, or an element. */
export function rows(id, content) {
  $(id).replaceChildren(...content.map(cells => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const place = row.appendChild(document.createElement("td"));
      if (typeof cell === "number") place.className = "number";
      place.append(typeof cell === "number" ? numbers.format(cell) : cell);
    }
    return row;
  }));
}

export const count = number => numbers.format(number);

/** Shows the state of work (`the run`) by `show`, which returns what is told of its state, until it has ended. */
export function watch(what, show) {
  let ended = false;
  async function ask() {
    if (document.hidden || ended) return;
    let state;
    try {
      state = await (await fetch("api/live")).json();
    } catch {
      ended = true;
      $("state").textContent = `The ${what} has ended.`;
      for (const order of ORDERS) $(order).disabled = true;
      return;
    }
    $("title").textContent = state.title;
    $("state").textContent = state.stopped ? `The ${what} has been told to stop.` : show(state);
    $("pause").hidden = state.paused;
    $("resume").hidden = !state.paused;
    for (const order of ORDERS) $(order).disabled = state.stopped;
  }
  for (const order of ORDERS) {
    $(order).addEventListener("click", async () => {
      await fetch(`api/live/${order}`, { method: "POST" }).catch(() => {});
      ask();
    });
  }
  ask();
  setInterval(ask, 1000);
}
