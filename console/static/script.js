// The console's only script. Everything works without it: it replaces parts of the page that have changed, filters as
// one types, and shows tooltips.
"use strict";
(() => {
  const safe = window.trustedTypes
    ? window.trustedTypes.createPolicy("godwit", { createHTML: (text) => text })
    : { createHTML: (text) => text };
  const say = (text) => { const e = document.getElementById("stream"); if (e) e.textContent = text; };

  // mark remembers where the focus is, as a selector that still holds when an element is replaced.
  const mark = () => {
    const e = document.activeElement;
    if (!e || e === document.body) return null;
    if (e.id) return () => document.getElementById(e.id);
    const href = e.getAttribute("href"), name = e.getAttribute("name"), tag = e.localName;
    return () => [...document.querySelectorAll(tag)].find((o) =>
      href ? o.getAttribute("href") === href : name && o.getAttribute("name") === name);
  };
  const busy = (e) => e.contains(document.activeElement) &&
    /^(input|select|textarea)$/.test(document.activeElement.localName);

  const replace = (parts) => {
    for (const { id, html } of parts) {
      const e = document.getElementById(id);
      if (!e || busy(e)) continue;
      const focus = e.contains(document.activeElement) ? mark() : null;
      const open = new Set([...e.querySelectorAll("details[open][id]")].map((d) => d.id));
      const checked = new Set([...e.querySelectorAll("input:checked[id]")].map((d) => d.id));
      e.innerHTML = safe.createHTML(html);
      for (const d of e.querySelectorAll("details[id]")) if (open.has(d.id)) d.open = true;
      for (const d of e.querySelectorAll("input[id]")) if (checked.has(d.id)) d.checked = true;
      if (focus) focus()?.focus({ preventScroll: true });
    }
  };

  let stream;
  const listen = () => {
    stream?.close();
    if (!document.body.dataset.live) return;
    stream = new EventSource(location.pathname + location.search);
    stream.addEventListener("parts", (event) => { say("live"); document.body.classList.remove("stale"); replace(JSON.parse(event.data) || []); });
    stream.addEventListener("problem", (event) => { say("problem: " + JSON.parse(event.data)); });
    stream.onerror = () => { say("no connection"); document.body.classList.add("stale"); };
  };
  addEventListener("pagehide", () => stream?.close());
  addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
  listen();

  // A form of a filter shows its result as one types.
  for (const form of document.querySelectorAll("form[data-filter]")) {
    let timer;
    const go = () => {
      const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
      history.replaceState(null, "", location.pathname + (query.size ? "?" + query : ""));
      listen();
    };
    form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(go, 150); });
    form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); go(); });
  }

  // A form that changes something is sent once.
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented || event.target.method !== "post") return;
    const form = event.target;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "1";
    setTimeout(() => delete form.dataset.sent, 3000);
  });

  // Tooltips: what the title of a mark says, at once, at the pointer or the focus.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  const titleOf = (e) => {
    for (; e && e !== document.body && e.namespaceURI === "http://www.w3.org/2000/svg"; e = e.parentNode) {
      const title = [...e.children].find((c) => c.localName === "title");
      if (title) return title.textContent;
    }
    return "";
  };
  const show = (text, x, y) => {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - box.width - 4)) + "px";
    tip.style.top = (y + 20 + box.height > innerHeight ? y - box.height - 8 : y + 16) + "px";
  };
  document.addEventListener("pointermove", (event) => show(titleOf(event.target), event.clientX, event.clientY));
  document.addEventListener("focusin", (event) => {
    const box = event.target.getBoundingClientRect();
    show(titleOf(event.target), box.left, box.top);
  });
  document.addEventListener("focusout", () => show(""));

  // Keys: / to the filter, j and k through a list, Escape leaves.
  document.addEventListener("keydown", (event) => {
    const typing = /^(input|select|textarea)$/.test(event.target.localName);
    if (event.key === "Escape") { event.target.blur?.(); show(""); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      const q = document.querySelector("input[type=search]");
      if (q) { event.preventDefault(); q.focus(); q.select(); }
    }
    if (event.key === "j" || event.key === "k") {
      const links = [...document.querySelectorAll("tbody th a")];
      const at = links.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
      links[Math.max(0, Math.min(at, links.length - 1))]?.focus();
    }
  });
})();
