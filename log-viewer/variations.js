// The tree of the lines of a game that are studied. A node is the position behind a joint move;
// its first child is the main line. Pure: no access to the page.

import { readExpression, writeExpression } from "./expressions.js";
import { object, texts } from "./format.js";

/** @import { Expression, Joint, LineNode, Notes } from "./types.d.ts" */

/** Nodes of a tree, turns of a line and characters of a text, and of one at a node, at most. */
const MOST_NODES = 20_000;
export const LONGEST_LINE = 2000;
export const LONGEST_TEXT = 2_000_000;
export const LONGEST_NOTE = 5000;
/** Marks of moves as in chess, in the order of their numbers there, from 1 on. */
export const MARKS = ["!", "?", "!!", "??", "!?", "?!"];

export class Variations {
  /**
   * A tree with one line of joint moves.
   * @param {Joint[]} [line]
   */
  constructor(line = []) {
    this.root = newNode(null, []);
    this.size = 1;
    /** Greater with each change. */
    this.changes = 0;
    this.add(this.root, line);
  }

  /**
   * The node behind a joint move, made if it is new; the node itself where the tree is full.
   * @param {LineNode} node
   * @param {Joint} joint
   */
  child(node, joint) {
    const known = node.children.find((child) => isSame(child.joint, joint));
    if (known !== undefined || this.size >= MOST_NODES) return known ?? node;
    const made = newNode(node, joint);
    node.children.push(made);
    this.size += 1;
    this.changes += 1;
    return made;
  }

  /**
   * The node behind joint moves from a node on.
   * @param {LineNode} node
   * @param {Joint[]} line
   */
  add(node, line) {
    return line.reduce((at, joint) => this.child(at, joint), node);
  }

  /**
   * Takes a node and all behind it away.
   * @param {LineNode} node
   */
  remove(node) {
    if (node.parent === null) return;
    node.parent.children = node.parent.children.filter((child) => child !== node);
    this.size -= nodesOf(node).length;
    this.changes += 1;
  }

  /**
   * Changes what a person has written at a node.
   * @param {LineNode} node
   * @param {Partial<Notes>} notes
   */
  annotate(node, notes) {
    Object.assign(node, notes);
    this.changes += 1;
  }

  /** All ends of lines, that of the main line first. */
  leaves() {
    return nodesOf(this.root).filter(({ children }) => children.length === 0);
  }

  /**
   * The tree as JSON: of each node behind the root the place of its parent in the list, its joint
   * move, and what is written there, if anything is.
   * @returns {[parent: number, joint: Joint, notes?: Notes][]}
   */
  kept() {
    const nodes = nodesOf(this.root);
    const places = new Map(nodes.map((node, place) => [node, place]));
    return nodes.flatMap(({ parent, joint, text, mark, cells }) =>
      parent === null ? [] : [text || mark || cells.length > 0 ? [places.get(parent) ?? 0, joint, { text, mark, cells }] : [places.get(parent) ?? 0, joint]],
    );
  }

  /**
   * A tree that was kept; null where that is none.
   * @param {unknown} kept
   */
  static read(kept) {
    if (!Array.isArray(kept) || kept.length >= MOST_NODES) return null;
    const tree = new Variations();
    const nodes = [tree.root];
    for (const [parent, joint, notes] of kept) {
      if (nodes[parent] === undefined || !Array.isArray(joint)) return null;
      const node = tree.child(nodes[parent], joint.map(String));
      Object.assign(node, readNotes(notes));
      nodes.push(node);
    }
    return tree;
  }
}

/**
 * What a person has written at a node, from JSON.
 * @param {unknown} kept
 * @returns {Notes}
 */
export function readNotes(kept) {
  const { text, mark, cells } = object(kept);
  return { text: String(text ?? "").slice(0, LONGEST_NOTE), mark: MARKS.find((known) => known === mark) ?? "", cells: texts(cells) };
}

/**
 * @param {LineNode | null} parent
 * @param {Joint} joint
 * @returns {LineNode}
 */
