// Makes the two files that need no server, from the pages in `log-viewer` and the module that
// `scripts/wasm` builds: `panza-offline.html` with the pages to play, to study and to write rules, and
// `panza-gamemaster.html`, a player of Gamemaster.
//
//     node wasm/offline.mjs MODULE.wasm OFFLINE.html GAMEMASTER.html
//
// Styles, scripts, pictures and the module stand inside each file. Its policy allows the scripts in it
// by their hashes, and nothing from the network.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const viewer = fileURLToPath(new URL("../log-viewer/", import.meta.url));
const { build } = createRequire(`${viewer}vendor/package.json`)("esbuild");

const PAGES = ["play", "study", "edit"];
/** Texts that the player of Gamemaster starts workers with, by the names that its page knows. */
const GAMEMASTER_WORKERS = ["gamemaster_clock.js", "gamemaster_rules.js"];
/** Bytes of a file, at most. */
const MOST = 6e6;

const [module, outOffline, outGamemaster] = process.argv.slice(2);
if (outGamemaster === undefined) {
  console.error("usage: node wasm/offline.mjs MODULE.wasm OFFLINE.html GAMEMASTER.html");
  process.exit(2);
}

const read = (name) => readFileSync(viewer + name, "utf8");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** A script or a style with what it imports, as one text that may stand in HTML. */
async function bundle(name) {
  const { outputFiles } = await build({
    entryPoints: [viewer + name],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    legalComments: "none",
    logLevel: "warning",
    // The libraries have names of their own, as on the server.
    nodePaths: [`${viewer}vendor`],
    plugins: [libraries],
  });
  const { text } = outputFiles[0];
  const ends = name.endsWith(".css") ? /<\/style/i : /<\/script|<!--/i;
  if (ends.test(text)) throw new Error(`${name} has markup that would end it in the file`);
  return text;
}

/** The server shows the files of `vendor` beside those of the pages. */
const libraries = {
  name: "libraries",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/(codemirror|uplot)\.js$/ }, ({ path }) => ({ path: `${viewer}vendor/${path}` }));
  },
};

/** The body of a page, without what only a server has. */
function body(page) {
  const [, inner] = /<body>\n([^]*)<\/body>/.exec(read(`${page}.html`));
  const links = new RegExp(`<a href="/(?!(?:${PAGES.join("|")})")[^"]*">[^<]*</a>`, "g");
  const left = inner
    .replaceAll(/<(\w+) data-server>[^]*?<\/\1>/g, "")
    .replaceAll(/ *<noscript>.*<\/noscript>\n/g, "")
    .replaceAll(links, "")
    .replaceAll('href="/', 'href="#/');
  const other = /(?:href|src)="(?!#)[^"]*"/.exec(left);
  if (other !== null) throw new Error(`${page}.html leads out of the file: ${other[0]}`);
  return left;
}

function template(page) {
  const [, title] = /<title>(.*)<\/title>/.exec(read(`${page}.html`));
  return `<template id="/${page}" title="${title}">\n${body(page)}</template>`;
}

/** The body of the page that plays in Gamemaster; its links lead to a server. */
function gamemasterBody() {
  const [, inner] = /<body>\n([^]*)<\/body>/.exec(read("gamemaster.html"));
  return inner
    .replaceAll(/ *<noscript>.*<\/noscript>\n/g, "")
    .replace(/(<nav id="pages"[^>]*>).*(<\/nav>)/, "$1$2")
    .replaceAll(/ href="\/[^"]*"/g, "");
}

const [icon] = /<link rel="icon".*>/.exec(read("play.html"));
const packed = gzipSync(readFileSync(module), { level: 9 }).toString("base64");

/** Writes a file with a style, parts of a body, a script, and texts that the script reads by their ids. */
function write(out, { title, style, parts, script, texts }) {
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)} 'wasm-unsafe-eval'`,
    "worker-src blob:",
    "style-src 'unsafe-inline'",
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const kept = Object.entries(texts).map(([id, text]) => `<script type="text/plain" id="${id}">${text}</script>\n`);
  const file = `<!doctype html>
<!-- Panza, with CodeMirror 6 and Lezer: MIT license, see LICENSES.txt in the source of Panza. -->
<html lang="en" data-one-file>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${icon}
<style>${style}</style>
</head>
<body>
<noscript><p class="page">This page needs JavaScript.</p></noscript>
${parts.join("\n")}
<script>${script}</script>
${kept.join("")}</body>
</html>
`;
  if (Buffer.byteLength(file) > MOST) throw new Error(`${out} has ${Buffer.byteLength(file)} bytes, more than ${MOST}`);
  writeFileSync(out, file);
  console.log(`${out}: ${Buffer.byteLength(file)} bytes, of which the module is ${packed.length}`);
}

const styles = ["style.css", "edit.css", "offline/offline.css"];
const scripts = ["offline/one_file.js", "offline/gamemaster_file.js", "offline/worker.js", ...GAMEMASTER_WORKERS];
const [ofPages, ofEditor, ofFile] = await Promise.all(styles.map(bundle));
const [offline, gamemaster, worker, ...ofGamemaster] = await Promise.all(scripts.map(bundle));
write(outOffline, {
  title: "Panza",
  style: ofPages + ofEditor + ofFile,
  parts: PAGES.map(template),
  script: offline,
  texts: { worker, module: packed },
});
write(outGamemaster, {
  title: "Panza in Gamemaster",
  style: ofPages,
  parts: [gamemasterBody()],
  script: gamemaster,
  texts: { ...Object.fromEntries(GAMEMASTER_WORKERS.map((name, index) => [name, ofGamemaster[index]])), worker, module: packed },
});
