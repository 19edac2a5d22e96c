import { useEffect, useRef, useState } from "preact/hooks";
import { Composer } from "./Composer";
import { oneLine, plural } from "../shared/format";
import { Header } from "./Header";
import { post } from "./host";
import { Icon, IconButton } from "./icons";
import { Log } from "./Log";
import { memo } from "./memo";
import type { Ask, Queued, Server, Session, ToPage } from "../shared/messages";
import { Plan } from "./Plan";
import type { Call, Item, State } from "../shared/state";

export function App({ state: s, hear }: { state: State; hear: (listener: (m: ToPage) => void) => () => void }) {
  const [spoken, say] = useState("");
  useSpeaking(s, say);
  useAsked(s.waiting[0]);
  return (
    <div class={`app${s.loading ? " loading" : ""}${s.waiting.length > 0 ? " asking" : ""}`}>
      <Header title={plainTitle(s.session?.title) || "New session"} usage={s.usage} hasSession={s.session !== undefined && s.items.length > 0} />
      <ServerBanner server={s.server} />
      {s.loading && <div class="progress" role="progressbar" aria-label="Loading the session" />}
      <main>
        {s.loading ? null : s.items.length > 0 ? (
          <Log items={s.items} busy={s.turn.running} />
        ) : (
          <Welcome last={s.last?.id === s.session?.id ? undefined : s.last} />
        )}
      </main>
      <footer>
        <Waiting items={s.items} waiting={s.waiting} />
        <Plan entries={s.plan} />
        <Queue queue={s.queue} />
        <Composer running={s.turn.running} commands={s.commands} options={s.options} whenBusy={s.whenBusy} hear={hear} say={say} />
      </footer>
      <div class="hidden" role="status">
        {spoken}
      </div>
    </div>
  );
}

/** Brings a new question into sight, also if the user has scrolled away. */
function useAsked(id: string | undefined): void {
  useEffect(() => {
    if (id === undefined) return;
    const show = () => document.querySelector(`[data-ask="${CSS.escape(id)}"]`)?.scrollIntoView({ block: "nearest" });
    show();
    const frame = requestAnimationFrame(show); // chunks may be drawn later
    return () => cancelAnimationFrame(frame);
  }, [id]);
}

/** A title is made of a message, whose mentions are links. */
function plainTitle(title = ""): string {
  return title.replace(/\[(@[^\]]+)\]\([^)]*\)?/g, "$1");
}

function Welcome({ last }: { last?: Session }) {
  return (
    <div class="welcome">
      <Icon name="sparkle" />
      <h2>Ask about this project</h2>
      <p>Hermes reads, edits and runs things here, and asks before what is risky.</p>
      <ul>
        <li>
          <kbd>@</kbd> mentions a file, the selection or the problems
        </li>
        <li>
          <kbd>/</kbd> lists commands
        </li>
        <li>Drop or paste files and pictures</li>
      </ul>
      {last && (
        <button type="button" class="option" onClick={() => post({ type: "session", action: "resume", sessionId: last.id })}>
          <Icon name="history" /> <span>Go on with “{oneLine(last.title, 80)}”</span>
        </button>
      )}
    </div>
  );
}

const ServerBanner = memo(({ server }: { server: Server }) => {
  if (server.state === "stopped") {
    return (
      <div class="banner error" role="alert">
        <Icon name="error" />
        <span>{server.message ?? "The Hermes server is not running."}</span>
        <button type="button" class="option" onClick={() => post({ type: "restart" })}>
          Start again
        </button>
      </div>
    );
  }
  if (server.restricted) {
    return (
      <div class="banner" role="region" aria-label="Restricted mode">
        <Icon name="shield" />
        <span>Restricted mode: Hermes reads only, until this workspace is trusted.</span>
        <button type="button" class="option" onClick={() => post({ type: "run", command: "workbench.trust.manage" })}>
          Manage
        </button>
      </div>
    );
  }
  return null;
});

/** Waiting says that an answer is due, and goes there: it may be far up. */
const Waiting = memo(({ items, waiting }: { items: readonly Item[]; waiting: readonly string[] }) => {
  if (waiting.length === 0) return null;
  const ask = findAsk(items, waiting[0]!);
  const go = () => {
    const card = document.querySelector<HTMLElement>(`[data-ask="${CSS.escape(waiting[0]!)}"]`);
    card?.scrollIntoView({ block: "center" });
    card?.querySelector<HTMLElement>(".option, input, select, textarea")?.focus();
  };
  return (
    <div class="waiting">
      <Icon name="bell-dot" />
      <span class="row-title">{ask ? wordsOf(ask) : "Hermes waits for you"}</span>
      {waiting.length > 1 && <span class="quiet">+{waiting.length - 1}</span>}
      <button type="button" class="text" onClick={go}>
        Answer
      </button>
    </div>
  );
});

const Queue = memo(({ queue }: { queue: readonly Queued[] }) => {
  if (queue.length === 0) return null;
  return (
    <ul class="queue" aria-label={plural(queue.length, "message waits", "messages wait")}>
      {queue.map((q) => (
        <li key={q.id}>
          <Icon name={q.next ? "loading" : "history"} spin={q.next} />
          <span class="row-title" title={q.text}>
            {oneLine(q.text, 200)}
          </span>
          {!q.next && <IconButton icon="send" label="Send this message now" onClick={() => post({ type: "sendNow", id: q.id })} />}
          <IconButton icon="close" label="Do not send this message" onClick={() => post({ type: "unqueue", id: q.id })} />
        </li>
      ))}
    </ul>
  );
});

function findAsk(items: readonly Item[], id: string): Ask | undefined {
  for (let i = items.length - 1; i >= 0; i--) {
    const c = items[i]!;
    const found = c.kind === "call" ? askBelow(c, id) : undefined;
    if (found) return found;
  }
  return undefined;
}

function askBelow(c: Call, id: string): Ask | undefined {
  return c.ask?.id === id ? c.ask : findAsk(c.children, id);
}

function wordsOf(ask: Ask): string {
  if (ask.kind === "permission" && ask.toolCall.kind === "switch_mode") return "Hermes has a plan";
  const asks = ask.kind === "permission" && ask.toolCall.kind === "execute" ? "Hermes asks to run" : "Hermes asks";
  return ask.kind === "permission" ? `${asks}: ${oneLine(ask.toolCall.title ?? "", 120)}` : `Hermes asks: ${oneLine(ask.request.message, 120)}`;
}

/** useSpeaking tells a screen reader about starts, ends and questions, and not about tokens. */
function useSpeaking(s: State, say: (words: string) => void): void {
  const before = useRef(s);
  useEffect(() => {
    const b = before.current;
    before.current = s;
    const fresh = s.waiting.find((id) => !b.waiting.includes(id));
    const ask = fresh && findAsk(s.items, fresh);
    if (ask) return say(wordsOf(ask));
    if (s.turn.running && !b.turn.running) return say("Hermes works");
    if (!s.turn.running && b.turn.running) return say(endWords(s));
  }, [s.waiting, s.turn]);
}

function endWords(s: State): string {
  const last = s.items.at(-1);
  if (last?.kind === "note") return last.text;
  return last?.kind === "answer" ? `Hermes answered: ${oneLine(last.text, 300)}` : "Hermes is done";
}
