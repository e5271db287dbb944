// A board on which moves are made: by clicks, by dragging, with the keyboard, or from the list of
// moves beside it. `/play` and `/study` draw their positions here. What a click means follows from
// what the moves do (`choices.js`).

import { cellsOf, pick, stateOf, targets } from "./choices.js";
import { compare } from "./board.js";
import { drawBoards } from "./drawing.js";
import { isIdle, readExpression, spoken } from "./expressions.js";
import { count, counted, goal } from "./format.js";
import { around, drawn, element, fill } from "./page.js";
import { factText } from "./roles.js";
import { askTurn } from "./server.js";
import { Speaker } from "./speaker.js";

/** @import { Board, Choice, Joint, Laid, Place, Shape } from "./types.d.ts" */

/**
 * A cell on the page.
 * @typedef {SVGGElement} DrawnCell
 */

/** Moves in the list, at most; the search finds the others. */
const MOST_LISTED = 300;
/** Turns of a line that are shown on the board, at most. */
const MOST_PREVIEWED = 12;
/** Kinds of moves for which earlier turns are asked for, at most. */
const MOST_ASKED = 12;
/** Losses of value from which the colour of a move is another, in points of 100. */
const LOSSES = [1, 5, 12, 25, 45];
/** Words that are drawn as arrows. @type {Record<string, string>} */
const ARROWS_OF_WORDS = { clockwise: "↻", right: "↻", counterclockwise: "↺", anticlockwise: "↺", left: "↺" };
/** A pointer that has moved further than this, in pixels, has dragged. */
const DRAG = 12;
/** @type {Record<string, [x: number, y: number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class BoardPanel {
  /**
   * Boards are drawn in `board`; `which` asks where several moves are meant; `play(text)` is called
   * with the move that a person has chosen. `take(name)` is called with each cell that is clicked,
   * where no moves are made; `circle(name)` with one that a person marks or marks no more.
   * @param {{ board: HTMLElement, which?: HTMLElement, play?: (text: string) => void, take?: (name: string) => void, circle?: (name: string) => void }} parts
   */
  constructor({ board, which = element("div"), play = () => {}, take, circle }) {
    this.board = board;
    this.which = which;
    this.play = play;
    this.take = take;
    this.circle = circle;
    /** The cells that a person has marked. */
    this.circled = /** @type {string[]} */ ([]);
    /** @type {Choice[]} */
    this.choices = [];
    this.state = stateOf([], []);
    this.speaker = new Speaker();
    /** The position that is drawn. */
    this.laid = /** @type {Laid} */ ({ boards: [], rest: [], shapes: [] });
    /** The roles, the one that chooses, and those that are to move. */
    this.roles = /** @type {string[]} */ ([]);
    this.role = "";
    this.movers = /** @type {string[]} */ ([]);
    /** How many turns were made. */
    this.turn = 0;
    /** The cells that a person has filled. */
    this.own = /** @type {Set<string>} */ (new Set());
    /** What moves are worth, by text. @type {Map<string, number>} */
    this.values = new Map();
    /** The line that is shown on the board. */
    this.line = /** @type {Joint[]} */ ([]);
    /** Whether no moves are made on this board for now. */
    this.isLocked = false;
    /**
     * Names of classes, each with the names of the cells that have it.
     * @type {Map<string, Set<string>>}
     */
    this.marks = new Map();
    /** The cells by name. @type {Map<string, DrawnCell>} */
    this.cells = new Map();
    /** What they look like. */
    this.made = /** @type {import("./drawing.js").Made} */ (new Map());
    /** The name of the cell that the tabulator key reaches. */
    this.stop = "";
    /** The moves that are asked about, and the place in the list of moves that had the focus. */
    this.asked = "";
    this.listedAt = 0;
    /** @type {{ cell: DrawnCell | null, x: number, y: number } | null} */
    this.heldAt = null;
    board.addEventListener("click", (event) => (event.altKey ? this.circleAt(event) : this.clickOn(cellAt(event))));
    board.addEventListener("contextmenu", (event) => this.circleAt(event));
    board.addEventListener("pointerdown", (event) => {
      this.heldAt = { cell: cellAt(event), x: event.clientX, y: event.clientY };
    });
    board.addEventListener("pointerup", (event) => this.drop(event));
    board.addEventListener("keydown", (event) => this.key(event));
  }

  /**
   * These moves may be made; `keepsPicked`, where what was clicked before still counts.
   * @param {Choice[]} choices
   */
  offer(choices, keepsPicked = false) {
    this.choices = choices;
    this.state = stateOf(choices, keepsPicked ? this.state.picked : []);
    this.speaker.learn(this.role, choices);
  }

  /**
   * Learns from earlier turns of a table what moves are called that the page has not seen made.
   * @param {string} table
   * @param {string[]} roles
   * @param {Joint[]} line
   */
  async learnPast(table, roles, line) {
    for (const turn of this.speaker.unknown(line).slice(0, MOST_ASKED)) {
      const [facts, after] = await Promise.all([askTurn(table, turn), askTurn(table, turn + 1)]);
      const { came, went } = compare(after, facts);
      this.speaker.learnLine(roles, [line[turn]], after, { came, went });
    }
  }

  /** @param {string} text */
  make(text) {
    this.play(text);
    // What comes next is another position: nothing is picked there.
    this.state = stateOf([], []);
    this.mark();
  }

  /**
   * Marks the cell at the place of an event.
   * @param {Event} event
   */
  circleAt(event) {
    const cell = cellAt(event);
    if (cell === null || this.circle === undefined) return;
    event.preventDefault();
    this.circle(nameOf(cell));
  }

  /** @param {DrawnCell | null} cell */
  clickOn(cell) {
    if (cell !== null) this.take?.(nameOf(cell));
    if (cell === null || this.isLocked || this.choices.length === 0) return;
    this.state = pick(this.choices, this.state.picked, nameOf(cell));
    const { open, ready } = this.state;
    if (ready.length === 1 && open.length === 0) this.make(ready[0].text);
    else this.mark();
  }

  /**
   * A piece that is dragged from one cell to another is clicked on both.
   * @param {PointerEvent} event
   */
  drop(event) {
    const held = this.heldAt;
    this.heldAt = null;
    if (held === null || held.cell === null || this.choices.length === 0 || Math.hypot(event.clientX - held.x, event.clientY - held.y) < DRAG) return;
    const over = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-name]");
    if (!over || over === held.cell) return;
    this.state = stateOf(this.choices, []);
    this.clickOn(held.cell);
    this.clickOn(this.cells.get(nameOf(over)) ?? null);
  }

  /**
   * Arrow keys go from cell to cell; Enter and the space bar click.
   * @param {KeyboardEvent} event
   */
  key(event) {
    const cell = cellAt(event);
    if (cell === null) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      const name = nameOf(cell);
      if (event.altKey) this.circle?.(name);
      else this.clickOn(cell);
      this.cells.get(name)?.focus();
      return;
    }
    const [x, y] = ARROWS[event.key] ?? [0, 0];
    if (x === 0 && y === 0) return;
    event.preventDefault();
    const from = cell.getBoundingClientRect();
    /** @type {DrawnCell | null} */
    let nearest = null;
    let least = Infinity;
    for (const other of this.cells.values()) {
      if (other === cell) continue;
      const to = other.getBoundingClientRect();
      const along = (to.x - from.x) * x + (to.y - from.y) * y;
      const across = Math.abs((to.x - from.x) * y) + Math.abs((to.y - from.y) * x);
      if (along > 1 && along + 3 * across < least) {
        least = along + 3 * across;
        nearest = other;
      }
    }
    if (nearest === null) return;
    this.stopAt(nearest);
    nearest.focus();
  }

  /**
   * Only one cell is reached with the tabulator key; the others from there with the arrows.
   * @param {DrawnCell} cell
   */
  stopAt(cell) {
    for (const other of this.cells.values()) other.setAttribute("tabindex", other === cell ? "0" : "-1");
    this.stop = nameOf(cell);
  }

  /** The cell that the tabulator key reaches gets the focus. */
  focus() {
    this.cells.get(this.stop)?.focus();
  }

  /**
   * Draws a position, with what changed since the one before if that is known.
   * @param {Laid} laid
   * @param {Laid | null} before
   */
  draw(laid, before) {
    const focused = document.activeElement?.getAttribute("data-name") ?? null;
    const verbs = new Set(this.choices.map(({ text }) => String(readExpression(text)?.[0])));
    const [verb] = verbs.size === 1 ? verbs : [null];
    const facts = laid.rest.map((fact) => ({ fact, said: factText(fact, this.roles, { movers: this.movers, verb, turn: this.turn }) })).filter(({ said }) => said !== null);
    fill(
      this.board,
      drawBoards(laid, before, this.own, this.made),
      facts.length > 0 &&
        element("ul", { class: "other-facts", "aria-label": "Other facts" }, facts.map(({ fact, said }) => element("li", { title: fact }, said))),
    );
    this.laid = laid;
    this.line = [];
    this.cells = new Map();
    /** @type {NodeListOf<SVGGElement>} */
    const cells = this.board.querySelectorAll("[data-name]");
    for (const cell of cells) this.cells.set(nameOf(cell), cell);
    this.drawTurns();
    for (const cell of this.cells.values()) cell.setAttribute("role", "button");
    const stop = this.cells.get(focused ?? this.stop) ?? this.cells.values().next().value;
    if (stop !== undefined) this.stopAt(stop);
    if (focused !== null) this.focus();
    this.mark();
  }

  /** Buttons on the boards that moves name, where no piece covers them: between the cells. */
  drawTurns() {
    /** @type {Map<Board, { text: string, words: string }[]>} */
    const byBoard = new Map();
    for (const { text, turns } of this.choices) {
      if (turns !== undefined) byBoard.set(turns.board, [...(byBoard.get(turns.board) ?? []), { text, words: turns.words }]);
    }
    for (const [board, moves] of byBoard) {
      const corner = this.placeOf(`${board.shape.name}|${board.key}|${[...board.cells].find(([, { line, column }]) => line + column === 0)?.[0]}`);
      if (corner === null) continue;
      const y = corner.y + 100 * Math.floor(board.shape.height / 2) - 50;
      for (const [at, { text, words }] of [...moves].sort((one, other) => other.words.localeCompare(one.words)).entries()) {
        const x = corner.x + 100 * Math.round(((at + 1) * board.shape.width) / (moves.length + 1)) - 50;
        const arrow = ARROWS_OF_WORDS[words.toLowerCase()];
        const says = this.speaker.say(this.role, text);
        const button = drawn(
            "g",
            { class: "cell turn", transform: `translate(${x} ${y})`, "data-name": text, "aria-label": says },
            drawn("title", null, says),
            drawn("circle", { class: "cell-mark", r: 29 }),
            drawn("text", { "font-size": arrow === undefined ? 14 : 40, "text-anchor": "middle", "dominant-baseline": "central" }, arrow ?? words.slice(0, 8)),
        );
        corner.over.append(button);
        this.cells.set(text, button);
      }
    }
  }

  /**
   * The middle of a cell in its drawing, and what lies over the cells there.
   * @param {string} name
   */
  placeOf(name) {
    const cell = this.cells.get(name);
    const over = cell?.ownerSVGElement?.querySelector("g.over");
    const at = cell?.transform.baseVal.consolidate()?.matrix;
    const half = cell?.classList.contains("turn") ? 0 : 50;
    return over == null || at === undefined ? null : { x: at.e + half, y: at.f + half, over };
  }

  /**
   * The cells of a move, in the order of its steps.
   * @param {string} text
   */
  cellsOf(text) {
    const move = this.choices.find((choice) => choice.text === text);
    return move === undefined ? [] : cellsOf(move);
  }

  /**
   * Marks the cells that may be clicked, those that were, and others; writes values on them; asks
   * where several moves are meant.
   */
  mark() {
    const open = this.isLocked ? new Set() : targets(this.state);
    const picked = new Set(this.state.picked);
    const step = this.state.picked.length;
    // Of a line of cells only the one where something lands is seen to be a target.
    const lands = new Set(this.state.open.flatMap(({ steps, lands }) => (lands === undefined || steps.length > step + 1 ? [...steps[step]] : [lands])));
    for (const [name, cell] of this.cells) {
      cell.classList.toggle("target", open.has(name));
      cell.classList.toggle("lands", lands.has(name));
      cell.classList.toggle("picked", picked.has(name));
      for (const [kind, names] of this.marks) cell.classList.toggle(kind, names.has(name));
      cell.setAttribute("aria-disabled", String(this.take === undefined && !open.has(name) && !picked.has(name)));
    }
    this.drawOver();
    this.ask(this.state.ready);
  }

  /** What moves are worth, on the cells that are clicked for them, and the line that is shown. */
  drawOver() {
    for (const old of this.board.querySelectorAll(".over > :not(.turn)")) old.remove();
    if (this.line.length > 0) this.drawLine();
    else this.drawValues();
    for (const name of this.circled) {
      const place = this.placeOf(name);
      place?.over.append(drawn("circle", { class: "circled", cx: place.x, cy: place.y, r: 42 }));
    }
  }

  drawValues() {
    /** @type {Map<string, number>} */
    const byCell = new Map();
    const step = this.state.picked.length;
    for (const choice of this.state.open) {
      const value = this.values.get(choice.text);
      const cells = choice.lands === undefined ? choice.steps[step] : [choice.lands];
      if (value !== undefined) for (const cell of cells) byCell.set(cell, Math.max(value, byCell.get(cell) ?? 0));
    }
    const best = Math.max(...this.values.values());
    for (const [name, value] of byCell) {
      const place = this.placeOf(name);
      if (place === null) continue;
      const loss = LOSSES.filter((least) => best - value >= least).length;
      const isCovered = this.cells.get(name)?.matches(".lying, .turn");
      const at = isCovered ? `translate(${place.x + 27} ${place.y + 29}) scale(.62)` : `translate(${place.x} ${place.y})`;
      place.over.append(
        drawn("g", { class: `worth-mark loss-${loss}${value === best ? " best" : ""}`, transform: at }, drawn("circle", { r: 33 }), drawn("text", { "font-size": value >= 99.5 ? 25 : 30, "text-anchor": "middle", "dominant-baseline": "central" }, goal(Math.round(value)))),
      );
    }
  }

  /**
   * Shows a line on the board for as long as it is pointed at: its moves numbered, in the colours of
   * the roles, with arrows between cells. An empty one takes it away.
   * @param {Joint[]} line
   */
  preview(line) {
    if (line.length === 0 && this.line.length === 0) return;
    this.line = line.slice(0, MOST_PREVIEWED);
    this.drawOver();
  }

  drawLine() {
    const taken = new Set();
    for (const [turn, joint] of this.line.entries()) {
      for (const [role, text] of joint.entries()) {
        const places = isIdle(text) ? [] : this.cellsOnWay(text, taken).map((name) => this.placeOf(name));
        const [to, from] = [places.at(-1), places.length > 1 ? places[0] : null];
        if (to == null) continue;
        const style = `fill:var(--role-${role});stroke:var(--role-${role}-edge)`;
        if (from != null && from.over === to.over) to.over.append(arrow(from, to, `stroke:var(--role-${role}-line)`));
        to.over.append(
          drawn(
            "g",
            { class: "step", transform: `translate(${to.x} ${to.y})` },
            drawn("circle", { r: 31, style }),
            drawn("text", { style: `fill:var(--role-${role}-ink)`, "font-size": 34, "text-anchor": "middle", "dominant-baseline": "central" }, turn + 1),
          ),
        );
      }
    }
  }

  /**
   * The cells of a move of a line. What is dropped into a line of cells lands beside what was
   * dropped there before.
   * @param {string} text
   * @param {Set<string>} taken
   */
  cellsOnWay(text, taken) {
    const choice = this.choices.find((choice) => choice.text === text);
    if (choice === undefined) return this.speaker.cellsOf(text);
    if (choice.lands === undefined) return cellsOf(choice);
    const cells = [...choice.steps[choice.steps.length - 1]].filter((name) => !this.cells.get(name)?.classList.contains("lying") && !taken.has(name));
    const start = this.placeOf(choice.lands);
    const far = (/** @type {string} */ name) => {
      const place = this.placeOf(name);
      return start === null || place === null ? Infinity : Math.hypot(place.x - start.x, place.y - start.y);
    };
    const [next] = cells.sort((one, other) => far(one) - far(other));
    if (next !== undefined) taken.add(next);
    return next === undefined ? [] : [next];
  }

  /**
   * Asks which of several moves is meant.
   * @param {Choice[]} ready
   */
  ask(ready) {
    // A button that is in use is not replaced.
    const asked = JSON.stringify(ready.map(({ text }) => text));
    if (asked === this.asked) return;
    this.asked = asked;
    const isUsed = this.which.contains(document.activeElement);
    this.which.hidden = ready.length === 0;
    const said = this.speaker.apart(this.role, ready.map(({ text }) => text));
    fill(
      this.which,
      element("span", null, "Which move?"),
      ready.map(({ text }, at) =>
        element("button", { type: "button", class: "button", title: text, on: { click: () => this.make(text) } }, said[at]),
      ),
    );
    if (isUsed) this.focus();
  }

  /**
   * Lists the moves that may be made and contain what is `wanted`; `unlisted` more are not known
   * here. `nothing` is said where nobody is asked for a move, unless it is null. A focus in the
   * list stays there: on the place where it was, or on the whole list while there are no moves.
   * @param {HTMLElement} place
   * @param {{ wanted: string, unlisted: number, nothing: string | null }} how
   */
  listMoves(place, { wanted, unlisted, nothing }) {
    const sought = wanted.trim().toLowerCase();
    const said = this.choices.map(({ text }) => ({ text, said: this.speaker.say(this.role, text) }));
    const found = said.filter(({ text, said }) => sought === "" || `${said} ${spoken(text)}`.toLowerCase().includes(sought));
    const left = found.length - MOST_LISTED;
    const focused = document.activeElement;
    const isUsed = place.contains(focused);
    if (isUsed && focused !== place) this.listedAt = [...place.children].findIndex((child) => child === focused);
    fill(
      place,
      this.choices.length === 0 && nothing !== null && element("p", { class: "quiet" }, nothing),
      this.choices.length > 0 && found.length === 0 && element("p", { class: "quiet" }, "No move of that name."),
      found
        .slice(0, MOST_LISTED)
        .map(({ text, said }) =>
          element("button", { type: "button", class: "plain", title: text, on: { click: () => this.make(text) } }, said),
        ),
      left > 0 && element("p", { class: "quiet" }, `and ${count(left)} more: search for them`),
      unlisted > 0 && element("p", { class: "quiet" }, `${counted(unlisted, "further move")} not listed`),
    );
    if (!isUsed) return;
    const buttons = place.querySelectorAll("button");
    (buttons[Math.min(this.listedAt, buttons.length - 1)] ?? place).focus({ preventScroll: true });
  }
}

