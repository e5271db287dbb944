// The record of one match, built from its three files as they arrive, or from Tiltyard's statistics
// where the files are missing. Events are sorted into turns by their step. A turn holds the
// position at a step, our answer and the joint move that leads to the next step. Every field may be
// missing or of another type.

import { spoken } from "./expressions.js";
import { goal, list, messageOf, number, object, text, texts } from "./format.js";
import { Lines } from "./lines.js";
import { Messages } from "./messages.js";
import { Series, rootMoves } from "./series.js";
import { readShapes } from "./board.js";

/** @import { Answer, FileName, Goals, Machine, Members, Plan } from "./types.d.ts" */
/** @import { Problem, RootMove, Shape, Turn } from "./types.d.ts" */

const LARGEST_STEP = 1e6;

export class MatchRecord {
  constructor() {
    this.events = new Lines("events.jsonl", (line) => this.take(line));
    this.series = new Series();
    this.messages = new Messages("match.log");
    /** The events of all threads. */
    this.debug = new Messages("debug.log");
    /** Remarks on the files from their source. @type {string[]} */
    this.remarks = [];
    /** @type {string | null} */
    this.matchId = null;
    /** @type {string | null} */
    this.settings = null;
    /** @type {Members} */
    this.start = {};
    /** @type {string | null} */
    this.started = null;
    /** @type {Machine[]} */
    this.machines = [];
    /** @type {Shape[]} */
    this.shapes = [];
    /** Whether the shapes come from a file of the game. */
    this.hasFile = false;
    /**
     * How moves are said; the page that shows the record knows better.
     * @type {(move: string, role?: string | null) => string}
     */
    this.say = spoken;
    /** @type {unknown[]} */
    this.parts = [];
    /** @type {Members[]} */
    this.studies = [];
    /** @type {number | null} */
    this.ready = null;
    /** @type {Problem[]} */
    this.problems = [];
    this.lostLines = 0;
    /** @type {{ how: string | null, goals: Goals } | null} */
    this.end = null;
    this.seconds = 0;
    /** How many events there are of each kind that is not known. @type {Map<string, number>} */
    this.others = new Map();
    /** @type {Map<number, Turn>} */
    this.byStep = new Map();
    /** @type {Turn[] | null} */
    this.sorted = null;
  }

  /**
   * More of a file.
   * @param {FileName} file
   * @param {string} more
   */
  push(file, more) {
    if (file === "events") this.events.push(more);
    else if (file === "series") this.series.lines.push(more);
    else if (file === "debug") this.debug.lines.push(more);
    else this.messages.lines.push(more);
  }

  /**
   * How the game wants to be drawn, by a file of its own; such boards go before those of the log.
   * @param {unknown} shapes
   */
  drawBy(shapes) {
    const read = readShapes(shapes);
    if (read.length === 0) return;
    this.shapes = read;
    this.hasFile = true;
  }

  /** The files have ended. */
  finish() {
    this.events.finish();
    this.series.lines.finish();
    this.messages.lines.finish();
    this.debug.lines.finish();
  }

  /** Remarks on files that could not be read completely. */
  notes() {
    const files = [this.events, this.series.lines, this.messages.lines, this.debug.lines];
    return [...this.remarks, ...files.flatMap((lines) => lines.notes())];
  }

  /** The turns in order of their steps. */
  get turns() {
    this.sorted ??= [...this.byStep.values()].sort((one, other) => one.step - other.step);
    return this.sorted;
  }

  get role() {
    return text(this.start.role);
  }

  get roles() {
    const named = texts(this.start.roles);
    return named.length > 0 ? named : Object.keys(object(this.end?.goals));
  }

  /** The names of the players, in the order of the roles; null where one is not known. */
  get players() {
    return list(this.start.players).map(text);
  }

  /**
   * The turn before one, with a position that its own can be compared with, or null.
   * @param {Turn} turn
   */
  before(turn) {
    const place = this.turns.indexOf(turn);
    for (let earlier = place - 1; earlier >= 0; earlier -= 1) {
      if (this.turns[earlier].facts !== null) return this.turns[earlier];
    }
    return null;
  }

