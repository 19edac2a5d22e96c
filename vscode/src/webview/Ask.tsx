import { useId, useState } from "preact/hooks";
import type { PermissionOption } from "../protocol";
import { Blocks } from "./Blocks";
import { Diff } from "./Diff";
import { broken, oneLine, revealed } from "../shared/format";
import { checked, fieldsOf, initials, type Field, type Value, type Values } from "./form";
import { Growing } from "./GrowingText";
import { post } from "./host";
import { Icon } from "./icons";
import type { Ask } from "../shared/messages";
import { ofSubagent, scopeOf } from "../shared/state";
import { ServerForm } from "./ServerForm";

/** AskCard stands where the agent waits for an answer. */
export function AskCard({ ask }: { ask: Ask }) {
  return (
    <>
      {ask.elsewhere && <div class="row-message">Another session of this window, which goes on, waits for this.</div>}
      <Card ask={ask} />
    </>
  );
}

/** A question of the model belongs to a call; a form of an MCP server does not. */
function Card({ ask }: { ask: Ask }) {
  if (ask.kind === "permission") return <Permission ask={ask} />;
  return ask.request.toolCallId ? <Question ask={ask} /> : <ServerForm ask={ask} />;
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
  const diffs = ask.toolCall.content?.filter((c) => c.type === "diff") ?? [];
  const [reason, setReason] = useState("");
  const deny = ask.options.find((o) => o.optionId === "no");
  const permit = (o: PermissionOption) =>
    post({ type: "permit", askId: ask.id, optionId: o.optionId, ...(o === deny && reason.trim() && { reason: reason.trim() }) });
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
        reasons.map((r, i) =>
          r?.includes("\n") ? (
            <pre key={i} class="card-command" tabIndex={0} role="group" aria-label="What is changed">
              {revealed(r)}
            </pre>
          ) : (
            <div key={i} class="quiet">
              {r}
            </div>
          ),
        )}
      {diffs.map((d, i) => (
        <Diff key={i} path={d.path ?? ""} oldText={d.oldText ?? undefined} newText={d.newText ?? ""} />
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
          <button key={o.optionId} type="button" class={optionClass(o, i, ask.toolCall.kind)} onClick={() => permit(o)}>
            {long ? o.name.replace(`: ${scope}`, "") : o.name}
          </button>
        ))}
      </div>
      {deny && (
        <input
          type="text"
          class="reason"
          aria-label="Reason for Deny, which the agent gets"
          placeholder="Reason for Deny (optional)"
          value={reason}
          onInput={(e) => setReason(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === "Enter" && !e.isComposing && reason.trim()) permit(deny);
          }}
        />
      )}
    </div>
  );
}

const titles: Record<string, string> = { execute: "Run this command?", edit: "Make this edit?", switch_mode: "Start with this plan?" };

/** The plan of plan mode, as Markdown. */
const PlanText = ({ text }: { text: string }) => (
  <div class="card-plan" tabIndex={0} role="group" aria-label="Plan">
    <Blocks text={text} open={false} />
  </div>
);

/** If the scope of the options is longer than this, it stands once above the buttons, and not on each. */
const shortScope = 100;

/** titleOf returns the action of an approval request, and its subagent. The server sends both in one text. */
function titleOf({ toolCall }: PermissionAsk): { what: string; whose?: string } {
  const [what, subagent] = ofSubagent(toolCall.toolCallId, toolCall.title ?? toolCall.name ?? "");
  return { what, ...(subagent && { whose: `For the subagent: ${oneLine(subagent.split("\n", 1)[0]!, 100)}` }) };
}

/** No button of a command stands out: a command that requires approval may destroy something. */
function optionClass(o: PermissionOption, i: number, kind?: string): string {
  if (o.kind.startsWith("reject")) return "option reject";
  return i === 0 && (kind === "edit" || kind === "switch_mode") ? "option primary" : "option";
}

/** A question of the model: choices, a text, or both. */
function Question({ ask }: { ask: FormAsk }) {
  const title = useId();
  const fields = fieldsOf(ask.request.requestedSchema);
  const [values, setValues] = useState<Values>(() => initials(fields));
  const [problem, setProblem] = useState<string>();
  const choices = fields.filter((f) => f.kind === "choice");
  const send = (all: Values) => {
    const { content, problems } = checked(fields, all);
    const missing = fields.find((f) => problems[f.name]) ?? (Object.keys(content).length === 0 ? fields[0] : undefined);
    if (missing) return setProblem(`Please answer: ${missing.title}`);
    post({ type: "fill", askId: ask.id, action: "accept", content });
  };
  const choose = (f: Field, i: number) => {
    const all = { ...values, [f.name]: [i] };
    setValues(all);
    send(all);
  };
  return (
    <form
      class="card question"
      aria-labelledby={title}
      data-ask={ask.id}
      noValidate
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
      {fields.map((f) =>
        f.kind === "choice" ? (
          <Choices key={f.name} field={f} value={values[f.name]} choose={(i) => choose(f, i)} />
        ) : (
          <Words key={f.name} field={f} value={values[f.name]} set={(v) => setValues({ ...values, [f.name]: v })} />
        ),
      )}
      {problem && (
        <div class="problem" role="alert">
          {problem}
        </div>
      )}
      <div class="card-buttons">
        {fields.length > choices.length && (
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

function Choices({ field: f, value, choose }: { field: Extract<Field, { kind: "choice" }>; value: Value; choose: (i: number) => void }) {
  const chosen = Array.isArray(value) ? (value as number[])[0] : undefined;
  return (
    <div class="options" role="group" aria-label={f.title}>
      {f.choices.map((c, i) => (
        <button key={i} type="button" class={`option${chosen === i ? " chosen" : ""}`} aria-pressed={chosen === i} onClick={() => choose(i)}>
          {c.title}
        </button>
      ))}
    </div>
  );
}

function Words({ field: f, value, set }: { field: Field; value: Value; set: (v: string) => void }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{f.title}</label>
      <Growing id={id} value={String(value ?? "")} set={set} required={f.required} />
    </div>
  );
}

/** moveAmongButtons lets the arrow keys walk through the answers. They stop at the first and the last one, so that Allow does not follow Deny. */
function moveAmongButtons(e: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  const from = e.target as HTMLElement;
  if (!step || !from.matches(".option")) return;
  const all = [...(e.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".option")];
  e.preventDefault();
  all[all.indexOf(from) + step]?.focus();
}
