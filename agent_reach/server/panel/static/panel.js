// New data without a jump, and the keys: / search, j and k rows, enter open, esc back. Without this script every page still reads.
"use strict";
const PAUSE = 10000;
let chosen = -1;

const rows = () => [...document.querySelectorAll("tr[data-row]")];

function choose(index) {
  const all = rows();
  if (!all.length) return;
  chosen = Math.max(0, Math.min(index, all.length - 1));
  all.forEach((row, i) => row.classList.toggle("at", i === chosen));
  all[chosen].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "Escape") {
    if (typing) event.target.blur(); else history.back();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { event.preventDefault(); document.getElementById("search").focus(); }
  if (event.key === "j") choose(chosen + 1);
  if (event.key === "k") choose(chosen - 1);
  if (event.key === "Enter" && chosen >= 0 && event.target === document.body) rows()[chosen]?.querySelector("a")?.click();
});

document.querySelectorAll(".filters select").forEach((select) => {
  select.addEventListener("change", () => {
    select.form.querySelectorAll("select").forEach((each) => { each.disabled = !each.value; });
    select.form.submit();
  });
});

async function refresh() {
  const main = document.getElementById("main");
  if (document.hidden || main.dataset.live !== "yes" || main.querySelector("details[open]") || getSelection().toString()) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer || !answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [scrolls, at] = [[...main.querySelectorAll(".scroll")].map((box) => box.scrollLeft), [scrollX, scrollY]];
  main.replaceChildren(...page.getElementById("main").childNodes);
  main.querySelectorAll(".scroll").forEach((box, i) => { box.scrollLeft = scrolls[i] || 0; });
  scrollTo(...at);
  if (chosen >= 0) rows()[chosen]?.classList.add("at");
}
if (document.getElementById("main").dataset.live === "yes" && !document.querySelector(".login")) setInterval(refresh, PAUSE);
