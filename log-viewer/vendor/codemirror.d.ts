// What `codemirror.js` holds, with the types of the packages that it is made of.

export * from "./codemirror.entry.mjs";
export type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
export type { Tooltip } from "@codemirror/view";
