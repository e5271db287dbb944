// The page to write rules on, in a real browser: faults, fixes, layout, the preview, and the way to a table.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { screenshot, withPage } from "./page.mjs";
import { startMatch } from "./server.mjs";
import { served } from "./suite.mjs";

const HEXAPAWN = fileURLToPath(new URL("hexapawn.hrf", import.meta.url));

const server = served("edit");

async function open(page) {
  await page.goto(`${server.address}/edit`);
  await page.waitForFunction(() => document.getElementById("counts").textContent !== "");
}

/** What is counted of a text without faults. Play may add notes after a while. */
const NONE = "No errors and no warnings.";

/** Waits until the text is checked, and found to be like this. */
async function found(page, counts) {
  await page.waitForFunction(
    ({ wanted, mayHaveNotes }) => {
      const { textContent } = document.getElementById("counts");
      return textContent === wanted || (mayHaveNotes && /^\d+ notes?$/.test(textContent));
    },
    { wanted: counts, mayHaveNotes: counts === NONE },
  );
}

/** Waits until this dialect is shown. */
async function speaks(page, dialect) {
  await page.waitForFunction(
    (wanted) => document.querySelector("#dialect option:checked").textContent === wanted,
    dialect,
  );
}

async function startFrom(page, game) {
  await page.selectOption("#start", game);
  await page.waitForFunction((name) => document.getElementById("name").value === name, game);
}

/** The text in the editor; CodeMirror draws only what is seen, so short texts are wanted. */
function text(page) {
  return page.evaluate(() => [...document.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n"));
}

const all = "ControlOrMeta+a";

/** Writes a text as a person does, without what the editor would add on its own. */
async function write(page, rules) {
  await page.locator(".cm-content").focus();
  await page.keyboard.press(all);
  await page.keyboard.insertText(rules);
}

const SOUND = `(role a)
(init (at 1))
(legal a go)
(<= (next (at 2)) (does a go))
(<= terminal (true (at 2)))
(goal a 100)
`;

test("a fault is shown as it is typed, and mended", () =>
  withPage({}, async (page) => {
    await open(page);
    await found(page, NONE);
    await write(page, SOUND);
    await found(page, NONE);
    await page.keyboard.press("ControlOrMeta+End");
    await page.keyboard.type("(<= (next (at 3)) (tru (at 2)");
    await page.waitForSelector("#problems .warning, #problems .error");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".cm-lintRange, .cm-lintPoint");
    assert.match(await page.innerText("#problems"), /7:\d+ .*`tru\/1` is used but nothing defines it/);
    await screenshot(page, "edit-fault", true);
    await page.click("#problems .fix");
    await found(page, NONE);
    assert.match(await text(page), /\(<= \(next \(at 3\)\) \(true \(at 2\)\)\)/);
    // The same without a mouse: the panel of the editor lists faults with their fixes.
    await write(page, `${SOUND}(<= (next (at 3)) (true (at 2))`);
    await found(page, "1 error");
    assert.match(await page.innerText("#problems"), /never closed/);
    await page.focus("#problems .fix");
    await page.keyboard.press("Enter");
    await found(page, NONE);
    assert.ok((await text(page)).endsWith("(<= (next (at 3)) (true (at 2)))"));
  }));

test("what random games show is added to the problems, and gone with a change", () =>
  withPage({}, async (page) => {
    await open(page);
    const patience = { timeout: 120_000 };
    // A walk beyond its end: nothing is legal there, and the game is not over.
    await write(page, SOUND.replace("(legal a go)", "(<= (legal a go) (true (at 1)))").replace("terminal (true (at 2))", "terminal (true (at 3))"));
    await page.waitForSelector("#problems .error", patience);
    const problems = await page.innerText("#problems");
    assert.match(problems, /1:1 .*a has no legal move after 1 joint move/);
    assert.match(problems, /state: \(\(at 2\)\)\s+moves: \(go\)/);
    assert.match(await page.innerText("#counts"), /1 error/);
    await page.waitForSelector(".cm-lintRange-error", patience);
    await screenshot(page, "edit-trial", true);
    await write(page, SOUND);
    await found(page, NONE);
    assert.equal(await page.locator("#problems .error").count(), 0);
  }));

test("rules are laid out by a key, and undone", () =>
  withPage({}, async (page) => {
    await open(page);
    await write(page, SOUND);
    await page.keyboard.press("ControlOrMeta+Shift+F");
    await page.waitForFunction(() => document.getElementById("says").textContent === "Laid out.");
    assert.match(await text(page), /\(<= \(next \(at 2\)\)\n {2}\(does a go\)\)/);
    await page.keyboard.press("ControlOrMeta+z");
    assert.equal((await text(page)).trim(), SOUND.trim());
    await write(page, "(role a");
    await page.click("#tidy");
    await page.waitForFunction(() => /do not match/.test(document.querySelector(".edit-tools .complaint")?.textContent));
  }));

test("names are proposed and explained", () =>
  withPage({}, async (page) => {
    await open(page);
    await write(page, `${SOUND}; Where a piece is.\n(<= (near 2)\n  `);
    await page.keyboard.type("(tru");
    await page.waitForSelector(".cm-tooltip-autocomplete [aria-selected]");
    assert.match(await page.innerText(".cm-tooltip-autocomplete"), /^true/);
    await page.waitForTimeout(100);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes("(true fact"));
    await page.keyboard.press("Escape");
    await page.locator(".cm-line", { hasText: "(<= terminal" }).getByText("at", { exact: true }).hover();
    await page.waitForSelector(".meaning");
    assert.match(await page.innerText(".meaning"), /a fact with 1 argument, defined in line 2/);
  }));

