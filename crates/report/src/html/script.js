// Filters and sorts the table of statistics; shows a part of it at a time.
(function () {
  const data = document.getElementById("statistics");
  if (!data) return;
  const rows = JSON.parse(data.textContent);
  const body = document.querySelector("#table tbody"), filter = document.getElementById("filter");
  const more = document.getElementById("more"), found = document.getElementById("found");
  let column = 0, upwards = true, shown = 200;
  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = rows.filter(row => words.every(word => row[0].toLowerCase().includes(word) || row[1] === word));
    kept.sort((a, b) => {
      const order = column === 2 ? a[2] - b[2] : String(a[column]).localeCompare(String(b[column]), "en", { numeric: true });
      return upwards ? order : -order;
    });
    body.replaceChildren(...kept.slice(0, shown).map(row => {
      const line = document.createElement("tr");
      row.forEach((value, at) => {
        const cell = document.createElement("td");
        cell.textContent = at === 2 ? value.toLocaleString("en", { maximumFractionDigits: 3 }) : value;
        if (at === 2) cell.className = "number";
        line.append(cell);
      });
      return line;
    }));
    found.textContent = kept.length + " of " + rows.length + " statistics";
    more.hidden = kept.length <= shown;
  }
  filter.addEventListener("input", () => { shown = 200; draw(); });
  more.addEventListener("click", () => { shown *= 4; draw(); });
  document.querySelectorAll("#table th").forEach((head, at) => head.addEventListener("click", () => {
    upwards = column === at ? !upwards : at !== 2;
    column = at;
    draw();
  }));
  draw();
})();
