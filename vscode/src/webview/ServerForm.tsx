import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { revealed } from "../shared/format";
import type { Ask } from "../shared/messages";
import { checked, fieldsOf, hint, initials, type Field, type Value, type Values } from "./form";
import { Growing } from "./GrowingText";
import { post } from "./host";
import { Icon } from "./icons";

type FormAsk = Extract<Ask, { kind: "form" }>;

/** The values that were sent last. If the server shows the form again because they do not fit, the form begins with them. */
let sent: { schema: string; values: Values } | undefined;
const refused = "The last values do not fit";

/** ServerForm is a form of an MCP server. The user sends values, declines, or cancels. */
export function ServerForm({ ask }: { ask: FormAsk }) {
  const title = useId();
  const form = useRef<HTMLFormElement>(null);
  const fields = fieldsOf(ask.request.requestedSchema);
  const schema = JSON.stringify(ask.request.requestedSchema ?? null);
  const [values, setValues] = useState<Values>(() => (sent?.schema === schema && ask.request.message.includes(refused) ? sent.values : initials(fields)));
  const [problems, setProblems] = useState<Record<string, string>>({});
  const first = fields.find((f) => problems[f.name])?.name;
  useEffect(() => {
    if (first !== undefined) inputOf(form.current!, first)?.focus();
  }, [problems]);
  const answer = (action: "accept" | "decline" | "cancel", content?: Record<string, unknown>) =>
    post({ type: "fill", askId: ask.id, action, ...(content && { content }) });
  const send = () => {
    const result = checked(fields, values, unreadOf(form.current!));
    setProblems(result.problems);
    if (Object.keys(result.problems).length > 0) return;
    sent = { schema, values };
    answer("accept", result.content);
  };
  return (
    <form
      ref={form}
      class="card question"
      aria-labelledby={title}
      data-ask={ask.id}
      noValidate
      onSubmit={(e) => {
        e.preventDefault();
        send();
      }}
    >
      <div class="card-title" id={title}>
        <Icon name="question" />
        {revealed(ask.request.message)}
      </div>
      {fields.map((f) => (
        <Labeled key={f.name} field={f} problem={problems[f.name]}>
          {(parts) => <Input field={f} value={values[f.name]} set={(v) => setValues((all) => ({ ...all, [f.name]: v }))} {...parts} />}
        </Labeled>
      ))}
      <div class="card-buttons">
        <button type="submit" class="option primary">
          Send
        </button>
        <button type="button" class="option" title="Tell the server that you do not give these values" onClick={() => answer("decline")}>
          Decline
        </button>
        <button type="button" class="option" title="Close the form without an answer" onClick={() => answer("cancel")}>
          Cancel
        </button>
      </div>
    </form>
  );
}

const inputOf = (form: HTMLFormElement, name: string) =>
  [...form.querySelectorAll<HTMLElement>("[data-field]")].find((e) => e.dataset["field"] === name)?.querySelector<HTMLElement>("input, textarea, select");

/** The fields with text that the browser cannot read. */
function unreadOf(form: HTMLFormElement): Set<string> {
  const inputs = [...form.querySelectorAll<HTMLInputElement>("input")].filter((e) => e.validity.badInput);
  return new Set(inputs.map((e) => e.closest<HTMLElement>("[data-field]")!.dataset["field"]!));
}

/** Attributes that connect an input with its label and with the texts below it. */
interface Parts {
  id: string;
  described: { "aria-describedby"?: string; "aria-invalid"?: true };
}

