/* Keys, ticks, the undo toast. Everything here is a shortcut to a control that is already on the page: without this file every
   page works. What a key does is said by `data-key` on a real button, link or input:
   "f" · "g i" (one after the other) · "Ctrl+Enter" (also while typing) · "u,Escape" (either). */
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const visible = (element) => element.checkVisibility({ visibilityProperty: true });
  const say = (text) => { $("#live").textContent = text; };
  const keysOn = document.documentElement.dataset.keys !== "off";

  /* Rows of a list: the focus is the place, so Enter, the screen reader and the eye agree. */
  const rows = () => $$("[data-row]").filter(visible);
  const rowAt = () => document.activeElement.closest("[data-row]") ?? $("[data-row]:target");
  const tickOf = (row) => row && $(".pick input", row);
  let lastTicked = null;

  function step(by) {
    const all = rows();
    const at = all.indexOf(rowAt());
    const row = all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)];
    if (!row) return false;
    $(".row-link", row).focus();
    row.scrollIntoView({ block: "nearest" });
    return true;
  }
  function tick(box, on) {
    if (!box || box.checked === on) return;
    box.checked = on;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }
  function toggle(range) {
    const row = rowAt();
    if (!tickOf(row)) return false;
    const all = rows();
    const on = range || !tickOf(row).checked;
    const [from, to] = [all.indexOf(range && lastTicked || row), all.indexOf(row)].sort((a, b) => a - b);
    all.slice(Math.max(from, 0), to + 1).forEach((each) => tick(tickOf(each), on));
    lastTicked = row;
    return true;
  }
  function tickAll(on) {
    rows().forEach((row) => tick(tickOf(row), on));
    return true;
  }

  /* Keys without a button of their own. A button on the page with the same key comes first. */
  const BUILT_IN = {
    j: () => step(1),
    k: () => step(-1),
    o: () => rowAt() && ($(".row-link", rowAt()).click(), true),
    x: () => toggle(false),
    X: () => toggle(true),
    "* a": () => tickAll(true),
    u: () => $(".pick input:checked") && tickAll(false),
  };

  const names = (element) => element.dataset.key.split(",");
  const openDialog = () => $$(":popover-open, dialog[open]").pop();
  function holder(name) {
    const found = $$("[data-key]", openDialog() ?? document)
      .filter((element) => names(element).includes(name) && (visible(element) || element.closest("[popover]")));
    return found.find((element) => element.closest("main")) ?? found[0];
  }
  function press(element) {
    if (element.matches(":disabled, [aria-disabled=true]")) {
      element.focus();
      say(document.getElementById(element.getAttribute("aria-describedby"))?.textContent.trim() ?? "");   // why it waits
    } else if (element.matches("input, textarea, select")) {
      element.focus();
    } else {
      element.click();
    }
    return true;
  }
  const begins = (start) => [...Object.keys(BUILT_IN), ...$$("[data-key]").flatMap(names)].some((name) => name.startsWith(start));

  let chord = "";
  let chordTimer = 0;
  function onKey(event) {
    if (event.defaultPrevented || event.isComposing || event.altKey) return;
    if (event.ctrlKey || event.metaKey) {
      const element = holder(`Ctrl+${event.key}`);
      if (element) { event.preventDefault(); press(element); }
      return;
    }
    if (!keysOn || event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select")) return;
    const name = chord + event.key;
    clearTimeout(chordTimer);
    chord = "";
    const element = holder(name);
    if (element ? press(element) : !openDialog() && BUILT_IN[name]?.()) event.preventDefault();
    else if (event.key.length === 1 && begins(`${name} `)) {
      chord = `${name} `;
      chordTimer = setTimeout(() => { chord = ""; }, 1200);
    }
  }

  /* The sheet behind "?" adds the keys of this very page, from its own buttons. */
  const put = (tag, ...inside) => { const made = document.createElement(tag); made.append(...inside); return made; };
  function keyRow(element) {
    const copy = element.cloneNode(true);
    $$("kbd, svg", copy).forEach((part) => part.remove());
    const word = element.ariaLabel || copy.textContent.trim() || element.labels?.[0]?.textContent.trim();
    return word && put("div", put("dt", word), put("dd", ...names(element)[0].split(" ").map((name) => put("kbd", name))));
  }

  /* The toast leaves after the time the server gave; it does not leave under a hand. */
  function timeToast(toast) {
    let left = Number(toast.dataset.seconds);
    const timer = setInterval(() => {
      left -= 1;
      if (left > 0 || toast.matches(":hover, :focus-within")) return;
      clearInterval(timer);
      toast.remove();
    }, 1000);
  }
  function arrive(root) {
    $$(".toast[data-seconds]", root).forEach(timeToast);
    const words = $$("[data-say]", root).map((element) => element.textContent.trim()).join(" ");
    if (words) setTimeout(() => say(words), 150);
    const there = $("[data-there]", root);                               // the marked place, within its own box
    const box = there?.closest("[role=region]");
    if (box) {
      const [a, b] = [there, box].map((element) => element.getBoundingClientRect());
      box.scrollBy(a.left - b.left - b.width / 3, a.top - b.top - b.height / 3);
    }
    const first = $("[data-focus]", root);
    if (first) { first.tabIndex = -1; first.focus(); }
  }

  let unsaved = false;
  const on = (name, act, capture) => document.addEventListener(name, act, capture);
  on("keydown", onKey);
  on("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest(".chip-menu[open]");
    if (menu) { menu.open = false; $("summary", menu).focus(); }
  });
  on("click", (event) => {
    $$(".chip-menu[open]").filter((menu) => !menu.contains(event.target)).forEach((menu) => { menu.open = false; });
    const fill = event.target.closest("[data-fill]");
    if (!fill) return;
    const field = document.getElementById(fill.dataset.for);
    field.value = fill.dataset.fill;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  });
  on("toggle", (event) => {
    if (event.newState === "open") $("[data-page-keys]", event.target)?.replaceChildren(...$$("main [data-key]").map(keyRow).filter(Boolean));
  }, true);
  on("change", (event) => { if (event.target.matches("[data-tick-all]")) tickAll(event.target.checked); });
  on("input", (event) => {
    if (event.target.closest("[data-guard]")) unsaved = true;
    event.target.closest(".fix-row")?.classList.toggle("is-changed", event.target.value !== event.target.defaultValue);
  });
  on("submit", (event) => {
    const form = event.target;
    unsaved = false;
    if (event.defaultPrevented || form.method === "get") return;
    if (form.dataset.sent) return event.preventDefault();                // a second click is not a second verdict
    form.dataset.sent = "1";
    setTimeout(() => { delete form.dataset.sent; }, 5000);
  });
  addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
  on("htmx:beforeRequest", (event) => { if (!visible(event.detail.target)) event.preventDefault(); });   // a pane that is not shown asks for nothing
  on("htmx:afterSettle", (event) => arrive(event.target));
  arrive(document);
})();
