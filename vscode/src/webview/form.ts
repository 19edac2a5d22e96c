// Forms of the protocol: a flat JSON Schema as fields, and their values as its content.

interface Base {
  name: string;
  title: string;
  description?: string;
  required: boolean;
  initial: unknown;
}

export type Field = Base & ({ kind: "text" | "number" | "boolean" } | { kind: "choice" | "several"; choices: Choice[] });

interface Choice {
  value: string;
  title: string;
}

interface Property {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  enumNames?: string[];
  oneOf?: { const: string; title?: string }[];
  items?: Property & { anyOf?: { const: string; title?: string }[] };
}

/** fieldsOf reads a schema; what it does not know becomes a text. */
export function fieldsOf(schema: unknown): Field[] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: Record<string, Property>; required?: string[] };
  return Object.entries(properties).map(([name, p]) => fieldOf(name, p, required.includes(name)));
}

function fieldOf(name: string, p: Property, required: boolean): Field {
  const base = { name, title: p.title ?? name, description: p.description, required, initial: p.default };
  const choices = choicesOf(p);
  if (choices) return { ...base, kind: "choice", choices };
  if (p.type === "array") return { ...base, kind: "several", choices: choicesOf(p.items ?? {}) ?? [], initial: p.default ?? [] };
  if (p.type === "boolean") return { ...base, kind: "boolean", initial: p.default ?? false };
  return { ...base, kind: p.type === "number" || p.type === "integer" ? "number" : "text" };
}

function choicesOf(p: Property & { anyOf?: { const: string; title?: string }[] }): Choice[] | undefined {
  const titled = p.oneOf ?? p.anyOf;
  if (titled) return titled.map((o) => ({ value: o.const, title: o.title ?? o.const }));
  return p.enum?.map((value, i) => ({ value, title: p.enumNames?.[i] ?? value }));
}

/** filled is what is sent: fields with a value, or the title of the first one that is missing. */
export function filled(fields: readonly Field[], values: Record<string, unknown>): { content: Record<string, unknown>; missing?: string } {
  const content: Record<string, unknown> = {};
  for (const f of fields) {
    const value = valueOf(f, values[f.name]);
    if (value !== undefined) content[f.name] = value;
    else if (f.required) return { content, missing: f.title };
  }
  if (Object.keys(content).length === 0 && fields.length > 0) return { content, missing: fields[0]!.title };
  return { content };
}

function valueOf(f: Field, value: unknown): unknown {
  if (f.kind === "number") return value === undefined || value === "" || Number.isNaN(Number(value)) ? undefined : Number(value);
  if (typeof value === "string") return value.trim() === "" ? undefined : value.trim();
  return value;
}
