// The parts of a turn beside its board: facts that are on no board and their changes, the moves
// considered, and the list of all turns.

import { compare } from "./board.js";
import { isIdle } from "./expressions.js";
import { counted, duration, goal, short } from "./format.js";
import { around, element, fill, setText, table } from "./page.js";
import { factText, roleKey } from "./roles.js";

/** @import { MatchRecord } from "./record.js" */
/** @import { Child, RootMove, Turn } from "./types.d.ts" */

const MOST_FACTS = 300;

/**
 * Facts, with what came and went since the position before marked; `before` is null for the first.
 * @param {string[]} facts
 * @param {string[] | null} before
 * @param {string[]} roles
 */
export function factTable(facts, before, roles) {
  const { stayed, came, went } = before === null ? { stayed: facts, came: [], went: [] } : compare(facts, before);
  const rows = [
    ...came.map((fact) => [fact, "came", "+", "new"]),
    ...went.map((fact) => [fact, "went", "−", "gone"]),
    ...stayed.map((fact) => [fact, "stayed", "", ""]),
  ];
  const shown = rows
    .slice(0, MOST_FACTS)
    .map(([fact, kind, sign, says]) =>
      element(
        "li",
        { class: `fact ${kind}`, "data-fact": fact, title: fact },
        element("span", { class: "sign", "aria-hidden": "true" }, sign),
        element("span", { class: "what" }, factText(fact, roles)),
        says !== "" && element("span", { class: "unseen" }, ` (${says})`),
      ),
    );
  const more = rows.length - MOST_FACTS;
  return element(
    "div",
    { class: "facts" },
    element("ul", { class: "fact-list" }, shown),
    more > 0 && element("p", { class: "quiet" }, `and ${counted(more, "fact")} more`),
  );
}

/**
 * The joint move of a turn, role by role.
 * @param {MatchRecord} record
 * @param {Turn} turn
 */
export function playedMoves(record, turn) {
  /** @type {{ role: string | null, move: string | null }[]} */
  const rows = record.roles.map((role, place) => ({ role, move: turn.played?.[place] ?? null }));
  if (rows.length === 0 && turn.played !== null)
    turn.played.forEach((move, place) => rows.push({ role: `role ${place + 1}`, move }));
  const own = turn.answer?.move ?? null;
  if (rows.length === 0 && own !== null) rows.push({ role: record.role, move: own });
  return element(
    "dl",
    { class: "played" },
    rows.map(({ role, move }) => {
      const isOurs = role === record.role;
      const replaced = isOurs && move !== null && move !== own ? own : null;
      const shown = move ?? (isOurs ? own : null);
      return element(
        "div",
        { class: isOurs ? "ours" : null },
        element("dt", null, rows.length > 1 && roleKey(record.roles.indexOf(role ?? "")), role ?? "", isOurs && element("small", null, "us")),
        element("dd", { title: shown }, shown === null ? element("span", { class: "quiet" }, "…") : record.say(shown, role)),
        replaced !== null && element("dd", { class: "replaced", title: replaced }, `we answered ${record.say(replaced, role)}; it was replaced`),
      );
    }),
  );
}

/**
 * The moves at the root of a turn, most visited first, with the answer marked.
 * @param {MatchRecord} record
 * @param {RootMove[]} moves
 * @param {string | null} answered
 */
export function rootTable(record, moves, answered) {
  const most = Math.max(1, ...moves.map((move) => move.visits));
  const rows = moves.map((move) =>
    element(
      "tr",
      { class: move.move === answered ? "answered" : null, "data-move": move.move },
      element(
        "td",
        { class: "move", title: move.move },
        element("span", null, record.say(move.move)),
        move.move === answered && element("span", { class: "tag" }, "answered"),
      ),
      element(
        "td",
        { class: "bar", title: counted(move.visits, "visit") },
        bar(move.visits / most),
        element("span", null, short(move.visits)),
      ),
      element("td", { class: "figure" }, goal(move.value)),
    ),
  );
  return table({ class: "root" }, ["Move", "Visits", `Value for ${record.role ?? "us"}`], element("tbody", null, rows));
}

/** @param {number} share */
function bar(share) {
  return element(
    "span",
    { class: "bar-track", "aria-hidden": "true" },
    element("span", { class: "bar-fill", style: `width:${(share * 100).toFixed(1)}%` }),
  );
}

