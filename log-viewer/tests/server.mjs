// Starts the player's server and plays matches on it, for the tests that need a real one.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
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
