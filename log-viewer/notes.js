// What a person writes in a study: the comment on the position that is shown, the mark of its move,
// marked cells, and the list of chapters.

import { LONGEST_NAME } from "./chapters.js";
import { byId, element, fill, refill } from "./page.js";
import { LONGEST_NOTE, MARKS } from "./variations.js";

/** @import { StudyPage } from "./study.js" */
/** @import { LineNode } from "./types.d.ts" */

/** Milliseconds without a key, after which a text is kept. */
const PAUSE = 400;
/** Characters of a comment in the tree of lines. */
const SHORT = 60;
/** @type {Record<string, string>} */
const MEANINGS = { "!": "good move", "?": "mistake", "!!": "brilliant move", "??": "blunder", "!?": "interesting move", "?!": "dubious move" };

/**
 * The beginning of the comment at a node, for the tree of lines.
 * @param {LineNode} node
 */
export function noteSaid({ text }) {
  const [first] = text.trim().split("\n");
  const said = first.length > SHORT ? `${first.slice(0, SHORT)}…` : first;
  return said !== "" && element("small", { class: "note-short", title: text }, said);
}

export class NoteField {
  /** @param {StudyPage} page */
  constructor(page) {
    this.page = page;
    this.field = byId("note", "textarea");
    this.field.maxLength = LONGEST_NOTE;
    /** @type {number | undefined} */
    this.typing = undefined;
    this.field.addEventListener("input", () => this.write());
    const buttons = MARKS.map((mark) => {
      const press = () => this.mark(page.node.mark === mark ? "" : mark);
      return element("button", { type: "button", class: "button", title: MEANINGS[mark], "aria-label": `${mark} ${MEANINGS[mark]}`, on: { click: press } }, mark);
    });
    fill(byId("marks"), buttons);
  }

  show() {
    const { node } = this.page;
    if (this.field.value !== node.text) this.field.value = node.text;
    for (const [at, button] of [...byId("marks").querySelectorAll("button")].entries()) {
      button.disabled = node.parent === null;
      button.setAttribute("aria-pressed", String(node.mark === MARKS[at]));
    }
  }

  write() {
    const { page } = this;
    page.tree.annotate(page.node, { text: this.field.value });
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.changed(), PAUSE);
  }

  /** @param {string} mark */
  mark(mark) {
    const { page } = this;
    if (page.node.parent === null) return;
    page.tree.annotate(page.node, { mark });
    this.show();
    this.changed();
  }

  /**
   * Marks a cell, or takes the mark away.
   * @param {string} name
   */
  circle(name) {
    const { page } = this;
    const { cells } = page.node;
    page.tree.annotate(page.node, { cells: cells.includes(name) ? cells.filter((other) => other !== name) : [...cells, name] });
    page.panel.circled = page.node.cells;
    page.panel.drawOver();
    this.changed();
  }

  changed() {
    this.page.showLines();
    this.page.keep();
  }
}

export class ChapterList {
  /** @param {StudyPage} page */
  constructor(page) {
    this.page = page;
    this.name = byId("chapter-name", "input");
    this.name.maxLength = LONGEST_NAME;
    this.name.addEventListener("change", () => {
      page.chapters.rename(page.chapter, this.name.value.trim() || "Chapter");
      this.changed();
    });
    byId("chapter-add").addEventListener("click", () => {
      const { tree } = page.chapters.add(`Chapter ${page.chapters.list.length + 1}`, "");
      page.goTo(tree.root, byId("chapter-add"));
      this.name.select();
    });
    byId("chapter-remove").addEventListener("click", () => {
      const { chapter } = page;
      const others = page.chapters.list.filter((other) => other !== chapter);
      page.goTo(others[Math.max(0, page.chapters.list.indexOf(chapter) - 1)].tree.root, byId("chapter-remove"));
      page.chapters.remove(chapter);
      this.changed();
    });
  }

  show() {
    const { chapters, chapter } = this.page;
    refill(
      byId("chapters"),
      chapters.list.map((one) =>
        element(
          "li",
          { "aria-current": one === chapter ? "true" : null },
          element("button", { type: "button", class: "plain", on: { click: () => this.page.goTo(one.tree.root, byId("chapters")) } }, one.name),
          one.start !== "" && element("small", null, "own position"),
        ),
      ),
    );
    if (document.activeElement !== this.name) this.name.value = chapter.name;
    byId("chapter-add", "button").disabled = chapters.isFull;
    byId("chapter-remove", "button").disabled = chapters.list.length < 2;
  }

  changed() {
    this.show();
    this.page.keep();
  }
}
