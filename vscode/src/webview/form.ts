// Forms of the protocol: a flat JSON Schema as fields, and their values as its content.
import { revealed } from "../shared/format";

interface Base {
  name: string;
  title: string;
  description?: string;
  required: boolean;
  /** The default, as the input shows it. */
  initial: Value;
}

export type TextKind = "text" | "email" | "uri" | "date" | "date-time";

export type Field = Base &
  (
    | { kind: TextKind; least?: number; most?: number; pattern?: string }
    | { kind: "number"; whole: boolean; least?: number; most?: number }
    | { kind: "boolean" }
    | { kind: "choice"; choices: Choice[] }
    | { kind: "several"; choices: Choice[]; least?: number; most?: number }
  );

export interface Choice {
  value: unknown;
  title: string;
}

/** The state of an input: its text, whether it is checked, or the numbers of the chosen choices. undefined: no value. */
export type Value = string | boolean | readonly number[] | undefined;
export type Values = Record<string, Value>;

interface Property {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  enumNames?: string[];
  oneOf?: Titled[];
  anyOf?: Titled[];
  items?: Property;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
}

type Titled = { const?: unknown; title?: string };

/** fieldsOf reads a schema, in its order. A property that it does not know becomes a text. */
export function fieldsOf(schema: unknown): Field[] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: Record<string, Property>; required?: string[] };
  return Object.entries(properties).map(([name, p]) => fieldOf(name, p, required.includes(name)));
}

const formats: readonly string[] = ["email", "uri", "date", "date-time"];

function fieldOf(name: string, p: Property, required: boolean): Field {
  const base = { name, title: revealed(p.title || name), description: p.description && revealed(p.description), required };
  const choices = choicesOf(p);
  if (choices) return { ...base, kind: "choice", choices, initial: numbersOf(choices, [p.default]) };
  if (p.type === "array") {
    const several = choicesOf(p.items ?? {}) ?? [];
    const initial = numbersOf(several, Array.isArray(p.default) ? p.default : []);
    return { ...base, kind: "several", choices: several, least: p.minItems, most: p.maxItems, initial };
  }
  if (p.type === "boolean") return { ...base, kind: "boolean", initial: p.default === true };
  const initial = p.default === undefined || p.default === null ? "" : String(p.default);
  if (p.type === "number" || p.type === "integer") {
    return { ...base, kind: "number", whole: p.type === "integer", least: p.minimum, most: p.maximum, initial };
  }
  const kind = formats.includes(p.format ?? "") ? (p.format as TextKind) : "text";
  return { ...base, kind, least: p.minLength, most: p.maxLength, pattern: p.pattern, initial: kind === "date-time" ? localTime(initial) : initial };
}

function choicesOf(p: Property): Choice[] | undefined {
  const titled = p.oneOf ?? p.anyOf;
  if (titled) return titled.map((o) => ({ value: o.const, title: revealed(o.title ?? String(o.const)) }));
  return p.enum?.map((value, i) => ({ value, title: revealed(p.enumNames?.[i] ?? String(value)) }));
}

const numbersOf = (choices: readonly Choice[], values: readonly unknown[]) => choices.flatMap((c, i) => (values.includes(c.value) ? [i] : []));

/** localTime converts a time with a zone to local time without a zone, as inputs for times show it. */
function localTime(text: string): string {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** initials returns the defaults of a form. */
export const initials = (fields: readonly Field[]): Values => Object.fromEntries(fields.map((f) => [f.name, f.initial]));

/**
 * checked returns the values to send, and a sentence for each field whose value does not fit.
 * unread names the inputs with text that the browser cannot read, such as half of a date.
 */
export function checked(
  fields: readonly Field[],
  values: Values,
  unread: ReadonlySet<string> = new Set(),
): { content: Record<string, unknown>; problems: Record<string, string> } {
  const content: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const f of fields) {
    const value = valueOf(f, values[f.name]);
    const problem = unread.has(f.name) ? wrong(f) : value !== undefined ? problemOf(f, value) : f.required ? missing(f) : undefined;
    if (problem) problems[f.name] = problem;
    else if (value !== undefined) content[f.name] = value;
  }
  return { content, problems };
}

