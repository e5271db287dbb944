// The readable log with a choice of levels and a search. The newest lines are at the end. Only a
// limited number of lines is on the page, and more are added on request, so that a long log costs
// no more than a short one.

import { count, counted } from "./format.js";
import { LEVELS } from "./messages.js";
import { element, fill, setText } from "./page.js";

/** @import { Message } from "./types.d.ts" */
/** @import { Messages } from "./messages.js" */

const SHOWN = 400;

export class LogPanel {
  /** @param {HTMLElement} place */
  constructor(place) {
    /** @type {Messages | null} */
    this.messages = null;
    this.most = SHOWN;
    /** The levels that are not shown. @type {Set<string>} */
    this.hidden = new Set();
    this.counted = { entries: 0, levels: /** @type {Map<string, number>} */ (new Map()) };
    this.said = "";
    /** By level the element with its number of lines. @type {Map<string, HTMLElement>} */
    this.boxes = new Map();
    this.filters = element("div", { class: "filters", role: "group", "aria-label": "Levels that are shown" });
    this.search = element("input", { type: "search", placeholder: "Search the log", "aria-label": "Search the log" });
    this.search.addEventListener("input", () => this.again());
    this.summary = element("p", { class: "quiet", role: "status" });
    this.more = element("button", { type: "button", class: "button" }, "Show earlier lines");
    this.more.addEventListener("click", () => {
      this.most += 5 * SHOWN;
      this.draw();
    });
    // It scrolls, so that the keyboard has to reach it.
    this.lines = element("ol", { class: "log-lines", tabindex: "0" });
    fill(place, element("div", { class: "log-tools" }, this.filters, this.search), this.summary, this.more, this.lines);
  }

  /** Another search or other levels: from the end again. */
  again() {
    this.most = SHOWN;
    this.draw();
  }

  /**
   * Shows messages, which may have become more.
   * @param {Messages} messages
   */
  show(messages) {
    if (messages !== this.messages) {
      this.messages = messages;
      this.said = "";
      this.counted = { entries: 0, levels: new Map() };
    }
    const seen = this.counted;
    for (; seen.entries < messages.entries.length; seen.entries += 1) {
      const level = messages.entries[seen.entries].level ?? "other";
      seen.levels.set(level, (seen.levels.get(level) ?? 0) + 1);
    }
    for (const level of [...LEVELS, "other"]) this.showFilter(level);
    this.draw();
  }

  /** @param {string} level */
  showFilter(level) {
    const amount = this.counted.levels.get(level);
    const known = this.boxes.get(level);
    if (known !== undefined) setText(known, count(amount ?? 0));
    else if (amount !== undefined) {
      const box = element("input", { type: "checkbox", checked: true, value: level });
      box.addEventListener("change", () => {
        if (box.checked) this.hidden.delete(level);
        else this.hidden.add(level);
        this.again();
      });
      const number = element("span", { class: "count" }, count(amount));
      const label = element("label", { class: `level ${level.toLowerCase()}` }, box, level.toLowerCase(), number);
      this.boxes.set(level, number);
      this.filters.append(label);
    }
  }

  draw() {
    const wanted = this.search.value.trim().toLowerCase();
    const entries = this.messages?.entries ?? [];
    const found = entries.filter(
      ({ level, text }) => !this.hidden.has(level ?? "other") && (wanted === "" || text.toLowerCase().includes(wanted)),
    );
    const shown = found.slice(-this.most);
    const all = counted(entries.length, "line");
    const some = found.length === entries.length ? all : `${count(found.length)} of ${all}`;
    const last = shown.length < found.length ? `, the last ${count(shown.length)} of them shown` : "";
    setText(this.summary, entries.length === 0 ? "The log is empty." : `${some}${last}`);
    this.more.hidden = shown.length === found.length;
    const said = `${found.length} ${shown.length} ${wanted} ${[...this.hidden]} ${shown.at(-1)?.text.length}`;
    if (said === this.said) return;
    this.said = said;
    fill(this.lines, shown.map(line));
  }
}

/** @param {Message} message */
function line({ time, at, level, text }) {
  return element(
    "li",
    { class: `log-line ${(level ?? "other").toLowerCase()}` },
    element("time", { title: time ?? undefined }, at === null ? "" : at.toFixed(3)),
    element("span", { class: "level-name" }, level ?? ""),
    element("span", { class: "log-text" }, text),
  );
}
