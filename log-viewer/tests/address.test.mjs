// Where a page is, on a server and in the one file, by stand-ins for what a browser has.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { addressOf, goToTable, here } from "../address.js";

/** A page at an address. */
function at(href, isOneFile) {
  const url = new URL(href);
  globalThis.document = { documentElement: { dataset: isOneFile ? { oneFile: "" } : {} } };
  globalThis.location = url;
  globalThis.history = { replaceState: (_state, _title, address) => (url.href = new URL(address, url).href) };
}

afterEach(() => {
  for (const name of ["document", "location", "history"]) delete globalThis[name];
});

const seen = () => {
  const { query, ...named } = here();
  return { ...named, query: Object.fromEntries(query) };
};

test("on a server the page, the query and the fragment name what is shown", () => {
  at("http://panza/study?game=g#t", false);
  assert.deepEqual(seen(), { page: "/study", table: "t", packed: "", query: { game: "g" } });
  at("http://panza/study/t", false);
  assert.deepEqual(seen(), { page: "/study", table: "t", packed: "", query: {} });
  assert.equal(location.href, "http://panza/study#t");
  at("http://panza/study#s=a-_b", false);
  assert.deepEqual(seen(), { page: "/study", table: "", packed: "a-_b", query: {} });
});

test("in the one file all of that is in the fragment, and what is not known is the page to play", () => {
  at("file:///panza.html#/study/t?game=g", true);
  assert.deepEqual(seen(), { page: "/study", table: "t", packed: "", query: { game: "g" } });
  at("file:///panza.html#/study?s=a-_b", true);
  assert.deepEqual(seen(), { page: "/study", table: "", packed: "a-_b", query: { s: "a-_b" } });
  for (const fragment of ["", "#", "#main", "#/?", "#/a b"]) {
    at(`file:///panza.html${fragment}`, true);
    assert.deepEqual(seen(), { page: "/play", table: "", packed: "", query: {} });
  }
});

test("an address leads to what it was made of", () => {
  const parts = [{}, { table: "t" }, { packed: "a-_b" }, { query: { table: "u", turn: "3" } }, { table: "t", query: { table: "u & v" } }];
  for (const isOneFile of [false, true]) {
    for (const { table = "", packed = "", query = {} } of parts) {
      at(isOneFile ? "file:///panza.html" : "http://panza/play", isOneFile);
      location.href = new URL(addressOf("/study", { table, packed, query }), location.href).href;
      const { s, ...asked } = seen().query;
      assert.equal(s ?? "", isOneFile ? packed : "");
      assert.deepEqual({ ...seen(), query: asked }, { page: "/study", table, packed, query });
    }
  }
});

test("going to a table keeps what is asked, but not the study of a link", () => {
  at("file:///panza.html#/study?table=u", true);
  goToTable("t");
  assert.equal(location.hash, "#/study/t?table=u");
  at("file:///panza.html#/study?s=abc", true);
  goToTable("t");
  assert.equal(location.hash, "#/study/t");
  at("http://panza/study?table=u", false);
  goToTable("t");
  assert.equal(location.href, "http://panza/study?table=u#t");
});
