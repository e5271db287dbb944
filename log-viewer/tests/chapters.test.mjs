// What a person writes in a study, its chapters, positions that are set up, and a study that leaves
// the page and comes back.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { readStudy, writeStudy } from "../notation.js";
import { Variations, lineTo } from "../variations.js";
import { screenshot, withPage } from "./page.mjs";
import { served } from "./suite.mjs";

const server = served("chapters");

/** Waits until a position is shown, this many turns from the start. */
function shown(page, turn) {
  return page.waitForFunction((wanted) => {
    const name = document.getElementById("turn-name").textContent;
    const at = /^Start/.test(name) ? 0 : Number(/^After turn (\d+)/.exec(name)?.[1] ?? NaN);
    return at === wanted && document.querySelector("#moves .plain, #moves .quiet") !== null;
  }, turn);
}

async function choose(page, game) {
  await page.goto(`${server.address}/study`);
  await page.click(`[data-game="${game}"]`);
  await shown(page, 0);
}

async function clickCell(page, cell, turn) {
  await page.waitForSelector(`#board .target[data-cell="${cell}"]`);
  await page.locator(`#board [data-cell="${cell}"]`).click();
  await shown(page, turn);
}

/** Waits until the table keeps something that contains a text. */
async function kept(page, text) {
  const table = new URL(page.url()).hash.slice(1);
  for (let tries = 0; tries < 1200; tries += 1) {
    const { lines } = await (await fetch(`${server.address}/api/tables/${table}/lines`)).json();
    if (JSON.stringify(lines).includes(text)) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail(`the table does not keep ${text}`);
}

const names = (page) => page.locator("#chapters button").allInnerTexts();
const complaint = (page, says) => page.waitForFunction((form) => new RegExp(form).test(document.querySelector(".complaint")?.textContent), says);
const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);

test("comments, marks and rings are written, kept and seen on another page", () =>
  withPage({}, async (page) => {
    await choose(page, "ticTacToe");
    await page.fill("#note", "How it begins.");
    await clickCell(page, "2 2", 1);
    await page.fill("#note", "The centre, which has four lines.\nThe second line is not in the tree.");
    await page.click('#marks button:has-text("!?")');
    await page.waitForSelector('#marks [aria-pressed="true"]');
    await page.locator('#board [data-cell="1 1"]').click({ button: "right" });
    await page.locator('#board [data-cell="3 3"]').click({ modifiers: ["Alt"] });
    await page.locator('#board [data-cell="3 3"]').focus();
    await page.keyboard.press("Alt+Enter");
    assert.equal(await page.locator("#board .circled").count(), 1);
    await page.waitForFunction(() => /centre, which has four lines\.$/.test(document.querySelector("#lines .note-short:not(.at-start *)")?.textContent));
    assert.match(await page.innerText("#lines"), /How it begins\./);
    await page.locator("#main").focus();
    await page.keyboard.press("4");
    await page.waitForFunction(() => document.querySelector("#lines .sign").textContent === "??");
    await page.keyboard.press("0");
    await page.waitForFunction(() => document.querySelector("#lines .sign") === null);
    await page.keyboard.press("3");
    await kept(page, '"mark":"!!"');
    await screenshot(page, "chapters-notes", true);
    await page.reload();
    await shown(page, 1);
    assert.match(await page.inputValue("#note"), /^The centre[^]*tree\.$/);
    assert.equal(await page.innerText("#lines .sign"), "!!");
    assert.equal(await page.locator("#board .circled").count(), 1);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await shown(other, 1);
    await other.fill("#note", "From the other page.");
    await page.waitForFunction(() => document.getElementById("note").value === "From the other page.");
  }));

