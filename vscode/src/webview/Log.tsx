import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Blocks } from "./Blocks";
import { CallRow } from "./Call";
import { duration } from "../shared/format";
import { post } from "./host";
import { Icon, IconButton } from "./icons";
import { memo, sameList } from "./memo";
import type { Answer, Item, Note, Offer, Thought, User } from "../shared/state";
import { UserMessage } from "./UserMessage";

/** How many items are looked at together: a chunk without changes is passed over as one. */
const chunkSize = 10;
/** How many chunks are drawn at once when there are suddenly many; those before them follow when there is time. */
const drawnAtOnce = 3;

/** Log shows the messages of a session. It scrolls with new messages until the user scrolls up. */
export function Log({ items, busy }: { items: readonly Item[]; busy: boolean }) {
  const { scroller, content, away, toEnd } = useFollowing(lastKey(items));
  const chunks: Item[][] = [];
  for (let i = 0; i < items.length; i += chunkSize) chunks.push(items.slice(i, i + chunkSize));
  const first = useGradually(chunks.length);
  return (
    <div class="log-frame">
      <div class="log" ref={scroller} tabIndex={0} role="region" aria-label="Messages" onClick={onClick} onAuxClick={onClick} onKeyDown={onKeyDown}>
        <div ref={content}>
          {chunks.map((c, i) => (i < first ? <div key={i} class="chunk undrawn" /> : <Chunk key={i} items={c} />))}
          {busy && <Working items={items} />}
        </div>
      </div>
      {away && <IconButton class="to-end" icon="arrow-down" label="Go to the end" onClick={toEnd} />}
    </div>
  );
}

/** useGradually returns the index of the first drawn chunk. The last chunks of a long session are drawn at once, the others when the page is idle. */
function useGradually(count: number): number {
  const known = useRef(0);
  const [first, setFirst] = useState(0);
  const many = count - known.current > drawnAtOnce;
  known.current = count;
  const now = many ? count - drawnAtOnce : Math.min(first, count);
  useEffect(() => {
    if (now !== first) setFirst(now);
    if (now === 0) return;
    const waiting = requestIdleCallback(() => setFirst(now - 1), { timeout: 200 });
    return () => cancelIdleCallback(waiting);
  }, [now]);
  return now;
}

const Chunk = memo(
  ({ items }: { items: readonly Item[] }) => (
    <div class="chunk">
      {items.map((i) => (
        <Entry key={i.key} item={i} />
      ))}
    </div>
  ),
  (a, b) => sameList(a.items, b.items),
);

const Entry = memo(({ item }: { item: Item }) => {
  switch (item.kind) {
    case "user":
      return <UserMessage item={item satisfies User} />;
    case "answer":
      return <AnswerEntry item={item} />;
    case "thought":
      return <ThoughtEntry item={item} />;
    case "call": // the plan stands above the composer: that it has changed is seen there
      return item.name === "todo" && item.status === "completed" ? null : <CallRow call={item} />;
    case "note":
      return <NoteEntry item={item} />;
  }
});

function AnswerEntry({ item }: { item: Answer }) {
  return (
    <article class="entry answer" aria-label="Hermes">
      <Blocks text={item.text} open={item.open} />
      {!item.open && (
        <div class="entry-actions">
          <IconButton icon="copy" label="Copy this answer" onClick={() => post({ type: "copy", text: item.text })} />
          {item.messageId && !item.unlogged && (
            <IconButton
              icon="repo-forked"
              label="Fork the session from here"
              onClick={() => post({ type: "session", action: "fork", messageId: item.messageId })}
            />
          )}
        </div>
      )}
    </article>
  );
}

function ThoughtEntry({ item }: { item: Thought }) {
  const [shown, show] = useState(false);
  const took = item.started !== undefined && item.ended !== undefined && item.ended - item.started >= 1000 ? ` for ${duration(item.ended - item.started)}` : "";
  return (
    <div class={`entry thought${item.open ? " running" : ""}`}>
      <button type="button" class="row" aria-expanded={shown} onClick={() => show(!shown)}>
        <Icon name="lightbulb" />
        <span class="row-title">{item.open ? "Thinking…" : `Thought${took}`}</span>
        <Icon name={shown ? "chevron-down" : "chevron-right"} />
      </button>
      {shown && (
        <div class="details quiet">
          <Blocks text={item.text} open={item.open} />
        </div>
      )}
    </div>
  );
}

const noteIcons = { info: "info", warning: "warning", error: "error" };

function NoteEntry({ item }: { item: Note }) {
  return (
    <div class={`entry note ${item.severity}`}>
      <Icon name={noteIcons[item.severity]} />
      <div>
        <span class="hidden">{item.severity}: </span>
        {item.more?.includes("\n") ? (
          <details>
            <summary>{item.text}</summary>
            <div class="details">{item.more}</div>
          </details>
        ) : (
          <>
            {item.offers ? <Offers offers={item.offers} /> : item.text}
            {item.more && <div class="details">{item.more}</div>}
          </>
        )}
        {item.choice && <span class="quiet"> · {item.choice}</span>}
        {item.buttons && item.buttons.length > 0 && (
          <div class="ways">
            {item.buttons.map((label, button) => (
              <button key={button} type="button" class="option" onClick={() => post({ type: "press", id: item.id!, button })}>
                {label}
              </button>
            ))}
          </div>
        )}
        {item.ways && (
          <div class="ways">
            {item.ways.map((w) => (
              <button key={w.command} type="button" class="option" onClick={() => post({ type: "run", command: w.command })}>
                {w.label}
              </button>
            ))}
          </div>
        )}
      </div>
    </div>
  );
}

