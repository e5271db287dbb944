// The text field in which rules are written: CodeMirror with the colours of both dialects of GDL,
// KIF and HRF, diagnostics with their fixes, proposals and explanations. What is right and wrong is
// asked of the server; here is only how it looks.

import {
  Compartment,
  EditorState,
  EditorView,
  HighlightStyle,
  StreamLanguage,
  autocompletion,
  bracketMatching,
  closeBrackets,
  closeBracketsKeymap,
  defaultKeymap,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  history,
  historyKeymap,
  hoverTooltip,
  indentService,
  indentUnit,
  keymap,
  lineNumbers,
  lintGutter,
  lintKeymap,
  search,
  searchKeymap,
  setDiagnostics,
  snippet,
  syntaxHighlighting,
  tags,
} from "./codemirror.js";
import { element } from "./page.js";
import { askMeaning, askProposals } from "./server.js";

/** @import { CompletionContext, CompletionResult, Tooltip } from "./codemirror.js" */
/** @import { Diagnostic, Dialect, Edit, Sheet } from "./types.d.ts" */

const WORDS = new Set("role init true does next legal goal terminal distinct not or and base input <=".split(" "));
/** The line is indented by what is open in so many lines above it. */
const MOST_LINES_ABOVE = 200;

const gdl = StreamLanguage.define({
  name: "gdl",
  startState: () => ({ isFirst: false }),
  token(stream, state) {
    if (stream.eatSpace()) return null;
    if (stream.peek() === ";") {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.eat("(")) {
      state.isFirst = true;
      return "paren";
    }
    const { isFirst } = state;
    state.isFirst = false;
    if (stream.eat(")")) return "paren";
    stream.match(/^[^\s();]+/);
    const word = stream.current();
    if (WORDS.has(word.toLowerCase()) && (isFirst || word.toLowerCase() === "terminal")) return "keyword";
    if (word.startsWith("?")) return "variableName";
    if (isFirst) return "typeName";
    return /^[+-]?\d+$/.test(word) ? "number" : "atom";
  },
  languageData: { commentTokens: { line: ";" }, closeBrackets: { brackets: ["("] } },
});

