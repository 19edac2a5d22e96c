import { useEffect, useState } from "preact/hooks";
import type { ToolCallContent } from "../protocol";
import { AskCard } from "./Ask";
import { Blocks } from "./Blocks";
import { Code } from "./Code";
import { counts } from "./compare";
import { Diff } from "./Diff";
import { duration, oneLine, plural, tokens } from "../shared/format";
import { post } from "./host";
import { Icon, iconOf } from "./icons";
import { memo } from "./memo";
import { Pictures } from "./Pictures";
import { blockImage, lastPart, ofSubagent, type Call, type Inner } from "../shared/state";

/** A tool call or a subagent: a row that opens, its approval request, and the calls below it. */
export const CallRow = memo(({ call }: { call: Call }) => {
  const [shown, show] = useState(false);
  const runs = isRunning(call);
  return (
    <div class={`entry call ${exitCode(call) !== 0 ? "failed" : call.status}${call.subagent ? " subagent" : ""}`}>
      <div class="row-line">
        <button type="button" class="row" aria-expanded={shown} onClick={() => show(!shown)}>
          <Icon name={runs && !call.ask ? "loading" : iconOf(call)} spin={runs && !call.ask} />
          <Title call={call} />
          <Facts call={call} />
          <StatusIcon call={call} />
          <Icon name={shown ? "chevron-down" : "chevron-right"} />
        </button>
        {call.subagent && runs && <StopButton subagentId={call.subagent.sessionId} goal={call.subagent.goal} />}
      </div>
      <Message call={call} />
      {call.ask && <AskCard ask={call.ask} />}
      <Pictures sources={picturesOf(call)} label="Picture" />
      {shown && <Details call={call} />}
      {call.children.length > 0 && (
        <div class="children" role="group" aria-label="Started by this">
          {call.children.map((c) => (
            <CallRow key={c.key} call={c} />
          ))}
        </div>
      )}
    </div>
  );
});

/** The progress of a running call. That of a subagent is shown after its end, too. */
function Message({ call }: { call: Call }) {
  const message = call.subagent ? subagentFacts(call) : isRunning(call) ? call.message : undefined;
  return message ? <div class="row-message">{message}</div> : null;
}

function Title({ call }: { call: Call }) {
  if (call.subagent) return <span class="row-title">{oneLine(call.subagent.goal.split("\n", 1)[0]!, 200)}</span>;
  const [title] = ofSubagent(call.id, call.title);
  const isCommand = title.startsWith("$ ");
  return <span class={`row-title${isCommand ? " command" : ""}`}>{oneLine(isCommand ? title.slice(2) : title, 300)}</span>;
}

/** Facts about a call in a few characters. */
function Facts({ call }: { call: Call }) {
  const changed = counts(call.content);
  return (
    <span class="row-facts">
      {changed && (
        <span class="changed">
          <span class="added">+{changed.added}</span> <span class="removed">−{changed.removed}</span>
        </span>
      )}
      {exitCode(call) !== 0 && <span>exit code {exitCode(call)}</span>}
      {call.inner && <span>{plural(call.inner.length, "call")}</span>}
      {call.started !== undefined && <Took from={call.started} to={call.ended} />}
    </span>
  );
}

function subagentFacts({ subagent: s }: Call): string {
  const facts = [];
  if (s?.background) facts.push("in the background");
  if (s?.calls) facts.push(plural(s.calls, "call"));
  if (s?.tokens) facts.push(`${tokens(s.tokens)} tokens`);
  return facts.join(" · ");
}

/** Took is a duration; while there is no end, it counts the seconds. */
function Took({ from, to }: { from: number; to?: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (to !== undefined) return;
    const ticking = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(ticking);
  }, [to]);
  const ms = (to ?? now) - from;
  if (to === undefined && ms < 1000) return null;
  if (to !== undefined && ms < 50) return null; // not worth the words
  return <span class="took">{to === undefined ? `${Math.floor(ms / 1000)} s` : duration(ms)}</span>;
}

const words: Record<string, string> = { pending: "pending", in_progress: "running", completed: "done", failed: "failed" };

function StatusIcon({ call }: { call: Call }) {
  const word = call.ask ? "waits for you" : (call.subagent?.status ?? words[call.status] ?? call.status);
  const icon = call.ask
    ? "question"
    : call.status === "failed" || exitCode(call) !== 0
      ? call.subagent?.status === "interrupted"
        ? "circle-slash"
        : "error"
      : call.status === "completed"
        ? "check"
        : undefined;
  return (
    <span class="row-status" title={word}>
      {icon && <Icon name={icon} />}
      <span class="hidden">
        , {word}
        {call.answer ? `, you said ${call.answer}` : ""}
      </span>
    </span>
  );
}

function StopButton({ subagentId, goal }: { subagentId: string; goal: string }) {
  const label = `Stop subagent: ${oneLine(goal.split("\n", 1)[0]!, 60)}`;
  return (
    <button type="button" class="icon stop" title={label} aria-label={label} onClick={() => post({ type: "stopSubagent", subagentId })}>
      <Icon name="debug-stop" />
    </button>
  );
}

