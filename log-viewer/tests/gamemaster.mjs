// A manager of matches as Gamemaster's: pages of one origin in one browser, which write messages
// into each other's `localStorage`. It knows rules by the page's own reader. It waits for the reply of
// the player to move beyond the end of the clock: a browser on busy cores can be late.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createContext, Script } from "node:vm";

const RULES = new URL("../gamemaster_rules.js", import.meta.url);
/** Pause between a move and the next message, in milliseconds; Gamemaster's is a second. */
const PAUSE = 100;

/** Slows the timers of a page down as in the background, which a browser without windows does not do. */
export function slowTimers() {
  for (const name of ["setTimeout", "setInterval"]) {
    const own = window[name];
    window[name] = (act, time = 0, ...more) => own(act, Math.max(time, 1000), ...more);
  }
}

/** Writes down the timers that a page asks its clock for, in milliseconds, in `clockTimers`. */
export function recordTimers() {
  window.clockTimers = [];
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...more) {
    if (typeof message?.after === "number") window.clockTimers.push(message.after);
    return post.call(this, message, ...more);
  };
}

/** The least time between the end of a timer and the end of the clock, in milliseconds. */
const LEFT = 300;

/**
 * Sees that the timers since the last call end before a clock of some seconds does, and that one ends
 * soon before that.
 */
export async function checkTimers(page, clock) {
  const timers = await page.evaluate(() => window.clockTimers.splice(0));
  const longest = Math.max(...timers);
  assert.ok(longest <= 1000 * clock - LEFT, `a timer of ${longest} ms`);
  assert.ok(longest > 500 * clock, `a timer of ${longest} ms`);
}

/** Three squares in a row of five win; x begins. */
export const ROW = `role(x)
role(o)
square(1)
square(2)
square(3)
square(4)
square(5)
next(1,2)
next(2,3)
next(3,4)
next(4,5)
init(cell(N,b)) :- square(N)
init(control(x))
legal(mark(N)) :- cell(N,b)
mark(N) :: control(R) ==> ~cell(N,b) & cell(N,R)
mark(N) :: control(x) ==> ~control(x) & control(o)
mark(N) :: control(o) ==> ~control(o) & control(x)
line(R) :- role(R) & next(A,B) & next(B,C) & cell(A,R) & cell(B,R) & cell(C,R)
goal(R,100) :- line(R)
goal(R,0) :- line(O) & distinct(O,R)
goal(R,50) :- ~line(x) & ~line(o)
open :- cell(N,b)
terminal :- line(R)
terminal :- ~open`;

/** The rules of a text, as the page's worker reads them: a `Game`. */
export async function rulesOf(text) {
  const script = await readFile(RULES, "utf8");
  const context = createContext({ addEventListener() {}, postMessage() {}, asked: text });
  return new Script(`${script}\nnew Game(asked)`).runInContext(context);
}

/** Serves texts as pages of one origin: `{ origin, stop() }`. */
export async function servePages(pages) {
  const server = createServer((request, answer) => {
    const page = pages[request.url] ?? "";
    answer.writeHead(pages[request.url] === undefined ? 404 : 200, { "Content-Type": "text/html" });
    answer.end(page);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const stop = () => new Promise((done) => server.close(done));
  return { origin: `http://127.0.0.1:${server.address().port}`, stop };
}

/** The page of a player that plays the first move of a list that nobody has made yet. */
export function listPlayer(name, moves) {
  return `<!doctype html><title>${name}</title><script>
    const left = ${JSON.stringify(moves)};
    let role = null;
    addEventListener("storage", ({ key, newValue }) => {
      if (key !== ${JSON.stringify(name)}) return;
      const [, number, word, content] = /^message\\((\\d+),manager,[^,]+,(\\w+)\\(([\\s\\S]*)\\)\\)$/.exec(newValue);
      const reply = (text) => { localStorage.manager = "message(" + number + ",${name},manager," + text + ")"; };
      if (word === "start" || word === "ping") reply("ready");
      if (word !== "play") return;
      const at = left.indexOf(content);
      if (at >= 0) left.splice(at, 1);
      reply(left[0]);
    });
  </script>`;
}

/**
 * Plays a match between pages that are open: `players` are their identifiers in the order of the
 * roles. Answers `{ rewards, turns }`, each turn with role, move, and whether it is legal.
 * `afterTurn` is called with the number of turns made.
 */
export async function playMatch(context, origin, { text, roles, players, startClock, playClock, afterTurn = () => {} }) {
  const page = await context.newPage();
  let take = () => {};
  await page.exposeFunction("took", (written) => take(written));
  await page.goto(`${origin}/manager`);
  await page.evaluate(() => {
    addEventListener("storage", ({ key, newValue }) => {
      if (key === "manager") window.took(newValue);
    });
  });
  let number = 0;
  /** Sends a message to each player and waits until `isEnough` says so of the replies, by player. */
  const round = async (contents, isEnough) => {
    number += 1;
    const replies = new Map();
    const ended = new Promise((done) => {
      take = (written) => {
        const found = /^message\((\d+),([^,]+),manager,([\s\S]*)\)$/u.exec(written);
        if (found === null || Number(found[1]) !== number) return;
        replies.set(found[2], found[3]);
        if (isEnough(replies)) done();
      };
      if (isEnough(replies)) done();
    });
    const messages = contents.map((content, index) => [players[index], `message(${number},manager,${players[index]},${content})`]);
    await page.evaluate((all) => all.forEach(([key, value]) => localStorage.setItem(key, value)), messages);
    await ended;
    return replies;
  };
  const game = await rulesOf(text);
  const sentences = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("%"));
  const ruleset = `ruleset(${sentences.join(",")})`;
  const starts = roles.map((role) => `start(${role},${ruleset},${startClock},${playClock})`);
  await round(starts, (replies) => replies.size === players.length);
  const turns = [];
  let last = "[]";
  while (game.first("terminal & same(X,yes)") === null) {
    const mover = game.first("control(X)");
    const player = players[roles.indexOf(mover)];
    const replies = await round(roles.map(() => `play(${last})`), (all) => all.has(player));
    const move = replies.get(player);
    const isLegal = game.first(`legal(${move}) & same(X,yes)`) !== null;
    last = isLegal ? move : game.first("legal(X)");
    turns.push({ role: mover, move, isLegal });
    game.play(last);
    await afterTurn(turns.length);
    await new Promise((done) => setTimeout(done, PAUSE));
  }
  await round(roles.map(() => `stop(${last})`), () => true);
  await page.close();
  return { rewards: roles.map((role) => Number(game.first(`goal(${role},X)`) ?? 0)), turns };
}
