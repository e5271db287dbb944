// Moves as people say them: cells by the names at the edge of the board, and only the words that
// tell moves apart. What a word of a move means is learned from the moves that are seen: which words
// are always the same, and where a direction leads. Pure: no access to the page.

import { factsBefore, layOut } from "./board.js";
import { argumentsOf, cellsIn, readChoices } from "./choices.js";
import { isIdle, plainWords, readExpression, spoken } from "./expressions.js";

/** @import { Choice, Effect, Joint, Shape } from "./types.d.ts" */

/** Kinds of moves and directions that are kept; games have far fewer. */
const MOST_KINDS = 5000;

/**
 * What is known of the moves of a role with the same verb and as many arguments: the values of each
 * argument, as long as there is only one, and the number of cells.
 * @typedef {{ role: string, verb: string, values: (string | null)[], nCells: number, texts: Set<string> }} Kind
 */

export class Speaker {
  constructor() {
    /** @type {Shape[]} */
    this.shapes = [];
    /** @type {Map<string, Kind>} */
    this.kinds = new Map();
    /**
     * The argument that names a line of cells, by verb and number of arguments.
     * @type {Map<string, NonNullable<Choice["lane"]>>}
     */
    this.lanes = new Map();
    /**
     * How far the words of a move lead from its cell, by verb and words; null where that differs.
     * @type {Map<string, { line: number, column: number } | null>}
     */
    this.ways = new Map();
    /**
     * The cells by their places: their names and what they are called.
     * @type {Map<string, { name: string, label: string }>}
     */
    this.cells = new Map();
    /** Greater with all that changes what moves are called. */
    this.version = 0;
  }

  /**
   * The boards, as they are before they are turned.
   * @param {Shape[]} shapes
   */
  setShapes(shapes) {
    const isNew = shapes.length !== this.shapes.length || shapes.some((shape, at) => shape.labels.size !== this.shapes[at].labels.size);
    this.shapes = shapes;
    if (!isNew) return;
    this.version += 1;
    this.cells.clear();
    for (const shape of shapes) {
      for (const [name, label] of shape.labels) {
        const place = this.placeOf(`${shape.name}|${name}`);
        if (place !== null) this.cells.set(placeKey(shape, place.line, place.column), { name: `${shape.name}|${name}`, label });
      }
    }
  }

  /**
   * Moves of a role, with their clicks where those are known.
   * @param {string} role
   * @param {(Choice | { text: string, steps?: undefined, lane?: undefined })[]} choices
   */
  learn(role, choices) {
    for (const { text, steps, lane } of choices) {
      if (isIdle(text) || this.kinds.size + this.ways.size >= MOST_KINDS) continue;
      const args = argumentsOf(text);
      const key = keyOf(role, text, args);
      const named = cellsIn(args, this.shapes);
      const known = this.kinds.get(key);
      const kind = known ?? { role, verb: verbOf(text), values: [...args], nCells: named.length, texts: new Set() };
      if (known === undefined) this.note(() => this.kinds.set(key, kind));
      if (kind.texts.size < 3) this.note(() => kind.texts.add(text), !kind.texts.has(text));
      const line = keyOf("", text, args);
      if (lane !== undefined) this.note(() => this.lanes.set(line, lane), !this.lanes.has(line));
      args.forEach((arg, at) => this.note(() => (kind.values[at] = null), kind.values[at] !== null && kind.values[at] !== arg));
      const [from, to] = (steps ?? []).map(([cell]) => this.placeOf(cell));
      if (named.length !== 1 || from == null || to == null || steps?.[0].has(named[0].name) !== true) continue;
      const way = wayOf(text, args, named[0]);
      const led = { line: to.line - from.line, column: to.column - from.column };
      const before = this.ways.get(way);
      const isSame = before != null && before.line === led.line && before.column === led.column;
      if (!isSame && before !== null) this.note(() => this.ways.set(way, before === undefined ? led : null));
    }
  }

  /**
   * The joint moves of a line, of which the last made this change to the facts.
   * @param {string[]} roles
   * @param {Joint[]} line
   * @param {string[]} [facts]
   * @param {Effect} [change]
   */
  learnLine(roles, line, facts, change) {
    for (const joint of line) for (const [place, text] of joint.entries()) this.learn(roles[place] ?? "", [{ text }]);
    const [made, ...others] = this.movers(roles, line.at(-1) ?? []);
    if (made === undefined || others.length > 0 || facts === undefined || change === undefined) return;
    this.learn(made.role, readChoices([made.text], layOut(factsBefore(facts, change), this.shapes), [change]));
  }

