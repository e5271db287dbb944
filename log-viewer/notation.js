// A study as one text that people read, after the notation of chess games: headers, chapters, moves
// with numbers, comments in braces, variations in parentheses, and marks. `docs/studying.md` has an
// example. A study is also a link, the text deflated in base64url. Pure: no access to the page.

import { readExpression, writeExpression } from "./expressions.js";
import { LONGEST_NAME, MOST_CHAPTERS } from "./chapters.js";
import { LONGEST_LINE, LONGEST_NOTE, LONGEST_TEXT, MARKS, Variations } from "./variations.js";

/** @import { Chapter, Expression, Joint, LineNode, StudyText } from "./types.d.ts" */

/** Columns of a line of moves, nested parts of a move, and marked cells of a position, at most. */
const WIDTH = 90;
const DEEPEST = 100;
const MOST_CELLS = 1000;
/** Characters of a link, at most. */
export const LONGEST_LINK = 8000;

const PLAIN = /^[\p{L}\p{N}_+*<>=-][\p{L}\p{N}_+*<>=.$-]*$/u;
const NUMBER = /^\d+\.+$/;

/**
 * @param {Omit<StudyText, "chapters">} of
 * @param {Pick<Chapter, "name" | "start" | "tree">[]} chapters
 */
export function writeStudy({ game, rules, dialect }, chapters) {
  const head = [header("Game", game), ...(rules === null ? [] : [header("Dialect", dialect), header("Sheet", rules)])];
  const parts = chapters.map(({ name, start, tree }) =>
    [header("Chapter", name), ...(start === "" ? [] : [header("Start", start)]), "", wrapped(tokensOf(tree.root)), ""].join("\n"),
  );
  return [...head, "", ...parts].join("\n");
}

/**
 * @param {string} name
 * @param {string} value
 */
function header(name, value) {
  return `[${name} ${quoted(value)}]`;
}

/** @param {string} text */
function quoted(text) {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/**
 * The moves behind a node, with what is written there.
 * @param {LineNode} root
 */
function tokensOf(root) {
  const tokens = commentOf(root);
  /** @type {(string | LineNode)[]} tokens, and nodes whose lines are written, the next one last */
  const left = [root];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (next === ")") tokens.push(`${tokens.pop()})`);
    else if (typeof next === "string") tokens.push(next);
    else if (next.children.length > 0) {
      const [first, ...others] = next.children;
      left.push(first);
      for (const other of others.toReversed()) left.push(")", other, ...turnOf(other, "(").reverse());
      tokens.push(...turnOf(first));
    }
  }
  return tokens;
}

/**
 * A turn: its number, the moves of the roles, and what is written there.
 * @param {LineNode} node
 */
function turnOf(node, before = "") {
  return [`${before}${node.turn}.`, node.joint.map(writeMove).join("/") + node.mark, ...commentOf(node)];
}

/** @param {LineNode} node */
function commentOf({ text, cells }) {
  if (text === "" && cells.length === 0) return [];
  const marked = cells.length === 0 ? "" : `[%cells ${cells.join(";")}] `;
  return [`{${marked}${text.replace(/[\\}]|^\[/g, "\\$&")}}`];
}

/**
 * Tokens in lines of some width.
 * @param {string[]} tokens
 */
function wrapped(tokens) {
  const lines = [""];
  for (const token of tokens) {
    const last = lines.length - 1;
    if (lines[last] === "") lines[last] = token;
    else if (lines[last].length + token.length < WIDTH) lines[last] += ` ${token}`;
    else lines.push(token);
  }
  return lines.join("\n");
}

/**
 * A move of the rules: `(drop 3)` as `drop(3)`.
 * @param {string} move
 */
function writeMove(move) {
  const read = readExpression(move);
  return (read === null ? null : asFunction(read, 0)) ?? quoted(move);
}

/**
 * @param {Expression} read
 * @param {number} depth
 * @returns {string | null} null where it has no name in front
 */
function asFunction(read, depth) {
  if (typeof read === "string") return PLAIN.test(read) && !NUMBER.test(read) ? read : quoted(read);
  const [name, ...parts] = read;
  const written = parts.map((part) => asFunction(part, depth + 1));
  if (typeof name !== "string" || written.includes(null) || depth >= DEEPEST) return null;
  return `${asFunction(name, depth)}(${written.join(",")})`;
}