test("chapters are added, named, chosen, removed and kept", () =>
  withPage({}, async (page) => {
    await choose(page, "ticTacToe");
    await clickCell(page, "2 2", 1);
    assert.ok(await page.isDisabled("#chapter-remove"));
    await page.click("#chapter-add");
    await shown(page, 0);
    await page.fill("#chapter-name", "The corner");
    await page.press("#chapter-name", "Enter");
    await page.waitForFunction(() => document.querySelector("#chapters [aria-current]").textContent === "The corner");
    await clickCell(page, "1 1", 1);
    await clickCell(page, "3 3", 2);
    await page.click('#chapters button:has-text("Chapter 1")');
    await shown(page, 0);
    await page.keyboard.press("End");
    await shown(page, 1);
    assert.equal(await page.getAttribute('#board [data-cell="2 2"]', "data-content"), "x");
    await kept(page, "(mark 3 3)");
    await page.reload();
    await shown(page, 1);
    assert.deepEqual(await names(page), ["Chapter 1", "The corner"]);
    await page.click('#chapters button:has-text("The corner")');
    await shown(page, 0);
    assert.equal(await page.locator("#lines li").count(), 2);
    await page.click("#chapter-remove");
    await page.waitForFunction(() => document.querySelectorAll("#chapters li").length === 1);
    await shown(page, 0);
  }));

test("a position is set up, studied as a chapter, and refused where there is none like it", () =>
  withPage({}, async (page) => {
    await choose(page, "ticTacToe");
    await clickCell(page, "2 2", 1);
    await page.waitForSelector("#board .target");
    await page.click("#set-up");
    const cell = (key) => page.locator(`#setup-board [data-cell="${key}"]`);
    assert.equal(await cell("2 2").getAttribute("data-content"), "x");
    assert.ok(await page.isHidden("#board-card"));
    await page.click('#palette button:has-text("x")');
    await cell("1 1").click();
    await page.click('#palette button:has-text("o")');
    await cell("3 1").click();
    await cell("2 2").click();
    await cell("2 2").click();
    assert.deepEqual(
      await page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#setup-board [data-cell]")].filter((cell) => cell.dataset.content !== "blank").map((cell) => [cell.dataset.cell, cell.dataset.content]))),
      { "1 1": "x", "3 1": "o" },
    );
    // By keyboard too.
    await cell("3 3").focus();
    await page.keyboard.press("Enter");
    assert.equal(await cell("3 3").getAttribute("data-content"), "o");
    await page.click('#palette button:has-text("empty")');
    await cell("3 3").click();
    assert.equal(await cell("3 3").getAttribute("data-content"), "blank");
    await page.selectOption("#setup-choices select", "(control xplayer)");
    await screenshot(page, "chapters-setup", true);
    await page.fill("#setup-rest", "(weather fine)");
    await page.click("#setup-start");
    await complaint(page, "the position cannot be set up: `\\(weather fine\\)`");
    assert.deepEqual(await names(page), ["Chapter 1"]);
    await page.fill("#setup-rest", "");
    await page.click("#setup-start");
    await page.waitForFunction(() => document.getElementById("setup").hidden);
    await shown(page, 0);
    assert.deepEqual(await names(page), ["Chapter 1", "Position 1"]);
    assert.equal(await page.getAttribute('#board [data-cell="3 1"]', "data-content"), "o");
    await clickCell(page, "2 2", 1);
    assert.match(await page.innerText("#lines"), /xplayer b2/);
    await page.reload();
    await shown(page, 1);
    assert.equal(await page.getAttribute('#board [data-cell="1 1"]', "data-content"), "x");
    await page.click('#chapters button:has-text("Chapter 1")');
    await page.keyboard.press("End");
    await shown(page, 1);
    assert.equal(await page.getAttribute('#board [data-cell="1 1"]', "data-content"), "blank");
  }));

