// A study that leaves the page and comes back: as text, as a file and as a link (`notation.js`).

import { addressOf } from "./address.js";
import { MOST_CHAPTERS } from "./chapters.js";
import { openAndKeep } from "./kept.js";
import { lineAndColumn, packStudy, readStudy, writeStudy } from "./notation.js";
import { attempt, byId, copyText, fileName, saveText, setText } from "./page.js";
import { askSheet } from "./server.js";
import { nodesOf } from "./variations.js";

/** @import { StudyPage } from "./study.js" */

/** A study as text that a table is opened for, until the table is there. */
export const texts = { brought: "" };

export class Exchange {
  /** @param {StudyPage} page */
  constructor(page) {
    this.page = page;
    /** @type {(id: string, act: (text: string) => Promise<unknown> | void) => void} */
    const click = (id, act) => byId(id).addEventListener("click", () => attempt(byId(id), async () => act(await this.text())));
    click("whole-copy", (text) => copyText(text, byId("whole-says")));
    click("whole-save", (text) => saveText(`${fileName(page.view.game)}.study.txt`, text));
    click("whole-link", async (text) => copyText(new URL(addressOf("/study", { packed: await packStudy(text) }), location.href).href, byId("whole-says")));
    byId("bring").addEventListener("click", () => this.take(byId("whole", "textarea").value, byId("bring")));
    offerFile(byId("whole-file", "input"), byId("whole", "textarea"));
  }

  /** The study as text, which is shown too. */
  async text() {
    const { chapters, view, table } = this.page;
    const { rules, dialect } = await askSheet(table);
    const text = writeStudy({ game: view.game, rules, dialect }, chapters.list);
    byId("whole", "textarea").value = text;
    setText(byId("whole-says"), "");
    return text;
  }

  /**
   * Adds the chapters of a text, once the table has found that their moves are legal.
   * @param {string} text
   * @param {Element} beside
   */
  take(text, beside) {
    const { page } = this;
    byId("whole", "textarea").value = text;
    byId("study-text", "details").open = true;
    return attempt(beside, async () => {
      const { game, chapters } = readStudy(text);
      if (game !== page.view.game) throw new Error(`The text is of the game ${game}, and this is a study of ${page.view.game}: read it on the page of games.`);
      const isUntouched = page.chapters.isUntouched;
      const before = isUntouched ? [] : page.chapters.list;
      if (before.length + chapters.length > MOST_CHAPTERS) throw new Error(`A study has at most ${MOST_CHAPTERS} chapters.`);
      const { problem, chapter, node } = await page.check(chapters);
      if (problem !== null) {
        const { tree, places } = chapters[chapter];
        throw new Error(`${lineAndColumn(text, places.get(nodesOf(tree.root)[node]) ?? 0)}: ${problem}`);
      }
      const [old] = page.chapters.list;
      const [first] = chapters.map(({ name, start, tree }) => page.chapters.add(name, start, tree));
      page.goTo(first.tree.root, beside);
      if (isUntouched) page.chapters.remove(old);
      page.chapterList.changed();
    });
  }
}

/**
 * Opens a table for a study that is a text.
 * @param {string} text
 */
export async function openText(text) {
  const { game, rules, dialect } = readStudy(text);
  texts.brought = text;
  return openAndKeep({ ...(rules === null ? { game } : { rules, name: game, dialect: dialect || undefined }), study: {}, seconds: 30 });
}

/**
 * Puts the text of a file that is chosen into a field.
 * @param {HTMLInputElement} input
 * @param {HTMLTextAreaElement} field
 */
export function offerFile(input, field) {
  input.addEventListener("change", async () => {
    const [file] = input.files ?? [];
    if (file !== undefined) field.value = await file.text();
    input.value = "";
    field.focus();
  });
}