  /**
   * @param {() => void} change
   * @param {boolean} [isDue]
   */
  note(change, isDue = true) {
    if (!isDue) return;
    change();
    this.version += 1;
  }

  /**
   * Where a cell lies among all cells of its function.
   * @param {string} name
   */
  placeOf(name) {
    const [fact, board, ...rest] = name.split("|");
    const shape = this.shapes.find((shape) => shape.name === fact);
    const place = shape?.cells.get(rest.join("|"));
    const on = shape?.boards.find(({ key }) => key === board);
    if (shape === undefined || place === undefined || on === undefined) return null;
    return { shape, line: on.line * shape.height + place.line, column: on.column * shape.width + place.column };
  }

  /**
   * The cell to which the words of a move lead from the one that it names.
   * @param {string} text
   * @param {string[]} args
   * @param {ReturnType<typeof cellsIn>[number]} from
   */
  led(text, args, from) {
    const way = this.ways.get(wayOf(text, args, from)) ?? this.alike(text, args, from);
    const place = this.placeOf(from.name);
    if (way == null || place === null) return null;
    const { shape } = place;
    return this.cells.get(placeKey(shape, place.line + way.line, place.column + way.column)) ?? null;
  }

  /**
   * The cell that a move with one cell leads to by its words, where it has some and that is known.
   * @param {string} text
   * @param {string[]} args
   * @param {ReturnType<typeof cellsIn>} named
   */
  target(text, args, named) {
    return named.length === 1 && args.length > named[0].taken ? this.led(text, args, named[0]) : null;
  }

  /**
   * The cells of a move, by its words.
   * @param {string} text
   */
  cellsOf(text) {
    const args = argumentsOf(text);
    const named = cellsIn(args, this.shapes);
    const to = this.target(text, args, named);
    return [...named, ...(to === null ? [] : [to])].map(({ name }) => name);
  }

  /**
   * The turns of a line whose moves are words beside one cell, and may lead somewhere: one of each
   * kind that is not known.
   * @param {Joint[]} line
   */
  unknown(line) {
    /** @type {Map<string, number>} */
    const turns = new Map();
    for (const [turn, joint] of line.entries()) {
      for (const text of joint) {
        const args = argumentsOf(text);
        const named = cellsIn(args, this.shapes);
        if (named.length !== 1 || args.length === named[0].taken) continue;
        const way = wayOf(text, args, named[0]);
        if (!this.ways.has(way) && /[a-z]{4}$/i.test(way)) turns.set(way, turn);
      }
    }
    return [...turns.values()];
  }

  /**
   * How far a direction leads that was not seen yet, from another one of the same verb on a board
   * whose lines do not lean.
   * @param {string} text
   * @param {string[]} args
   * @param {ReturnType<typeof cellsIn>[number]} from
   */
  alike(text, args, from) {
    const own = compass(wayOf(text, args, from));
    if (own === null || this.ways.has(wayOf(text, args, from))) return null;
    const led = { line: own.line === 0 ? 0 : NaN, column: own.column === 0 ? 0 : NaN };
    for (const [way, seen] of this.ways) {
      const other = way.startsWith(`${verbOf(text)} `) ? compass(way) : null;
      if (other === null || seen === null || (other.column === 0 && seen.column !== 0) || !Number.isInteger(seen.column)) continue;
      if (other.line !== 0 && own.line !== 0) led.line = own.line * (seen.line / other.line);
      if (other.column !== 0 && own.column !== 0) led.column = own.column * (seen.column / other.column);
    }
    return Number.isNaN(led.line + led.column) ? null : led;
  }

