// A board on which moves are made: by clicks, by dragging, with the keyboard, or from the list of
// moves beside it. `/play` and `/study` draw their positions here. What a click means follows from
// what the moves do (`choices.js`).

import { cellName, pick, stateOf, targets } from "./choices.js";
import { drawBoards } from "./drawing.js";
import { isIdle, spoken } from "./expressions.js";
import { count, counted } from "./format.js";
import { around, element, fill } from "./page.js";

/** @import { Choice, Joint, Laid, Place, Shape } from "./types.d.ts" */

/**
 * A cell on the page.
 * @typedef {Element & HTMLOrSVGElement} DrawnCell
 */

/** Moves in the list, at most; the search finds the others. */
const MOST_LISTED = 300;
/** A pointer that has moved further than this, in pixels, has dragged. */
const DRAG = 12;
/** @type {Record<string, [x: number, y: number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class BoardPanel {
  /**
   * Boards are drawn in `board`; `which` asks where several moves are meant; `play(text)` is called
   * with the move that a person has chosen.
   * @param {{ board: HTMLElement, which: HTMLElement, play: (text: string) => void }} parts
   */
  constructor({ board, which, play }) {
    this.board = board;
    this.which = which;
    this.play = play;
    /** @type {Choice[]} */
    this.choices = [];
    this.state = stateOf([], []);
    /** Whether no moves are made on this board for now. */
    this.isLocked = false;
    /**
     * Names of classes, each with the names of the cells that have it.
     * @type {Map<string, Set<string>>}
     */
    this.marks = new Map();
    /**
     * The cells by name.
     * @type {Map<string, DrawnCell>}
     */
    this.cells = new Map();
    /** The name of the cell that the tabulator key reaches. */
    this.stop = "";
    /** The moves that are asked about, and the place in the list of moves that had the focus. */
    this.asked = "";
    this.listedAt = 0;
    /** @type {{ cell: DrawnCell | null, x: number, y: number } | null} */
    this.heldAt = null;
    board.addEventListener("click", (event) => this.clickOn(around(event, "[data-name]")));
    board.addEventListener("pointerdown", (event) => {
      this.heldAt = { cell: around(event, "[data-name]"), x: event.clientX, y: event.clientY };
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
  }

  /** @param {string} text */
  make(text) {
    this.play(text);
    // What comes next is another position: nothing is picked there.
    this.state = stateOf([], []);
    this.mark();
  }

  /** @param {DrawnCell | null} cell */
  clickOn(cell) {
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
    if (held === null || held.cell === null || Math.hypot(event.clientX - held.x, event.clientY - held.y) < DRAG) return;
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
    const cell = around(event, "[data-name]");
    if (cell === null) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      const name = nameOf(cell);
      this.clickOn(cell);
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
    fill(
      this.board,
      drawBoards(laid, before),
      laid.rest.length > 0 &&
        element("ul", { class: "other-facts", "aria-label": "Other facts" }, laid.rest.map((fact) => element("li", null, spoken(fact)))),
    );
    this.cells = new Map();
    for (const board of laid.boards) {
      /** @type {NodeListOf<SVGElement>} */
      const drawings = this.board.querySelectorAll("svg.board");
      const drawn = [...drawings].find(
        ({ dataset }) => dataset.board === board.key && dataset.shape === board.shape.name,
      );
      /** @type {NodeListOf<SVGElement> | undefined} */
      const cells = drawn?.querySelectorAll("[data-cell]");
      for (const cell of cells ?? []) {
        const name = cellName(board, cell.dataset.cell ?? "");
        cell.dataset.name = name;
        cell.setAttribute("role", "button");
        cell.setAttribute("tabindex", "-1");
        this.cells.set(name, cell);
      }
    }
    const stop = this.cells.get(focused ?? this.stop) ?? this.cells.values().next().value;
    if (stop !== undefined) this.stopAt(stop);
    if (focused !== null) this.focus();
    this.mark();
  }

  /**
   * The cells of a move, in the order of its steps.
   * @param {string} text
   */
  cellsOf(text) {
    const move = this.choices.find((choice) => choice.text === text);
    return (move?.steps ?? []).flatMap((step) => [...step]);
  }

  /** Marks the cells that may be clicked, those that were, and others; asks where several moves are meant. */
  mark() {
    const open = this.isLocked ? new Set() : targets(this.state);
    const picked = new Set(this.state.picked);
    for (const [name, cell] of this.cells) {
      cell.classList.toggle("target", open.has(name));
      cell.classList.toggle("picked", picked.has(name));
      for (const [kind, names] of this.marks) cell.classList.toggle(kind, names.has(name));
      cell.setAttribute("aria-disabled", String(!open.has(name) && !picked.has(name)));
    }
    this.ask(this.state.ready);
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
    fill(
      this.which,
      element("span", null, "Which move?"),
      ready.map(({ text }) =>
        element("button", { type: "button", class: "button", on: { click: () => this.make(text) } }, spoken(text)),
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
    const found = this.choices.filter(({ text }) => sought === "" || spoken(text).toLowerCase().includes(sought));
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
        .map(({ text }) =>
          element("button", { type: "button", class: "plain", on: { click: () => this.make(text) } }, spoken(text)),
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
  const turned = {
    ...shape,
    cells: new Map([...shape.cells].map(([key, place]) => [key, turn(place)])),
    lineNames: [...shape.lineNames].reverse(),
    columnNames: [...shape.columnNames].reverse(),
    borders: borders && [2, 3, 0, 1].map((side) => borders[side]),
  };
  return turned;
}

/**
 * A joint move as people say it: the moves that are more than waiting.
 * @param {Joint} joint
 */
export function spokenJoint(joint) {
  const said = joint.filter((move) => !isIdle(move));
  return (said.length === 0 ? joint : said).map(spoken).join(" · ");
}
