// Creates elements of a page. Texts of logs and servers reach the page through here, as text or as
// attribute values and never as markup, since names of players and matches are untrusted.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with attributes and children. An attribute that is null, undefined or false is left out; `on` holds
 * listeners by the name of their event. Children are nodes, texts, lists of them, or null.
 */
export function element(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for a drawing. */
export function drawn(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (child !== null && child !== undefined && child !== false) {
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
}

/** A table with named columns and a body of rows. */
export function table(attributes, names, body) {
  const heads = names.map((name) => element("th", { scope: "col" }, name));
  return element("table", attributes, element("thead", null, element("tr", null, heads)), body);
}

/** Names with their values, each `[name, value, hint]`. */
export function pairs(entries, kind = "pairs") {
  const pair = ([name, value, hint]) =>
    element("div", { title: hint }, element("dt", null, name), element("dd", null, value));
  return element("dl", { class: kind }, entries.map(pair));
}

/** Puts other children into an element. */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/**
 * The same for a node with buttons: the focus stays on the button with the same number, or on the
 * last.
 */
export function refill(node, ...children) {
  const before = [...node.querySelectorAll("button")].indexOf(document.activeElement);
  fill(node, ...children);
  const buttons = node.querySelectorAll("button");
  if (before >= 0) buttons[Math.min(before, buttons.length - 1)]?.focus({ preventScroll: true });
}

/** Sets a text only where it differs, so that what a person has selected stays selected. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The element with an id, which the page is sure to have. */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * Lets the skip link of a page focus its target without changing the address, where the address
 * names a table.
 */
export function skipInPlace() {
  const link = document.querySelector(".skip");
  link.addEventListener("click", (event) => {
    event.preventDefault();
    document.querySelector(link.getAttribute("href")).focus();
  });
}

/**
 * Keeps the focus among `buttons` where the one that has it, `focused`, is disabled or hidden now:
 * the nearest one that can be pressed gets it.
 */
export function keepFocus(buttons, focused) {
  const at = buttons.indexOf(focused);
  const canHave = (button) => !button.disabled && !button.hidden;
  if (at < 0 || canHave(focused)) return;
  const distance = (button) => Math.abs(buttons.indexOf(button) - at);
  const others = buttons.filter(canHave).sort((one, other) => distance(one) - distance(other));
  others[0]?.focus();
}

/** The player has said something new: what pulses on the page does so. */
export function beat() {
  const { dataset } = document.documentElement;
  dataset.beat = dataset.beat === "odd" ? "even" : "odd";
}

/** The wordmark: a lance, a shield and the name. */
export function wordmark() {
  const mark = drawn(
    "svg",
    { viewBox: "0 0 32 32", class: "mark", "aria-hidden": "true" },
    drawn("path", { class: "mark-shield", d: "M5 4h22v11c0 7-4.6 11.4-11 14C9.6 26.4 5 22 5 15z" }),
    drawn("path", { class: "mark-letter", d: "M12 23V9h5.2a4.6 4.6 0 0 1 0 9.2H12" }),
  );
  return element("a", { href: "/", class: "wordmark", "aria-label": "Panza, all matches" }, mark, "Panza");
}
