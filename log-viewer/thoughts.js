// What Panza thinks about a position that is studied: what it is worth to each role, its moves, the
// line that is expected, and plans.

import { counted, duration, goal, short } from "./format.js";
import { element, fill, table } from "./page.js";
import { CHANCE, moveSaid, roleKey } from "./roles.js";

/** @import { Speaker } from "./speaker.js" */
/** @import { Joint, Outcome, Report, ShownLine, ShownPlan, Worth } from "./types.d.ts" */

/**
 * How moves are said, and what is done with lines: one is gone along, or shown on the board.
 * @typedef {object} Acts
 * @property {Speaker} speaker
 * @property {string[]} roles
 * @property {(text: string) => void} playMove
 * @property {(line: Joint[]) => void} playLine
 * @property {(line: Joint[]) => void} preview
 * @property {number} viewer the place of the role that values of outcomes are for
 */

/** Moves of a plan, and other plans, that are listed at most. */
const MOST_PLANNED = 200;

/**
 * What Panza does, in words.
 * @param {Report} report
 */
export function thinkingText(report) {
  const said = {
    searching: "searching",
    proven: "proven",
    done: "the time for this position is over",
    paused: "stopped",
    waiting: "waiting: a match of a game manager goes first",
    over: "the game is over",
  }[report.state];
  if (report.iterations === 0) return said;
  const deep = `${report.method}, depth ${report.depth} (longest line ${report.selective_depth})`;
  return [said, deep, `${short(report.iterations)} ${report.step}s`, duration(report.seconds)].join(", ");
}

/**
 * What a position is worth to each role: a bar with a part for each, and the values, with the
 * pieces of each where they are counted.
 * @param {HTMLElement} place
 * @param {string[]} roles
 * @param {Worth | null} worth
 * @param {number[] | null} counts
 */
export function showWorth(place, roles, worth, counts) {
  const values = roles.map((_, role) => worth?.proven[role] ?? worth?.values[role] ?? null);
  const sum = values.reduce((/** @type {number} */ total, value) => total + (value ?? 0), 0);
  // The bar of a puzzle shows how much of 100 is reached.
  const all = roles.length === 1 ? 100 : sum;
  /** @param {number | null} value */
  const share = (value) => (all > 0 && value !== null ? (100 * value) / all : 0);
  fill(
    place,
    element(
      "div",
      { class: "worth-parts", "aria-hidden": "true" },
      values.map((value, role) =>
        share(value) > 0 && element("span", { class: "part", style: `width:${share(value).toFixed(1)}%;background:var(--role-${role});border-color:var(--role-${role}-edge)` }),
      ),
    ),
    element(
      "ul",
      { class: "worth-values" },
      roles.map((role, index) =>
        element(
          "li",
          { "data-role": role },
          roleKey(index),
          `${role} `,
          counts !== null && `(${counts[index]}) `,
          element("b", null, values[index] === null ? "…" : goal(values[index])),
          worth?.proven[index] != null && element("span", { class: "tag proven" }, "proven"),
        ),
      ),
    ),
  );
}

/**
 * The moves of the role to move, the best first, or the outcomes of chance, and the line.
 * @param {HTMLElement} place
 * @param {Report} report
 * @param {Acts} acts
 */
export function showThoughts(place, report, acts) {
  if (report.outcomes.length > 0) {
    fill(place, outcomesTable(report.outcomes, acts));
    return;
  }
  const { speaker, roles, playMove } = acts;
  const role = roles.indexOf(report.role ?? "");
  /** @param {string} text */
  const alone = (text) => [roles.map((_, place) => (place === role ? text : "noop"))];
  const isMixed = report.moves.some(({ share }) => share !== null);
  const most = Math.max(1, ...report.moves.map(({ visits }) => visits));
  const rows = report.moves.map((move) =>
    element(
      "tr",
      { "data-move": move.text, ...previewed(acts, alone(move.text)) },
      element(
        "td",
        { class: "move" },
        element("button", { type: "button", class: "plain", title: move.text, on: { click: () => playMove(move.text) } }, speaker.say(report.role ?? "", move.text)),
      ),
      element(
        "td",
        { class: "figure" },
        move.proven !== null ? goal(move.proven) : move.value === null ? "" : valueText(Math.round(move.value), move.is_bound),
        move.proven !== null && element("span", { class: "tag proven" }, "proven"),
      ),
      isMixed && element("td", { class: "figure" }, move.share === null ? "" : `${Math.round(100 * move.share)} %`),
      element(
        "td",
        { class: "bar", title: counted(move.visits, report.step) },
        element(
          "span",
          { class: "bar-track", "aria-hidden": "true" },
          element("span", { class: "bar-fill", style: `width:${((100 * move.visits) / most).toFixed(1)}%` }),
        ),
        element("span", null, short(move.visits)),
      ),
    ),
  );
  const names = ["Move", `Value for ${report.role}`, ...(isMixed ? ["Share"] : []), report.step === "node" ? "Nodes" : "Visits"];
  fill(
    place,
    rows.length > 0 && element("div", { class: "root-frame" }, table({ class: "root" }, names, element("tbody", null, rows))),
    rows.length === 0 && element("p", { class: "quiet" }, report.state === "over" ? "" : "No moves yet."),
    report.lines.length > 1 && linesList(report.lines, acts, report.role ?? ""),
    report.lines.length <= 1 &&
      report.line.length > 0 &&
      element(
        "p",
        { class: "expected", ...previewed(acts, report.line) },
        element("b", null, "Expected: "),
        lineSaid(acts, report.line),
        addButton(acts, report.line),
      ),
  );
}