for (const game of ["pentago", "knightsTour", "hanoi", "checkers", "roshamboTen"]) {
  test(`a position of ${game} is set up as it is`, () =>
    withPage({}, async (page) => {
      await choose(page, game);
      const facts = () => page.evaluate(async () => (await (await fetch(`/api/tables/${location.hash.slice(1)}?after=0`)).json()).facts);
      const before = await facts();
      await page.click("#set-up");
      await page.waitForSelector("#setup:not([hidden])");
      await screenshot(page, `chapters-setup-${game}`, true);
      assert.doesNotMatch((await page.locator("#palette button").allInnerTexts()).join(), /^,|,,|,$/);
      const cells = page.locator("#setup-board [data-cell]");
      // What is placed and taken away again changes nothing but what lay there.
      for (const at of [0, 1]) if ((await cells.count()) > at) await cells.nth(at).click();
      for (const at of [0, 1]) if ((await cells.count()) > at) await cells.nth(at).click();
      await page.click("#setup-cancel");
      await page.click("#set-up");
      await page.click("#setup-start");
      await page.waitForFunction(() => document.getElementById("setup").hidden);
      await page.waitForFunction(() => document.querySelectorAll("#chapters li").length === 2);
      assert.deepEqual([...(await facts())].sort(), [...before].sort());
    }));
}

test("a study is copied, linked and read again, and what is not legal is told with its place", () =>
  withPage({}, async (page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await choose(page, "ticTacToe");
    await clickCell(page, "2 2", 1);
    await page.fill("#note", "The centre.");
    await clickCell(page, "1 1", 2);
    await page.click("#previous");
    await shown(page, 1);
    await clickCell(page, "2 1", 2);
    await page.keyboard.press("2");
    await page.click("#study-text summary");
    await page.click("#whole-copy");
    await page.waitForFunction(() => document.getElementById("whole-says").textContent === "copied");
    const text = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(
      text,
      '[Game "ticTacToe"]\n\n[Chapter "Chapter 1"]\n\n1. mark(2,2)/noop {The centre.} 2. noop/mark(1,1) (2. noop/mark(2,1)?)\n',
    );
    const saving = page.waitForEvent("download");
    await page.click("#whole-save");
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), "ticTacToe.study.txt");
    assert.equal(await readFile(await saved.path(), "utf8"), text);
    await page.click("#whole-link");
    await page.waitForFunction(() => document.getElementById("whole-says").textContent === "copied");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    // The chapters of a text come behind those that are there.
    await page.fill("#whole", text.replace("Chapter 1", "Read"));
    await page.click("#bring");
    await page.waitForFunction(() => document.querySelectorAll("#chapters li").length === 2);
    await shown(page, 0);
    assert.equal(await page.innerText("#chapters [aria-current]"), "Read");
    assert.equal(await page.locator("#lines li").count(), 4);
    await page.fill("#whole", `${text}3. mark(3,3)/noop 4. mark(1,2)/noop`);
    await page.click("#bring");
    await complaint(page, "^line 6, column 22: \\(mark 1 2\\) is not legal for xplayer");
    await page.fill("#whole", '[Game "checkers"]');
    await page.click("#bring");
    await complaint(page, "The text is of the game checkers, and this is a study of ticTacToe");
    assert.equal(await page.locator("#chapters li").count(), 2);
    // The link opens a study of its own, also on another page.
    const other = await page.context().newPage();
    await other.goto(link);
    await other.waitForFunction(() => document.querySelectorAll("#lines li").length === 4);
    assert.doesNotMatch(other.url(), /s=/);
    assert.notEqual(other.url(), page.url());
    await other.goto(`${server.address}/study#s=${link.split("s=")[1].slice(0, 30)}`);
    await complaint(other, "The link holds no study");
  }));

test("rules of a person's own travel with the study", () =>
  withPage({}, async (page) => {
    const rules = '; "my" game\n(role one) (init (n 0)) (<= (legal one add) (true (n 0)))\n(<= (legal one (take all)) (true (n 0))) (<= (next (n 1)) (does one ?m))\n(<= terminal (true (n 1))) (goal one 100)\n';
    await page.goto(`${server.address}/study`);
    await page.click("#own summary");
    await page.fill("#own-rules", rules);
    await page.fill("#own-name", "mine");
    await page.click("#own-study");
    await page.waitForSelector("#moves .plain");
    await page.locator("#moves .plain").nth(1).click();
    await shown(page, 1);
    await page.click("#study-text summary");
    await page.click("#whole-save");
    await page.waitForFunction(() => document.getElementById("whole").value !== "");
    const text = await page.inputValue("#whole");
    assert.equal(readStudy(text).rules, rules);
    await page.goto(`${server.address}/study`);
    await page.click("#brought summary");
    await page.fill("#brought-text", text.replaceAll("take(all)", "take(some)").replace(/add(?=\s*$)/, "sub"));
    await page.click("#brought-open");
    // What does not fit is told at the table, where the text can be mended.
    await complaint(page, "is not legal");
    await page.fill("#whole", text);
    await page.click("#bring");
    await page.waitForFunction(() => document.querySelectorAll("#lines li").length === 1);
  }));

