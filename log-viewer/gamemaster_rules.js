// Rules of Gamemaster for the page that plays there, as a worker: it follows a match and knows one
// legal move, for when the player cannot be reached. Rules are proven from left to right, depth
// first, as Gamemaster does it; all answers are bounded by a number of steps. `docs/hrf.md`
// describes the dialect.
//
// Messages: `{ id, do: "start", role, rules }`, `{ id, do: "play", move }` with the last move or
// "[]". Each is answered by `{ id, move }`: a legal move as text, or null where another role is in
// control or none was found.

/** Steps of a proof for one answer; they take some seconds. */
const MOST_STEPS = 20_000_000;
/** Depth of effects that are actions. */
const MOST_EFFECTS = 100;
/** Depth of parentheses and operators in a text. */
const MOST_NESTING = 500;

/** @import { RulesQuestion, Term, Variable } from "./types.d.ts" */

/**
 * Operators between two terms with the strength that binds them; `~` stands before one.
 * @type {Record<string, number>}
 */
const STRENGTHS = { "::": 1, ":-": 2, ":=": 3, "==>": 4, "|": 5, "&": 6, "!": 8 };
const NOT_STRENGTH = 7;

/** @param {string} text */
function tokens(text) {
  const found = text.matchAll(/%[^\n]*|\s+|"[^"]*"|==>|::|:-|:=|_|[*+](?=[^\s])|-(?![\d])|[\w./*+-]+|[^\s]/gu);
  const kept = [];
  for (const [token] of found) if (!/^(%|\s)/u.test(token) && token !== ".") kept.push(token);
  return kept;
}

/**
 * Reads the sentences of a text; throws at what is none.
 * @param {string} text
 */
