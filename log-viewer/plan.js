// The plan of a single-player match at a turn: the solver that found it, its goal and how far that
// can be surpassed, the states made, and the moves, with the one of the turn marked.

import { count, counted, goal } from "./format.js";
import { element, fill, pairs } from "./page.js";

/** @import { Plan } from "./types.d.ts" */

/**
 * Shows in `place` what the planner had found by a turn of this step; null hides it.
 * @param {HTMLElement} place
 * @param {Plan | null} plan
 * @param {number} step
 * @param {(move: string) => string} say
 */
export function showPlan(place, plan, step, say) {
  place.hidden = plan === null;
  if (plan === null) return;
  const at = step - plan.step;
  const left = Math.max(0, plan.length - at);
  /** @type {[name: string, value: string][]} */
  const facts = [["Goal", goalText(plan)], ["States made", count(plan.states)]];
  if (plan.solver !== null) facts.unshift(["Solver", plan.solver]);
  if (plan.length > 0) facts.push(["Moves left", count(left)]);
  const moves = plan.moves.map((move, index) => moveItem(move, say(move), plan.step + index, index - at));
  const more = plan.length - moves.length;
  const list = element("ol", { class: "plan-moves", tabindex: 0, "aria-label": "Moves of the plan" }, moves);
  fill(
    place,
    element("h2", null, "Plan", plan.step < step && element("small", null, `as of turn ${plan.step}`)),
    pairs(facts),
    moves.length > 0 && list,
    more > 0 && element("p", { class: "quiet" }, `and ${counted(more, "more move")}`),
  );
  bringIntoSight(list, moves[at]);
}

/**
 * "50 of at most 100", "100 of at most 100, proven best".
 * @param {Plan} plan
 */
function goalText(plan) {
  const most = plan.bound === null ? "" : `at most ${goal(plan.bound)}`;
  if (plan.goal === null) return ["none yet", most].filter(Boolean).join(", ");
  const reached = most === "" ? goal(plan.goal) : `${goal(plan.goal)} of ${most}`;
  return plan.isBest ? `${reached}, proven best` : reached;
}

/**
 * A move of the plan and its turn; `place` is negative for a move before the turn shown, and 0 for
 * its own.
 * @param {string} move
 * @param {string} said
 * @param {number} turn
 * @param {number} place
 */
function moveItem(move, said, turn, place) {
  return element(
    "li",
    { class: place < 0 ? "done" : null, title: move, "aria-current": place === 0 ? "step" : null },
    element("small", null, turn),
    " ",
    said,
  );
}

/**
 * Scrolls the list, and nothing around it, to an item.
 * @param {HTMLElement} list
 * @param {HTMLElement | undefined} item
 */
function bringIntoSight(list, item) {
  if (item === undefined) return;
  const top = item.offsetTop - list.offsetTop;
  list.scrollTop = top - (list.clientHeight - item.offsetHeight) / 2;
}
