// What pages say of roles: the colour that each has everywhere, who made a move, the pieces of
// each, and how a game ended.

import { isIdle, plainWords, readExpression, writeExpression } from "./expressions.js";
import { goal } from "./format.js";
import { element } from "./page.js";
import { look } from "./pieces.js";

/** @import { Speaker } from "./speaker.js" */
/** @import { Child, Joint, Laid, Look, Shape } from "./types.d.ts" */

/** For roles without coloured pieces: colours for colour-blind people, on light and dark pages. */
const OTHERS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6fd1", "#a0781e"];
/** The role that draws by chance. */
export const CHANCE = "random";
const GREY = "#8d96a2";
/** Names of facts that say whose turn it is, and how many there were. */
const WHOSE_TURN = /^(control|turn|whoseturn|whose_turn|tomove|to_move|mover|current_?player)$/i;
const COUNTER = /^(step|turn|time|round|ply|counter|count)$/i;

/**
 * What the pieces of each role look like: those that its name tells, or contents that have its name.
 * @param {string[]} roles
 * @param {Shape[]} shapes
 */
function looksOf(roles, shapes) {
  const contents = shapes.flatMap((shape) => [...shape.contents].map(([text, content]) => ({ text, ...content })));
  const isOwn = (/** @type {Look} */ found) => found.form !== "tile" && (found.fill !== undefined || ["cross", "ring"].includes(found.form));
  return roles.map((role) => {
    const named = look({ text: role, label: "", rank: 0 });
    if (isOwn(named)) return named;
    const content = contents.find(({ text }) => text.toLowerCase().split(/[^a-z0-9]+/).includes(role.toLowerCase()));
    return content === undefined ? null : look(content);
  });
}

/**
 * The colours of the roles: those of their pieces, each only once, else others.
 * @param {string[]} roles
 * @param {Shape[]} shapes
 */
export function coloursOf(roles, shapes) {
  const used = new Set();
  const own = looksOf(roles, shapes).map((found) => {
    const fill = found?.fill ?? (found === null ? undefined : `var(--${found.form})`);
    if (found === null || fill === undefined || used.has(fill)) return null;
    used.add(fill);
    return { fill, edge: found.edge ?? fill, ink: found.ink ?? "var(--card)" };
  });
  const left = [...OTHERS];
  return own.map((found, place) => {
    const fill = roles[place] === CHANCE ? GREY : left[0];
    if (found === null && fill === left[0] && left.length > 1) left.shift();
    return found ?? { fill, edge: fill, ink: "#fff" };
  });
}

/**
 * Gives the page the colours of the roles, as `--role-0`, `--role-0-edge`, `--role-0-ink` and, for
 * lines, which need to be seen without an edge, `--role-0-line`.
 * @param {string[]} roles
 * @param {Shape[]} shapes
 */
export function paintRoles(roles, shapes) {
  const { style } = document.documentElement;
  for (const [place, { fill, edge, ink }] of coloursOf(roles, shapes).entries()) {
    const light = brightness(fill) > 0.75 ? edge : fill;
    const dark = brightness(fill) < 0.25 ? edge : fill;
    for (const [name, colour] of Object.entries({ "": fill, "-edge": edge, "-ink": ink, "-line": `light-dark(${light}, ${dark})` })) {
      style.setProperty(`--role-${place}${name}`, colour);
    }
  }
}

/**
 * From 0, black, to 1, white; the middle for a colour of the page, which is seen on it.
 * @param {string} colour
 */
function brightness(colour) {
  const parts = colour.match(/[\da-f]{2}/gi);
  if (!colour.startsWith("#") || parts === null) return 0.5;
  const [red, green, blue] = parts.map((part) => parseInt(part, 16) / 255);
  return 0.3 * red + 0.59 * green + 0.11 * blue;
}

/**
 * The colour of a role for lines, as it is on the page now.
 * @param {number} place
 */
