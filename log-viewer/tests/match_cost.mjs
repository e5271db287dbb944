// What a browser that plays and studies costs a match: `node match_cost.mjs [PAIRS [SECONDS]]`,
// after a build.
//
// A game manager's match is played in turn with empty pages in the browser (A) and with a page on
// which Panza studies a position and one on which it plays itself (B). Both begin in the same
// position and have the same clocks. From the match's own figures comes how many iterations it made
// in a second, which says little where other programs use the processor. What says more is the
// processor time that tables, requests and the browser took during the match, read from /proc.

import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closeBrowser, openBrowser, seat, withPage } from "./page.mjs";
import { serve, startMatch } from "./server.mjs";

const PAIRS = Number(process.argv[2] ?? 4);
const CLOCK = Number(process.argv[3] ?? 4);
/** Moves of the player in a match. Fewer than four discs decide nothing. */
const MOVES = 3;
const START_CLOCK = 2;
/** Threads of a table, and the threads that answer requests. */
const OF_TABLES = /^(table|planner)/;
const OF_PAGES = /^tokio/;

const sleep = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** The threads of a process; none once it has ended. */
const tasks = (pid) => readdir(`/proc/${pid}/task`).catch(() => []);

/**
 * The processor time of each thread of a process so far, in ms, as a map from its number to name
 * and time.
 */
async function threads(pid) {
  const found = new Map();
  for (const thread of await tasks(pid)) {
    try {
      const of = (file) => readFile(`/proc/${pid}/task/${thread}/${file}`, "utf8");
      found.set(thread, { name: (await of("comm")).trim(), time: Number((await of("schedstat")).split(" ")[0]) / 1e6 });
    } catch {
      // It has ended.
    }
  }
  return found;
}

/** The processes that a process has begun, with all that those have begun. */
async function descendants(pid) {
  const begun = [];
  for (const thread of await tasks(pid)) {
    const children = await readFile(`/proc/${pid}/task/${thread}/children`, "utf8").catch(() => "");
    for (const child of children.trim().split(" ").filter((it) => it !== "")) begun.push(child, ...(await descendants(child)));
  }
  return begun;
}

/** The processor time of all processes of the browser, in ms. */
async function browserTime(server) {
  let all = 0;
  for (const pid of await descendants(process.pid)) {
    if (pid === String(server.pid)) continue;
    for (const { time } of (await threads(pid)).values()) all += time;
  }
  return all;
}

/** Rows of the figures of a match, by the names of their columns. */
async function figures(address, id) {
  const { matches } = await (await fetch(`${address}/api/matches?limit=1000`)).json();
  const { folder } = matches.find((found) => found.match_id === id);
  const text = await (await fetch(`${address}/api/matches/${folder}/series`)).text();
  const [head, ...rows] = text.trim().split("\n");
  const names = head.split(",");
  return rows.map((row) => Object.fromEntries(row.split(",").map((value, place) => [names[place], value])));
}

/**
 * Plays a match, and returns what is measured while the player searches for its first move and for
 * the later ones.
 */
async function match(server, id) {
  const { address } = server;
  const played = await startMatch(address, { id, startClock: START_CLOCK, playClock: CLOCK });
  const before = await threads(server.pid);
  const browserBefore = await browserTime(server);
  for (let step = 0; step < 2 * MOVES; step += 1) await played.turn();
  const times = new Map();
  for (const [thread, { name, time }] of await threads(server.pid)) {
    const took = time - (before.get(thread)?.time ?? 0);
    times.set(name, (times.get(name) ?? 0) + took);
  }
  const browser = (await browserTime(server)) - browserBefore;
  await played.stop();
  // The last line of figures is written by a thread of its own.
  await sleep(0.5);
  const rows = (await figures(address, id)).filter(({ at_seconds: at }) => Number(at) > START_CLOCK);
  const [first, last] = [rows[0], rows.at(-1)];
  const iterations = last.iterations - first.iterations;
  return { times, browser, rate: iterations / (last.at_seconds - first.at_seconds) };
}

/** Leaves a page, and closes its table. */
async function leave({ address }, page) {
  const table = new URL(page.url()).hash.slice(1);
  await page.goto("about:blank");
  const headers = { "Content-Type": "application/json", "panza-page": "1" };
  await fetch(`${address}/api/tables/${table}`, { method: "POST", headers, body: '{"do":"close"}' });
}

const sum = (times, wanted) => [...times].reduce((all, [name, time]) => (wanted.test(name) ? all + time : all), 0);
const percent = (share) => `${(100 * share).toFixed(2)} %`;

function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
}

async function main(server, page, other) {
  await match(server, "warm");
  const pairs = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const without = await match(server, `a${pair}`);
    await page.goto(`${server.address}/study`);
    await page.click('[data-game="connectFour"]');
    await page.waitForFunction(() => document.querySelectorAll("#thoughts tbody tr").length > 0);
    await other.goto(`${server.address}/play`);
    await other.click(seat("breakthrough", "none"));
    await other.waitForFunction(() => /by search/.test(document.getElementById("says").textContent));
    const beside = await match(server, `b${pair}`);
    for (const [place, { times, browser, rate }] of [without, beside].entries()) {
      const named = [...times].filter(([, time]) => time >= 0.1).sort((one, two) => two[1] - one[1]);
      const shown = named.map(([name, time]) => `${name} ${time.toFixed(1)}`).join(", ");
      console.log(`${"AB"[place]}${pair}: ${Math.round(rate)} iterations/s; ms of processor time: ${shown}, browser ${browser.toFixed(1)}`);
    }
    pairs.push({ without, beside });
    for (const shown of [page, other]) await leave(server, shown);
  }
  const all = ({ times }) => sum(times, /./);
  const more = (of) => ({ without, beside }) => (of(beside) - of(without)) / all(beside);
  const report = (what, of) => {
    const values = pairs.map(of);
    console.log(`${what}: median ${percent(median(values))}, from ${percent(Math.min(...values))} to ${percent(Math.max(...values))}`);
  };
  report("iterations a second, B against A", ({ without, beside }) => beside.rate / without.rate - 1);
  console.log("processor time in B more than in A, of all that the player used in B:");
  report("  tables", more(({ times }) => sum(times, OF_TABLES)));
  report("  requests", more(({ times }) => sum(times, OF_PAGES)));
  report("  the browser", more(({ browser }) => browser));
}

const folder = await mkdtemp(join(tmpdir(), "panza-cost-"));
const server = await serve(join(folder, "logs"), 0, ["metagame.learning=false", "metagame.tuning=false"]);
await openBrowser();
try {
  await withPage({}, (page) => withPage({}, (other) => main(server, page, other)));
} finally {
  await closeBrowser();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
