// The charts of a match and their points. Pure: a figure is data, made from a record on demand. The
// x axis is the time since the log was opened, in seconds; with Tiltyard's statistics alone no time
// is known and the x axis is the turn.
//
// The root has other moves every turn, so a line for each would be hundreds. Over the whole match a
// line is a rank: the turn's most visited move, its second, and so on, each point named by its
// move. For a single turn a line is a move.

import { clock, count, duration, goal, short, words } from "./format.js";

/** @import { MatchRecord } from "./record.js" */
/** @import { Answer, ChartAxes, Drawing, Figure, RootMove, Trace, Turn } from "./types.d.ts" */

/** @typedef {Pick<Trace, "name" | "colour" | "right" | "filled"> & { shown: (value: number) => string }} LineStyle */

const RANKS = 5;
const MOVES_OF_A_TURN = 12;
/** Beyond this many points a line is thinned: no screen shows more. */
const MOST_POINTS = 4000;

/** Thirty years: whatever is later is damage. */
const LATEST = 1e9;

/** Seconds from a line's last point to the gap after it: less than between two points. */
const GAP = 0.0001;

const RANK_NAMES = ["Most visited", "Second", "Third", "Fourth", "Fifth"];

/** The charts of a match. @type {Figure[]} */
export const FIGURES = [
  {
    id: "value",
    title: "Value",
    note: (record) => `what ${record.role ?? "our role"} expects to get, by move`,
    over: "time",
    exists: (record) => record.series.length > 0,
    build: valueOverTime,
  },
  {
    id: "turn-values",
    title: "Value by turn",
    note: (record) => `as answered, for ${record.role ?? "our role"}`,
    over: "turns",
    exists: (record) => record.series.length === 0 && record.turns.some((turn) => turn.answer !== null),
    build: valueByTurn,
  },
  {
    id: "visits",
    title: "Visits",
    note: "of the moves at the root",
    over: "time",
    exists: (record) => record.series.length > 0 && record.series.has("root_moves"),
    build: visitsOverTime,
  },
  {
    id: "answers",
    title: "Time to answer",
    note: "by turn, beside the play clock",
    over: "turns",
    exists: (record) => record.turns.some((turn) => turn.answer?.seconds != null),
    build: timeToAnswer,
  },
  ofColumns("speed", "Speed", "iterations and playouts a second", { left: "iterations/s", right: "playouts/s" }, {
    iterations_per_second: { name: "Iterations/s", colour: 0, shown: short },
    playouts_per_second: { name: "Playouts/s", colour: 1, right: true, shown: short },
  }),
  ofColumns("graph", "Game graph", "nodes, and the share of the pool in use", { left: "nodes", right: "pool", rightIsShare: true }, {
    nodes: { name: "Nodes", colour: 0, filled: true, shown: short },
    pool_used: { name: "Pool in use", colour: 1, right: true, shown: percent },
  }),
  ofColumns("depth", "Depth", "of the search, and of its longest line; and training on the opponent's time", { left: "moves", right: "games" }, {
    depth: { name: "Depth", colour: 0, shown: short },
    selective_depth: { name: "Longest line", colour: 1, shown: short },
    training_games: { name: "Training games", colour: 2, right: true, shown: short },
  }),
  ofColumns("rings", "Rings and samples", "how full the queues are, and playouts for each request", { left: "rings", right: "samples a request", leftIsShare: true }, {
    request_rings: { name: "Requests", colour: 0, shown: percent },
    result_rings: { name: "Results", colour: 2, shown: percent },
    samples_per_request: { name: "Samples", colour: 1, right: true, shown: short },
  }),
  {
    id: "stages",
    title: "Threads by stage",
    note: "how many threads' time goes where",
    over: "time",
    exists: (record) => hasFigures(record, record.series.namesFrom("time_")),
    build: stages,
  },
  ofColumns("memory", "Memory", "of the whole player", { left: "bytes" }, {
    memory_bytes: { name: "Memory", colour: 0, filled: true, shown: (value) => `${short(value)}B` },
  }),
  ofColumns("faults", "Page faults", "of the player, a second: from memory, and waiting for a disk", { left: "minor/s", right: "major/s" }, {
    minor_faults_per_second: { name: "Minor/s", colour: 0, shown: short },
    major_faults_per_second: { name: "Major/s", colour: 1, right: true, shown: short },
  }),
  ofColumns("switches", "Context switches", "of the player's threads, a second: when they wait, and when others take their processor", { left: "switches/s" }, {
    voluntary_switches_per_second: { name: "Voluntary/s", colour: 0, shown: short },
    involuntary_switches_per_second: { name: "Involuntary/s", colour: 1, shown: short },
  }),
  ofColumns("stolen", "Stolen time", "what other virtual machines took of all processors", { left: "stolen", leftIsShare: true }, {
    stolen_share: { name: "Stolen", colour: 0, filled: true, shown: percent },
  }),
];