/** valueOf returns the value for the server. If the user gave none, it returns undefined. */
function valueOf(f: Field, value: Value): unknown {
  switch (f.kind) {
    case "boolean":
      return value === true;
    case "choice":
      return f.choices[(value as readonly number[] | undefined)?.[0] ?? -1]?.value;
    case "several": {
      const chosen = (value as readonly number[] | undefined) ?? [];
      if (chosen.length === 0 && (!f.required || (f.least ?? 0) > 0)) return undefined;
      return f.choices.flatMap((c, i) => (chosen.includes(i) ? [c.value] : []));
    }
  }
  const text = typeof value === "string" ? value.trim() : "";
  if (text === "") return undefined;
  if (f.kind === "number") return Number(text);
  if (f.kind === "date-time" && !Number.isNaN(new Date(text).getTime())) return new Date(text).toISOString().replace(".000Z", "Z");
  return text;
}

function missing(f: Field): string {
  switch (f.kind) {
    case "choice":
      return "Choose one of these.";
    case "several":
      return amount(f, "Choose");
    default:
      return "This field is required.";
  }
}

/** wrong is the sentence for a text that is none of the field's kind. */
function wrong(f: Field): string {
  switch (f.kind) {
    case "number":
      return `Enter a ${f.whole ? "whole " : ""}number${range(f)}.`;
    case "email":
      return "Enter an email address, such as name@example.org.";
    case "uri":
      return "Enter a whole address, such as https://example.org.";
    case "date":
      return "Enter a whole date: year, month and day.";
    case "date-time":
      return "Enter a whole date and time.";
    default:
      return "Enter a text.";
  }
}

function range({ least, most }: { least?: number; most?: number }): string {
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}`;
  if (least !== undefined) return ` of at least ${least}`;
  return most !== undefined ? ` of at most ${most}` : "";
}

/** amount says how many choices or characters there may be. */
function amount({ least, most }: { least?: number; most?: number }, verb: string, what = ""): string {
  const lower = least !== undefined && least > 0 ? least : undefined;
  if (lower !== undefined && most !== undefined) return lower === most ? `${verb} ${lower}${what}.` : `${verb} ${lower} to ${most}${what}.`;
  return most !== undefined ? `${verb} at most ${most}${what}.` : `${verb} at least ${lower ?? 1}${what}.`;
}

const outside = (n: number, { least, most }: { least?: number; most?: number }) => (least !== undefined && n < least) || (most !== undefined && n > most);

function problemOf(f: Field, value: unknown): string | undefined {
  switch (f.kind) {
    case "boolean":
    case "choice":
      return undefined;
    case "several":
      return outside((value as unknown[]).length, f) ? amount(f, "Choose") : undefined;
    case "number": {
      const n = value as number;
      return !Number.isFinite(n) || (f.whole && !Number.isInteger(n)) || outside(n, f) ? wrong(f) : undefined;
    }
  }
  const text = value as string;
  if (!fits(f.kind, text)) return wrong(f);
  return outside([...text].length, f) ? amount(f, "Enter", " characters") : undefined;
}

function fits(kind: TextKind, text: string): boolean {
  switch (kind) {
    case "email":
      return /^[^\s@]+@[^\s@]+$/.test(text);
    case "uri":
      return URL.canParse(text);
    case "date":
      return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(new Date(text).getTime());
    case "date-time":
      return !Number.isNaN(new Date(text).getTime());
    default:
      return true;
  }
}

/** hint describes the values of a field, so that the user need not guess. If it takes any text, hint returns undefined. */
export function hint(f: Field): string | undefined {
  switch (f.kind) {
    case "number":
      return range(f) || f.whole ? wrong(f) : undefined;
    case "several":
      return f.least || f.most !== undefined ? amount(f, "Choose") : undefined;
    case "text":
      if (f.pattern) return `The text must fit the pattern ${revealed(f.pattern)}`;
      return (f.least ?? 0) > 1 || f.most !== undefined ? amount(f, "Enter", " characters") : undefined;
    default:
      return undefined;
  }
}