/** Labeled puts a title before an input, and description, limits and problem after it. */
function Labeled(p: { field: Field; problem?: string; children: (parts: Parts) => ComponentChildren }) {
  const { field: f, problem } = p;
  const id = useId();
  const limits = hint(f);
  const texts = [f.description && "description", limits && "limits", problem && "problem"].filter((t) => t !== undefined && t !== "");
  const described = {
    ...(texts.length > 0 && { "aria-describedby": texts.map((t) => `${id}-${t}`).join(" ") }),
    ...(problem !== undefined && { "aria-invalid": true as const }),
  };
  const input = p.children({ id, described });
  const title = (
    <>
      {f.title}
      {f.kind !== "boolean" && <span class="quiet"> {f.required ? "(required)" : "(optional)"}</span>}
    </>
  );
  const below = (
    <>
      {f.description && (
        <div class="quiet" id={`${id}-description`}>
          {f.description}
        </div>
      )}
      {limits && (
        <div class="quiet" id={`${id}-limits`}>
          {limits}
        </div>
      )}
      {problem && (
        <div class="problem" role="alert" id={`${id}-problem`}>
          {problem}
        </div>
      )}
    </>
  );
  if (f.kind === "several" || (f.kind === "choice" && f.choices.length <= mostRadios)) {
    return (
      <fieldset class="field" data-field={f.name} role={f.kind === "choice" ? "radiogroup" : "group"} aria-required={f.required} {...described}>
        <legend>{title}</legend>
        {input}
        {below}
      </fieldset>
    );
  }
  return (
    <div class="field" data-field={f.name}>
      {f.kind === "boolean" ? (
        <label class="check">
          {input}
          {title}
        </label>
      ) : (
        <>
          <label for={id}>{title}</label>
          {input}
        </>
      )}
      {below}
    </div>
  );
}

/** If a field has more choices, they are a list that opens. */
const mostRadios = 5;

const types = { number: "number", email: "email", uri: "url", date: "date", "date-time": "datetime-local" } as const;

function Input({ field: f, value, set, id, described }: Parts & { field: Field; value: Value; set: (v: Value) => void }) {
  switch (f.kind) {
    case "boolean":
      return <input id={id} type="checkbox" checked={value === true} onChange={(e) => set(e.currentTarget.checked)} {...described} />;
    case "several":
      return (
        <>
          {f.choices.map((c, i) => (
            <label key={i} class="check">
              <input type="checkbox" checked={numbers(value).includes(i)} onChange={(e) => set(toggled(numbers(value), i, e.currentTarget.checked))} />
              {c.title}
            </label>
          ))}
        </>
      );
    case "choice":
      return f.choices.length <= mostRadios ? <Radios field={f} value={value} set={set} id={id} /> : <Select {...{ field: f, value, set, id, described }} />;
    case "text":
      return <Growing id={id} value={String(value ?? "")} set={set} required={f.required} more={described} />;
  }
  const step = f.kind === "number" ? (f.whole ? 1 : "any") : f.kind === "date-time" ? 1 : undefined;
  return (
    <input
      id={id}
      type={types[f.kind] as "number"}
      step={step}
      min={f.kind === "number" ? f.least : undefined}
      max={f.kind === "number" ? f.most : undefined}
      value={String(value ?? "")}
      aria-required={f.required}
      onInput={(e) => set(e.currentTarget.value)}
      {...described}
    />
  );
}

const noAnswer = "No answer";

function Radios({ field: f, value, set, id }: { field: Extract<Field, { kind: "choice" }>; value: Value; set: (v: Value) => void; id: string }) {
  const chosen = numbers(value)[0];
  const radio = (key: number | undefined, title: string) => (
    <label key={key ?? -1} class="check">
      <input type="radio" name={id} checked={chosen === key} onChange={() => set(key === undefined ? [] : [key])} />
      {title}
    </label>
  );
  return (
    <>
      {f.choices.map((c, i) => radio(i, c.title))}
      {!f.required && radio(undefined, noAnswer)}
    </>
  );
}

function Select(p: Parts & { field: Extract<Field, { kind: "choice" }>; value: Value; set: (v: Value) => void }) {
  const chosen = numbers(p.value)[0];
  return (
    <select
      id={p.id}
      value={chosen === undefined ? "" : String(chosen)}
      aria-required={p.field.required}
      onChange={(e) => p.set(e.currentTarget.value === "" ? [] : [Number(e.currentTarget.value)])}
      {...p.described}
    >
      {(!p.field.required || chosen === undefined) && <option value="">{p.field.required ? "Choose…" : noAnswer}</option>}
      {p.field.choices.map((c, i) => (
        <option key={i} value={String(i)}>
          {c.title}
        </option>
      ))}
    </select>
  );
}

const numbers = (value: Value): readonly number[] => (Array.isArray(value) ? (value as readonly number[]) : []);

const toggled = (list: readonly number[], n: number, on: boolean) => (on ? [...list, n] : list.filter((i) => i !== n));