/**
 * A chart of columns of the series, which exists where one of them has figures.
 * @param {string} id
 * @param {string} title
 * @param {string} note
 * @param {ChartAxes} axes
 * @param {Record<string, LineStyle>} columns
 * @returns {Figure}
 */
function ofColumns(id, title, note, axes, columns) {
  return {
    id,
    title,
    note,
    over: "time",
    exists: (record) => hasFigures(record, Object.keys(columns)),
    build: (record, scope) => ({ traces: Object.entries(columns).map(([column, style]) => line(record, scope, column, style)), axes }),
  };
}

/**
 * Seconds as a place on the axis of time.
 * @param {number} seconds
 */
export function onAxis(seconds) {
  return Math.max(0, Math.min(LATEST, seconds));
}

/**
 * When turns began and ended, in seconds, for those of which it is known.
 * @param {MatchRecord} record
 */
export function turnTimes(record) {
  /** @type {{ step: number, from: number, to: number }[]} */
  const times = [];
  for (const turn of record.turns) {
    if (turn.from === null) continue;
    const last = times.at(-1);
    if (last !== undefined) last.to = turn.from;
    times.push({ step: turn.step, from: turn.from, to: record.seconds });
  }
  // The first turn is searched for from the moment the rules are there.
  if (times.length > 0 && times[0].step === 0) times[0].from = 0;
  return times;
}

/**
 * The turns that were answered, with their answers, where those have what is asked for.
 * @param {Turn[]} turns
 * @param {(answer: Answer) => boolean} isWanted
 */
function answered(turns, isWanted) {
  return turns.flatMap(({ step, answer }) => (answer !== null && isWanted(answer) ? [{ step, answer }] : []));
}

/**
 * @param {MatchRecord} record
 * @param {string[]} names
 */
function hasFigures(record, names) {
  return names.some((name) => record.series.column(name).some((value) => value !== null));
}

/** @param {number} value */
function percent(value) {
  return `${(value * 100).toFixed(1)} %`;
}

/**
 * The lines of the series that are drawn: all of them, or those of a turn, thinned where they are
 * too many.
 * @param {MatchRecord} record
 * @param {Turn | null} scope
 */
function places(record, scope) {
  const [from, to] = scope === null ? [0, record.series.length] : record.samplesOf(scope.step);
  const stride = Math.max(1, Math.ceil((to - from) / MOST_POINTS));
  const found = [];
  for (let index = from; index < to; index += stride) found.push(index);
  if (stride > 1 && found.at(-1) !== to - 1) found.push(to - 1);
  return found;
}

/**
 * @param {MatchRecord} record
 * @param {Turn | null} scope
 * @param {string} column
 * @param {LineStyle} style
 * @returns {Trace}
 */
function line(record, scope, column, { name, colour, right = false, filled = false, shown }) {
  const times = record.series.column("at_seconds");
  const values = record.series.column(column);
  const at = places(record, scope);
  return {
    name,
    x: at.map((index) => onAxis(times[index] ?? 0)),
    y: at.map((index) => values[index] ?? null),
    text: at.map((index) => {
      const value = values[index] ?? null;
      return value === null ? "" : shown(value);
    }),
    colour,
    right,
    filled,
  };
}

/**
 * @param {MatchRecord} record
 * @param {Turn | null} scope
 * @returns {Drawing}
 */
function valueOverTime(record, scope) {
  const traces = rootLines(record, scope, (move) => move.value);
  const best = line(record, scope, "best_value", { name: "Best", colour: "strong", shown: goal });
  const moves = record.series.column("best_move");
  best.text = places(record, scope).map((index, place) => `${record.say(moves[index] ?? "")} ${goal(best.y[place])}`);
  const turns = answered(scope === null ? record.turns : [scope], ({ at, value }) => at !== null && value !== null);
  /** @type {Trace} */
  const answers = {
    name: "Answered",
    x: turns.map(({ answer }) => onAxis(answer.at ?? 0)),
    y: turns.map(({ answer }) => answer.value),
    text: turns.map(({ step, answer }) => `turn ${step}: ${record.say(answer.move ?? "")} ${goal(answer.value)}`),
    colour: "strong",
    points: true,
  };
  return { traces: [...traces, best, answers], axes: { left: "value", isGoal: scope === null } };
}

