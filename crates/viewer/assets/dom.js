// Small helpers: elements, numbers in words, requests.

/** An element: `el("td", { class: "number" }, text, child)`. Text is never markup. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

export async function ask(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  return response.json();
}

const steps = [[1e15, "s"], [1e12, "ms"], [1e9, "us"], [1e6, "ns"], [1e3, "ps"]];

/** Femtoseconds: `43.6 us`. */
export function time(fs) {
  if (!fs) return "0";
  const [size, unit] = steps.find(([size]) => fs >= size) ?? [1, "fs"];
  return `${figures(fs / size)} ${unit}`;
}

/** At most four significant figures; whole numbers have all of theirs. */
export function figures(number) {
  if (Number.isInteger(number)) return number.toLocaleString("en");
  return Number(number.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 6 });
}

export function count(number) {
  return Number.isInteger(number) ? number.toLocaleString("en") : figures(number);
}

export function percent(share) {
  if (share === null || share === undefined) return "-";
  return share === 0 || share === 1 ? `${share * 100}%` : `${(share * 100).toFixed(1)}%`;
}

export function bytes(number) {
  if (!number) return "0";
  for (const [size, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (number >= size) return `${figures(number / size)} ${unit}`;
  }
  return `${number} B`;
}

export function when(seconds) {
  const two = number => String(number).padStart(2, "0");
  const date = new Date(seconds * 1000);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Rows of texts and numbers as CSV, handed to the user as a file. */
export function download(name, heads, rows) {
  const cell = value => {
    const text = String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const text = [heads, ...rows].map(row => row.map(cell).join(",")).join("\n") + "\n";
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Buttons of which one is pressed: `[[value, text], ..]`. */
export function segments(label, choices, value, change) {
  const buttons = choices.map(([own, text]) => el("button", {
    type: "button",
    "aria-pressed": String(own === value),
    onclick: event => {
      buttons.forEach(button => button.setAttribute("aria-pressed", String(button === event.currentTarget)));
      change(own);
    },
  }, text));
  return el("div", { class: "segments", role: "group", "aria-label": label }, buttons);
}

// The runs that the user has chosen for a comparison, kept until the window is closed.
const key = "cohesim.chosen";
let ids = new Set(JSON.parse(sessionStorage.getItem(key) ?? "[]"));

export const chosen = {
  has: id => ids.has(id),
  all: () => [...ids],
  set(id, on) {
    if (on) ids.add(id); else ids.delete(id);
    chosen.tell();
  },
  clear() {
    ids = new Set();
    chosen.tell();
  },
  tell() {
    sessionStorage.setItem(key, JSON.stringify([...ids]));
    const badge = document.getElementById("chosen");
    badge.textContent = ids.size;
    badge.hidden = ids.size === 0;
  },
};