/** The exit code of the command or script of a call that has ended. If there is none, it is 0. */
function exitCode({ status, output }: Call): number {
  const code = (output as { exit_code?: unknown } | undefined)?.exit_code;
  return status === "completed" && typeof code === "number" ? code : 0;
}

export function isRunning(c: Call): boolean {
  return c.status === "pending" || c.status === "in_progress";
}

function picturesOf(call: Call): string[] {
  return call.content.map((c) => c.content && blockImage(c.content)).filter((src) => src !== undefined);
}

function Details({ call }: { call: Call }) {
  const hasText = call.content.some((c) => c.type === "content" && c.content?.type !== "image");
  return (
    <div class="details">
      <Places call={call} />
      {call.answer && <div class="quiet">You said: {call.answer}</div>}
      {call.subagent ? <SubagentFacts call={call} /> : <Input call={call} />}
      {call.inner && <InnerCalls calls={call.inner} />}
      {call.content.map((c, i) => (
        <Content key={i} content={c} call={call} />
      ))}
      {!hasText && call.output !== undefined && call.content.length === 0 && (
        <Section name="Result">
          <Code text={readable(call.output)} language="json" />
        </Section>
      )}
    </div>
  );
}

function Places({ call }: { call: Call }) {
  if (call.locations.length === 0) return null;
  return (
    <div class="places">
      {call.locations.map((l, i) => (
        <button key={i} type="button" class="text" title={l.path} onClick={() => post({ type: "open", path: l.path, line: l.line })}>
          <Icon name="file" />
          {lastPart(l.path)}
          {l.line ? `:${l.line}` : ""}
        </button>
      ))}
    </div>
  );
}

function SubagentFacts({ call }: { call: Call }) {
  const s = call.subagent!;
  return (
    <div class="quiet">
      <div>{s.goal}</div>
      <div>{[s.status, s.model, subagentFacts(call)].filter(Boolean).join(" · ")}</div>
    </div>
  );
}

/** The arguments of a call: a command or a script as text, others as JSON. */
function Input({ call }: { call: Call }) {
  const input = call.input;
  if (input === undefined || input === null) return null;
  const script = scriptOf(call);
  if (script !== undefined)
    return (
      <Section name="Script">
        <Code text={script} language="python" />
      </Section>
    );
  const command = argument(call, "terminal", "command");
  if (command !== undefined)
    return (
      <Section name="Command">
        <Code text={command} language="bash" />
      </Section>
    );
  if (call.content.some((c) => c.type === "diff")) return null; // the diff says it better
  return (
    <Section name="Input">
      <Code text={readable(input)} language="json" />
    </Section>
  );
}

function scriptOf(call: Call): string | undefined {
  return argument(call, "execute_code", "code");
}

function argument(call: Call, tool: string, name: string): string | undefined {
  const value = call.name === tool && typeof call.input === "object" ? (call.input as Record<string, unknown> | null)?.[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

function Content({ content, call }: { content: ToolCallContent; call: Call }) {
  switch (content.type) {
    case "diff":
      return <Diff path={content.path ?? ""} oldText={content.oldText ?? undefined} newText={content.newText ?? ""} />;
    case "content":
      if (content.content?.type === "image") return null; // it stands below the row
      return <Text text={content.content?.text ?? ""} call={call} />;
  }
  return null;
}

/** Text is the output or the report of a call. The source of a script is shown above it. */
function Text({ text, call }: { text: string; call: Call }) {
  const { body, language } = unfenced(text);
  if (body.trim() === "" || body === scriptOf(call)?.trim()) return null;
  const reports = call.subagent ? !isRunning(call) : call.name === "delegate_task";
  if (reports)
    return (
      <Section name="Report">
        <Blocks text={text} open={false} />
      </Section>
    );
  return (
    <Section name={call.subagent ? "Doing" : call.status === "failed" ? "Error" : "Output"}>
      <Code text={body} language={language} />
    </Section>
  );
}

/** unfenced is a text that is one block of code in Markdown, without the fence. */
function unfenced(text: string): { body: string; language: string } {
  const m = /^(`{3,})(\w*)\n([\s\S]*)\n\1\s*$/.exec(text);
  return m ? { body: m[3]!, language: m[2]! } : { body: text, language: "" };
}

function InnerCalls({ calls }: { calls: readonly Inner[] }) {
  return (
    <Section name={`${plural(calls.length, "call")} of the script`}>
      <ul class="inner">
        {calls.map((c, i) => (
          <li key={i}>
            <Icon name={c.status && c.status !== "success" && c.status !== "ok" && c.status !== "completed" ? "error" : "check"} />
            <span class="inner-tool">{c.tool}</span>
            <span class="inner-args">{c.arguments === undefined ? "" : oneLine(JSON.stringify(c.arguments), 160)}</span>
            {c.duration_seconds !== undefined && c.duration_seconds >= 0.05 && <span class="took">{duration(c.duration_seconds * 1000)}</span>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Section({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <section>
      <div class="section-name">{name}</div>
      {children}
    </section>
  );
}

function readable(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
}
