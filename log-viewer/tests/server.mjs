// Starts the player's server and plays matches on it, for the tests that need a real one. Some matches are played by
// the clock, others go on when a test says so: what such a test shows does not depend on how fast a page opens.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const BUILDS = ["release", "debug"].map((kind) =>
  fileURLToPath(new URL(`../../target/${kind}/panza`, import.meta.url)),
);

/** The program under test: `$PANZA`, or what was built last in this checkout. */
export function program() {
  const found = process.env.PANZA ?? BUILDS.find((path) => existsSync(path));
  if (found === undefined) throw new Error("there is no panza to test: build it, or name one in PANZA");
  return found;
}

/**
 * A server whose logs lie in a folder: `{ address, logs, pid, stop() }`, the addresses as URLs.
 * Port 0 is any that is free; `more` are further settings.
 */
export async function serve(folder, port = 0, more = []) {
  const arguments_ = ["serve", "--listen", `127.0.0.1:${port}`, "--json"];
  const settings = [
    `logs.folder=${folder}`,
    "server.log_listen=127.0.0.1:0",
    "memory.enabled=false",
    "logs.level=error",
    "search.threads=1",
    ...more,
  ];
  for (const setting of settings) arguments_.push("--set", setting);
  const child = spawn(program(), arguments_, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((done) => child.once("exit", done));
  for await (const line of createInterface({ input: child.stdout })) {
    const { listening, logs } = JSON.parse(line);
    const stop = async () => {
      child.kill("SIGTERM");
      await ended;
    };
    return { address: `http://${listening}`, logs: `http://${logs}`, pid: child.pid, stop };
  }
  throw new Error("the server ended before it listened");
}

/** The processor time of a process in milliseconds. A tick of `/proc` is 10 ms. */
export async function processorTime(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/**
 * Plays a match on a server, in a game of several roles against random players, as many as `opponents`; resolves when
 * it is over.
 */
export function play(address, { game = "connectFour", opponents = 1, startClock, playClock, seed }) {
  const child = spawn(
    program(),
    [
      "match",
      game,
      "--player",
      address,
      ...Array.from({ length: opponents }, () => ["--player", "random"]).flat(),
      "--start-clock",
      String(startClock),
      "--play-clock",
      String(playClock),
      "--seed",
      String(seed),
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  return new Promise((done, fail) => {
    child.once("exit", (code) => (code === 0 ? done() : fail(new Error(`the match ended with status ${code}`))));
    child.once("error", fail);
  });
}

/** The board of connectFour in `gdl-games`, and the directions of its lines. */
const COLUMNS = 8;
const ROWS = 6;
const DIRECTIONS = [
  [1, 0],
  [0, 1],
  [1, 1],
  [1, -1],
];
const IN_A_LINE = 4;

async function send(address, message) {
  const answer = await fetch(address, { method: "POST", headers: { "Content-Type": "text/acl" }, body: message });
  return (await answer.text()).trim();
}

/** Whether the disc on top of a column ends a line of four of its colour. */
function isLine(columns, column) {
  const row = columns[column].length - 1;
  const colour = columns[column][row];
  const reach = (x, y) => {
    let steps = 0;
    while (columns[column + (steps + 1) * x]?.[row + (steps + 1) * y] === colour) steps += 1;
    return steps;
  };
  return DIRECTIONS.some(([x, y]) => reach(x, y) + 1 + reach(-x, -y) >= IN_A_LINE);
}

/**
 * Starts a match of connectFour in which Panza is red and goes first, and resolves when Panza is ready. It goes on by
 * `turn()`, a move of one role, until `isOver()`; black puts each disc into the lowest column. `stop()` and `abort()`
 * end it.
 */
export async function startMatch(address, { id, startClock, playClock }) {
  const rules = (await (await fetch(`${address}/api/games/connectFour`)).text()).replaceAll(/;.*$/gm, "");
  const ready = await send(address, `( START ${id} red (${rules}) ${startClock} ${playClock} )`);
  if (ready !== "ready") throw new Error(`START is answered by ${ready}`);
  const columns = Array.from({ length: COLUMNS }, () => []);
  let discs = 0;
  let isOver = false;
  let moves = "nil";
  return {
    isOver: () => isOver,
    turn: async () => {
      const answer = await send(address, `( PLAY ${id} ${moves} )`);
      const isRed = discs % 2 === 0;
      const lowest = columns.reduce((best, { length }, place) => (length < columns[best].length ? place : best), 0);
      const column = isRed ? Number(/^\(\s*drop (\d)\s*\)$/.exec(answer)?.[1]) - 1 : lowest;
      if (!(columns[column]?.length < ROWS)) throw new Error(`PLAY is answered by ${answer}`);
      columns[column].push(isRed ? "red" : "black");
      discs += 1;
      isOver = isLine(columns, column) || discs === COLUMNS * ROWS;
      const drop = `(drop ${column + 1})`;
      moves = isRed ? `(${drop} noop)` : `(noop ${drop})`;
    },
    stop: () => send(address, `( STOP ${id} ${moves} )`),
    abort: () => send(address, `( ABORT ${id} )`),
  };
}
