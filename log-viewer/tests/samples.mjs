// Folders of matches as the player writes them, made up for tests: a game of discs dropped into columns, with every
// kind of event, figures for each second and a readable log. The same numbers come every time.

import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Numbers from 0 to 1 that look random. */
function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const START = Date.parse("2026-03-01T12:00:00Z");

function moment(seconds, microseconds = 0) {
  return new Date(START + seconds * 1000).toISOString().replace("Z", `${String(microseconds).padStart(3, "0")}Z`);
}

/** The expected value of a move, which rises during the match. */
function worth(step, random) {
  return Number((100 - 50 * Math.exp(-step / 40) - 12 * random()).toFixed(2));
}

/** A board of columns into which discs fall, as the player describes it. */
export function discBoard(width, height) {
  const cells = {};
  for (let column = 1; column <= width; column += 1) {
    for (let line = 1; line <= height; line += 1) cells[`${column} ${line}`] = [height - line, column - 1];
  }
  return {
    function: "cell",
    arity: 3,
    boards: [{ key: "", title: "", line: 0, column: 0 }],
    n_board_arguments: 0,
    n_cell_arguments: 2,
    cells,
    lines: Array.from({ length: height }, (_, line) => String(height - line)),
    columns: Array.from({ length: width }, (_, column) => String(column + 1)),
    contents: { red: { label: "r", blank: false }, black: { label: "b", blank: false } },
    has_blanks: false,
  };
}

/**
 * The files of a match, as texts: `{ events, series, log, summary }`. `turns` and `secondsATurn` say how long it is, `moves` how
 * many moves there are at the root.
 */
