// What holds of the pages as they are written: they consist of files of their own, run no scripts from within the page
// and put nothing from outside in as markup.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const folder = new URL("..", import.meta.url);
const names = readdirSync(folder);
const read = (name) => readFileSync(new URL(name, folder), "utf8");
const pages = names.filter((name) => name.endsWith(".html"));
const scripts = names.filter((name) => name.endsWith(".js"));

/** Libraries, which are served beside the viewer's own files. */
const libraries = readdirSync(new URL("vendor", folder)).filter((name) => /\.(js|css)$/.test(name));

/** The modules that one imports, and those that they import. */
function imports(name, found = new Set()) {
  if (libraries.includes(name)) return found;
  const pattern = /^(?:import|\}).* from "\.\/(\w+\.js)"|await import\("\.\/(\w+\.js)"\)/gm;
  for (const [, still, later] of read(name).matchAll(pattern)) {
    const other = still ?? later;
    if (!found.has(other)) imports(other, found.add(other));
  }
  return found;
}

test("everything that a page asks for is there", () => {
  for (const page of pages) {
    for (const [, address] of read(page).matchAll(/(?:src|href)="([^"]+)"/g)) {
      if (address.startsWith("data:") || ["/", "/edit", "/gamemaster", "/play", "/study", "/training", "/viewer"].includes(address) || address.startsWith("#")) continue;
      const name = /^\/assets\/([\w.]+)$/.exec(address)?.[1];
      assert.ok([...names, ...libraries].includes(name), `${page}: ${address}`);
    }
  }
});

test("every page has the same links in its header", () => {
  const links = (page) => /<nav[^>]*>(.*?)<\/nav>/.exec(read(page))[1].replace(' aria-current="page"', "");
  for (const page of pages) assert.equal(links(page), links("play.html"), page);
});

test("a page names all modules beforehand, so that none is waited for twice", () => {
  for (const page of pages) {
    const text = read(page);
    const named = [...text.matchAll(/rel="modulepreload" href="\/assets\/([\w.]+)"/g)].map(([, name]) => name);
    const entry = /type="module" src="\/assets\/([\w.]+)"/.exec(text)?.[1];
    assert.deepEqual(named.sort(), entry === undefined ? [] : [...imports(entry)].sort(), page);
  }
});

test("the license of every package in a library is beside it", () => {
  const vendor = new URL("vendor/", folder);
  const lock = JSON.parse(readFileSync(new URL("package-lock.json", vendor), "utf8"));
  const licenses = readFileSync(new URL("LICENSES.txt", vendor), "utf8");
  for (const [path, { version }] of Object.entries(lock.packages)) {
    const name = path.replace("node_modules/", "");
    // What makes the file is not in it.
    if (name === "" || name.includes("esbuild")) continue;
    assert.ok(licenses.includes(`\n== ${name} ${version}\n`), name);
  }
});

test("no page runs a script from within", () => {
  for (const page of pages) {
    assert.doesNotMatch(read(page), /<script(?![^>]*\bsrc=)/, page);
    assert.doesNotMatch(read(page), /\son\w+=/, page);
  }
});

test("nothing is put in as markup, or run from a text", () => {
  for (const script of scripts) {
    assert.doesNotMatch(
      read(script),
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
      script,
    );
  }
});

test("every module begins by saying what it holds", () => {
  for (const script of scripts) assert.match(read(script), /^\/\/ [A-Z]/, script);
});

test("every module is of use to a page", () => {
  const workers = ["gamemaster_clock.js", "gamemaster_rules.js"];
  const entries = ["match.js", "list.js", "play.js", "study.js", "edit.js", "gamemaster.js", "training.js", ...workers];
  const used = new Set([...entries, ...entries.flatMap((name) => [...imports(name)])]);
  assert.deepEqual(
    scripts.filter((name) => !used.has(name)),
    [],
  );
});
