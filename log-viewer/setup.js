// Setting up a position to study: what lies on cells is placed by clicks on the boards, other facts
// are chosen or written. The rules may say that such a position cannot be; the table tells.

import { factAt, layOut, placeOf } from "./board.js";
import { BoardPanel } from "./board_panel.js";
import { plainWords, readExpression, spoken, writeExpression } from "./expressions.js";
import { cellName } from "./labels.js";
import { byId, drawn, element, fill } from "./page.js";
import { drawPiece, look } from "./pieces.js";

/** @import { Content, Laid, Shape } from "./types.d.ts" */

/** What may be placed: a content of a shape, or with null nothing. */
/** @typedef {{ shape: Shape, content: Content } | null} Item */

export class Setup {
  constructor() {
    /** The facts that lie on boards. */
    this.facts = /** @type {string[]} */ ([]);
    this.shapes = /** @type {Shape[]} */ ([]);
    this.laid = /** @type {Laid} */ ({ boards: [], rest: [], shapes: [] });
    this.item = /** @type {Item} */ (null);
    /** The shapes of which several contents may lie on one cell. */
    this.heaped = /** @type {Set<string>} */ (new Set());
    this.panel = new BoardPanel({ board: byId("setup-board"), take: (name) => this.place(name) });
  }

  /**
   * Begins with a position.
   * @param {string[]} facts
   * @param {Shape[]} shapes
   * @param {string[]} roles
   */
  open(facts, shapes, roles) {
    const { rest } = layOut(facts, shapes);
    this.shapes = shapes;
    this.panel.speaker.setShapes(shapes);
    this.facts = facts.filter((fact) => !rest.includes(fact));
    this.laid = layOut(this.facts, shapes);
    this.heaped = new Set(shapes.filter((shape) => shape.form === "stack" || this.isHeaped(shape)).map(({ name }) => name));
    this.offerItems();
    offerRest(rest, roles);
    this.draw();
  }

  /**
   * Whether two contents of a shape lie on one cell.
   * @param {Shape} shape
   */
  isHeaped(shape) {
    const cells = this.facts.filter((fact) => headOf(fact) === shape.name).map((fact) => this.cellOf(fact));
    return new Set(cells).size < cells.length;
  }

  /**
   * The name of the cell that a fact lies on.
   * @param {string} fact
   */
  cellOf(fact) {
    const found = placeOf(fact, this.laid);
    return found === null ? "" : cellName(found.board, found.key);
  }

  draw() {
    this.laid = layOut(this.facts, this.shapes);
    this.panel.draw(this.laid, null);
  }

  /** The contents that were seen in the game, as buttons. */
  offerItems() {
    /** @type {Map<string, Item>} */
    const items = new Map(this.shapes.filter(({ hasContents }) => hasContents).flatMap((shape) => [...shape.contents].map(([text, content]) => [`${shape.name} ${text}`, { shape, content: { text, ...content } }])));
    for (const fact of this.facts) {
      const shape = this.shapes.find(({ name }) => name === headOf(fact));
      const content = placeOf(fact, this.laid)?.content;
      const key = `${shape?.name} ${content?.text}`;
      if (shape !== undefined && content !== undefined && !items.has(key)) items.set(key, { shape, content });
    }
    for (const shape of this.shapes) {
      // Facts that only say where have the name of their function for a content.
      if (!shape.hasContents) items.set(shape.name, { shape, content: { text: shape.name, label: shape.name, isBlank: false, rank: shape.rank } });
    }
    const shown = [null, ...[...items.values()].filter((item) => item?.content.isBlank === false)];
    this.item = shown[1] ?? null;
    byId("palette").hidden = shown.length === 1;
    fill(
      byId("palette"),
      shown.map((item) => {
        const choose = () => {
          this.item = item;
          for (const other of byId("palette").children) other.setAttribute("aria-pressed", String(other === button));
        };
        const says = item === null ? "empty" : spoken(item.content.text);
        const picture = item !== null && drawn("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" }, drawPiece(look(item.content)));
        /** @type {HTMLButtonElement} */
        const button = element("button", { type: "button", class: "button", "aria-pressed": String(item === this.item), on: { click: choose } }, picture, says);
        return button;
      }),
    );
  }

  /**
   * Puts the chosen content on a cell, or takes it away where it lies there.
   * @param {string} name
   */
  place(name) {
    const board = this.laid.boards.find((board) => [...board.cells.keys()].some((key) => cellName(board, key) === name));
    const key = board && [...board.cells.keys()].find((key) => cellName(board, key) === name);
    if (board === undefined || key === undefined) return;
    const { item } = this;
    const onBoard = this.shapes.filter((shape) => (shape.host ?? shape) === board.shape);
    // What lies on another board does not lie on this one.
    if (item !== null && !onBoard.includes(item.shape)) return;
    const here = this.facts.filter((fact) => this.cellOf(fact) === name);
    const placed = item === null ? "" : factAt(item.shape, board.key, key, item.content.text);
    const isTaken = item === null || here.includes(placed);
    /** @param {string} fact */
    const goes = (fact) => item === null || fact === placed || (headOf(fact) === item.shape.name && (!this.heaped.has(item.shape.name) || placeOf(fact, this.laid)?.content.isBlank));
    const left = here.filter((fact) => !goes(fact));
    // Games that name their empty cells have a content for that.
    const blanks = onBoard.flatMap((shape) => {
      const blank = [...shape.contents].find(([, { isBlank }]) => isBlank)?.[0];
      const isBare = blank !== undefined && !left.some((fact) => headOf(fact) === shape.name) && (isTaken || shape !== item?.shape);
      return isBare ? [factAt(shape, board.key, key, blank)] : [];
    });
    const others = this.facts.filter((fact) => !here.includes(fact));
    this.facts = [...others, ...left, ...blanks.filter((fact) => !left.includes(fact)), ...(isTaken ? [] : [placed])];
    this.draw();
  }

  /** The position as the table takes it. */
  get text() {
    const chosen = [...byId("setup-choices").querySelectorAll("select")].map(({ value }) => value);
    const written = byId("setup-rest", "textarea").value.split("\n");
    return [...this.facts, ...[...chosen, ...written].map((fact) => fact.trim()).filter(Boolean)].join("\n ");
  }
}

/** @param {string} fact */
function headOf(fact) {
  const read = readExpression(fact);
  return Array.isArray(read) ? read[0] : read;
}

/**
 * Offers the facts that lie on no board: those that name a role, such as whose turn it is, as a
 * choice of roles, the others as text.
 * @param {string[]} rest
 * @param {string[]} roles
 */
function offerRest(rest, roles) {
  const heads = rest.map(headOf);
  const isChoice = (/** @type {string} */ fact) => {
    const read = readExpression(fact);
    return Array.isArray(read) && read.some((part) => roles.includes(String(part))) && heads.filter((head) => head === read[0]).length === 1;
  };
  fill(
    byId("setup-choices"),
    rest.filter(isChoice).map((fact) => {
      const read = /** @type {import("./types.d.ts").Expression[]} */ (readExpression(fact));
      const at = read.findIndex((part) => roles.includes(String(part)));
      const options = roles.map((role) => {
        const other = writeExpression(read.with(at, role));
        return element("option", { value: other, selected: other === fact }, spoken(other).split(" ").slice(1).map(plainWords).join(" "));
      });
      return element("label", null, `${plainWords(String(read[0]))} `, element("select", null, options));
    }),
  );
  byId("setup-rest", "textarea").value = rest.filter((fact) => !isChoice(fact)).join("\n");
}
