import assert from "node:assert/strict";
import { test } from "node:test";
import { piecesOf } from "./pieces.ts";

test("a short text is one piece", () => {
  assert.deepEqual(piecesOf("hello\n\nyou", 100), ["hello\n\nyou"]);
});

test("a long text is cut between its paragraphs and says the same put together", () => {
  const text = Array.from({ length: 50 }, (_, number) => `paragraph ${number}`).join("\n\n");

  const pieces = piecesOf(text, 100);

  assert.ok(pieces.length > 4);
  assert.equal(pieces.join("\n"), text);
  assert.ok(pieces.every((piece) => piece.length <= 150));
});

test("one huge word is cut, and never through a character", () => {
  const text = "😀".repeat(300);

  const pieces = piecesOf(text, 101);

  assert.equal(pieces.join("").replaceAll("\n", ""), text);
  assert.ok(pieces.every((piece) => !/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/.test(piece)));
});

test("code that is longer than a piece goes on as code", () => {
  const code = Array.from({ length: 60 }, (_, number) => `line ${number}`).join("\n");

  const pieces = piecesOf(`before\n\n\`\`\`python\n${code}\n\`\`\`\n\nafter`, 100);

  const fences = pieces.map((piece) => piece.split("\n").filter((line) => line.startsWith("```")).length);
  assert.ok(fences.every((count) => count % 2 === 0));
  assert.ok(pieces.slice(1, -1).every((piece) => piece.startsWith("```python")));
});