export function makeMatch({
  matchId = "sample",
  turns = 24,
  secondsATurn = 3,
  moves = 8,
  height = 6,
  players = ["Panza", "random"],
  seed = 1,
  ends = true,
} = {}) {
  const random = numbers(seed);
  const events = [];
  const series = [
    "at_seconds,step,iterations,iterations_per_second,playouts,playouts_per_second,nodes,pool_used,request_rings,result_rings," +
      "samples_per_request,best_move,best_value,memory_bytes,time_select,time_grow,time_back_up,time_rollouts,time_other,root_moves",
  ];
  const log = [];
  const event = (at, kind, data) => events.push(JSON.stringify({ time: moment(at), at_seconds: at, kind, data }));
  const say = (at, level, text) => log.push(`${moment(at)} ${at.toFixed(3).padStart(9)} ${level.padStart(5)} ${text}`);

  event(0.000005, "log", { match_id: matchId });
  event(0.00003, "settings", { toml: '[server]\nname = "Panza"\n\n[search]\nthreads = 1\nexploration = 0.4\n' });
  event(0.00004, "start", {
    role: "red",
    roles: ["red", "black"],
    players,
    host: "127.0.0.1",
    game: "connectFour",
    start_clock: secondsATurn,
    play_clock: secondsATurn,
    rules: "(role red)\n(role black)\n(init (control red))",
    version: "0.1.0",
    commit: "075cc95",
  });
  say(0, "INFO", `plays red in ${matchId}, start clock ${secondsATurn}s, play clock ${secondsATurn}s`);
  event(0.1, "machine", { kind: "lanes", is_fallback: false, seconds: 0.1 });
  say(0.1, "INFO", "lanes machine built in 0.100 s");
  event(0.11, "board", { shapes: [discBoard(moves, height)] });
  event(0.12, "parts", { parts: [{ bases: 97, moves: 8 }] });
  event(0.5, "study", {
    parameters: { evaluation_share: 0.45, exploration: 0.7 },
    games: 41_233,
    positions_compared: 1509,
    correlation: 0.585,
    correlation_of_playouts: 0.633,
    settled_facts_that_bound_goals: 0,
    symmetries: 1,
    trials: [
      {
        tried: { evaluation_share: 0.45, exploration: 0.7 },
        against: { evaluation_share: 0.45, exploration: 0.4 },
        games: 30,
        points: 19.5,
      },
    ],
    heuristics: [
      { facts: "(cell * * red)", count: 48, worth: [0.31, -0.31], spread: 0.12 },
      { facts: "(cell * * black)", count: 48, worth: [-0.28, 0.28], spread: 0.1 },
      { facts: "(control *)", count: 2, worth: [0.04, -0.04], spread: 0.01 },
    ],
    latches: { stay_true: 96, stay_false: 0, stay_with_another: 256 },
  });
  say(0.5, "DEBUG", "studied the game:\n    of 41233 games");
  event(secondsATurn - 0.4, "ready", { seconds: secondsATurn - 0.4 });

  const heights = new Array(moves).fill(0);
  const discs = [];
  let iterations = 0;
  let sampled = 0;
  const sample = (step, until, root) => {
    for (; sampled + 1 <= until; sampled += 1) {
      const at = sampled + 1;
      iterations += 30_000 + Math.floor(random() * 4000);
      const share = (sampled % secondsATurn) / secondsATurn;
      const now = root.map(([move, visits, value]) => [
        move,
        Math.floor(visits * (0.1 + 0.9 * share)),
        value + 4 * (1 - share) * (random() - 0.5),
      ]);
      const best = now.reduce((one, other) => (other[1] > one[1] ? other : one), ["noop", 0, 50]);
      series.push(
        [
          at.toFixed(3),
          step,
          iterations,
          (30_000 + random() * 4000).toFixed(1),
          iterations * 12,
          (360_000 + random() * 40_000).toFixed(1),
          Math.min(2_000_000, iterations),
          Math.min(1, iterations / 2_000_000).toFixed(4),
          (0.4 * random()).toFixed(4),
          (0.1 * random()).toFixed(4),
          (12 + random()).toFixed(2),
          `"${best[0]}"`,
          (best[2] ?? 50).toFixed(3),
          300_000_000 + at * 20_000,
          (0.2 + 0.05 * random()).toFixed(3),
          (0.1 + 0.05 * random()).toFixed(3),
          (0.1 + 0.03 * random()).toFixed(3),
          (0.8 + 0.1 * random()).toFixed(3),
          (0.3 * random()).toFixed(3),
          `"${JSON.stringify(now).replaceAll('"', '""')}"`,
        ].join(","),
      );
    }
  };

  const facts = (step) => [...discs, `(control ${step % 2 === 0 ? "red" : "black"})`];
  for (let step = 0; step < turns; step += 1) {
    const from = (step + 1) * secondsATurn;
    const isOurs = step % 2 === 0;
    event(step === 0 ? 0.2 : from - 0.3, "state", { step, facts: facts(step), terminal: false });
    const open = heights
      .map((full, column) => [full, column])
      .filter(([full]) => full < height)
      .map(([, column]) => column);
    if (open.length === 0) break;
    const root = isOurs
      ? open.map((column) => [`(drop ${column + 1})`, Math.floor(random() * 20_000) + 10, worth(step, random)])
      : [["noop", 51_000, worth(step, random)]];
    root.sort((one, other) => other[1] - one[1]);
    sample(step, from + secondsATurn - 0.35, root);
    const [move, visits, value] = root[0];
    const column = isOurs ? Number(/\d+/.exec(move)[0]) - 1 : open[Math.floor(random() * open.length)];
    const took = secondsATurn - 0.5 + 0.1 * random();
    const at = from + secondsATurn - 0.4;
    event(at, "move", { step, move, value, visits, proven: step > turns - 3, only: !isOurs, seconds: took });
    event(at + 0.01, "root", { step, moves: root });
    say(
      at,
      "INFO",
      `step ${step}: answers ${move}, value ${value.toFixed(1)}, visits ${visits}, after ${took.toFixed(3)} s`,
    );
    event(at + 0.05, "played", {
      step,
      moves: isOurs ? [`(drop ${column + 1})`, "noop"] : ["noop", `(drop ${column + 1})`],
    });
    heights[column] += 1;
    discs.push(`(cell ${column + 1} ${heights[column]} ${isOurs ? "red" : "black"})`);
    if (step === 4) {
      event(at + 0.06, "warning", { text: "the answer took longer to be sent than thought" });
      say(at + 0.06, "WARN", "the answer took longer to be sent than thought");
    }
  }
  if (ends) {
    const at = (turns + 1) * secondsATurn;
    event(at, "state", { step: turns, facts: facts(turns), terminal: true });
    event(at + 0.1, "end", { how: "stopped", goals: { red: 100, black: 0 } });
    say(at + 0.1, "INFO", "stopped, red 100, black 0");
  }
  const summary = {
    match_id: matchId,
    game: "connectFour",
    role: "red",
    roles: ["red", "black"],
    players,
    host: "127.0.0.1",
    started: moment(0),
    seconds: (turns + 1) * secondsATurn,
    steps: turns,
    how: ends ? "stopped" : null,
    goals: ends ? { red: 100, black: 0 } : null,
    value: 90,
    start_clock: secondsATurn,
    play_clock: secondsATurn,
    errors: 1,
    lost_lines: 0,
  };
  const whole = (lines) => `${lines.join("\n")}\n`;
  return { events: whole(events), series: whole(series), log: whole(log), summary: JSON.stringify(summary) };
}