/** Offers are buttons that send a prompt. The first choice is the last one. */
function Offers({ offers }: { offers: readonly Offer[] }) {
  const [chosen, choose] = useState("");
  const send = (o: Offer) => {
    choose(o.label);
    post({ type: "prompt", text: o.prompt, mentions: [], attachments: [], whenBusy: "queue" });
  };
  return (
    <div class="ways" role="group" aria-label="How did it go?">
      {offers.map((o) => (
        <button key={o.label} type="button" class="option" disabled={chosen !== ""} aria-pressed={chosen === o.label} onClick={() => send(o)}>
          {o.label}
        </button>
      ))}
    </div>
  );
}

/** Working stands at the end while nothing else there moves. */
function Working({ items }: { items: readonly Item[] }) {
  const last = items.at(-1);
  const moves = last && (("open" in last && last.open) || (last.kind === "call" && (last.status === "pending" || last.status === "in_progress")));
  return moves ? null : (
    <div class="entry working" aria-hidden="true">
      <span />
      <span />
      <span />
    </div>
  );
}

function lastKey(items: readonly Item[]): number | undefined {
  for (let i = items.length - 1; i >= 0; i--) if (items[i]!.kind === "user") return items[i]!.key;
  return undefined;
}

/** How long after a key or a wheel a scrolling is the user's, in milliseconds. */
const byHand = 500;

/**
 * useFollowing keeps the end in sight, unless the user has scrolled away from it. After
 * the user sends a prompt, it follows the end again. A frame that changes its size scrolls,
 * too: that is not the user.
 */
function useFollowing(lastSent: number | undefined) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const [away, setAway] = useState(false);
  const toEnd = () => {
    follows.current = true;
    setAway(false);
    const s = scroller.current;
    if (s) s.scrollTop = s.scrollHeight;
  };
  useEffect(() => {
    const s = scroller.current!;
    let touched = -Infinity;
    const onTouch = (e: Event) => {
      if (e.type === "pointermove" && (e as PointerEvent).buttons === 0) return;
      if (e.type === "keydown" && !scrolls(e as KeyboardEvent, s)) return;
      touched = performance.now();
    };
    const onScroll = () => {
      const atEnd = s.scrollHeight - s.scrollTop - s.clientHeight < 32;
      if (atEnd) follows.current = true;
      else if (performance.now() - touched < byHand) follows.current = false;
      setAway(!follows.current);
    };
    const grown = new ResizeObserver(() => follows.current && toEnd());
    grown.observe(s);
    grown.observe(content.current!);
    s.addEventListener("scroll", onScroll, { passive: true });
    const gestures = ["wheel", "touchmove", "pointerdown", "pointermove", "keydown"];
    for (const g of gestures) document.addEventListener(g, onTouch, { passive: true, capture: true });
    return () => {
      grown.disconnect();
      s.removeEventListener("scroll", onScroll);
      for (const g of gestures) document.removeEventListener(g, onTouch, { capture: true });
    };
  }, []);
  useLayoutEffect(() => {
    if (follows.current) toEnd();
  });
  useLayoutEffect(toEnd, [lastSent]);
  return { scroller, content, away, toEnd };
}

/** scrolls tells whether a key moves the log: writing does not. */
function scrolls(e: KeyboardEvent, log: HTMLElement): boolean {
  return /^Page/.test(e.key) || (/^(Home|End|Arrow(Up|Down)| |Tab)$/.test(e.key) && log.contains(e.target as Node));
}

/** onClick opens links and runs the buttons of code blocks. */
function onClick(e: MouseEvent): void {
  const target = e.target as Element;
  const link = target.closest("a[href]");
  if (link) {
    e.preventDefault();
    post({ type: "link", href: link.getAttribute("href")! });
    return;
  }
  const button = target.closest<HTMLButtonElement>("button[data-do]");
  const code = button?.closest(".code");
  if (!button || !code || e.button !== 0) return;
  doWithCode(button, code.querySelector("code")?.textContent ?? "", code.getAttribute("data-language") ?? "");
}

/** Escape leads back to where one writes. */
function onKeyDown(e: KeyboardEvent): void {
  if (e.key !== "Escape") return;
  e.preventDefault();
  document.querySelector<HTMLElement>(".composer textarea")?.focus();
}

function doWithCode(button: HTMLButtonElement, text: string, language: string): void {
  switch (button.dataset["do"]) {
    case "copy":
      return post({ type: "copy", text });
    case "insert":
      return post({ type: "insert", text });
    case "apply":
      return post({ type: "apply", text, language });
  }
}
