// The parts of CodeMirror that the editor page uses. `scripts/bundle-libraries` makes one file.
export { Compartment, EditorState } from "@codemirror/state";
export {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export {
  HighlightStyle,
  StreamLanguage,
  bracketMatching,
  indentService,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
export { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
export { search, searchKeymap } from "@codemirror/search";
export { autocompletion, closeBrackets, closeBracketsKeymap, snippet } from "@codemirror/autocomplete";
export { tags } from "@lezer/highlight";