  /**
   * The lines of the series that belong to a step, as a range `[from, to)`.
   * @param {number} step
   */
  samplesOf(step) {
    const steps = this.series.column("step");
    const from = lowest(steps, step);
    return [from, lowest(steps, step + 1)];
  }

  /**
   * The root moves of a turn: as they stood at the answer, else as a sample last saw them.
   * @param {Turn} turn
   * @returns {RootMove[]}
   */
  rootOf(turn) {
    if (turn.root.length > 0) return turn.root;
    const [from, to] = this.samplesOf(turn.step);
    for (let index = to - 1; index >= from; index -= 1) {
      const moves = this.series.rootMoves(index);
      if (moves.length > 0) return moves;
    }
    return [];
  }

  /**
   * What the planner had found by a turn, or null.
   * @param {Turn} turn
   */
  planOf(turn) {
    return this.turns.findLast(({ step, plan }) => step <= turn.step && plan !== null)?.plan ?? null;
  }

  /**
   * Statistics by turn, as Tiltyard keeps them, for a match whose files are not there.
   * @param {unknown} entries
   */
  takeStatistics(entries) {
    for (const entry of list(entries)) {
      const data = object(entry);
      const turn = this.turn(data.step);
      if (turn === null) continue;
      turn.answer ??= answer(data, null);
      const moves = list(data.moves).map(String);
      if (turn.played === null && moves.length > 0) turn.played = moves;
    }
  }

  /** @param {string} line */
  take(line) {
    if (line === "") return null;
    let event;
    try {
      event = object(JSON.parse(line));
    } catch (error) {
      return messageOf(error).replace(/\s+/g, " ").slice(0, 200);
    }
    const kind = text(event.kind);
    if (kind === null) return "no event with a kind";
    const at = number(event.at_seconds);
    if (at !== null) this.seconds = Math.max(this.seconds, at);
    this.sort(kind, object(event.data), at, text(event.time));
    return null;
  }

  /**
   * @param {string} kind
   * @param {Members} data
   * @param {number | null} at
   * @param {string | null} time
   */
  sort(kind, data, at, time) {
    const turn = "step" in data ? this.turn(data.step) : null;
    if (turn !== null && at !== null) turn.from = Math.min(turn.from ?? at, at);
    switch (kind) {
      case "log":
        this.matchId = text(data.match_id);
        this.started = time;
        break;
      case "settings":
        this.settings = text(data.toml);
        break;
      case "start":
        this.start = data;
        break;
      case "players":
        // The roles are played by others from here on.
        this.start = { ...this.start, ...data };
        break;
      case "machine":
        this.machines.push({
          kind: text(data.kind),
          isFallback: data.is_fallback === true,
          seconds: number(data.seconds),
        });
        break;
      case "board":
        if (!this.hasFile) this.shapes = readShapes(data.shapes);
        break;
      case "parts":
        this.parts = list(data.parts);
        break;
      case "study":
        this.studies.push(data);
        break;
      case "ready":
        this.ready = number(data.seconds);
        break;
      case "state":
        if (turn === null) break;
        turn.facts = texts(data.facts);
        turn.isTerminal = data.terminal === true;
        break;
      case "move":
        if (turn !== null) turn.answer = answer(data, at);
        break;
      case "root":
        if (turn !== null) turn.root = rootMoves(data.moves);
        break;
      case "plan":
        if (turn !== null) turn.plan = planFrom(turn.step, data);
        break;
      case "played":
        if (turn !== null) turn.played = list(data.moves).map(String);
        break;
      case "error":
      case "warning":
        this.problems.push({ kind, at, text: text(data.text) ?? "" });
        break;
      case "lost_lines":
        this.lostLines += number(data.count) ?? 0;
        break;
      case "end":
        this.end = { how: text(data.how), goals: object(data.goals) };
        break;
      default:
        this.others.set(kind, (this.others.get(kind) ?? 0) + 1);
    }
  }