export function lineColour(place) {
  const probe = element("i", { style: `color:var(--role-${place}-line)` });
  document.body.append(probe);
  const parts = getComputedStyle(probe).color.match(/\d+/g) ?? [];
  probe.remove();
  return `#${parts.slice(0, 3).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
}

/**
 * A dot in the colour of a role.
 * @param {number} place
 */
export function roleKey(place) {
  return element("span", { class: "key", style: `background:var(--role-${place});border-color:var(--role-${place}-edge)`, "aria-hidden": "true" });
}

/**
 * A joint move with who made it; the moves as the rules write them are in titles.
 * @param {Speaker} speaker
 * @param {string[]} roles
 * @param {Joint} joint
 * @param {number} [passer] the role that had to pass, where nobody did more
 * @param {boolean} [isNamed] whether roles are named beside their colours
 * @returns {Child[]}
 */
export function moveSaid(speaker, roles, joint, passer = -1, isNamed = true) {
  const movers = speaker.movers(roles, joint);
  if (movers.length === 0 && roles[passer] !== undefined) movers.push({ place: passer, role: roles[passer], text: joint[passer] ?? "", said: "pass" });
  if (movers.length === 0) return [element("span", { class: "one-move idle", title: joint.join(" ") }, "pass")];
  return movers.map(({ place, role, text, said }) =>
    element(
      "span",
      { class: "one-move", title: `${role}: ${text}` },
      roles.length > 1 && roleKey(place),
      roles.length > 1 && element("small", { class: isNamed ? "who" : "unseen" }, `${role} `),
      said,
    ),
  );
}

/**
 * The role that had to pass in a turn of two roles in which nobody did more: not the one that moved
 * before.
 * @param {Joint[]} line
 * @param {number} turn the place of the turn in the line
 */
export function passerOf(line, turn) {
  if (line[turn]?.length !== 2 || !line[turn].every(isIdle)) return -1;
  const before = line.slice(0, turn).findLast((joint) => joint.some((move) => !isIdle(move)));
  return before === undefined ? -1 : before.findIndex(isIdle);
}

/** Counts the pieces of the roles, position by position. */
export class PieceCounts {
  constructor() {
    /** Whether the numbers are shown: they differ by more than the turns make them differ. */
    this.isTelling = false;
    /** Whether pieces were never taken away, and the number of all before. */
    this.isGrowing = true;
    this.all = 0;
    /** @type {number[]} */
    this.counts = [];
  }

  /**
   * @param {Laid} laid
   * @param {string[]} roles
   */
  take(laid, roles) {
    const looks = looksOf(roles, laid.shapes);
    /** @type {Map<string, number>} */
    const places = new Map();
    this.counts = roles.map(() => 0);
    for (const board of laid.boards) {
      for (const { contents } of board.cells.values()) {
        for (const content of contents) {
          if (!places.has(content.text)) {
            const found = look(content);
            const isOf = (/** @type {Look | null} */ of) => of !== null && (of.fill === undefined ? of.form === found.form : of.fill === found.fill);
            places.set(content.text, content.isBlank ? -1 : looks.findIndex(isOf));
          }
          const place = places.get(content.text) ?? -1;
          if (place >= 0) this.counts[place] += 1;
        }
      }
    }
    const all = this.counts.reduce((sum, count) => sum + count, 0);
    const own = this.counts.filter((_, place) => looks[place] !== null);
    if (own.length > 1 && Math.max(...own) - Math.min(...own) > 1) this.isTelling = true;
    if (all < this.all) this.isGrowing = false;
    this.all = all;
  }

  /** The numbers that a result is said with: of pieces that are counted and not taken. */
  get result() {
    return this.isTelling && this.isGrowing && this.counts.length === 2 ? this.counts : null;
  }
}

/**
 * How a game ended, as people say it.
 * @param {string[]} all
 * @param {(number | null)[]} reached
 * @param {number[] | null} [counts] of pieces, in place of goals that only say who won
 */
export function resultText(all, reached, counts = null) {
  const places = all.map((_, place) => place).filter((place) => all[place] !== CHANCE || all.length < 2);
  const roles = places.map((place) => all[place]);
  const goals = places.map((place) => reached[place] ?? 0);
  if (roles.length === 1) return goals[0] === 100 ? "solved" : goals[0] === 0 ? "the goal was not reached" : `${goal(goals[0])} of 100`;
  const best = Math.max(...goals);
  if (best === 0) return "nobody reached the goal";
  const winners = roles.filter((_, place) => goals[place] === best);
  const areCounted = counts !== null && goals.every((value) => [0, 50, 100].includes(value));
  const said = areCounted ? counts : goals;
  const isPlain = !areCounted && goals.every((value) => value === 0 || value === 100);
  if (winners.length === roles.length) {
    if (best === 100) return "all reached the goal";
    return areCounted ? `draw ${said.join(" : ")}` : best === 50 ? "draw" : `draw, ${goal(best)} each`;
  }
  const won = `${winners.join(" and ")} won`;
  if (isPlain) return won;
  const sorted = roles.map((role, place) => ({ role, place })).sort((one, other) => goals[other.place] - goals[one.place]);
  if (roles.length === 2) return `${won} ${sorted.map(({ place }) => goal(said[place])).join(" : ")}`;
  return `${won}: ${sorted.map(({ role, place }) => `${role} ${goal(said[place])}`).join(", ")}`;
}

/**
 * A fact in words; null for one that says no more than the page does: whose turn it is, which kind of
 * move is made, the only `verb`, or how many turns were made.
 * @param {string} fact
 * @param {string[]} roles
 * @param {{ movers: string[], verb: string | null, turn: number }} [known]
 */
export function factText(fact, roles, { movers, verb, turn } = { movers: [], verb: null, turn: -1 }) {
  const read = readExpression(fact);
  if (!Array.isArray(read)) return plainWords(fact);
  const [name, ...args] = read.map(writeExpression);
  const [only] = args.length === 1 ? args : [null];
  if (only !== null && roles.includes(only) && WHOSE_TURN.test(name)) return movers.length > 0 ? null : `${only} to move`;
  if (only !== null && (only === verb || (COUNTER.test(name) && turn >= 0 && [turn, turn + 1].includes(Number(only))))) return null;
  const role = args.find((arg) => roles.includes(arg));
  const words = [name, ...args.filter((arg) => arg !== role)].map(plainWords).join(" ");
  return role === undefined ? words : `${role}: ${words}`;
}
