// Pages of the log viewer in a browser, and what they show.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";

const { SCREENSHOTS, CHROMIUM = "/usr/bin/chromium" } = process.env;

let browser;

export async function openBrowser() {
  if (SCREENSHOTS) await mkdir(SCREENSHOTS, { recursive: true });
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

export async function closeBrowser() {
  await browser?.close();
}

/** Opens a page, does something with it, and sees that no error was written to its console; `mayFail`, where loading something may. */
export async function withPage({ mayFail = false, ...options }, act) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  // A browser on busy cores can need longer than the library's 30 s.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error.stack)));
  page.on("dialog", (dialog) => errors.push(`a dialog says ${dialog.message()}`));
  page.on("console", (message) => {
    // The browser itself writes down what it could not load, which some tests ask for.
    const isExpected = mayFail && message.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(message.type()) && !isExpected) errors.push(message.text());
  });
  try {
    await act(page);
  } finally {
    await context.close();
  }
  assert.deepEqual(errors, []);
}

/**
 * Measures the processor time of a page: the result says how many milliseconds its main thread has
 * used since the last call. Other processes lengthen that little.
 */
export async function processorTimeOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const read = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
  };
  let before = await read();
  return async () => {
    const now = await read();
    const used = now - before;
    before = now;
    return Math.round(used);
  };
}

/** Most presses of the tabulator key from one part of a page to another. */
const MOST_TABS = 60;

/** Waits until the focused element is outlined, or its cell where it is a cell of a board. */
function untilFocusIsSeen(page) {
  return page.waitForFunction(() => {
    const focused = document.activeElement;
    if (!focused.matches(":focus-visible")) return false;
    // What is chosen as a file stands in a label.
    const shows = focused.type === "file" ? focused.closest("label") : focused;
    const { left, right, top, bottom } = shows.getBoundingClientRect();
    if (right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight) return false;
    const isCell = focused.matches(".cell");
    const mark = getComputedStyle((isCell && focused.querySelector(".cell-mark")) || shows);
    const [kind, width] = isCell ? [mark.stroke, mark.strokeWidth] : [mark.outlineStyle, mark.outlineWidth];
    return kind !== "none" && parseFloat(width) >= 2;
  });
}

/** What has the focus, in words for a failed test. */
function focusName(page) {
  return page.evaluate(() => document.activeElement.outerHTML.slice(0, 120));
}

/** Presses keys one after the other; after each the focus must be seen. */
export async function press(page, ...keys) {
  for (const key of keys) {
    await page.keyboard.press(key);
    await untilFocusIsSeen(page).catch(async () =>
      assert.fail(`after ${key} the focus is not seen: ${await focusName(page)}`),
    );
  }
}

/** Goes with the tabulator key to what a selector names; the focus must be seen at each step. */
export async function tabTo(page, selector, key = "Tab") {
  for (let presses = 0; presses < MOST_TABS; presses += 1) {
    await press(page, key);
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
  }
  assert.fail(`the tabulator key does not reach ${selector}`);
}

/** Goes with the arrow keys from cell to cell of a board to the first that a selector names. */
export async function walkTo(page, selector) {
  for (let presses = 0; presses < MOST_TABS; presses += 1) {
    const key = await page.evaluate((wanted) => {
      const from = document.activeElement;
      if (from.matches(wanted)) return null;
      const [here, there] = [from, document.querySelector(wanted)].map((cell) => cell.getBoundingClientRect());
      const [x, y] = [there.x - here.x, there.y - here.y];
      if (Math.abs(x) > Math.abs(y)) return x > 0 ? "ArrowRight" : "ArrowLeft";
      return y > 0 ? "ArrowDown" : "ArrowUp";
    }, selector);
    if (key === null) return;
    await press(page, key);
  }
  assert.fail(`the arrow keys do not reach ${selector}`);
}

/** The button of a game's tile with which people play some of its roles: one by its name, `all`, or `none`. */
export const seat = (game, people) => `.tile:has([data-game="${game}"]) [data-people="${people}"]`;

/** What the page's next copy brings to the clipboard, after `act`. */
export async function copied(page, act) {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await act();
  await page.waitForFunction(() => document.getElementById("copied").textContent === "copied");
  return page.evaluate(() => navigator.clipboard.readText());
}

export async function screenshot(page, name, fullPage = false) {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage });
}

/** Scrolls through the page, so that everything on it is drawn. */
export async function scrollThrough(page) {
  const height = await page.evaluate(() => document.body.scrollHeight);
  for (let y = 0; y < height; y += 600) {
    await page.evaluate((to) => window.scrollTo(0, to), y);
    await page.waitForTimeout(120);
  }
  await page.evaluate(() => window.scrollTo(0, 0));
}

/** How many points each line of a chart has, by the line's name. */
export async function points(page, chart) {
  await page.locator(`#chart-${chart}`).scrollIntoViewIfNeeded();
  await page.waitForSelector(`#chart-${chart} canvas`);
  return page.evaluate((id) => {
    const { data, series } = document.getElementById(id).plot;
    return Object.fromEntries(
      series.slice(1).map(({ label }, index) => [label, data[index + 1].filter((value) => value != null).length]),
    );
  }, `chart-${chart}`);
}

/** The number of pixels of a chart that have about the colour of a line; evaluated in a page. */
function dotsOf([id, line]) {
  const { ctx, series } = document.getElementById(id).plot;
  const { width, height } = ctx.canvas;
  // Reading from the canvas itself would make the browser draw it another way.
  const copy = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d", {
    willReadFrequently: true,
  });
  copy.drawImage(ctx.canvas, 0, 0);
  const dots = copy.getImageData(0, 0, width, height).data;
  const { stroke } = series.find(({ label }) => label === line);
  const colour = stroke()
    .match(/[\da-f]{2}/g)
    .map((part) => parseInt(part, 16));
  let count = 0;
  for (let at = 0; at < dots.length; at += 4) {
    if (dots[at + 3] > 200 && colour.every((part, index) => Math.abs(part - dots[at + index]) < 16)) count += 1;
  }
  return count;
}

export function painted(page, chart, line) {
  return page.evaluate(dotsOf, [`chart-${chart}`, line]);
}

/** Waits until a line of a chart is seen on the page. */
export async function untilPainted(page, chart, line) {
  await page.waitForSelector(`#chart-${chart} canvas`);
  await page.waitForFunction(dotsOf, [`chart-${chart}`, line]);
}

/** What lies on the board, by cell, empty cells left out. */
export function board(page) {
  return page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll("#position [data-cell]")]
        .filter((cell) => cell.dataset.content !== "")
        .map((cell) => [cell.dataset.cell, cell.dataset.content]),
    ),
  );
}

/** The same from the facts of a position of connectFour. */
export function discs(facts) {
  const found = facts.map((fact) => /^\(cell (\d+ \d+) (\w+)\)$/.exec(fact)).filter((match) => match !== null);
  return Object.fromEntries(found.map(([, cell, content]) => [cell, content]));
}

/** Whether the newest turn is shown; asked in one go, since the next may come at any moment. */
export function isAtNewest(page) {
  return page.evaluate(() => {
    const slider = document.getElementById("slider");
    return slider.value === slider.max;
  });
}

/** The plan that the page shows: the text of its facts, and the move that is marked, also as the rules write it. */
export async function shownPlan(page) {
  return {
    facts: await page.locator("#plan dd").allInnerTexts(),
    current: (await page.locator("#plan li[aria-current]").allInnerTexts()).map((text) => text.replace(/\s+/g, " ")),
    written: await page.locator("#plan li[aria-current]").evaluateAll((items) => items.map(({ title }) => title)),
  };
}
