import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, paramsOf, schemaOf, sentenceOf } from "./intent-form.ts";

const SCHEMA = {
  properties: {
    party_size: { type: "integer", title: "Number of guests", minimum: 1, maximum: 12 },
    date: { type: "string", format: "date", title: "Date" },
    seating: { type: "string", enum: ["inside", "bar"], "x-labels": { bar: ["at the bar"] } },
    menus: { type: "array", items: { enum: ["lunch", "dinner"] } },
    guest: { type: "object", properties: { phone: { type: "string", format: "phone", title: "Phone" } } },
    pets: { type: "boolean", title: "Pets" },
  },
};

test("each missing field becomes the input of its kind", () => {
  const fields = fieldsOf(SCHEMA, ["party_size", "date", "seating", "menus", "guest.phone", "pets", "unheard"]);

  assert.deepEqual(
    fields.map((field) => [field.title, field.kind, field.input]),
    [
      ["Number of guests", "number", "number"],
      ["Date", "text", "date"],
      ["seating", "choice", "text"],
      ["menus", "choices", "text"],
      ["Phone", "text", "tel"],
      ["Pets", "yes-no", "text"],
      ["unheard", "text", "text"],
    ],
  );
  assert.deepEqual(fields[0]?.limits, { min: 1, max: 12, step: 1 });
  assert.deepEqual(fields[2]?.options, [
    { value: "inside", label: "inside" },
    { value: "bar", label: "at the bar" },
  ]);
});

test("what was filled in is told as values and in words, and nothing else", () => {
  const fields = fieldsOf(SCHEMA, ["party_size", "date", "menus", "guest.phone", "pets"]);
  const answers = { party_size: "4", date: "", menus: ["dinner"], "guest.phone": "+44 20 7946-0018", pets: "no" };

  assert.deepEqual(paramsOf(fields, answers), {
    party_size: 4,
    menus: ["dinner"],
    "guest.phone": "+442079460018",
    pets: false,
  });
  assert.equal(sentenceOf(fields, answers), "Number of guests: 4\nmenus: dinner\nPhone: +44 20 7946-0018\nPets: no");
});

test("the schema of a state comes before that of its intent", () => {
  const files = { "schemas/BOOK.json": '{"title": "all"}', "schemas/BOOK.PAY.json": '{"title": "pay"}' };

  assert.deepEqual(schemaOf(files, "BOOK", "PAY"), { title: "pay" });
  assert.deepEqual(schemaOf(files, "BOOK", "ELSE"), { title: "all" });
  assert.deepEqual(schemaOf(files, "NONE", "ELSE"), {});
});