/**
 * The cell at the place of an event.
 * @param {Event} event
 */
function cellAt(event) {
  return /** @type {DrawnCell | null} */ (around(event, "g[data-name]"));
}

/**
 * What a cell is called among all boards of the position.
 * @param {Element} cell
 */
function nameOf(cell) {
  return cell.getAttribute("data-name") ?? "";
}

/**
 * A board seen from its other side.
 * @param {Shape} shape
 */
export function turnedRound(shape) {
  const { borders } = shape;
  /** @param {Place} place */
  const turn = ({ line, column }) => ({ line: shape.height - 1 - line, column: shape.width - 1 - column });
  const field = { line: Math.max(...shape.boards.map(({ line }) => line)), column: Math.max(...shape.boards.map(({ column }) => column)) };
  const turned = {
    ...shape,
    // What is drawn as one board is turned as one.
    boards: shape.isJoined
      ? shape.boards.map((board) => ({ ...board, line: field.line - board.line, column: field.column - board.column }))
      : shape.boards,
    cells: new Map([...shape.cells].map(([key, place]) => [key, turn(place)])),
    lineNames: [...shape.lineNames].reverse(),
    columnNames: [...shape.columnNames].reverse(),
    borders: borders && [2, 3, 0, 1].map((side) => borders[side]),
  };
  return turned;
}

/**
 * @param {{ x: number, y: number }} from
 * @param {{ x: number, y: number }} to
 * @param {string} style
 */
function arrow(from, to, style) {
  const [x, y] = [to.x - from.x, to.y - from.y];
  const far = Math.hypot(x, y) || 1;
  const [ends, wide] = [{ x: to.x - (33 * x) / far, y: to.y - (33 * y) / far }, 14];
  const barb = (/** @type {number} */ side) => `${ends.x - (24 * x) / far - (side * wide * y) / far} ${ends.y - (24 * y) / far + (side * wide * x) / far}`;
  return drawn("path", { class: "way", style, d: `M${from.x} ${from.y}L${ends.x} ${ends.y}M${barb(1)}L${ends.x} ${ends.y}L${barb(-1)}` });
}