function readAll(text) {
  const all = tokens(text);
  let at = 0;
  let unnamed = 0;
  /** @param {string} token */
  const expect = (token) => {
    if (all[at++] !== token) throw new Error(`expected ${token} before ${all[at] ?? "the end"}`);
  };
  /** @type {(end: string, depth: number) => Term[]} */
  const list = (end, depth) => {
    const parts = [];
    while (all[at] !== end) {
      if (parts.length > 0) expect(",");
      parts.push(expression(0, depth));
    }
    at += 1;
    return parts;
  };
  /** @type {(depth: number) => Term} */
  const primary = (depth) => {
    const token = all[at++];
    if (token === "~") return { name: "not", parts: [expression(NOT_STRENGTH, depth)] };
    if (token === "_") return { variable: `_${(unnamed += 1)}` };
    if (token === "(") {
      const inner = expression(0, depth);
      expect(")");
      return inner;
    }
    if (token === "[") {
      /** @type {Term} */
      const nil = "nil";
      return list("]", depth).reduceRight((rest, part) => ({ name: "!", parts: [part, rest] }), nil);
    }
    if (token === undefined || !/^[\w./*+"-]/u.test(token)) throw new Error(`found ${token ?? "the end"}`);
    if (all[at] === "(") {
      at += 1;
      return { name: token, parts: list(")", depth) };
    }
    return token[0] !== token[0].toLowerCase() ? { variable: token } : token;
  };
  /** @type {(least: number, depth: number) => Term} */
  const expression = (least, depth) => {
    if (depth > MOST_NESTING) throw new Error("nested too deeply");
    let left = primary(depth + 1);
    while (STRENGTHS[all[at]] > least) {
      const name = all[at++];
      // Lists bind to the right.
      const right = expression(name === "!" ? STRENGTHS[name] - 1 : STRENGTHS[name], depth + 1);
      left = { name, parts: [left, right] };
    }
    return left;
  };
  const sentences = [];
  while (at < all.length) sentences.push(expression(0, 0));
  return sentences;
}

/**
 * @param {Term} term
 * @returns {string}
 */
function write(term) {
  if (typeof term === "string") return term === "nil" ? "[]" : term;
  if (term.variable !== undefined) return term.variable;
  return `${term.name}(${term.parts.map(write).join(",")})`;
}

/**
 * The name of a term; an empty one of a variable.
 * @param {Term} term
 */
const nameOf = (term) => (typeof term === "string" ? term : (term.name ?? ""));

/**
 * The parts of a term; a name and a variable have none.
 * @param {Term} term
 */
const partsOf = (term) => (typeof term === "string" ? [] : (term.parts ?? []));

/**
 * What a term is bound to by now.
 * @param {Term} term
 */
function bound(term) {
  while (typeof term !== "string" && term.variable !== undefined && term.value !== undefined) term = term.value;
  return term;
}

/**
 * A copy in which all variables are bound ones or new.
 * @param {Term} term
 * @param {Map<string, Variable>} variables
 * @returns {Term}
 */
function copied(term, variables) {
  if (typeof term === "string") return term;
  if (term.variable !== undefined) {
    const kept = variables.get(term.variable) ?? { variable: term.variable, value: undefined };
    variables.set(term.variable, kept);
    return kept;
  }
  return { name: term.name, parts: term.parts.map((part) => copied(part, variables)) };
}

/**
 * A copy with the values of bound variables.
 * @param {Term} term
 * @returns {Term}
 */
function settled(term) {
  const known = bound(term);
  if (typeof known === "string" || known.variable !== undefined) return known;
  return { name: known.name, parts: known.parts.map(settled) };
}

/** @param {Term} term */
function number(term) {
  const known = bound(term);
  return typeof known === "string" && /^-?\d+(\.\d+)?$/u.test(known) ? Number(known) : undefined;
}

// Maps, since a relation of the rules may have a name that every object has a member of.

/**
 * Relations on numbers, which hold or not.
 * @type {Map<string, (a: number, b: number) => boolean>}
 */
const COMPARED = new Map([["leq", (a, b) => a <= b], ["less", (a, b) => a < b]]);
/**
 * Relations on numbers whose last argument is the result.
 * @type {Map<string, (values: number[]) => number>}
 */
const COMPUTED = new Map([
  ["plus", (values) => values.reduce((sum, value) => sum + value, 0)],
  ["times", (values) => values.reduce((product, value) => product * value, 1)],
  ["minus", ([first, ...others]) => others.reduce((rest, value) => rest - value, first)],
  ["quotient", ([first, ...others]) => others.reduce((rest, value) => rest / value, first)],
  ["remainder", ([first, second]) => first % second],
  ["min", (values) => Math.min(...values)],
  ["max", (values) => Math.max(...values)],
  ["abs", ([value]) => Math.abs(value)],
]);

/** @typedef {{ head: Term, body: Term }} Rule */
/** @typedef {Rule & { effects: Term }} Operation */
/** @typedef {Map<string, Term>} Effects */

class Game {
  /** @param {string} text */
  constructor(text) {
    /** By the name of the head. @type {Map<string, Rule[]>} */
    this.rules = new Map();
    /** @type {Map<string, Operation[]>} */
    this.operations = new Map();
    for (const sentence of readAll(text)) this.#add(sentence);
    /** Variables in the order in which they were bound. @type {Variable[]} */
    this.trail = [];
    this.steps = 0;
    /** The facts that hold, by name. @type {Map<string, Term[]>} */
    this.state = new Map();
    this.#reset();
    this.#take(this.#initial());
  }

  /**
   * The first value of `X` for which a goal holds, as text; null where there is none.
   * @param {string} goal
   */
  first(goal) {
    this.#reset();
    const value = { variable: "X" };
    const asked = copied(readAll(goal)[0], new Map([["X", value]]));
    /** @type {string | null} */
    let answer = null;
    this.#prove(asked, () => {
      answer = write(settled(value));
      return true;
    });
    this.#undo(0);
    return answer;
  }

  /**
   * Goes on by a move.
   * @param {string} move
   */
  play(move) {
    this.#reset();
    /** @type {Effects} */
    const added = new Map();
    /** @type {Set<string>} */
    const deleted = new Set();
    this.#effects(readAll(move)[0], added, deleted, 0);
    const kept = [...this.state.values()].flat().filter((fact) => !deleted.has(write(fact)) && !added.has(write(fact)));
    this.#take([...kept, ...added.values()]);
  }

  #reset() {
    this.steps = 0;
    this.#undo(0);
  }

  /** @param {Term} sentence */
  #add(sentence) {
    /** @type {<Kind extends Rule>(map: Map<string, Kind[]>, rule: Kind) => void} */
    const put = (map, rule) => {
      const name = nameOf(rule.head);
      map.set(name, [...(map.get(name) ?? []), rule]);
    };
    const [head, other] = partsOf(sentence);
    const operator = partsOf(sentence).length === 2 ? nameOf(sentence) : "";
    if (operator === ":-") {
      put(this.rules, { head, body: other });
    } else if (operator === "::") {
      const [body, effects] = nameOf(other) === "==>" ? partsOf(other) : ["true", other];
      put(this.operations, { head, body, effects });
      // A name with operations is a view without facts.
      if (!this.rules.has(nameOf(head))) this.rules.set(nameOf(head), []);
    } else {
      put(this.rules, { head: sentence, body: "true" });
    }
  }

  /** @param {Iterable<Term>} facts */
  #take(facts) {
    this.state = new Map();
    const seen = new Set();
    for (const fact of facts) {
      const text = write(fact);
      if (seen.has(text)) continue;
      seen.add(text);
      const known = this.state.get(nameOf(fact)) ?? [];
      known.push(fact);
      this.state.set(nameOf(fact), known);
    }
  }

  #initial() {
    const fact = { variable: "X" };
    /** @type {Term[]} */
    const found = [];
    this.#prove({ name: "init", parts: [fact] }, () => {
      found.push(settled(fact));
      return false;
    });
    return found;
  }

  /**
   * @param {Term} action
   * @param {Effects} added
   * @param {Set<string>} deleted
   * @param {number} depth
   */
  #effects(action, added, deleted, depth) {
    if (depth > MOST_EFFECTS) throw new Error("effects without end");
    const operations = this.operations.get(nameOf(action));
    if (operations === undefined) {
      added.set(write(action), action);
      return;
    }
    /** @type {Term[]} */
    const found = [];
    for (const { head, body, effects } of operations) {
      const variables = new Map();
      const start = this.trail.length;
      if (this.#unify(copied(head, variables), action)) {
        const condition = copied(body, variables);
        const effect = copied(effects, variables);
        this.#prove(condition, () => {
          found.push(settled(effect));
          return false;
        });
      }
      this.#undo(start);
    }
    for (const effect of found) this.#effect(effect, added, deleted, depth);
  }

  /**
   * @param {Term} effect
   * @param {Effects} added
   * @param {Set<string>} deleted
   * @param {number} depth
   */
  #effect(effect, added, deleted, depth) {
    const name = nameOf(effect);
    if (name === "&") for (const part of partsOf(effect)) this.#effect(part, added, deleted, depth);
    else if (name === "not") deleted.add(write(partsOf(effect)[0]));
    else if (effect !== "true") this.#effects(effect, added, deleted, depth + 1);
  }

  /** @param {number} length */
  #undo(length) {
    while (this.trail.length > length) {
      const variable = this.trail.pop();
      if (variable !== undefined) variable.value = undefined;
    }
  }

  /**
   * @param {Term} left
   * @param {Term} right
   * @returns {boolean}
   */
  #unify(left, right) {
    const one = bound(left);
    const other = bound(right);
    if (one === other) return true;
    /** @type {(variable: Variable, value: Term) => boolean} */
    const bind = (variable, value) => {
      variable.value = value;
      this.trail.push(variable);
      return true;
    };
    if (typeof one !== "string" && one.variable !== undefined) return bind(one, other);
    if (typeof other !== "string" && other.variable !== undefined) return bind(other, one);
    if (typeof one === "string" || typeof other === "string") return false;
    if (one.name !== other.name || one.parts.length !== other.parts.length) return false;
    return one.parts.every((part, index) => this.#unify(part, other.parts[index]));
  }

  /**
   * Calls `then` for each proof until it returns true; returns whether it did. Bindings are undone
   * where it did not.
   * @param {Term} goal
   * @param {() => boolean} then
   * @returns {boolean}
   */
  #prove(goal, then) {
    if ((this.steps += 1) > MOST_STEPS) throw new Error("too many steps");
    const start = this.trail.length;
    const asked = bound(goal);
    const name = nameOf(asked);
    const parts = partsOf(asked);
    /** @param {boolean} holds */
    const attempt = (holds) => {
      if (holds && then()) return true;
      this.#undo(start);
      return false;
    };
    if (name === "&" || name === "and") return this.#together(parts, 0, then);
    if (name === "|" || name === "or") return parts.some((part) => this.#prove(part, then));
    if (name === "not") {
      const holds = this.#prove(parts[0], () => true);
      this.#undo(start);
      return attempt(!holds);
    }
    if (asked === "true") return then();
    if (name === "same" && parts.length === 2) return attempt(this.#unify(parts[0], parts[1]));
    if ((name === "distinct" || name === "mutex") && parts.length >= 2) {
      const differ = parts.every((part, index) =>
        parts.slice(index + 1).every((other) => {
          const before = this.trail.length;
          const equal = this.#unify(part, other);
          this.#undo(before);
          return !equal;
        }),
      );
      return attempt(differ);
    }
    const compare = COMPARED.get(name);
    if (compare !== undefined && parts.length === 2) {
      const [left, right] = parts.map(number);
      return attempt(left !== undefined && right !== undefined && compare(left, right));
    }
    const compute = COMPUTED.get(name);
    if (compute !== undefined && parts.length >= 2) {
      const values = parts.slice(0, -1).map(number);
      if (!values.every((value) => value !== undefined)) return false;
      return attempt(this.#unify(parts[parts.length - 1], String(compute(values))));
    }
    if (name === "countofall" && parts.length === 3) {
      const found = new Set();
      this.#prove(parts[1], () => {
        found.add(write(settled(parts[0])));
        return false;
      });
      this.#undo(start);
      return attempt(this.#unify(parts[2], String(found.size)));
    }
    const rules = this.rules.get(name);
    if (rules === undefined) {
      return (this.state.get(name) ?? []).some((fact) => attempt(this.#unify(fact, asked)));
    }
    return rules.some(({ head, body }) => {
      const variables = new Map();
      if (this.#unify(copied(head, variables), asked) && this.#prove(copied(body, variables), then)) return true;
      this.#undo(start);
      return false;
    });
  }

  /**
   * @param {Term[]} parts
   * @param {number} index
   * @param {() => boolean} then
   * @returns {boolean}
   */
  #together(parts, index, then) {
    if (index === parts.length) return then();
    return this.#prove(parts[index], () => this.#together(parts, index + 1, then));
  }
}

/** @type {Game | null} */
let game = null;
/** The role that this page plays. */
let own = "";

/** @param {RulesQuestion} asked */
function take(asked) {
  if (asked.do === "start") {
    own = asked.role;
    game = new Game(asked.rules);
  } else if (asked.move !== "[]" && asked.move !== "nil") {
    game?.play(asked.move);
  }
  return game !== null && game.first("control(X)") === own ? game.first("legal(X)") : null;
}

addEventListener("message", ({ data }) => {
  try {
    postMessage({ id: data.id, move: take(data) });
  } catch {
    // Rules that cannot be read or take too long: no move is known.
    game = null;
    postMessage({ id: data.id, move: null });
  }
});