/**
 * Where a place of a text is, for people.
 * @param {string} text
 * @param {number} at
 */
export function lineAndColumn(text, at) {
  const before = text.slice(0, at).split("\n");
  return `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
}

/**
 * The study that a text holds. What cannot be read throws an error that says where.
 * @param {string} text
 * @returns {StudyText}
 */
export function readStudy(text) {
  if (text.length > LONGEST_TEXT) throw new Error(`The text is too long: it has ${text.length} characters, at most ${LONGEST_TEXT} are read.`);
  return new Reader(text).study();
}

class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
    /** @type {StudyText} */
    this.read = { game: "", rules: null, dialect: "", chapters: [] };
    /** Whether the next header begins a chapter. */
    this.isBehind = true;
    /** The node that was read last, and those behind which variations began. */
    this.node = /** @type {LineNode | null} */ (null);
    this.open = /** @type {LineNode[]} */ ([]);
  }

  study() {
    for (this.space(); this.at < this.text.length; this.space()) {
      if (this.text[this.at] === "[") this.header();
      else this.token();
    }
    this.close();
    if (this.read.game === "") this.fail('expected a header that names the game, such as [Game "ticTacToe"]', 0);
    if (this.read.chapters.length === 0) this.chapter("");
    return this.read;
  }

  /**
   * @param {string} says
   * @returns {never}
   */
  fail(says, at = this.at) {
    throw new Error(`${lineAndColumn(this.text, at)}: ${says}`);
  }

  space() {
    this.take(/\s+/y);
  }

  /**
   * The text here that fits a sticky expression, behind which reading goes on; null if none does.
   * @param {RegExp} form
   */
  take(form) {
    form.lastIndex = this.at;
    const found = form.exec(this.text);
    if (found !== null) this.at += found[0].length;
    return found;
  }

  /** A text between quotes, which may have several lines. */
  quotedText() {
    const found = this.take(/"((?:[^"\\]|\\[^])*)"/y);
    return found === null ? null : found[1].replace(/\\([^])/g, "$1");
  }

  header() {
    const from = this.at;
    const name = this.take(/\[\s*(\w+)\s*/y)?.[1];
    const value = name === undefined ? null : this.quotedText();
    if (name === undefined || value === null || this.take(/\s*\]/y) === null) this.fail('expected a header, such as [Chapter "The first"]', from);
    if (name === "Game" && this.read.game !== "" && value !== this.read.game) this.fail(`a study has one game: ${this.read.game}`, from);
    if (name === "Game") this.read.game = value;
    else if (name === "Sheet") this.read.rules = value;
    else if (name === "Dialect") this.read.dialect = value;
    else if (name === "Chapter" || name === "Start") {
      if (this.isBehind || name === "Chapter") this.chapter(name === "Chapter" ? value : "", from);
      const chapter = this.read.chapters[this.read.chapters.length - 1];
      if (name === "Start") chapter.start = value;
      if (name === "Start") chapter.places.set(chapter.tree.root, from);
    }
  }

  /**
   * Begins a chapter.
   * @param {string} name
   */
  chapter(name, from = this.at) {
    this.close();
    const { chapters } = this.read;
    if (chapters.length >= MOST_CHAPTERS) this.fail(`a study has at most ${MOST_CHAPTERS} chapters`, from);
    const tree = new Variations();
    this.node = tree.root;
    this.isBehind = false;
    chapters.push({ name: name.slice(0, LONGEST_NAME) || `Chapter ${chapters.length + 1}`, start: "", tree, places: new Map([[tree.root, from]]) });
  }

  /** The end of a chapter. */
  close() {
    if (this.open.length > 0) this.fail("the variation is not ended: expected )");
  }

  /** A part of a line. */
  token() {
    if (this.node === null) this.chapter("");
    this.isBehind = true;
    const from = this.at;
    const node = /** @type {LineNode} */ (this.node);
    const [character] = this.text.slice(from, from + 1);
    if (character === "{") this.comment(node);
    else if (character === "(") {
      if (node.parent === null) this.fail("expected a move before its variation");
      this.at += 1;
      this.open.push(node);
      this.node = node.parent;
    } else if (character === ")") {
      this.at += 1;
      this.node = this.open.pop() ?? this.fail("there is no variation that ends here", from);
    } else if (this.take(/\$\d+|[!?]{1,2}/y) !== null) this.mark(node, this.text.slice(from, this.at), from);
    else if (this.take(/\d+\.+(?=[\s({]|$)/y) === null) this.turn(node);
  }

  /**
   * @param {LineNode} node
   * @param {string} said
   * @param {number} from
   */
  mark(node, said, from) {
    const mark = said[0] === "$" ? MARKS[Number(said.slice(1)) - 1] : MARKS.find((known) => known === said);
    if (node.parent === null) this.fail("expected a move before its mark", from);
    // Other numbers of chess say nothing here.
    if (mark === undefined && said[0] !== "$") this.fail(`expected one of ${MARKS.join(" ")}`, from);
    node.mark = mark ?? node.mark;
  }

  /** @param {LineNode} node */
  comment(node) {
    const from = this.at;
    const found = this.take(/\{(?:\[%cells ([^\]]*)\] ?)?((?:[^\\}]|\\[^])*)\}/y) ?? this.fail("the comment is not ended: expected }", from);
    const said = found[2].replace(/\\([^])/g, "$1");
    node.text = node.text === "" ? said : `${node.text}\n${said}`;
    if (node.text.length > LONGEST_NOTE) this.fail(`a comment has at most ${LONGEST_NOTE} characters`, from);
    if (found[1] !== undefined) node.cells = found[1].split(";").slice(0, MOST_CELLS);
  }

  /**
   * The moves of all roles in a turn.
   * @param {LineNode} node
   */
  turn(node) {
    const from = this.at;
    /** @type {Joint} */
    const joint = [this.move()];
    while (this.take(/\//y) !== null) joint.push(this.move());
    const { tree, places } = this.read.chapters[this.read.chapters.length - 1];
    if (node.turn >= LONGEST_LINE) this.fail(`a line has at most ${LONGEST_LINE} turns`, from);
    const made = tree.child(node, joint);
    if (made === node) this.fail(`a chapter has at most ${tree.size} positions`, from);
    places.set(made, from);
    this.node = made;
  }

  /** A move, as the rules write it. */
  move() {
    const from = this.at;
    const quoted = this.text[from] === '"' ? this.quotedText() : null;
    // A move that has no name in front stands between quotes as it is.
    if (quoted !== null && /^\s*\(/.test(quoted)) return quoted;
    this.at = from;
    return writeExpression(this.term(0));
  }

  /**
   * @param {number} depth
   * @returns {Expression}
   */
  term(depth) {
    const from = this.at;
    if (depth > DEEPEST) this.fail("this is nested too deeply");
    const name = this.quotedText() ?? this.take(/[\p{L}\p{N}_+*<>=-][\p{L}\p{N}_+*<>=.$-]*/uy)?.[0];
    if (name === undefined || name === "") this.fail("expected a move, such as drop(3) or noop", from);
    if (this.take(/\(\s*/y) === null) return name;
    const parts = [];
    while (this.take(/\s*\)/y) === null) {
      if (parts.length > 0 && this.take(/\s*,\s*/y) === null) this.fail("expected , or )");
      parts.push(this.term(depth + 1));
    }
    return [name, ...parts];
  }
}

/**
 * A text as the fragment of a link. It throws an error where that is too long.
 * @param {string} text
 */
export async function packStudy(text) {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const length = Math.ceil((4 * bytes.length) / 3);
  if (length > LONGEST_LINK) throw new Error(`The study is too long for a link: it takes ${length} characters, at most ${LONGEST_LINK} fit. Save it as a file.`);
  const letters = btoa(String.fromCharCode(...bytes));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * The text of such a fragment. It throws an error where that is none.
 * @param {string} packed
 */
export async function unpackStudy(packed) {
  const wrong = new Error("The link holds no study: it may have been cut off.");
  if (packed.length > LONGEST_LINK || !/^[\w-]*$/.test(packed)) throw wrong;
  let text = "";
  try {
    const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream());
    const reader = unpacked.getReader();
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      text += value;
      // A short link may unpack to any length.
      if (text.length > LONGEST_TEXT) throw wrong;
    }
  } catch {
    throw wrong;
  }
  return text;
}
