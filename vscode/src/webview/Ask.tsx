import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { PermissionOption } from "../protocol";
import { Blocks } from "./Blocks";
import { broken, oneLine, revealed } from "../shared/format";
import { fieldsOf, filled, type Field } from "./form";
import { post } from "./host";
import { Icon } from "./icons";
import type { Ask } from "../shared/messages";
import { ofSubagent, scopeOf } from "../shared/state";

/** AskCard stands where the agent waits for an answer. */
export function AskCard({ ask }: { ask: Ask }) {
  return (
    <>
      {ask.elsewhere && <div class="row-message">Another session of this window, which goes on, waits for this.</div>}
      {ask.kind === "permission" ? <Permission ask={ask} /> : <Form ask={ask} />}
    </>
  );
}

/** How many lines of a command are in sight even where they are broken up. */
const seenLines = 8;

type PermissionAsk = Extract<Ask, { kind: "permission" }>;
type FormAsk = Extract<Ask, { kind: "form" }>;

function Permission({ ask }: { ask: PermissionAsk }) {
  const title = useId();
  const { what, whose } = titleOf(ask);
  const lines = what.split(/[\n⏎]/).length;
  const scope = scopeOf(ask.options);
  const long = scope.length > shortScope;
  const plan = ask.toolCall.kind === "switch_mode";
  const reasons = ask.toolCall.content?.map((c) => c.content?.text).filter(Boolean) ?? [];
  return (
    <div class="card" role="group" aria-labelledby={title} data-ask={ask.id} onKeyDown={moveAmongButtons}>
      <div class="card-title" id={title}>
        <Icon name="shield" />
        {titles[ask.toolCall.kind ?? ""] ?? "Allow this?"}
      </div>
      {plan ? (
        <PlanText text={reasons.join("\n\n")} />
      ) : (
        <pre class="card-command" tabIndex={0} role="group" aria-label="What is asked for">
          {broken(revealed(what))}
        </pre>
      )}
      {lines > seenLines && <div class="quiet">{lines} lines: scroll to read them all</div>}
      {whose && <div class="quiet">{whose}</div>}
      {!plan &&
        reasons.map((r, i) => (
          <div key={i} class="quiet">
            {r}
          </div>
        ))}
      {long && (
        <>
          <div class="quiet">What an answer for longer would allow:</div>
          <pre class="card-command scope" tabIndex={0} role="group" aria-label="What an answer for longer would allow">
            {revealed(scope)}
          </pre>
        </>
      )}
      <div class="options">
        {ask.options.map((o, i) => (
          <button key={o.optionId} type="button" class={optionClass(o, i)} onClick={() => post({ type: "permit", askId: ask.id, optionId: o.optionId })}>
            {long ? o.name.replace(`: ${scope}`, "") : o.name}
          </button>
        ))}
      </div>
    </div>
  );
}

const titles: Record<string, string> = { execute: "Run this command?", switch_mode: "Start with this plan?" };

/** The plan of plan mode, as Markdown. */
const PlanText = ({ text }: { text: string }) => (
  <div class="card-plan" tabIndex={0} role="group" aria-label="Plan">
    <Blocks text={text} open={false} />
  </div>
);

/** Beyond this what would be remembered has a place of its own, and not on each button. */
const shortScope = 100;

/** titleOf is what is asked for, and for which subagent: the server says both in one. */
function titleOf({ toolCall }: PermissionAsk): { what: string; whose?: string } {
  const [what, subagent] = ofSubagent(toolCall.toolCallId, toolCall.title ?? toolCall.name ?? "");
  return { what, ...(subagent && { whose: `For the subagent: ${oneLine(subagent.split("\n", 1)[0]!, 100)}` }) };
}

function optionClass(o: PermissionOption, i: number): string {
  if (o.kind.startsWith("reject")) return "option reject";
  return i === 0 ? "option primary" : "option";
}