  /**
   * The words of a move.
   * @param {string} role
   * @param {string} text
   */
  parts(role, text) {
    if (isIdle(text)) return ["pass"];
    const args = argumentsOf(text);
    if (args.length === 0) return [plainWords(spoken(text))];
    const kind = this.kinds.get(keyOf(role, text, args));
    const lane = this.lanes.get(keyOf("", text, args));
    const named = cellsIn(args, this.shapes);
    const to = this.target(text, args, named);
    const rest = args.flatMap((arg, at) => {
      const cell = named.find((cell) => at >= cell.at && at < cell.at + cell.taken);
      if (cell !== undefined) return cell.at === at ? [cell.label] : [];
      if (to !== null) return [];
      if (lane?.at === at) return [laneName(lane, arg)];
      const isAlways = kind !== undefined && kind.texts.size > 1 && kind.values[at] === arg;
      return isAlways ? [] : [plainWords(spoken(arg))];
    });
    const said = to === null ? rest : [named[0].label, to.label];
    return this.needsVerb(role, verbOf(text), said, named.length) ? [plainWords(verbOf(text)), ...said] : said;
  }

  /**
   * Whether a move is not told from others without its verb.
   * @param {string} role
   * @param {string} verb
   * @param {string[]} said
   * @param {number} nCells
   */
  needsVerb(role, verb, said, nCells) {
    if (said.length === 0) return true;
    if (said.length > 1 && said.every((word) => /^[a-z]+\d+$/.test(word))) return false;
    const others = [...this.kinds.values()].filter((kind) => kind.role === role && kind.verb !== verb);
    // Numbers alone say little.
    if (nCells === 0 && said.every((word) => /^[\d\s]+$/.test(word))) return true;
    return nCells === 0 ? others.length > 0 : others.some((kind) => kind.nCells === nCells);
  }

  /**
   * @param {string} role
   * @param {string} text
   */
  say(role, text) {
    return this.parts(role, text).join(" ");
  }

  /**
   * What tells moves apart between which a person chooses.
   * @param {string} role
   * @param {string[]} texts
   */
  apart(role, texts) {
    const all = texts.map((text) => this.parts(role, text));
    const isShared = (/** @type {number} */ at) => all.every((parts) => parts.length === all[0].length && parts[at] === all[0][at]);
    const differing = all.map((parts) => parts.filter((_, at) => !isShared(at)).join(" "));
    return all.length > 1 && differing.every((said) => said !== "") ? differing : all.map((parts) => parts.join(" "));
  }

  /**
   * Who moved and how, of a joint move: all that is more than waiting.
   * @param {string[]} roles
   * @param {Joint} joint
   */
  movers(roles, joint) {
    const all = joint.map((text, place) => ({ place, role: roles[place] ?? "", text, said: this.say(roles[place] ?? "", text) }));
    return all.filter(({ text }) => !isIdle(text));
  }

  /**
   * A joint move in one line of text.
   * @param {string[]} roles
   * @param {Joint} joint
   */
  sayJoint(roles, joint) {
    return this.movers(roles, joint).map(({ said }) => said).join(" · ") || "pass";
  }
}

/** @param {string} text */
function verbOf(text) {
  const read = readExpression(text);
  return Array.isArray(read) ? String(read[0]) : text;
}

/**
 * @param {string} role
 * @param {string} text
 * @param {string[]} args
 */
function keyOf(role, text, args) {
  return `${role} ${verbOf(text)} ${args.length}`;
}

/**
 * @param {string} text
 * @param {string[]} args
 * @param {{ at: number, taken: number }} cell
 */
function wayOf(text, args, { at, taken }) {
  return [verbOf(text), ...args.slice(0, at), "·", ...args.slice(at + taken)].join(" ");
}

/**
 * @param {NonNullable<Choice["lane"]>} lane
 * @param {string} value
 */
function laneName({ shape, coordinate }, value) {
  return coordinate === shape.lineAt ? value : (shape.columnWords.get(value) ?? plainWords(value));
}

/**
 * @param {Shape} shape
 * @param {number} line
 * @param {number} column
 */
function placeKey(shape, line, column) {
  return `${shape.name} ${Math.round(100 * line)} ${Math.round(100 * column)}`;
}

/**
 * The direction that the last word of a way names, in lines down and columns to the right; null where
 * it names none.
 * @param {string} way
 */
function compass(way) {
  const parts = plainWords(way.slice(way.lastIndexOf(" ") + 1)).toLowerCase().match(/^(north|south|up|down)?[ -]?(east|west|left|right)?$/);
  if (parts === null || (parts[1] ?? parts[2]) === undefined) return null;
  const line = parts[1] === undefined ? 0 : ["north", "up"].includes(parts[1]) ? -1 : 1;
  const column = parts[2] === undefined ? 0 : ["west", "left"].includes(parts[2]) ? -1 : 1;
  return { line, column };
}
