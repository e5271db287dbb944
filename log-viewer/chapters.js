// The chapters of a study: each has a name, a position that it begins with and a tree of lines.
// Pure: no access to the page.

import { list, object } from "./format.js";
import { Variations, nodesOf, pathTo, readNotes } from "./variations.js";

/** @import { Chapter, LineNode } from "./types.d.ts" */

/** Chapters of a study and characters of a name, at most. */
export const MOST_CHAPTERS = 64;
export const LONGEST_NAME = 80;

export class Chapters {
  /** @param {Chapter[]} [chapters] */
  constructor(chapters = []) {
    /** @type {Chapter[]} */
    this.list = chapters;
    /** Changes of the list, and of trees that are not there any more. */
    this.own = 0;
    /** @type {number} */
    this.next = 1 + Math.max(-1, ...chapters.map(({ id }) => id));
    if (chapters.length === 0) this.add("Chapter 1", "");
  }

  /** Greater with each change of a chapter or its tree. */
  get changes() {
    return this.list.reduce((sum, { tree }) => sum + tree.changes, this.own);
  }

  get isFull() {
    return this.list.length >= MOST_CHAPTERS;
  }

  /**
   * @param {string} name
   * @param {string} start
   */
  add(name, start, tree = new Variations()) {
    /** @type {Chapter} */
    const chapter = { id: this.next, name: name.slice(0, LONGEST_NAME), start, tree };
    this.list.push(chapter);
    this.next += 1;
    this.own += 1;
    return chapter;
  }

  /**
   * @param {Chapter} chapter
   * @param {string} name
   */
  rename(chapter, name) {
    chapter.name = name.slice(0, LONGEST_NAME);
    this.own += 1;
  }

  /** @param {Chapter} chapter */
  remove(chapter) {
    this.list = this.list.filter((other) => other !== chapter);
    this.own += 1 + chapter.tree.changes;
  }

  /**
   * The chapter of a node; the first, where that was taken away.
   * @param {LineNode} node
   */
  of(node) {
    const [root] = pathTo(node);
    return this.list.find(({ tree }) => tree.root === root) ?? this.list[0];
  }

  /** The chapters as JSON. */
  kept() {
    return {
      chapters: this.list.map(({ id, name, start, tree }) => {
        const { text, cells } = tree.root;
        return { id, name, start, notes: { text, cells }, lines: tree.kept() };
      }),
    };
  }

  /**
   * Chapters that were kept; null where these are none. Before there were any, one tree was kept,
   * from the position of the study's `start`.
   * @param {unknown} kept
   * @param {string} start
   */
  static read(kept, start) {
    const alone = Array.isArray(kept) ? [{ id: 0, name: "Chapter 1", start, lines: kept }] : [];
    const read = [...alone, ...list(object(kept).chapters)].slice(0, MOST_CHAPTERS).flatMap((raw) => {
      const { id, name, start, notes, lines } = object(raw);
      const tree = Variations.read(lines);
      if (tree === null || typeof id !== "number") return [];
      Object.assign(tree.root, readNotes(notes), { mark: "" });
      return [{ id, name: String(name ?? ""), start: String(start ?? ""), tree }];
    });
    return read.length === 0 ? null : new Chapters(read);
  }

  /**
   * What is known of the positions of other chapters is taken over, where they have the same ones.
   * @param {Chapters} others
   */
  learn(others) {
    for (const { id, tree } of this.list) {
      const other = others.list.find((known) => known.id === id);
      /** @type {[LineNode, LineNode][]} */
      const pairs = other === undefined ? [] : [[tree.root, other.tree.root]];
      for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
        const [node, { worth, view, fault, children }] = pair;
        Object.assign(node, { worth, view, fault });
        const known = new Map(children.map((child) => [String(child.joint), child]));
        for (const child of node.children) {
          const same = known.get(String(child.joint));
          if (same !== undefined) pairs.push([child, same]);
        }
      }
    }
  }

  /** Whether a person has done nothing yet. */
  get isUntouched() {
    const [{ tree, start }] = this.list;
    return this.list.length === 1 && start === "" && nodesOf(tree.root).length === 1 && tree.root.text === "" && tree.root.cells.length === 0;
  }
}