/**
 * What chance may draw.
 * @param {Outcome[]} outcomes
 * @param {Acts} acts
 */
function outcomesTable(outcomes, { speaker, playMove, viewer, roles }) {
  const rows = outcomes.map(({ text, probability, worth }) => {
    const proven = worth.proven[viewer] ?? null;
    const value = proven ?? worth.values[viewer] ?? null;
    return element(
      "tr",
      { "data-move": text },
      element(
        "td",
        { class: "move" },
        element("button", { type: "button", class: "plain", title: text, on: { click: () => playMove(text) } }, speaker.say(CHANCE, text)),
      ),
      element("td", { class: "figure" }, `${(100 * probability).toFixed(probability < 0.1 ? 1 : 0)} %`),
      element(
        "td",
        { class: "figure" },
        value === null ? "" : goal(Math.round(value)),
        proven !== null && element("span", { class: "tag proven" }, "proven"),
      ),
    );
  });
  const names = ["Outcome", "Probability", `Value for ${roles[viewer]}`];
  return element("div", { class: "root-frame" }, table({ class: "root" }, names, element("tbody", null, rows)));
}

/**
 * A value that may be a bound.
 * @param {number} value
 * @param {boolean} isBound
 */
function valueText(value, isBound) {
  return isBound ? `≤ ${goal(value)}` : goal(value);
}

/**
 * The lines of the search with their values, the best first.
 * @param {ShownLine[]} lines
 * @param {Acts} acts
 * @param {string} role
 */
function linesList(lines, acts, role) {
  return element(
    "ol",
    { class: "lines" },
    lines.map(({ value, is_bound, line }) =>
      element(
        "li",
        previewed(acts, line),
        element("b", { title: `value for ${role}` }, valueText(Math.round(value), is_bound)),
        element("span", null, lineSaid(acts, line), line.length > 0 && addButton(acts, line)),
      ),
    ),
  );
}

/**
 * Listeners that show a line on the board while it is pointed at or something in it has the focus.
 * @param {Acts} acts
 * @param {Joint[]} line
 */
export function previewed({ preview }, line) {
  const [show, hide] = [() => preview(line), () => preview([])];
  return { on: { pointerenter: show, pointerleave: hide, focusin: show, focusout: hide } };
}

/**
 * @param {Acts} acts
 * @param {Joint[]} line
 */
function lineSaid({ speaker, roles }, line) {
  return line.map((joint, at) => [at > 0 && ", ", element("span", null, moveSaid(speaker, roles, joint, -1, false))]);
}

/**
 * @param {Acts} acts
 * @param {Joint[]} line
 */
function addButton({ playLine }, line) {
  return [" ", element("button", { type: "button", class: "button", on: { click: () => playLine(line) } }, "Add this line")];
}

/**
 * The plan of a puzzle, and others that begin with another move.
 * @param {HTMLElement} place
 * @param {Pick<Report, "plan" | "alternatives">} report
 * @param {Acts} acts
 */
export function showPlans(place, { plan, alternatives }, acts) {
  const { speaker, roles } = acts;
  /** @param {string} text */
  const say = (text) => speaker.say(roles[0], text);
  place.hidden = plan === null;
  if (plan === null) return;
  /** @param {ShownPlan} plan */
  const line = ({ moves }) => moves.map((move) => [move]);
  /** @param {ShownPlan} of */
  const add = (of) => of.moves.length > 0 && addButton(acts, line(of));
  /** @param {ShownPlan} of */
  const length = (of) => counted(of.n_moves, "move");
  const reached = plan.goal === null ? "no plan yet" : `goal ${plan.goal}${plan.is_best ? ", proven best" : ` of at most ${plan.bound}`}`;
  const moves = plan.moves.slice(0, MOST_PLANNED);
  fill(
    place,
    element("h2", null, "Plan", element("small", null, [reached, plan.goal !== null && length(plan)].filter(Boolean).join(", "))),
    moves.length > 0 && element("ol", { class: "plan-moves" }, moves.map((move, at) => element("li", { title: move }, element("small", null, at + 1), " ", say(move)))),
    plan.n_moves > moves.length && element("p", { class: "quiet" }, `and ${counted(plan.n_moves - moves.length, "more move")}`),
    element("p", previewed(acts, line(plan)), add(plan)),
    alternatives.length > 0 && element("h3", null, "Other plans to the same goal"),
    alternatives.length > 0 &&
      element(
        "ul",
        { class: "alternatives" },
        alternatives.map((other) => element("li", previewed(acts, line(other)), `${say(other.moves[0])} first: ${length(other)} `, add(other))),
      ),
  );
}
