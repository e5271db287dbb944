// The one file, opened from disk in a browser without a network: games, studies and rules as on the
// server's pages, what is kept, and what happens where Panza fails. `PANZA_OFFLINE` names the file;
// `scripts/wasm` makes it.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { after, before, describe, test } from "node:test";
import { closeBrowser, openBrowser, screenshot, scrollThrough, seat, withPage } from "./page.mjs";

const { PANZA_OFFLINE } = process.env;
const FILE = pathToFileURL(resolve(PANZA_OFFLINE ?? "panza-offline.html")).href;
const skip = PANZA_OFFLINE === undefined && "the one file was not built: PANZA_OFFLINE names it";
const GAMES = fileURLToPath(new URL("../../gdl-games/", import.meta.url));
const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Clicks after which a game counts as one that does not end, those without effect while Panza answers among them. */
const MOST_LOOKS = 60_000;

before(async () => {
  if (!skip) await openBrowser();
});

after(closeBrowser);

/** Opens a page of the file without a network, does something, and sees that nothing was asked for elsewhere. */
function offline(act, options = {}) {
  return withPage({ offline: true, ...options }, async (page) => {
    const asked = [];
    const isElsewhere = (url) => !/^(?:file|blob|data):/.test(url);
    page.context().on("request", (request) => isElsewhere(request.url()) && asked.push(request.url()));
    page.context().on("page", (other) => other.on("websocket", (socket) => asked.push(socket.url())));
    await act(page);
    assert.deepEqual(asked, []);
  });
}

/** Waits until the browser keeps a game of a number of turns: Panza's moves are written a moment later. */
function untilKept(page, turns) {
  return page.waitForFunction(async (wanted) => {
    const opened = indexedDB.open("panza", 1);
    await new Promise((resolve) => (opened.onsuccess = resolve));
    const all = opened.result.transaction("texts").objectStore("texts").getAll();
    await new Promise((resolve) => (all.onsuccess = resolve));
    opened.result.close();
    return all.result.some(({ text }) => JSON.parse(text).moves?.length === wanted);
  }, turns);
}

/** Opens an address in the file anew. */
async function open(page, address = "") {
  await page.goto("about:blank");
  await page.goto(FILE + address);
}

const isSaid = (page, wanted) => page.waitForFunction((text) => new RegExp(text).test(document.getElementById("says").textContent), wanted);
const turns = (page) => page.locator("#course li").count();

async function choose(page, game, { people = null, level = "1" } = {}) {
  await open(page, "#/play");
  await page.selectOption("#level", level);
  await page.click(people === null ? `[data-game="${game}"]` : seat(game, people));
}

/** Waits until a person is to move, or the game is over. */
async function turn(page) {
  await isSaid(page, "to move|Your (turn|move)|is over|cannot go on");
  return page.innerText("#says");
}

/** Makes the first move that a click on the board makes, again and again, until the game is over. */
function playOut(page) {
  return page.evaluate(async (most) => {
    const says = () => document.getElementById("says").textContent;
    for (let looks = 0; looks < most && !/is over|cannot go on/.test(says()); looks += 1) {
      document.querySelector("#board .target")?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      await new Promise((done) => setTimeout(done, 5));
    }
    return says();
  }, MOST_LOOKS);
}

for (const width of [1280, 390]) {
  test(`connectFour is played to its end by clicks, ${width} pixels wide`, { skip }, () =>
    offline(
      async (page) => {
        await choose(page, "connectFour");
        await turn(page);
        await screenshot(page, `offline-play-${width}`, true);
        assert.match(await playOut(page), /The game is over: .*(won|draw)/);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
        await screenshot(page, `offline-play-end-${width}`, true);
      },
      { viewport: { width, height: 900 } },
    ));
}