/** The list of all turns. Rows are kept, so that a live match only adds to it. */
export class TurnList {
  /**
   * `choose(step)` is called when a turn is chosen.
   * @param {HTMLElement} place
   * @param {(step: number) => void} choose
   */
  constructor(place, choose) {
    /**
     * By step a row, and what it was made of.
     * @type {Map<number, { row: HTMLTableRowElement, said: string }>}
     */
    this.rows = new Map();
    /** @type {HTMLTableRowElement | null} */
    this.chosen = null;
    this.body = element("tbody");
    this.table = table({ class: "turn-list" }, ["Turn", "Moves", "Value", "Visits", "Time"], this.body);
    fill(place, this.table);
    this.body.addEventListener("click", (event) => {
      const row = around(event, "tr");
      if (row !== null) choose(Number(row.dataset.step));
    });
  }

  /**
   * @param {MatchRecord} record
   * @param {Turn | null} turn
   */
  show(record, turn) {
    if (record.role !== null) setText(this.table.querySelectorAll("th")[2], `Value for ${record.role}`);
    for (const [step, { row }] of this.rows) {
      if (record.byStep.has(step)) continue;
      row.remove();
      this.rows.delete(step);
    }
    record.turns.forEach((turn, place) => this.showTurn(record, turn, place));
    this.setTurn(turn);
  }

  /**
   * @param {MatchRecord} record
   * @param {Turn} turn
   * @param {number} place
   */
  showTurn(record, turn, place) {
    const { answer, played } = turn;
    const cells = [
      String(turn.step),
      played !== null
        ? played.map((move, place) => record.say(move, record.roles[place])).join(" · ")
        : turn.isTerminal
          ? "the end"
          : answer?.move
            ? record.say(answer.move)
            : "…",
      goal(answer?.value),
      short(answer?.visits),
      duration(answer?.seconds),
    ];
    const marks = [answer?.isProven ? "proven" : "", answer?.isOnly && !isIdle(answer.move ?? "") ? "only" : ""].filter((mark) => mark !== "");
    const said = [...cells, ...marks, record.role, ...record.roles].join("\n");
    const known = this.rows.get(turn.step);
    if (known?.said === said) return;
    const row = known?.row ?? element("tr", { "data-step": turn.step });
    fill(
      row,
      element("td", null, element("button", { type: "button", "aria-label": `Turn ${turn.step}` }, cells[0])),
      element(
        "td",
        { class: "moves" },
        moveTexts(record, turn, cells[1]),
        marks.map((mark) => element("span", { class: `tag ${mark}` }, mark)),
      ),
      cells.slice(2).map((cell) => element("td", { class: "figure" }, cell)),
    );
    if (known === undefined) this.body.insertBefore(row, this.body.children[place] ?? null);
    this.rows.set(turn.step, { row, said });
  }

  /**
   * Marks the chosen turn, and brings it into sight within the list.
   * @param {Turn | null} turn
   */
  setTurn(turn) {
    const row = (turn === null ? null : this.rows.get(turn.step)?.row) ?? null;
    if (row === this.chosen) return;
    this.chosen?.removeAttribute("aria-current");
    this.chosen = row;
    if (row === null) return;
    row.setAttribute("aria-current", "true");
    const frame = this.body.closest(".scroll");
    if (frame === null) return;
    const [top, bottom] = [row.offsetTop - 40, row.offsetTop + row.offsetHeight];
    if (top < frame.scrollTop) frame.scrollTop = top;
    else if (bottom > frame.scrollTop + frame.clientHeight) frame.scrollTop = bottom - frame.clientHeight;
  }
}

/**
 * Moves of a turn with those faded that do nothing.
 * @param {MatchRecord} record
 * @param {Turn} turn
 * @param {string} otherwise
 * @returns {Child}
 */
function moveTexts(record, turn, otherwise) {
  if (turn.played === null) return element("span", { class: "quiet" }, otherwise);
  // Who waits while others move is not told.
  const isAll = turn.played.every(isIdle);
  return turn.played.map((move, place) => {
    if (isIdle(move) && !isAll) return null;
    const isOurs = record.roles[place] !== undefined && record.roles[place] === record.role;
    const names = ["one-move", isIdle(move) && "idle", isOurs && "ours"].filter(Boolean);
    const role = record.roles[place];
    const says = `${role === undefined ? "" : `${role}: `}${move}`;
    const isSeveral = (turn.played ?? []).length > 1;
    return element(
      "span",
      { class: names.join(" "), title: says },
      isSeveral && roleKey(place),
      isSeveral && element("span", { class: "unseen" }, `${role} `),
      record.say(move, role),
    );
  });
}
