// Creates elements of a page. Texts of logs and servers reach the page through here, as text or as
// attribute values and never as markup, since names of players and matches are untrusted.

import { addressOf, isOneFile } from "./address.js";
import { messageOf } from "./format.js";

/** @import { Attributes, Child } from "./types.d.ts" */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with attributes and children. An attribute that is null, undefined or false is left
 * out; `on` holds listeners by the name of their event. Children are nodes, texts, lists of them,
 * or null.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} name
 * @param {Attributes | null} [attributes]
 * @param {Child[]} children
 */
export function element(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/**
 * The same for a drawing.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} name
 * @param {Attributes | null} [attributes]
 * @param {Child[]} children
 */
export function drawn(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

/**
 * @template {Element} Kind
 * @param {Kind} node
 * @param {Attributes | null | undefined} attributes
 * @param {Child[]} children
 */
function filled(node, attributes, children) {
  const { on, ...others } = attributes ?? {};
  for (const [event, listener] of Object.entries(on ?? {})) node.addEventListener(event, listener);
  for (const [name, value] of Object.entries(others)) {
    if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(node, children);
  return node;
}

/**
 * @param {Element} node
 * @param {Child[]} children
 */
function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (child !== null && child !== undefined && child !== false) {
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
}

/**
 * A table with named columns and a body of rows.
 * @param {Attributes | null} attributes
 * @param {Child[]} names
 * @param {Child} body
 */
export function table(attributes, names, body) {
  const heads = names.map((name) => element("th", { scope: "col" }, name));
  return element("table", attributes, element("thead", null, element("tr", null, heads)), body);
}

/**
 * Names with their values, each `[name, value, hint]`.
 * @param {[name: Child, value: Child, hint?: string][]} entries
 */
export function pairs(entries, kind = "pairs") {
  /** @param {[name: Child, value: Child, hint?: string]} entry */
  const pair = ([name, value, hint]) =>
    element("div", { title: hint }, element("dt", null, name), element("dd", null, value));
  return element("dl", { class: kind }, entries.map(pair));
}

/**
 * Puts other children into an element.
 * @template {Element} Kind
 * @param {Kind} node
 * @param {Child[]} children
 */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/**
 * The same for a node with buttons: the focus stays on the button with the same number, or on the
 * last.
 * @param {Element} node
 * @param {Child[]} children
 */
export function refill(node, ...children) {
  const before = [...node.querySelectorAll("button")].findIndex((button) => button === document.activeElement);
  fill(node, ...children);
  const buttons = node.querySelectorAll("button");
  if (before >= 0) buttons[Math.min(before, buttons.length - 1)]?.focus({ preventScroll: true });
}

/**
 * Sets a text only where it differs, so that what a person has selected stays selected.
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * The element with an id, which the page is sure to have. Its `tag` is named where something is
 * asked of it that not every element has.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @overload
 * @param {string} id
 * @param {Tag} tag
 * @returns {HTMLElementTagNameMap[Tag]}
 */
/**
 * @overload
 * @param {string} id
 * @returns {HTMLElement}
 */
/**
 * @param {string} id
 * @param {string} [tag]
 */
export function byId(id, tag) {
  const found = document.getElementById(id);
  if (found === null || found.localName !== (tag ?? found.localName)) {
    throw new Error(`the page has no ${tag ?? "element"} with the id ${id}`);
  }
  return found;
}

/**
 * The element that a selector names at or around the place of an event, or null.
 * @param {Event} event
 * @param {string} selector
 * @returns {(Element & HTMLOrSVGElement) | null}
 */
export function around({ target }, selector) {
  return target instanceof Element ? target.closest(selector) : null;
}

/**
 * Lets the skip link of a page focus its target without changing the address, where the address
 * names a table.
 */
export function skipInPlace() {
  /** @type {HTMLAnchorElement | null} */
  const link = document.querySelector("a.skip");
  link?.addEventListener("click", (event) => {
    event.preventDefault();
    byId(link.hash.slice(1)).focus();
  });
}

/**
 * Keeps the focus among `buttons` where the one that has it, `focused`, is disabled or hidden now:
 * the nearest one that can be pressed gets it.
 * @param {HTMLButtonElement[]} buttons
 * @param {Element | null} focused
 */
export function keepFocus(buttons, focused) {
  const at = buttons.findIndex((button) => button === focused);
  /** @param {HTMLButtonElement} button */
  const canHave = (button) => !button.disabled && !button.hidden;
  if (at < 0 || canHave(buttons[at])) return;
  /** @param {HTMLButtonElement} button */
  const distance = (button) => Math.abs(buttons.indexOf(button) - at);
  const others = buttons.filter(canHave).sort((one, other) => distance(one) - distance(other));
  others[0]?.focus();
}

/**
 * Says what went wrong with what a person did beside the element with which they did it. It goes
 * with the next attempt.
 * @param {Element} beside
 * @param {string} text
 */
export function complain(beside, text) {
  forgive();
  const said = element("span", { class: "problem complaint", role: "alert" }, text);
  const place = beside.closest(".controls, .edit-tools, .edit-head, p, li");
  if (place === null) beside.after(said);
  else place.append(said);
  said.scrollIntoView({ block: "nearest" });
}

/** Takes away what went wrong before. */
export function forgive() {
  document.querySelector(".complaint")?.remove();
}

/**
 * Does what a person asks for with an element; what goes wrong is said beside it.
 * @param {Element} beside
 * @param {() => Promise<unknown>} act
 */
export async function attempt(beside, act) {
  forgive();
  try {
    await act();
  } catch (problem) {
    complain(beside, messageOf(problem));
  }
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
  const [href, label] = isOneFile() ? [addressOf("/play"), "Panza, games to play"] : ["/", "Panza, all matches"];
  return element("a", { href, class: "wordmark", "aria-label": label }, mark, "Panza");
}

/**
 * Shows a dialog that Escape, its button and a click beside it close.
 * @param {string} title
 * @param {Child[]} children
 */
export function showDialog(title, ...children) {
  document.querySelector("dialog")?.remove();
  /** @type {HTMLDialogElement} */
  const dialog = element(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    element("h2", { id: "dialog-title" }, title),
    element("div", { class: "dialog-text" }, children),
    element("p", null, element("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Close")),
  );
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Keys that mean the same on every page. */
const KEYS_OF_ALL = [["Tab", "to the next field or button"], ["?", "this list"], ["Esc", "closes this list"]];

/**
 * Offers the keys of the page, each with what it does: by `?` and by a button of the header.
 * @param {[key: string, does: string][]} keys
 */
export function offerKeys(...keys) {
  const show = () => showDialog("Keys", pairs([...keys, ...KEYS_OF_ALL].map(([key, does]) => [element("kbd", null, key), does]), "keys"));
  document
    .querySelector(".top nav")
    ?.append(element("button", { type: "button", class: "plain", title: "Keys (?)", "aria-label": "Keys of this page", on: { click: show } }, "?"));
  document.addEventListener("keydown", (event) => {
    const isWriting = around(event, "input, textarea, select, [contenteditable]") !== null;
    if (event.key !== "?" || isWriting || event.ctrlKey || event.metaKey || document.querySelector("dialog") !== null) return;
    event.preventDefault();
    show();
  });
}

/**
 * Copies a text and says so; where the browser does not let it, the text is shown.
 * @param {string} text
 * @param {Node} says
 */
export async function copyText(text, says) {
  try {
    await navigator.clipboard.writeText(text);
    setText(says, "copied");
  } catch {
    setText(says, "");
    showDialog("To be copied from here", element("textarea", { rows: 12, readonly: true, "aria-label": "Text" }, text));
    document.querySelector("dialog")?.querySelector("textarea")?.select();
  }
}

/**
 * Saves a text as a file.
 * @param {string} file
 * @param {string} text
 */
export function saveText(file, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  element("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/**
 * A name as that of a file.
 * @param {string} name
 */
export const fileName = (name) => name.trim().replace(/[^\w.-]+/g, "_");

/**
 * The facts of a position as GDL.
 * @param {string[]} facts
 */
export const factsText = (facts) => `(${facts.join("\n ")})\n`;