test("a game is tried out: its board, its moves and random games", () =>
  withPage({}, async (page) => {
    await open(page);
    await startFrom(page, "connectFour");
    await page.waitForSelector("#board svg.board [data-cell]");
    assert.equal(await page.locator("#board [data-cell]").count(), 48);
    assert.match(await page.innerText("#legal"), /8 legal moves/);
    await page.waitForFunction(() => /random games: \d+ to \d+, on average/.test(document.getElementById("playouts").textContent));
    await screenshot(page, "edit", true);
    // What was there before comes back.
    await page.locator(".cm-content").focus();
    await page.keyboard.press("ControlOrMeta+z");
    await page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes("This one counts"));
  }));

test("a click leads to a table with these rules", () =>
  withPage({}, async (page) => {
    await open(page);
    await write(page, SOUND);
    await page.fill("#name", "going");
    await found(page, NONE);
    await page.click("#play");
    await page.waitForURL(/\/play#[0-9a-f]{16}$/);
    await page.waitForFunction(() => /game is over: solved/.test(document.getElementById("says").textContent));
    assert.equal(await page.innerText("#name"), "going");
    // The text is still there.
    await page.goBack();
    await page.waitForSelector(".cm-content");
    assert.equal((await text(page)).trim(), SOUND.trim());
    assert.equal(await page.inputValue("#name"), "going");
  }));

test("everything is done with the keyboard", () =>
  withPage({}, async (page) => {
    await open(page);
    // With a choice of moves, so that play adds no note to the list.
    await write(page, `${SOUND}(legal a stay)\n(<= (next (at 3)) (tru (at 2)))`);
    await page.waitForSelector(".cm-lintRange");
    // The list of the editor; the first letter of a fix makes it.
    await page.keyboard.press("ControlOrMeta+Shift+M");
    await page.waitForSelector(".cm-panel-lint");
    await page.keyboard.press("c");
    await found(page, NONE);
    await page.keyboard.press("ControlOrMeta+Shift+M");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".cm-panel-lint", { state: "detached" });
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.closest(".cm-editor")), null);
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("ControlOrMeta+Enter");
    await page.waitForURL(/\/play#[0-9a-f]{16}$/);
  }));

const HRF = `% A walk.
role(a)
init(at(1))
init(control(a))
legal(go) :- at(1)
go :: ~at(1) & at(2)
terminal :- at(2)
goal(a,100)
`;

