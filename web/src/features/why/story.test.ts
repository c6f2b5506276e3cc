import assert from "node:assert/strict";
import { test } from "node:test";
import { type Effect, story, type Told } from "./story.ts";

const NAMES = ["intake", "open_session", "reset", "hold_intent", "materialize", "hand_off", "commit"];

function run(status: string, more: Partial<Told> = {}): Told {
  const steps = status === "completed" ? NAMES : NAMES.slice(0, -1);
  return {
    run_id: "run_1",
    status,
    partial: false,
    turn: status === "completed" ? 3 : null,
    answer_status: null,
    preview: "",
    error: null,
    stages: steps.map((name, at) => ({ name, began_us: at * 10, took_us: 9, data: {} })),
    graph: { root_frame_id: null, nodes: [], edges: [], left_out: 0 },
    plugins: {},
    units: {},
    document: null,
    ...more,
  };
}

function failure(more: Partial<NonNullable<Told["error"]>> = {}): Told["error"] {
  return {
    code: "agent_failed",
    message: "The agent failed.",
    stage: "hand_off",
    retryable: false,
    details: [],
    ...more,
  };
}

const answersOf = (told: Told) => Object.fromEntries(story(told).answers);

test("a failed run says what failed, at which step, that nothing was kept, and what to do", () => {
  const told = story(run("failed", { error: failure() }));
  const answers = Object.fromEntries(told.answers);

  assert.equal(told.headline, "This turn failed at “Agent at work”");
  assert.equal(answers["What happened"], "The agent failed.");
  assert.match(answers.Where ?? "", /step 6 of 7, “Agent at work”, in which the agent works on the answer/);
  assert.match(answers["What ran before that"] ?? "", /Taken in, Session opened, .*Context prepared\.$/);
  assert.match(answers["What was kept"] ?? "", /conversation is exactly as it was before/);
  assert.match(answers["Does trying again help"] ?? "", /^Not by itself/);
  assert.match(answers["What to do next"] ?? "", /log of the server/);
});

test("a tool that answered with a failure left nothing outside that would stay", () => {
  const kept = (result: unknown) =>
    Object.fromEntries(story(run("failed", { error: failure() }), [{ status: "done", result }]).answers)[
      "What was kept"
    ] ?? "";

  assert.doesNotMatch(kept({ call_id: "call-001", tool: "weather.read", status: "failed" }), /outside/);
  assert.match(kept({ call_id: "call-001", tool: "mail.send", status: "ok" }), /stays done/);
  assert.match(kept({ status: "failed" }), /stays done/);
});

test("what a failed run did outside is said to stay done only where that is known", () => {
  const kept = (...statuses: readonly Effect["status"][]) => {
    const effects = statuses.map((status) => ({ status, result: null }));
    return Object.fromEntries(story(run("failed", { error: failure() }), effects).answers)["What was kept"] ?? "";
  };

  assert.match(kept("done"), /But 1 thing that it did outside stays done; see Effects\.$/);
  assert.match(kept("started"), /But 1 thing that it began outside may have happened; see Effects\.$/);
  assert.match(
    kept("done", "unknown", "done", "started", "failed"),
    /But 2 things .* stay done, and 2 things .* may have/,
  );
  assert.match(kept("failed"), /only this record of the run remains\.$/);
});

test("a failure that may pass says that trying again helps", () => {
  const answers = answersOf(run("failed", { error: failure({ code: "something_new", retryable: true }) }));

  assert.match(answers["Does trying again help"] ?? "", /^Yes/);
  assert.equal(answers["What to do next"], "Send the same message again in the chat.");
});

test("the first node that failed inside of the step is named with its error", () => {
  const node = {
    id: "p",
    type: "plugin",
    label: "gs-model",
    status: "failed",
    error: "no answer in 5 s.",
    frame_id: null,
  };
  const rest = { began_us: 0, took_us: 0, input: null, output: null, metadata: {} };
  const graph = { root_frame_id: null, nodes: [{ ...node, ...rest }], edges: [], left_out: 0 };

  const { Where } = answersOf(run("failed", { error: failure(), graph, plugins: { "kb-plugin": "kb-fast" } }));

  assert.match(Where ?? "", /Inside of it “gs-model” failed: no answer in 5 s\.$/);
});

test("a completed run says which turn it is, and what was learned and used", () => {
  const told = run("completed", {
    units: { added: ["a", "b"], superseded: [{ unit: "x", by: "a" }] },
    document: { sources: [{ unit_id: "u", content: "It rains.", source: "this conversation" }] },
  });

  assert.deepEqual(story(told).answers, [
    [
      "What was kept",
      "This is turn 3 of the conversation; 2 units were learned, 1 older one was replaced, 1 known unit was used for the answer.",
    ],
  ]);
  assert.equal(story(told).tone, "good");
});

test("an answer out of nothing is no plain success", () => {
  assert.equal(story(run("completed", { answer_status: "no-context" })).tone, "warn");
});

test("a command is told as one", () => {
  const told = story(run("completed", { turn: null }));

  assert.equal(told.headline, "Done");
  assert.deepEqual(told.answers, [["What was kept", "This was a command. It is no turn of the conversation."]]);
});

test("an interrupted turn says what of it was kept", () => {
  assert.match(answersOf(run("superseded", { turn: 4 }))["What was kept"] ?? "", /^Turn 4 was kept with the message/);
});

test("a run that waits asks its question and says where to answer", () => {
  const answers = answersOf(run("waiting", { partial: true, preview: "For how many?" }));

  assert.equal(answers["What happened"], "The agent asks: For how many?");
  assert.match(answers["What to do next"] ?? "", /^Answer in the chat/);
});

test("a partial record says that it may be incomplete", () => {
  assert.match(answersOf(run("abandoned", { partial: true }))["What happened"] ?? "", /may be incomplete/);
});

for (const status of ["timed_out", "cancelled", "superseded", "abandoned"])
  test(`a run that ended ${status} says that the conversation is as before, and what to do next`, () => {
    const answers = answersOf(run(status));

    assert.match(answers["What was kept"] ?? "", /exactly as it was before/);
    assert.ok((answers["What to do next"] ?? "").length > 20);
    assert.ok((answers["Does trying again help"] ?? "").length > 10);
  });

for (const status of ["queued", "running"])
  test(`a run that is ${status} says that nothing is kept yet`, () => {
    assert.match(answersOf(run(status, { stages: [] }))["What was kept"] ?? "", /^Nothing yet/);
  });