function newNode(parent, joint) {
  return {
    parent,
    joint,
    turn: parent === null ? 0 : parent.turn + 1,
    children: [],
    last: null,
    worth: null,
    view: null,
    fault: null,
    text: "",
    mark: "",
    cells: [],
  };
}

/**
 * @param {Joint} one
 * @param {Joint} other
 */
function isSame(one, other) {
  return one.length === other.length && one.every((text, place) => text === other[place]);
}

/**
 * A node and all behind it, parents first, the main line before the others.
 * @param {LineNode} node
 */
export function nodesOf(node) {
  const found = [];
  const left = [node];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    found.push(next);
    for (let place = next.children.length - 1; place >= 0; place -= 1) left.push(next.children[place]);
  }
  return found;
}

/**
 * The nodes from the root to a node.
 * @param {LineNode} node
 */
export function pathTo(node) {
  const path = [];
  for (let at = /** @type {LineNode | null} */ (node); at !== null; at = at.parent) path.push(at);
  return path.reverse();
}

/**
 * The joint moves from the root to a node.
 * @param {LineNode} node
 */
export function lineTo(node) {
  return pathTo(node)
    .slice(1)
    .map(({ joint }) => joint);
}

/**
 * The end of the line through a node: on from it, what was looked at last, else the main line.
 * @param {LineNode} node
 */
export function endOf(node) {
  let at = node;
  for (let next = nextOf(at); next !== null; next = nextOf(at)) at = next;
  return at;
}

/**
 * The node behind one, as [`endOf`] goes; null at the end.
 * @param {LineNode} node
 */
export function nextOf(node) {
  return node.children.find((child) => child === node.last) ?? node.children[0] ?? null;
}

/**
 * The role's value of a node: its proven goal, else its value, else null.
 * @param {LineNode} node
 * @param {number} role
 */
export function worthOf(node, role) {
  return node.worth?.proven[role] ?? node.worth?.values[role] ?? null;
}

/**
 * Where a line leads from the root of a tree, as far as it is there.
 * @param {LineNode} root
 * @param {Joint[]} line
 */
export function findNode(root, line) {
  let at = /** @type {LineNode | undefined} */ (root);
  for (const joint of line) at = at?.children.find((child) => isSame(child.joint, joint));
  return at;
}

/**
 * A line as text, one joint move a line.
 * @param {Joint[]} line
 * @param {string[]} [remarks]
 */
export function lineText(line, remarks = []) {
  const lines = line.map((joint) => `(${joint.join(" ")})`);
  return [...remarks.map((remark) => `; ${remark}`), ...lines, ""].join("\n");
}

/**
 * The joint moves of a text, each with `nRoles` moves: `{ line, problem }`. A comment begins with a
 * semicolon. In a game of one role a line may be its move without the parentheses around it.
 * @param {string} text
 * @param {number} nRoles
 * @returns {{ line: Joint[], problem: string | null }}
 */
export function readLine(text, nRoles) {
  if (text.length > LONGEST_TEXT) return { line: [], problem: "the text is too long" };
  /** @type {Joint[]} */
  const line = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const said = raw.replace(/;.*$/, "").trim();
    if (said === "") continue;
    const where = `line ${index + 1}`;
    if (line.length >= LONGEST_LINE) return { line, problem: `${where}: a line has at most ${LONGEST_LINE} turns` };
    const read = readExpression(said);
    if (read === null) return { line, problem: `${where}: expected one joint move, such as ((drop 3) noop)` };
    const isJoint = Array.isArray(read) && read.length === nRoles && (nRoles > 1 || Array.isArray(read[0]));
    if (isJoint) line.push(read.map(plain));
    else if (nRoles === 1) line.push([plain(read)]);
    else return { line, problem: `${where}: expected a list of ${nRoles} moves, one of each role` };
  }
  return { line, problem: null };
}

/**
 * A move as the rules write it: a list of one symbol is that symbol.
 * @param {Expression} expression
 */
function plain(expression) {
  let read = expression;
  while (Array.isArray(read) && read.length === 1) [read] = read;
  return writeExpression(read);
}