function Form({ ask }: { ask: FormAsk }) {
  const title = useId();
  const fields = fieldsOf(ask.request.requestedSchema);
  const [values, setValues] = useState<Record<string, unknown>>(() => Object.fromEntries(fields.map((f) => [f.name, f.initial])));
  const [problem, setProblem] = useState<string>();
  const choices = fields.filter((f) => f.kind === "choice");
  const send = (all: Record<string, unknown>) => {
    const { content, missing } = filled(fields, all);
    if (missing) return setProblem(`Please answer: ${missing}`);
    post({ type: "fill", askId: ask.id, action: "accept", content });
  };
  // One question with choices is answered by choosing; more are sent together.
  const choose = (f: Field, value: string) => {
    const all = { ...values, [f.name]: value };
    setValues(all);
    if (choices.length === 1 && !filled(fields, all).missing) send(all);
  };
  const needsSend = choices.length !== 1 || fields.length > 1;
  return (
    <form
      class="card question"
      aria-labelledby={title}
      data-ask={ask.id}
      onKeyDown={moveAmongButtons}
      onSubmit={(e) => {
        e.preventDefault();
        send(values);
      }}
    >
      <div class="card-title" id={title}>
        <Icon name="question" />
        {ask.request.message}
      </div>
      {fields.map((f) => (
        <FieldInput key={f.name} field={f} value={values[f.name]} set={(v) => setValues({ ...values, [f.name]: v })} choose={(v) => choose(f, v)} />
      ))}
      {problem && (
        <div class="problem" role="alert">
          {problem}
        </div>
      )}
      <div class="card-buttons">
        {needsSend && (
          <button type="submit" class="option primary">
            Answer
          </button>
        )}
        <button type="button" class="option" onClick={() => post({ type: "fill", askId: ask.id, action: "decline" })}>
          Rather not say
        </button>
      </div>
    </form>
  );
}

function FieldInput({ field: f, value, set, choose }: { field: Field; value: unknown; set: (v: unknown) => void; choose: (v: string) => void }) {
  const id = useId();
  switch (f.kind) {
    case "choice":
      return (
        <div class="options" role="group" aria-label={f.title}>
          {f.choices.map((c) => (
            <button
              key={c.value}
              type="button"
              class={`option${value === c.value ? " chosen" : ""}`}
              aria-pressed={value === c.value}
              onClick={() => choose(c.value)}
            >
              {c.title}
            </button>
          ))}
        </div>
      );
    case "several":
      return (
        <fieldset>
          <legend>{f.title}</legend>
          {f.choices.map((c) => (
            <label key={c.value} class="check">
              <input
                type="checkbox"
                checked={(value as string[]).includes(c.value)}
                onChange={(e) => set(toggled(value as string[], c.value, e.currentTarget.checked))}
              />
              {c.title}
            </label>
          ))}
        </fieldset>
      );
    case "boolean":
      return (
        <label class="check">
          <input type="checkbox" checked={value === true} onChange={(e) => set(e.currentTarget.checked)} />
          {f.title}
        </label>
      );
    default:
      return (
        <div class="field">
          <label for={id}>{f.title}</label>
          <Growing id={id} kind={f.kind} value={String(value ?? "")} set={set} required={f.required} />
          {f.description && <div class="quiet">{f.description}</div>}
        </div>
      );
  }
}

function Growing(p: { id: string; kind: "text" | "number"; value: string; set: (v: string) => void; required: boolean }) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const a = area.current;
    if (!a) return;
    a.style.height = "auto";
    a.style.height = `${a.scrollHeight + 2}px`;
  }, [p.value]);
  if (p.kind === "number") {
    return <input id={p.id} type="number" step="any" value={p.value} required={p.required} onInput={(e) => p.set(e.currentTarget.value)} />;
  }
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
      e.preventDefault();
      area.current!.form!.requestSubmit();
    }
  };
  return <textarea id={p.id} ref={area} rows={1} value={p.value} required={p.required} onInput={(e) => p.set(e.currentTarget.value)} onKeyDown={onKeyDown} />;
}

function toggled(list: string[], value: string, on: boolean): string[] {
  return on ? [...list, value] : list.filter((v) => v !== value);
}

/** moveAmongButtons lets the arrow keys walk through the answers. */
function moveAmongButtons(e: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  const from = e.target as HTMLElement;
  if (!step || !from.matches(".option")) return;
  const all = [...(e.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".option")];
  e.preventDefault();
  all[(all.indexOf(from) + step + all.length) % all.length]?.focus();
}