/** A random tree of legal moves, asked of a table position by position. */
async function randomTree(table, size) {
  const ask = async (path, order) => (await fetch(`${server.address}/api/tables/${table}${path}`, order && { method: "POST", headers: { "Content-Type": "application/json", "panza-page": "1" }, body: JSON.stringify(order) })).json();
  const tree = new Variations();
  const nodes = [tree.root];
  let state = 7;
  const draw = (below) => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0), Math.floor((state / 2 ** 32) * below));
  while (tree.size < size) {
    const node = nodes[draw(nodes.length)];
    await ask("", { do: "go", line: lineTo(node), start: { chapter: 0, facts: "" } });
    let view = await ask("?after=0");
    while (JSON.stringify(view.moves) !== JSON.stringify(lineTo(node)) || view.phase === "building") view = await ask("?after=0");
    if (view.phase === "over") continue;
    const child = tree.child(node, view.legal.map((moves) => moves[draw(moves.length)]));
    if (!nodes.includes(child)) nodes.push(child);
  }
  return { tree, ask };
}

for (const game of ["ticTacToe", "roshamboTen", "diceRace", "eightPuzzle"]) {
  test(`a random tree of ${game} comes back from its text, and the table finds it legal`, async () => {
    const headers = { "Content-Type": "application/json", "panza-page": "1" };
    const { table } = await (await fetch(`${server.address}/api/tables`, { method: "POST", headers, body: JSON.stringify({ game, study: {} }) })).json();
    const { tree, ask } = await randomTree(table, 20);
    const text = writeStudy({ game, rules: null, dialect: "kif" }, [{ name: "x", start: "", tree }]);
    const [read] = readStudy(text).chapters;
    assert.deepEqual(read.tree.kept(), tree.kept(), text);
    await ask("", { do: "check", number: 5, chapters: [{ facts: "", lines: read.tree.kept() }] });
    let view = await ask("?after=0");
    while (view.study.checked === null) view = await ask("?after=0");
    assert.deepEqual(view.study.checked, { number: 5, chapter: 0, node: 0, problem: null });
  });
}

for (const colorScheme of ["light", "dark"]) {
  test(`what is written fits on narrow screens, ${colorScheme}`, () =>
    withPage({ viewport: { width: 390, height: 800 }, colorScheme }, async (page) => {
      await choose(page, "connectFour");
      await page.waitForSelector("#board .target");
      await page.locator('#board [data-cell="4 1"]').click();
      await shown(page, 1);
      await page.fill("#note", "A long comment, which says much about the position and does not end before the line does.");
      await page.keyboard.press("Escape");
      await page.locator("#main").focus();
      await page.keyboard.press("5");
      await page.click("#chapter-add");
      await shown(page, 0);
      await page.fill("#chapter-name", "A chapter with a name that is rather long");
      await page.press("#chapter-name", "Enter");
      await page.click("#chapters button >> nth=0");
      await page.keyboard.press("End");
      await shown(page, 1);
      await page.click("#study-text summary");
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.click("#whole-copy");
      for (const width of [390, 320, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await screenshot(page, `chapters-${width}-${colorScheme}`, true);
        assert.ok(await fits(page), String(width));
      }
      await page.click("#set-up");
      for (const width of [390, 320, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await screenshot(page, `chapters-setup-${width}-${colorScheme}`, true);
        assert.ok(await fits(page), String(width));
      }
    }));
}