test("a game goes on after a reload, and after the file was closed", { skip }, () =>
  offline(async (page) => {
    const cells = (of) => of.evaluate(() => [...document.querySelectorAll("#board [data-cell]")].map((cell) => cell.dataset.content));
    await choose(page, "connectFour");
    await turn(page);
    await page.locator("#board .target").first().click();
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 2);
    await isSaid(page, "Your turn");
    const before = await cells(page);
    await untilKept(page, 2);
    await page.reload();
    await isSaid(page, "Your turn");
    assert.deepEqual(await cells(page), before);
    await page.locator("#board .target").first().click();
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 4);
    await isSaid(page, "Your turn");
    const later = await cells(page);
    const other = await page.context().newPage();
    await untilKept(page, 4);
    await page.close();
    await open(other);
    await other.locator("#tables a").click();
    await isSaid(other, "Your turn");
    assert.deepEqual(await cells(other), later);
    // The ways between pages.
    await other.goBack();
    await other.waitForSelector("#games [data-game]");
    await other.goForward();
    await isSaid(other, "Your turn");
    await other.click("#study");
    await other.waitForSelector("#lines [aria-current]");
    assert.equal(await other.locator("#lines button").count(), 4);
    await other.goBack();
    await other.waitForFunction(() => document.querySelectorAll("#course li").length === 4);
  }));

test("a study shows what Panza thinks, and comes back with its lines", { skip }, () =>
  offline(async (page) => {
    await open(page, "#/study");
    await page.click('[data-game="connectFour"]');
    await page.waitForSelector("#thoughts tbody tr");
    await page.locator('#board [data-cell="4 1"]').click();
    await page.waitForFunction(() => /^After turn 1/.test(document.getElementById("turn-name").textContent));
    await page.waitForSelector("#thoughts tbody tr");
    await screenshot(page, "offline-study", true);
    await untilKept(page, 1);
    await page.reload();
    await page.waitForFunction(() => /^After turn 1/.test(document.getElementById("turn-name").textContent));
    assert.equal(await page.locator("#lines button").count(), 1);
  }));

test("faults are marked as rules are written, and what is written is played", { skip }, () =>
  offline(async (page) => {
    await open(page, "#/edit");
    await page.waitForFunction(() => document.querySelectorAll("#start option").length > 20);
    await page.locator(".cm-content").focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText("(role a)\n(init (at 1))\n(legal a go)\n(<= (next (at 2)) (doess a go))\n(<= terminal (true (at 2)))\n(goal a 100)\n");
    await page.waitForSelector(".cm-lintRange-error, .cm-lintRange-warning");
    await screenshot(page, "offline-edit", true);
    await page.locator("#problems .fix").first().click();
    await page.waitForFunction(() => /^(No errors|\d+ note)/.test(document.getElementById("counts").textContent));
    await page.waitForSelector("#board :is(svg, .fact), #board .other-facts");
    await page.click("#play");
    await turn(page);
    assert.match(page.url(), /#\/play\/\w+$/);
  }));

describe("every game of the program is opened", { skip }, async () => {
  const games = (await readdir(GAMES)).filter((name) => name.endsWith(".gdl")).map((name) => name.replace(/\.gdl$/, ""));
  test("one after the other", () =>
    offline(async (page) => {
      for (const game of games) {
        await choose(page, game);
        await turn(page);
      }
    }));
});

test("all is saved as a file, and opened by another browser", { skip }, async () => {
  let saved;
  await offline(async (page) => {
    await choose(page, "ticTacToe");
    await turn(page);
    await page.locator("#board .target").first().click();
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 2);
    await untilKept(page, 2);
    await open(page, "#/play");
    const download = page.waitForEvent("download");
    await page.click(".whole summary");
    await page.getByRole("button", { name: "Save all" }).click();
    saved = await (await download).path();
    saved = await readFile(saved, "utf8");
  });
  await offline(async (page) => {
    await open(page, "#/play");
    const choosing = page.locator('.whole input[type="file"]');
    const give = (text) => choosing.setInputFiles({ name: "panza.json", mimeType: "application/json", buffer: Buffer.from(text) });
    for (const [wrong, said] of [["(role a)", "not JSON"], ["{}", "format"], ['{"format":"panza-kept-1","texts":{"../../x y":"1"}}', "no name"]]) {
      await give(wrong);
      await page.waitForFunction((text) => document.querySelector(".complaint")?.textContent.includes(text), said);
    }
    // What is kept may be damaged: it is left out, and all else goes on.
    await give(JSON.stringify({ format: "panza-kept-1", texts: { "0123456789abcdef/game.json": "{" }, tables: [{ table: "0123456789abcdef", title: "Damaged", at: 1e300 }] }));
    await page.waitForSelector("#games [data-game]");
    await give(saved);
    await page.locator("#tables a", { hasText: "Tic" }).click();
    await turn(page);
    assert.equal(await turns(page), 2);
  });
});