  /**
   * The turn of a step, made if it is a new one; null where that is no step.
   * @param {unknown} value
   */
  turn(value) {
    const step = number(value) ?? -1;
    if (!Number.isInteger(step) || step < 0 || step > LARGEST_STEP) return null;
    let turn = this.byStep.get(step);
    if (turn === undefined) {
      turn = { step, from: null, facts: null, isTerminal: false, answer: null, root: [], plan: null, played: null };
      this.byStep.set(step, turn);
      this.sorted = null;
    }
    return turn;
  }
}

/**
 * @param {Members} data
 * @param {number | null} at
 * @returns {Answer}
 */
function answer(data, at) {
  return {
    at,
    move: text(data.move),
    value: number(data.value),
    visits: number(data.visits),
    seconds: number(data.seconds),
    isProven: data.proven === true,
    isOnly: data.only === true,
  };
}

/**
 * @param {number} step
 * @param {Members} data
 * @returns {Plan}
 */
function planFrom(step, data) {
  const moves = list(data.moves).map(String);
  return {
    step,
    goal: number(data.goal),
    bound: number(data.bound),
    isBest: data.proven === true,
    solver: text(data.solver),
    states: number(data.states),
    moves,
    length: Math.max(moves.length, number(data.n_moves) ?? 0),
  };
}

/**
 * The first place in rising numbers that holds at least this one.
 * @param {(number | null)[]} numbers
 * @param {number} least
 */
function lowest(numbers, least) {
  let [from, to] = [0, numbers.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((numbers[middle] ?? 0) < least) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * How the match came out for a role: `win`, `draw`, `loss`, or null.
 * @param {Goals | null} goals
 * @param {string | null} role
 */
export function outcome(goals, role) {
  const known = object(goals);
  const own = role === null ? null : number(known[role]);
  if (own === null) return null;
  const others = Object.entries(known)
    .filter(([other]) => other !== role)
    .map(([, value]) => number(value) ?? 0);
  if (others.length === 0) return own >= 100 ? "win" : own > 0 ? "draw" : "loss";
  const best = Math.max(...others);
  if (own === 0 && best === 0) return "loss";
  return own > best ? "win" : own < best ? "loss" : "draw";
}

/** What a log calls a person at a table. */
export const PERSON = "a person";

/**
 * Who has won a game at a table, where people have some of the roles, or all; null where that is not
 * known. A puzzle is solved or not.
 * @param {string[]} roles
 * @param {(string | null)[]} players
 * @param {Goals | null} goals
 */
export function tableResult(roles, players, goals) {
  const reached = roles.map((role) => number(object(goals)[role]));
  if (roles.length === 0 || !players.includes(PERSON) || reached.includes(null)) return null;
  const values = reached.map((value) => value ?? 0);
  const [player] = players;
  if (roles.length === 1) {
    if (values[0] >= 100) return `${player} solved it`;
    return values[0] === 0 ? "nobody reached the goal" : `${player} reached ${values[0]} of 100`;
  }
  const best = Math.max(...values);
  const winners = roles.filter((_, place) => values[place] === best);
  if (winners.length === roles.length) return "a draw";
  // Where one player has several roles, the role says more.
  const named = new Set(players).size === players.length ? winners.map((role) => players[roles.indexOf(role)]) : winners;
  return `${named.join(" and ")} won`;
}

/**
 * The same in words, beside the goal; of one role, and where nobody won, in other ones.
 * @param {Goals | null} goals
 * @param {string | null} role
 */
export function outcomeText(goals, role) {
  const own = goals?.[role ?? ""];
  const all = Object.values(object(goals)).map((value) => number(value) ?? 0);
  if (all.length === 1) return own === 100 ? "solved" : `${goal(own)} of 100`;
  return all.every((value) => value === 0) ? "nobody won" : `${outcome(goals, role)} ${goal(own)}`;
}