const HRF_WORDS = new Set(
  (
    "role init control legal goal terminal base action true not and or same distinct mutex leq less plus minus times " +
    "quotient remainder min max abs countofall evaluate member"
  ).split(" "),
);
const HRF_NAME = /^[\p{L}\p{N}_./*+-]+/u;

const hrf = StreamLanguage.define({
  name: "hrf",
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.peek() === "%") {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match(/^"[^"]*("|$)/)) return "string";
    if (stream.match(/^(==>|:=|:-|::|[!#~&|])/)) return "operator";
    if (stream.match(/^[()[\],]/)) return "paren";
    if (stream.match(/^-?\d+(\.\d+)?(?![\p{L}\p{N}_./*+-])/u)) return "number";
    if (!stream.match(HRF_NAME)) {
      stream.next();
      return null;
    }
    const word = stream.current();
    if (HRF_WORDS.has(word)) return "keyword";
    if (/^[\p{Lu}_]/u.test(word)) return "variableName";
    return stream.match(/^\s*\(/, false) ? "typeName" : "atom";
  },
  languageData: { commentTokens: { line: "%" }, closeBrackets: { brackets: ["(", "["] } },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: tags.typeName, color: "var(--ink)", fontWeight: "600" },
  { tag: tags.variableName, color: "var(--middling)" },
  { tag: tags.number, color: "var(--good)" },
  { tag: tags.atom, color: "var(--good)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: tags.paren, color: "var(--quiet)" },
  { tag: tags.operator, color: "var(--accent)" },
  { tag: tags.string, color: "var(--good)" },
]);

const looks = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--card)", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontSize: "13px", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--sunk)", color: "var(--quiet)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "transparent", boxShadow: "inset 0 0 0 1px var(--line)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--line)", color: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--good-soft)", color: "var(--good)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--bad-soft)", color: "var(--bad)" },
  ".cm-tooltip, .cm-panels": {
    backgroundColor: "var(--card)",
    color: "var(--ink)",
    border: "1px solid var(--strong-line)",
    maxWidth: "min(560px, 92vw)",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-button, .cm-textfield": {
    backgroundImage: "none",
    backgroundColor: "var(--card)",
    color: "var(--ink)",
    border: "1px solid var(--strong-line)",
  },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
});

/** The columns by which a line of KIF is indented: two for each list that is open before it. */
const gdlIndentation = indentService.of((context, at) => {
  const { doc } = context.state;
  const { number } = doc.lineAt(at);
  let open = 0;
  for (let line = Math.max(1, number - MOST_LINES_ABOVE); line < number; line += 1) {
    const text = doc.line(line).text.replace(/;.*/, "");
    // A statement begins in the first column, whatever was left open before it.
    if (text.startsWith("(")) open = 0;
    for (const letter of text) open += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    open = Math.max(0, open);
  }
  return 2 * open;
});

/** The same for HRF: two where a sentence goes on. */
const hrfIndentation = indentService.of((context, at) => {
  const { doc } = context.state;
  const { number } = doc.lineAt(at);
  const above = number > 1 ? doc.line(number - 1).text.replace(/%.*/, "").trimEnd() : "";
  return /(==>|:-|::|[&|,(])$/.test(above) ? 2 : 0;
});

/** By dialect: its colours and indentation, and what a name is made of. */
const DIALECTS = {
  kif: { language: [gdl, gdlIndentation], word: /[^\s();]+/, isName: /^[^\s();]*$/ },
  hrf: { language: [hrf, hrfIndentation], word: /[\p{L}\p{N}_./*+-]+/u, isName: /^[\p{L}\p{N}_./*+-]*$/u },
};

/**
 * @param {CompletionContext} context
 * @param {{ sheet: () => Sheet, dialect: Dialect }} of
 * @returns {Promise<CompletionResult | null>}
 */
async function proposals(context, { sheet, dialect }) {
  const { word, isName } = DIALECTS[dialect];
  const before = context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos);
  if (!context.explicit && context.matchBefore(word) === null && before !== "(") return null;
  const found = await askProposals({ ...sheet(), text: context.state.doc.toString() }, context.pos).catch(() => null);
  if (found === null || context.aborted) return null;
  /** @type {Record<string, string>} */
  const types = { relation: "function", function: "class" };
  return {
    from: found.from,
    to: Math.max(found.to, context.pos),
    options: found.proposals.map(({ label, kind, form, meaning, snippet: fields }) => ({
      label,
      type: types[kind] ?? kind,
      detail: form === label ? undefined : form,
      info: meaning === "" ? undefined : meaning,
      // CodeMirror knows no escaped dollar.
      apply: snippet(fields.replaceAll("\\$", "$")),
    })),
    validFor: isName,
  };
}

/**
 * @param {EditorView} view
 * @param {number} at
 * @param {() => Sheet} sheet
 * @returns {Promise<Tooltip | null>}
 */
async function meaning(view, at, sheet) {
  const found = await askMeaning({ ...sheet(), text: view.state.doc.toString() }, at).catch(() => null);
  if (found === null || found.to > view.state.doc.length) return null;
  const shown = () =>
    element(
      "div",
      { class: "meaning" },
      element("code", null, found.form),
      element("p", { class: "quiet" }, found.kind),
      found.meaning !== "" && element("p", null, found.meaning),
    );
  return { pos: found.from, end: found.to, above: true, create: () => ({ dom: shown() }) };
}

/**
 * A text field for rules inside an element. `changed` is called with each change, `sheet` gives the
 * text as the server takes it.
 */
export class RulesEditor {
  /**
   * @param {HTMLElement} parent
   * @param {string} text
   * @param {{ changed: () => void, sheet: () => Sheet }} owner
   */
  constructor(parent, text, { changed, sheet }) {
    /** @type {Dialect} */
    this.dialect = "kif";
    this.language = new Compartment();
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          lintGutter(),
          highlightSpecialChars(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          bracketMatching(),
          closeBrackets(),
          search({ top: true }),
          autocompletion({ override: [(context) => proposals(context, { sheet, dialect: this.dialect })], icons: false }),
          this.language.of(DIALECTS[this.dialect].language),
          indentUnit.of("  "),
          syntaxHighlighting(colours),
          looks,
          hoverTooltip((view, at) => meaning(view, at, sheet)),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "Rules", spellcheck: "false", tabindex: "0" }),
          keymap.of([...closeBracketsKeymap, ...searchKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed();
          }),
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /**
   * Has the colours and the indentation of a dialect.
   * @param {Dialect} dialect
   */
  speak(dialect) {
    if (dialect === this.dialect) return;
    this.dialect = dialect;
    this.view.dispatch({ effects: this.language.reconfigure(DIALECTS[dialect].language) });
  }

  /**
   * Puts another text in the place of all; what both have at their ends is left alone, so that the
   * cursor stays.
   * @param {string} text
   */
  replace(text) {
    const old = this.text;
    const most = Math.min(old.length, text.length);
    let start = 0;
    while (start < most && old[start] === text[start]) start += 1;
    let end = 0;
    while (end < most - start && old[old.length - 1 - end] === text[text.length - 1 - end]) end += 1;
    this.change([{ from: start, to: old.length - end, text: text.slice(start, text.length - end) }]);
  }

  /**
   * Makes changes, all places being those before.
   * @param {Edit[]} edits
   */
  change(edits) {
    const changes = edits.map(({ from, to, text }) => ({ from, to, insert: text }));
    this.view.dispatch({ changes, userEvent: "input", scrollIntoView: true });
  }

  /**
   * Marks the diagnostics; `mend` is called with the one whose fix is chosen.
   * @param {Diagnostic[]} diagnostics
   * @param {(found: Diagnostic) => void} mend
   */
  mark(diagnostics, mend) {
    const { length } = this.view.state.doc;
    /** @type {(found: Diagnostic) => "error" | "warning" | "info"} */
    const shown = ({ severity }) => (severity === "note" ? "info" : severity);
    const marked = diagnostics.map((found) => ({
      from: Math.min(found.from, length),
      to: Math.min(found.to, length),
      severity: shown(found),
      message: found.help === "" ? found.message : `${found.message}\n${found.help}`,
      source: found.code,
      actions: found.fix === null ? [] : [{ name: found.fix.title, apply: () => mend(found) }],
    }));
    this.view.dispatch(setDiagnostics(this.view.state, marked));
  }

  /**
   * Selects a place and goes there.
   * @param {number} from
   * @param {number} to
   */
  goTo(from, to) {
    const { length } = this.view.state.doc;
    const selection = { anchor: Math.min(from, length), head: Math.min(to, length) };
    this.view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }) });
    this.view.focus();
  }

  focus() {
    this.view.focus();
  }
}