test("when Panza has stopped, the page says so, and it goes on once it is started again", { skip }, () =>
  offline(async (page) => {
    await choose(page, "connectFour");
    await turn(page);
    await page.locator("#board .target").first().click();
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 2);
    await isSaid(page, "Your turn");
    await untilKept(page, 2);
    await page.workers()[0].evaluate(() => self.postMessage({ ended: "a test wants it so" }));
    await page.getByText("Panza has stopped: a test wants it so. Games and studies are kept.").waitFor();
    await isSaid(page, "does not answer");
    await screenshot(page, "offline-stopped", true);
    await page.getByRole("button", { name: "Start it again" }).click();
    await isSaid(page, "Your turn");
    assert.equal(await page.locator(".told").count(), 0);
    await page.locator("#board .target").first().click();
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 4);
  }));

test("a browser that keeps nothing is no hindrance, and the page says so", { skip }, () =>
  offline(async (page) => {
    await page.addInitScript(() => {
      for (const name of ["indexedDB", "localStorage"]) {
        Object.defineProperty(window, name, {
          get() {
            throw new DOMException("not here", "SecurityError");
          },
        });
      }
    });
    await choose(page, "ticTacToe");
    await turn(page);
    await page.getByText("This browser keeps nothing for this page").waitFor();
    await page.locator("#board .target").first().click();
    await page.waitForFunction(() => document.querySelectorAll("#course li").length === 2);
    await isSaid(page, "Your turn");
    await page.reload();
    await isSaid(page, "Your turn");
    assert.equal(await turns(page), 2);
    await page.click("#study");
    await page.waitForSelector("#lines [aria-current]");
    assert.equal(await page.locator("#lines button").count(), 2);
  }));

test("what needs a server is not shown", { skip }, () =>
  offline(async (page) => {
    for (const address of ["#/play", "#/study", "#/edit"]) {
      await open(page, address);
      await page.waitForSelector("#wordmark, .wordmark");
      const links = await page.locator("a[href]").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
      for (const link of links) assert.match(link, /^#(?:\/(?:play|study|edit)|main|problems)/);
      assert.deepEqual(await page.locator("nav a").allInnerTexts(), ["Play", "Study", "Write"]);
      assert.doesNotMatch(await page.innerText("body"), /\bserver\b|list of matches/i);
    }
  }));

test("nothing keeps people away", { skip }, async () => {
  const pages = [
    ["play", (page) => page.waitForSelector("#games [data-game] svg.board")],
    ["study", (page) => page.waitForSelector("#games [data-game]")],
    ["edit", (page) => page.waitForSelector(".cm-content")],
  ];
  for (const [name, ready] of pages) {
    await offline(async (page) => {
      await open(page, `#/${name}`);
      await ready(page);
      if (name === "play") await scrollThrough(page);
      await page.evaluate(AXE);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 900 });
          const { violations } = await page.evaluate(() => axe.run({ exclude: [".picture"] }, { resultTypes: ["violations"] }));
          const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
          assert.deepEqual(serious.map(({ id, nodes }) => `${name}, ${width}: ${id} ${nodes[0].html.slice(0, 100)}`), []);
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${name}, ${width}`);
          await screenshot(page, `offline-${name}-${width}-${colorScheme}`, true);
        }
      }
    });
  }
});