/** The moves of the match of `makePuzzle`. */
export const PUZZLE_MOVES = Array.from({ length: 30 }, (_, step) => `(move d${(step % 3) + 1} p${(step % 4) + 1})`);

/** The files of a single-player match with plans: none at turn 0, a poor one at turn 2, the best one from turn 3 on. */
export function makePuzzle() {
  const events = [];
  const event = (at, kind, data) => events.push(JSON.stringify({ time: moment(at), at_seconds: at, kind, data }));
  const matchId = "sample.towers.1";
  event(0, "log", { match_id: matchId });
  event(0, "start", { role: "robot", roles: ["robot"], game: "towers", start_clock: 1, play_clock: 1, rules: "" });
  const plan = (step, goal, solver, states, moves) =>
    event(step + 0.5, "plan", {
      step,
      goal,
      bound: 100,
      proven: goal === 100,
      solver,
      states,
      moves: moves.slice(0, 20),
      n_moves: moves.length,
    });
  for (let step = 0; step <= PUZZLE_MOVES.length; step += 1) {
    event(step, "state", { step, facts: [`(step ${step})`], terminal: step === PUZZLE_MOVES.length });
    if (step === 0) plan(step, null, null, 0, []);
    if (step === 2) plan(step, 40, "guided", 52_000, PUZZLE_MOVES.slice(2, 9));
    if (step === 3) plan(step, 100, "layers", 1_234_567, PUZZLE_MOVES.slice(3));
    const move = PUZZLE_MOVES[step];
    if (move === undefined) break;
    event(step + 0.6, "move", { step, move, value: step < 3 ? 40 : 100, visits: 1000, seconds: 0.6 });
    event(step + 0.7, "played", { step, moves: [move] });
  }
  event(PUZZLE_MOVES.length + 1, "end", { how: "stopped", goals: { robot: 100 } });
  const summary = { match_id: matchId, game: "towers", role: "robot", roles: ["robot"], goals: { robot: 100 } };
  return { events: `${events.join("\n")}\n`, series: "at_seconds,step\n", log: "", summary: JSON.stringify(summary) };
}

/**
 * The files of a match at its first position, of which nothing is known but the rules and the
 * facts.
 */
export function makeFirst(rules, facts) {
  const matchId = "sample.first";
  const events = [
    ["log", { match_id: matchId }],
    ["start", { role: null, roles: [], rules }],
    ["state", { step: 0, facts, terminal: false }],
  ].map(([kind, data], at) => JSON.stringify({ time: moment(at), at_seconds: at, kind, data }));
  return { events: `${events.join("\n")}\n`, series: "at_seconds,step\n", log: "", summary: JSON.stringify({ match_id: matchId }) };
}

/** The object that a match's page offers for download. */
export function bundleOf(files) {
  return { version: 1, match_id: "sample", folder: "sample", ...files, notes: [] };
}

export function packed(text) {
  return execFileSync("bzip2", ["-c"], { input: text, maxBuffer: 1e9 });
}

/** The object that Tiltyard keeps, with statistics of the first steps. */
export function tiltyard(files, steps) {
  const statistics = Array.from({ length: steps }, (_, step) => ({
    step,
    move: `(drop ${step})`,
    value: 50,
    visits: 10,
    seconds: 0.5,
  }));
  const compressed_logs = packed(JSON.stringify(bundleOf(files))).toString("base64");
  return { version: 1, match_id: "sample", statistics, compressed_logs };
}

/** Writes the files of a match into a folder of its own. */
export async function writeMatch(folder, files) {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "events.jsonl"), files.events);
  await writeFile(join(folder, "series.csv"), files.series);
  await writeFile(join(folder, "match.log"), files.log);
  await writeFile(join(folder, "summary.json"), files.summary);
}
