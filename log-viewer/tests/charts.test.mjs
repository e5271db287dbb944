// The charts of a match in a real browser: what they draw, and what one can do with them.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { closeBrowser, openBrowser, painted, points, screenshot, untilPainted, withPage } from "./page.mjs";
import { makeMatch, writeMatch } from "./samples.mjs";
import { serve } from "./server.mjs";

const TURNS = 24;
const SECONDS = 3;
const MATCH = makeMatch({ turns: TURNS, secondsATurn: SECONDS });
const ROWS = MATCH.series
  .trim()
  .split("\n")
  .map((row) => row.split(","));

let folder;
let server;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "panza-charts-"));
  await writeMatch(join(folder, "sample"), MATCH);
  server = await serve(folder);
  await openBrowser();
});

after(async () => {
  await closeBrowser();
  await server?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Does something on a page of the match, once a chart of it is there. */
function onMatch(chart, act, options = {}) {
  return withPage(options, async (page) => {
    await page.goto(`${server.address}/matches/sample#turn=8`);
    await page.waitForSelector(`#chart-${chart}`, { state: "attached" });
    await points(page, chart);
    await act(page);
  });
}

/** The numbers of a column of `series.csv`. */
function column(name) {
  const place = ROWS[0].indexOf(name);
  return ROWS.slice(1).map((row) => Number(row[place]));
}

/** The least and the greatest value on an axis of a chart. */
function scale(page, chart, axis = "x") {
  return page.evaluate(
    ([id, key]) => {
      const { min, max } = document.getElementById(id).plot.scales[key];
      return [min, max];
    },
    [`chart-${chart}`, axis],
  );
}

/** Waits until the horizontal axis of a chart shows something else. */
function untilScaled(page, chart, [from, to]) {
  return page.waitForFunction(
    ([id, from, to]) => {
      const { min, max } = document.getElementById(id).plot.scales.x;
      return min !== from || max !== to;
    },
    [`chart-${chart}`, from, to],
  );
}

/** Where a value lies on the page. */
function place(page, chart, x, y, axis = "left") {
  return page.evaluate(
    ([id, x, y, key]) => {
      const { plot } = document.getElementById(id);
      const { left, top } = plot.over.getBoundingClientRect();
      return [left + plot.valToPos(x, "x"), top + plot.valToPos(y, key)];
    },
    [`chart-${chart}`, x, y, axis],
  );
}

async function drag(page, from, to) {
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move(...to, { steps: 5 });
  await page.mouse.up();
}

const legend = (page, chart, line) =>
  page
    .locator(".chart-card", { has: page.locator(`#chart-${chart}`) })
    .getByRole("button", { name: line, exact: true });

const tool = (page, name) => page.getByRole("button", { name, exact: true });

test("every line is drawn, in its colour, with the values of the log", () =>
  onMatch("value", async (page) => {
    const samples = ROWS.length - 1;
    /** The samples with several moves at the root. */
    const open = ROWS.filter((row) => row.join().split('[""').length > 2).length;
    const lines = {
      value: { "Most visited": samples, Second: open, Best: samples, Answered: TURNS },
      visits: { "Most visited": samples, Second: open },
      answers: { Answer: TURNS, "Play clock": 2 },
      speed: { "Iterations/s": samples, "Playouts/s": samples },
      graph: { Nodes: samples, "Pool in use": samples },
      rings: { Requests: samples, Results: samples, Samples: samples },
      stages: { Select: samples, Grow: samples, "Back up": samples, Rollouts: samples, Other: samples },
      memory: { Memory: samples },
    };
    /** Which line lies exactly above which in this match. */
    const above = { "Most visited": "Best", Nodes: "Pool in use" };
    for (const [chart, expected] of Object.entries(lines)) {
      const found = await points(page, chart);
      for (const [line, count] of Object.entries(expected)) {
        assert.equal(found[line], count, `${chart} ${line}`);
        const isCovered = above[line] in found;
        if (isCovered) await legend(page, chart, above[line]).click();
        await untilPainted(page, chart, line);
        if (isCovered) await legend(page, chart, above[line]).click();
      }
    }
    const drawn = await page.evaluate(() => [...document.getElementById("chart-speed").plot.data.slice(1)]);
    assert.deepEqual(drawn, [column("iterations_per_second"), column("playouts_per_second")]);
    // Of a stack each line is the sum with those below.
    const stack = await page.evaluate(() =>
      document
        .getElementById("chart-stages")
        .plot.data.slice(1)
        .map((line) => line[9]),
    );
    let sum = 0;
    for (const [index, stage] of ["select", "grow", "back_up", "rollouts", "other"].entries()) {
      sum += column(`time_${stage}`)[9];
      assert.ok(Math.abs(stack[index] - sum) < 1e-9, stage);
    }
    const axes = await page.evaluate(() =>
      [...document.querySelectorAll(".chart")].map(({ plot }) => plot.axes.map(({ label }) => label ?? "").join()),
    );
    assert.deepEqual(axes, [
      ",value",
      ",visits",
      "turn,seconds",
      ",iterations/s,playouts/s",
      ",nodes,pool",
      ",rings,samples a request",
      ",threads",
      ",bytes",
    ]);
  }));

test("charts show one turn alone, and zoom together", () =>
  onMatch("visits", async (page) => {
    const whole = await points(page, "visits");
    await page.click("#alone");
    await page.waitForFunction(() =>
      document.getElementById("chart-visits").plot.series.some(({ label }) => /^[a-h]$/.test(label)),
    );
    const alone = await points(page, "visits");
    assert.ok(Object.keys(alone).length > Object.keys(whole).length);
    assert.deepEqual(
      await scale(page, "visits"),
      [8.9 * SECONDS, 9.9 * SECONDS].map((at) => Number(at.toFixed(1))),
    );
    await page.click("#whole");
    await points(page, "value");
    await untilPainted(page, "value", "Best");
    const before = await scale(page, "value");
    assert.ok(before[0] <= 1 && before[1] >= ROWS.length - 1, `${before}`);
    await drag(page, await place(page, "value", 10, 60), await place(page, "value", 30, 58));
    await untilScaled(page, "value", before);
    const [from, to] = await scale(page, "value");
    assert.ok(Math.abs(from - 10) < 1 && Math.abs(to - 30) < 1, `${from}, ${to}`);
    for (const chart of ["visits", "speed", "memory"]) {
      await points(page, chart);
      await page.waitForFunction(
        ([id, from]) => document.getElementById(id).plot.scales.x.min === from,
        [`chart-${chart}`, from],
      );
      assert.deepEqual(await scale(page, chart), [from, to]);
    }
    // What has another axis stays as it is.
    assert.deepEqual(await scale(page, "answers"), [-0.5, TURNS - 0.5]);
    // A double click shows everything again, in all charts.
    await points(page, "value");
    await page.mouse.dblclick(...(await place(page, "value", 20, 90)));
    await untilScaled(page, "value", [from, to]);
    assert.deepEqual(await scale(page, "value"), before);
    await points(page, "speed");
    await untilScaled(page, "speed", [from, to]);
  }));

test("a box zooms both ways, buttons zoom, and the axis is dragged along", () =>
  onMatch("value", async (page) => {
    const before = await scale(page, "value");
    await drag(page, await place(page, "value", 10, 75), await place(page, "value", 50, 40));
    await untilScaled(page, "value", before);
    const [low, high] = await scale(page, "value", "left");
    assert.ok(Math.abs(low - 40) < 2 && Math.abs(high - 75) < 2, `${low}, ${high}`);
    const boxed = await scale(page, "value");
    await tool(page, "Zoom in: Value").click();
    await untilScaled(page, "value", boxed);
    const near = await scale(page, "value");
    assert.ok(Math.abs((near[1] - near[0]) / (boxed[1] - boxed[0]) - 0.5) < 0.01, `${near}, ${boxed}`);
    const axis = await page.locator("#chart-value .across").boundingBox();
    const [x, y] = [axis.x + axis.width / 2, axis.y + axis.height / 2];
    await drag(page, [x, y], [x + axis.width / 4, y]);
    const moved = await scale(page, "value");
    const by = (near[1] - near[0]) / 4;
    assert.ok(
      Math.abs(moved[0] - (near[0] - by)) < 0.5 && Math.abs(moved[1] - (near[1] - by)) < 0.5,
      `${near}, ${moved}`,
    );
    for (let presses = 0; presses < 3; presses += 1) await tool(page, "Zoom out: Value").click();
    await page.waitForFunction(([from]) => document.getElementById("chart-value").plot.scales.x.min === from, before);
    assert.deepEqual(await scale(page, "value"), before);
    assert.deepEqual(await scale(page, "value", "left"), [-3, 103]);
  }));

test("lines are switched off and on in the legend", () =>
  onMatch("stages", async (page) => {
    await untilPainted(page, "stages", "Rollouts");
    const top = await scale(page, "stages", "left");
    const shown = () =>
      page.evaluate(() =>
        document
          .getElementById("chart-stages")
          .plot.series.flatMap(({ label, show }, index) => (index > 0 && show ? [label] : [])),
      );
    const all = await shown();
    await legend(page, "stages", "Rollouts").click();
    assert.equal(await legend(page, "stages", "Rollouts").getAttribute("aria-pressed"), "false");
    assert.deepEqual(
      await shown(),
      all.filter((name) => name !== "Rollouts"),
    );
    // The stack is lower without it.
    await page.waitForFunction(
      (high) => document.getElementById("chart-stages").plot.scales.left.max < high / 1.5,
      top[1],
    );
    assert.equal(await painted(page, "stages", "Rollouts"), 0);
    // The focus stays, so that a key switches it on again.
    await page.keyboard.press("Enter");
    await untilPainted(page, "stages", "Rollouts");
    assert.deepEqual(await shown(), all);
    await legend(page, "stages", "Grow").dblclick();
    assert.deepEqual(await shown(), ["Grow"]);
    await untilPainted(page, "stages", "Grow");
    // It stays off when the chart is drawn again.
    await page.keyboard.press("ArrowRight");
    await page.emulateMedia({ colorScheme: "dark" });
    await untilPainted(page, "stages", "Grow");
    assert.deepEqual(await shown(), ["Grow"]);
    await legend(page, "stages", "Grow").dblclick();
    assert.deepEqual(await shown(), all);
  }));

test("the pointer is told the values, and a click chooses the turn", () =>
  onMatch("value", async (page) => {
    const at = 40;
    const [best, move] = [column("best_value")[at - 1], ROWS[at][ROWS[0].indexOf("best_move")]];
    await page.mouse.move(...(await place(page, "value", at, 20)));
    const hover = page.locator("#chart-value .chart-hover");
    await hover.waitFor();
    const said = (await hover.innerText()).split("\n");
    assert.equal(said[0], "0:00:40");
    const file = "abcdefgh"[Number(/\d/.exec(move)[0]) - 1];
    const expected = `Best: ${file} ${Math.round(best * 10) / 10}`;
    assert.ok(said.includes(expected), `${said}, ${expected}`);
    assert.ok(
      said.some((line) => /^Most visited: .* · [\d,]+$/.test(line)),
      `${said}`,
    );
    await screenshot(page, "hover");
    await page.mouse.click(...(await place(page, "value", at, 20)));
    const turn = Math.floor((at + 0.3) / SECONDS) - 1;
    await page.waitForURL((url) => url.hash === `#turn=${turn}`);
    await page.mouse.move(5, 5);
    await hover.waitFor({ state: "hidden" });

    await points(page, "answers");
    await page.mouse.move(...(await place(page, "answers", 5, 1)));
    assert.match(await page.locator("#chart-answers .chart-hover").innerText(), /^turn 5\nAnswer: .* after 2\.\d\d s/);
    await page.mouse.click(...(await place(page, "answers", 5.3, 1)));
    await page.waitForURL(/#turn=5$/);
  }));

test("the chosen turn is a band behind the lines", () =>
  onMatch("memory", async (page) => {
    /** Waits until the band is at one moment and not at another, high above the line. */
    const untilBand = (inside, outside) =>
      page.waitForFunction(
        (moments) => {
          const { plot } = document.getElementById("chart-memory");
          const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
          const [there, elsewhere] = moments.map((x) => {
            copy.clearRect(0, 0, 1, 1);
            copy.drawImage(plot.ctx.canvas, plot.valToPos(x, "x", true), plot.bbox.top + 3, 1, 1, 0, 0, 1, 1);
            return copy.getImageData(0, 0, 1, 1).data[3];
          });
          return there > 20 && elsewhere === 0;
        },
        [inside, outside],
      );
    await untilPainted(page, "memory", "Memory");
    await untilBand(28.3, 43.3);
    await page.locator("#slider").fill("13");
    await untilBand(43.3, 28.3);
  }));

test("charts are as wide as their place, whatever becomes of the window", () =>
  onMatch("value", async (page) => {
    for (const width of [1360, 700, 390, 1100]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForFunction(() =>
        [...document.querySelectorAll(".chart")].every(({ plot, clientWidth }) => !plot || plot.width === clientWidth),
      );
      const room = await page.locator("#chart-value").evaluate(({ clientWidth }) => clientWidth);
      assert.ok(room > width / 3 && room < width, `${room} of ${width}`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    }
    await untilPainted(page, "value", "Best");
  }));

test("a chart is saved as a picture", () =>
  onMatch("speed", async (page) => {
    const waiting = page.waitForEvent("download");
    await tool(page, "Save as a picture: Speed").click();
    const download = await waiting;
    assert.equal(download.suggestedFilename(), "speed.png");
    const file = join(folder, "speed.png");
    await download.saveAs(file);
    const bytes = await readFile(file);
    assert.equal(bytes.toString("latin1", 1, 4), "PNG");
    const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
    const canvas = await page.evaluate(() => {
      const { width, height } = document.querySelector("#chart-speed canvas");
      return [width, height];
    });
    assert.deepEqual([width, height > canvas[1]], [canvas[0], true]);
  }));