/**
 * @param {MatchRecord} record
 * @param {Turn | null} scope
 * @returns {Drawing}
 */
function visitsOverTime(record, scope) {
  return { traces: rootLines(record, scope, (move) => move.visits), axes: { left: "visits" } };
}

/**
 * A line for each leading root move of a turn, or for each rank over the whole match.
 * @param {MatchRecord} record
 * @param {Turn | null} scope
 * @param {(move: RootMove) => number | null} read
 */
function rootLines(record, scope, read) {
  if (!record.series.has("root_moves")) return [];
  const times = record.series.column("at_seconds");
  const steps = record.series.column("step");
  const at = places(record, scope);
  const most = scope === null ? RANKS : MOVES_OF_A_TURN;
  /** @type {Trace[]} */
  const lines = [];
  for (let from = 0; from < at.length;) {
    let to = from;
    while (to < at.length && steps[at[to]] === steps[at[from]]) to += 1;
    const leading = leadingMoves(record, at, from, to, most);
    leading.forEach((name, rank) => {
      lines[rank] ??= { name: scope === null ? RANK_NAMES[rank] : record.say(name), x: [], y: [], text: [], colour: rank };
      const trace = lines[rank];
      for (let place = from; place < to; place += 1) {
        const move = record.series.rootMoves(at[place]).find((move) => move.move === name);
        if (move === undefined) continue;
        trace.x.push(onAxis(times[at[place]] ?? 0));
        trace.y.push(read(move));
        trace.text.push(`${scope === null ? `${record.say(name)} ` : ""}${goal(move.value)} · ${count(move.visits)}`);
      }
      // A gap, so that no line runs from one turn's move to another's.
      const last = trace.x.at(-1);
      if (scope === null && last !== undefined) {
        trace.x.push(last + GAP);
        trace.y.push(null);
        trace.text.push("");
      }
    });
    from = to;
  }
  return lines;
}

/**
 * The moves that a turn's last sample with any has as most visited.
 * @param {MatchRecord} record
 * @param {number[]} at
 * @param {number} from
 * @param {number} to
 * @param {number} most
 */
function leadingMoves(record, at, from, to, most) {
  for (let place = to - 1; place >= from; place -= 1) {
    const moves = record.series.rootMoves(at[place]);
    if (moves.length > 0) return moves.slice(0, most).map((move) => move.move);
  }
  return [];
}

/**
 * @param {MatchRecord} record
 * @returns {Drawing}
 */
function valueByTurn(record) {
  const turns = answered(record.turns, () => true);
  return {
    traces: [
      {
        name: "Value",
        x: turns.map(({ step }) => step),
        y: turns.map(({ answer }) => answer.value),
        text: turns.map(({ answer }) => `${record.say(answer.move ?? "")} ${goal(answer.value)}`),
        colour: "strong",
      },
    ],
    axes: { left: "value", isGoal: true },
  };
}

/**
 * @param {MatchRecord} record
 * @returns {Drawing}
 */
function timeToAnswer(record) {
  const turns = answered(record.turns, ({ seconds }) => seconds !== null);
  const playClock = record.start.play_clock;
  /** @type {Trace[]} */
  const traces = [
    {
      name: "Answer",
      bars: true,
      x: turns.map(({ step }) => step),
      y: turns.map(({ answer }) => answer.seconds),
      text: turns.map(({ answer }) => `${record.say(answer.move ?? "")} after ${duration(answer.seconds)}`),
      colour: 0,
    },
  ];
  if (typeof playClock === "number" && turns.length > 0) {
    const [first, last] = [turns[0].step - 0.5, turns[turns.length - 1].step + 0.5];
    const text = `play clock ${clock(playClock)}`;
    traces.push({
      name: "Play clock",
      x: [first, last],
      y: [playClock, playClock],
      text: [text, text],
      colour: 1,
      dashed: true,
    });
  }
  return { traces, axes: { left: "seconds" } };
}

/**
 * @param {MatchRecord} record
 * @param {Turn | null} scope
 * @returns {Drawing}
 */
function stages(record, scope) {
  // Most searches have only some of the stages.
  const names = record.series.namesFrom("time_").filter((name) => {
    return record.series.column(name).some((value) => value !== null && value > 0);
  });
  return {
    traces: names.map((name, index) => ({
      ...line(record, scope, name, {
        name: words(name.slice("time_".length)),
        colour: index,
        shown: (value) => value.toFixed(2),
      }),
      stacked: true,
    })),
    axes: { left: "threads" },
  };
}
