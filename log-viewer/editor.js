// The text field in which rules are written: CodeMirror with the colours of GDL, diagnostics with
// their fixes, proposals and explanations. What is right and wrong is asked of the server; here is
// only how it looks.

import {
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

const WORDS = new Set(
  "role init true does next legal goal terminal distinct not or and base input <=".split(" "),
);
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

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: tags.typeName, color: "var(--ink)", fontWeight: "600" },
  { tag: tags.variableName, color: "var(--middling)" },
  { tag: tags.number, color: "var(--good)" },
  { tag: tags.atom, color: "var(--good)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: tags.paren, color: "var(--quiet)" },
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

/** The columns by which a line is indented: two for each list that is open before it. */
const indentation = indentService.of((context, at) => {
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

async function proposals(context) {
  const word = context.matchBefore(/[^\s();]+/);
  const before = context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos);
  if (!context.explicit && word === null && before !== "(") return null;
  const found = await askProposals(context.state.doc.toString(), context.pos).catch(() => null);
  if (found === null || context.aborted) return null;
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
    validFor: /^[^\s();]*$/,
  };
}

const meanings = hoverTooltip(async (view, at) => {
  const found = await askMeaning(view.state.doc.toString(), at).catch(() => null);
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
});

/** A text field for rules inside an element. `changed` is called with each change. */
export class RulesEditor {
  constructor(parent, text, changed) {
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
          autocompletion({ override: [proposals], icons: false }),
          gdl,
          indentation,
          indentUnit.of("  "),
          syntaxHighlighting(colours),
          looks,
          meanings,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "Rules in GDL", spellcheck: "false", tabindex: "0" }),
          keymap.of([
            ...closeBracketsKeymap,
            ...searchKeymap,
            ...lintKeymap,
            ...historyKeymap,
            ...defaultKeymap,
          ]),
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

  /** Puts another text in the place of all; what both have at their ends is left alone, so that the cursor stays. */
  replace(text) {
    const old = this.text;
    const most = Math.min(old.length, text.length);
    let start = 0;
    while (start < most && old[start] === text[start]) start += 1;
    let end = 0;
    while (end < most - start && old[old.length - 1 - end] === text[text.length - 1 - end]) end += 1;
    this.change([{ from: start, to: old.length - end, text: text.slice(start, text.length - end) }]);
  }

  /** Makes changes `{ from, to, text }`, all places being those before. */
  change(edits) {
    const changes = edits.map(({ from, to, text }) => ({ from, to, insert: text }));
    this.view.dispatch({ changes, userEvent: "input", scrollIntoView: true });
  }

  /** Marks the diagnostics; `mend` is called with the one whose fix is chosen. */
  mark(diagnostics, mend) {
    const { length } = this.view.state.doc;
    const marked = diagnostics.map((found) => ({
      from: Math.min(found.from, length),
      to: Math.min(found.to, length),
      severity: found.severity,
      message: found.help === "" ? found.message : `${found.message}\n${found.help}`,
      source: found.code,
      actions: found.fix === null ? [] : [{ name: found.fix.title, apply: () => mend(found) }],
    }));
    this.view.dispatch(setDiagnostics(this.view.state, marked));
  }

  /** Selects a place and goes there. */
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
