/** Turns the schema of an intent into the few inputs that ask for what is still missing. */

export interface Field {
  /** As the engine names it: `recipient.email`. */
  readonly name: string;
  readonly title: string;
  readonly hint: string | null;
  readonly kind: "choice" | "choices" | "yes-no" | "number" | "long" | "text";
  /** What the browser's own input is to take. */
  readonly input: "text" | "date" | "time" | "email" | "tel" | "number";
  readonly options: ReadonlyArray<{ readonly value: string; readonly label: string }>;
  readonly limits: Readonly<Record<string, string | number>>;
}

type Schema = Readonly<Record<string, unknown>>;
const INPUTS: Readonly<Record<string, Field["input"]>> = {
  date: "date",
  "clock-time": "time",
  email: "email",
  "idn-email": "email",
  phone: "tel",
};
const LONG = 200;

/** The fields of these names, in their order. One that the schema does not know is asked for as text. */
export function fieldsOf(schema: Schema, names: readonly string[]): readonly Field[] {
  return names.map((name) => fieldOf(name, partOf(schema, name)));
}

function partOf(schema: Schema, name: string): Schema {
  return name.split(".").reduce<Schema>((part, step) => schemaIn(schemaIn(part, "properties"), step), schema);
}

function schemaIn(part: Schema, name: string): Schema {
  const found = part[name];
  return found !== null && typeof found === "object" ? (found as Schema) : {};
}

function fieldOf(name: string, part: Schema): Field {
  const items = schemaIn(part, "items");
  const chosen = part.type === "array" ? items : part;
  const options = optionsOf(chosen);
  const isNumber = part.type === "integer" || part.type === "number";
  return {
    name,
    title: typeof part.title === "string" ? part.title : name,
    hint: typeof part.description === "string" ? part.description : null,
    kind: kindOf(part, options.length > 0),
    input: isNumber ? "number" : (INPUTS[String(part.format)] ?? "text"),
    options,
    limits: limitsOf(part),
  };
}

function kindOf(part: Schema, hasOptions: boolean): Field["kind"] {
  if (part.type === "array" && hasOptions) return "choices";
  if (hasOptions) return "choice";
  if (part.type === "boolean") return "yes-no";
  if (part.type === "integer" || part.type === "number") return "number";
  return typeof part.maxLength === "number" && part.maxLength >= LONG ? "long" : "text";
}

function optionsOf(part: Schema): Field["options"] {
  if (!Array.isArray(part.enum)) return [];
  const labels = schemaIn(part, "x-labels");
  return part.enum.map((value) => {
    const told = labels[String(value)];
    return { value: String(value), label: Array.isArray(told) ? String(told[0] ?? value) : String(value) };
  });
}

function limitsOf(part: Schema): Field["limits"] {
  const told = [
    ["min", part.minimum],
    ["max", part.maximum],
    ["minLength", part.minLength],
    ["maxLength", part.maxLength],
    ["step", part.type === "integer" ? 1 : part.type === "number" ? "any" : undefined],
  ] as const;
  const limits = told.flatMap(([name, limit]) =>
    typeof limit === "number" || typeof limit === "string" ? [[name, limit] as const] : [],
  );
  return Object.fromEntries(limits);
}

export type Answers = Readonly<Record<string, string | readonly string[]>>;

/** What was filled in, as the engine takes it with a message; what was left empty is not said. */
export function paramsOf(fields: readonly Field[], answers: Answers): Readonly<Record<string, unknown>> {
  const given = fields.flatMap((field) => {
    const answer = answers[field.name];
    if (answer === undefined || answer === "" || answer.length === 0) return [];
    return [[field.name, told(field, answer)] as const];
  });
  return Object.fromEntries(given);
}

function told(field: Field, answer: string | readonly string[]): unknown {
  if (typeof answer !== "string") return answer;
  if (field.kind === "number") return Number(answer);
  if (field.kind === "yes-no") return answer === "yes";
  return field.input === "tel" ? answer.replace(/[\s()/.-]/g, "") : answer;
}

/** The same in words, for the conversation. */
export function sentenceOf(fields: readonly Field[], answers: Answers): string {
  return fields
    .flatMap((field) => {
      const answer = answers[field.name];
      if (answer === undefined || answer === "" || answer.length === 0) return [];
      return [`${field.title}: ${typeof answer === "string" ? answer : answer.join(", ")}`];
    })
    .join("\n");
}

/** The schema of an intent in the files of its pack: that of its state, or that of all its states. */
export function schemaOf(files: Readonly<Record<string, string>>, code: string, state: string): Schema {
  const text = files[`schemas/${code}.${state}.json`] ?? files[`schemas/${code}.json`];
  if (text === undefined) return {};
  try {
    const read: unknown = JSON.parse(text);
    return read !== null && typeof read === "object" ? (read as Schema) : {};
  } catch {
    return {};
  }
}
