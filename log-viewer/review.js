// The look for blunders in a line that is studied: asked for, followed, and listed.

import { count, counted, goal } from "./format.js";
import { byId, element, fill, refill, setText, table } from "./page.js";
import { endOf, lineTo, pathTo } from "./variations.js";

/** @import { StudyPage } from "./study.js" */
/** @import { Grade, GradedMove, LineNode, Review, RoleSummary } from "./types.d.ts" */

/** Grades of moves as chess players write them. @type {Record<Grade, string>} */
const SIGNS = { inaccuracy: "?!", mistake: "?", blunder: "??" };

export class Reviewing {
  /** @param {StudyPage} page */
  constructor(page) {
    this.page = page;
    /** The nodes that it goes through, in the order of the turns. */
    this.nodes = /** @type {LineNode[]} */ ([]);
    /** What was shown of it last, as JSON. */
    this.shown = "";
    byId("review").addEventListener("click", () => this.press());
  }

  /** Begins with the line that is shown, or stops. */
  press() {
    const { page } = this;
    const isRunning = byId("review").getAttribute("aria-pressed") === "true";
    this.nodes = isRunning ? [] : pathTo(endOf(page.node));
    this.shown = "";
    if (isRunning) {
      page.tell({ do: "endreview" }, byId("review"));
      this.show(null);
      return;
    }
    const ms = Number(byId("review-effort", "select").value);
    page.tell({ do: "review", line: lineTo(endOf(page.node)), ms }, byId("review"));
  }

  /** @param {Review | null} review */
  show(review) {
    const isRunning = review !== null && !review.is_finished;
    byId("review").setAttribute("aria-pressed", String(isRunning));
    setText(byId("review"), isRunning ? "Stop" : "Look for blunders");
    const progress = byId("review-progress", "progress");
    progress.hidden = !isRunning;
    if (review === null || this.nodes.length !== review.of) {
      setText(byId("review-says"), "");
      if (review === null) for (const id of ["blunders", "review-summary"]) fill(byId(id));
      return;
    }
    const [settled, doubts] = review.doubts;
    progress.max = review.of + doubts;
    progress.value = review.done + settled;
    const blunders = review.graded.filter(({ grade }) => grade === "blunder").length;
    const found = `${blunders === 0 ? "No blunders" : counted(blunders, "blunder")} in ${counted(review.of - 1, "turn")}.`;
    const left = doubts === 0 ? `${review.done} of ${review.of} positions` : `${settled} of ${counted(doubts, "move")} in doubt`;
    setText(byId("review-says"), review.is_finished ? found : left);
    const key = JSON.stringify([review.graded, review.done, settled, review.is_finished]);
    if (key === this.shown) return;
    this.shown = key;
    for (const [turn, worth] of review.worths.entries()) {
      const node = this.nodes[turn];
      // What the search of the position itself has proven is not forgotten.
      if (worth !== null && !(node.worth?.proven.some((proven) => proven !== null) ?? false)) node.worth = worth;
    }
    for (const node of this.nodes) node.fault = null;
    for (const { turn, role, grade, better, value, after } of review.graded) {
      const says = `${this.page.panel.speaker.say(role, better)} was better: ${goal(Math.round(value))}, not ${goal(Math.round(after))}`;
      this.nodes[turn + 1].fault = { grade, says };
    }
    refill(byId("review-summary"), review.summary.length > 0 && summaryTable(review.summary));
    refill(byId("blunders"), review.graded.map((found) => this.item(found)));
    this.page.showLines();
    this.page.showCurve();
  }

  /** @param {GradedMove} found */
  item({ turn, role, grade, played, better, value, after, is_proven, line }) {
    const { page } = this;
    const { speaker } = page.panel;
    const before = this.nodes[turn];
    const show = () => {
      page.goTo(before);
      page.playLine(line);
    };
    return element(
      "li",
      null,
      element("button", { type: "button", class: "plain", on: { click: () => page.goTo(before) } }, `${turn + 1}. ${role}: ${speaker.say(role, played)}`),
      gradeTag(grade),
      ` ${goal(Math.round(value))} → ${goal(Math.round(after))}`,
      is_proven && element("span", { class: "tag proven" }, "proven"),
      `; better: ${speaker.say(role, better)} `,
      line.length > 0 && element("button", { type: "button", class: "button", on: { click: show } }, "Show it"),
    );
  }
}

/** @param {Grade} grade */
export function gradeTag(grade) {
  return element("span", { class: `tag ${grade}`, title: grade, "aria-label": grade, role: "img" }, SIGNS[grade]);
}

/**
 * How each role played.
 * @param {RoleSummary[]} summary
 */
function summaryTable(summary) {
  const rows = summary.map(({ role, moves, grades, mean_loss, accuracy }) => {
    const figures = [accuracy === null ? "" : `${Math.round(accuracy)} %`, ...grades.toReversed(), mean_loss === null ? "" : mean_loss.toFixed(1), count(moves)];
    return element("tr", null, element("th", { scope: "row" }, role), figures.map((figure) => element("td", { class: "figure" }, figure)));
  });
  const counts = Object.entries(SIGNS).map(([grade, sign]) => element("abbr", { title: grade }, sign));
  const names = ["Role", "Accuracy", ...counts.reverse(), element("abbr", { title: "points lost a move" }, "Lost"), "Moves"];
  const frame = { class: "root-frame", tabindex: "0", role: "region", "aria-label": "How the roles played" };
  return element("div", frame, table({ class: "root" }, names, element("tbody", null, rows)));
}
