import assert from "node:assert/strict";
import { test } from "node:test";
import { sizeOf } from "../../ui/sizes.ts";
import { foldersOf, lookOf, MOST_SHOWN, readable } from "./content.ts";

test("what holds code is shown as text, and what is too large or unknown not at all", () => {
  assert.equal(lookOf("text/html; charset=utf-8", 10), "text");
  assert.equal(lookOf("image/svg+xml", 10), "text");
  assert.equal(lookOf("image/PNG", 10), "image");
  assert.equal(lookOf("application/ld+json", 10), "json");
  assert.equal(lookOf("text/plain", MOST_SHOWN + 1), "none");
  assert.equal(lookOf("application/pdf", 10), "none");
});

test("JSON is put on lines, and what is none stays as it came", () => {
  assert.equal(readable('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(readable("{broken"), "{broken");
});

test("sizes are told as people say them", () => {
  assert.deepEqual([980, 12_700, 3_250_000].map(sizeOf), ["980 B", "12.4 KiB", "3.1 MiB"]);
});

test("paths become folders in folders, each file once", () => {
  const tree = foldersOf([
    { path: "a.txt", sha256: "1" },
    { path: "docs/b.txt", sha256: "2" },
    { path: "docs/deep/c.txt", sha256: "3" },
  ]);

  assert.deepEqual(tree.files, [{ name: "a.txt", sha256: "1" }]);
  assert.deepEqual(tree.folders[0]?.files, [{ name: "b.txt", sha256: "2" }]);
  assert.deepEqual(tree.folders[0]?.folders[0]?.name, "deep");
});
