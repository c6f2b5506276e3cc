import assert from "node:assert/strict";
import { test } from "node:test";
import { untilSeen, whenHidden } from "./sight.ts";

class Page extends EventTarget {
  hidden = false;
  turn(hidden: boolean): void {
    this.hidden = hidden;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

const later = () => new Promise((resolve) => setImmediate(resolve));

test("a page that can be seen is not waited for", async () => {
  await untilSeen(new Page(), new AbortController().signal);
});

test("a hidden page is waited for until it is seen again", async () => {
  const page = new Page();
  page.turn(true);
  let isSeen = false;
  const seen = untilSeen(page, new AbortController().signal).then(() => {
    isSeen = true;
  });
  page.turn(true);
  await later();
  assert.equal(isSeen, false);
  page.turn(false);
  await seen;
});

test("nobody waits for a hidden page once it is left", async () => {
  const page = new Page();
  page.turn(true);
  const leaving = new AbortController();
  const seen = untilSeen(page, leaving.signal);
  leaving.abort();
  await seen;
});

test("going out of sight is told, coming back is not", () => {
  const page = new Page();
  let told = 0;
  const stop = whenHidden(page, () => {
    told += 1;
  });
  page.turn(true);
  page.turn(false);
  assert.equal(told, 1);
  stop();
  page.turn(true);
  assert.equal(told, 1);
});