test("rules in HRF are checked, coloured, mended, laid out and tried out", () =>
  withPage({}, async (page) => {
    await open(page);
    await speaks(page, "KIF (found)");
    await write(page, HRF);
    await speaks(page, "HRF (found)");
    await found(page, NONE);
    const colour = (text) =>
      page.locator(".cm-line span", { hasText: text }).first().evaluate((word) => getComputedStyle(word).color);
    assert.notEqual(await colour("legal"), await colour("at"));
    assert.equal(await colour("legal"), await colour(":-"));
    await page.waitForFunction(() => /1 legal move/.test(document.getElementById("legal").textContent));
    await page.waitForFunction(() => /random games: all 1 turns long/.test(document.getElementById("playouts").textContent));
    await screenshot(page, "edit-hrf", true);
    await page.keyboard.press("ControlOrMeta+End");
    await page.keyboard.type("goal(a,0) :- teminal");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#problems .fix");
    assert.match(await page.innerText("#problems"), /9:14 .*`teminal\/0` is used but/);
    await page.click("#problems .fix");
    await found(page, NONE);
    assert.ok((await text(page)).endsWith("goal(a,0) :- terminal"));
    await write(page, HRF.replace("legal(go) :- at(1)", "legal( go ):-at( 1 )"));
    await page.click("#tidy");
    await page.waitForFunction(() => document.getElementById("says").textContent === "Laid out.");
    assert.equal((await text(page)).trim(), HRF.trim());
    await write(page, `${HRF}% Far away.\nfar(at)\ngoal(a,1) :- `);
    await page.keyboard.type("fa");
    await page.waitForSelector(".cm-tooltip-autocomplete [aria-selected]");
    assert.match(await page.innerText(".cm-tooltip-autocomplete [aria-selected]"), /^far/);
    await page.keyboard.press("Escape");
    await page.locator(".cm-line", { hasText: "goal(a,1)" }).getByText("goal", { exact: true }).hover();
    await page.waitForSelector(".meaning");
    assert.match(await page.innerText(".meaning"), /goal\(player,points\)/);
  }));

test("a board of HRF is shown, and a click leads to a table", () =>
  withPage({}, async (page) => {
    await open(page);
    await page.setInputFiles("#open", HEXAPAWN);
    await page.waitForSelector("#board svg.board [data-cell]");
    assert.equal(await page.locator("#board [data-cell]").count(), 9);
    assert.match(await page.innerText("#legal"), /white: 3 legal moves/);
    await screenshot(page, "edit-hrf-board", true);
    const download = page.waitForEvent("download");
    await page.click("#save");
    assert.equal((await download).suggestedFilename(), "hexapawn.hrf");
    await page.click("#play");
    await page.waitForURL(/\/play#[0-9a-f]{16}$/);
    await page.waitForFunction(() => /you play white/.test(document.getElementById("says").textContent));
  }));

test("the dialect is changed by hand, and kept", () =>
  withPage({}, async (page) => {
    page.removeAllListeners("console");
    await open(page);
    await write(page, HRF);
    await speaks(page, "HRF (found)");
    await page.selectOption("#dialect", "kif");
    await page.waitForFunction(() => /error/.test(document.getElementById("counts").textContent));
    await page.click("#play");
    await page.waitForFunction(() => /cannot be played/.test(document.querySelector(".complaint")?.textContent));
    await page.reload();
    await page.waitForFunction(() => /error/.test(document.getElementById("counts").textContent));
    assert.equal(await page.inputValue("#dialect"), "kif");
    await page.selectOption("#dialect", "hrf");
    await found(page, NONE);
    // Another text is read as what it is.
    await startFrom(page, "ticTacToe");
    await speaks(page, "KIF (found)");
    await found(page, NONE);
  }));

test("files are opened and saved", () =>
  withPage({}, async (page) => {
    const path = join(server.folder, "mine.kif");
    await writeFile(path, SOUND);
    await open(page);
    await page.setInputFiles("#open", path);
    await page.waitForFunction(() => document.getElementById("name").value === "mine");
    assert.equal((await text(page)).trim(), SOUND.trim());
    const download = page.waitForEvent("download");
    await page.click("#save");
    const saved = await download;
    assert.equal(saved.suggestedFilename(), "mine.gdl");
    assert.equal(await readFile(await saved.path(), "utf8"), SOUND);
  }));

test("while a match is played nothing is tried out", () =>
  withPage({}, async (page) => {
    const match = await startMatch(server.address, { id: "busy", startClock: 1, playClock: 1 });
    await open(page);
    await page.click("#look");
    await page.waitForFunction(() => /plays a match/.test(document.getElementById("preview-says").textContent));
    await found(page, NONE);
    await match.abort();
    await page.click("#look");
    await page.waitForFunction(() => document.getElementById("playouts").textContent !== "");
  }));

for (const colorScheme of ["dark", "light"]) {
  test(`a narrow and ${colorScheme} screen is no wider than the page`, () =>
    withPage({ viewport: { width: 390, height: 800 }, colorScheme }, async (page) => {
      await open(page);
      await startFrom(page, "ticTacToe");
      await page.waitForSelector("#board svg.board [data-cell]");
      await screenshot(page, `edit-narrow-${colorScheme}`, true);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    }));
}
