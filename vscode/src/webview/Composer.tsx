import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { AvailableCommand, SessionConfigOption } from "../protocol";
import { fromFiles, urisOf } from "./attachments";
import { quoted } from "../shared/mention";
import { accepted, completing, isWhole, suggestions, type Completing, type Suggestion } from "./completion";
import { plural } from "../shared/format";
import { keep, kept, post } from "./host";
import { Icon, IconButton } from "./icons";
import { memo } from "./memo";
import type { Attachment, ToPage, WhenBusy } from "../shared/messages";
import { Pickers } from "./Pickers";

const maxHistory = 100;

export interface ComposerProps {
  running: boolean;
  commands: readonly AvailableCommand[];
  options: readonly SessionConfigOption[];
  whenBusy: WhenBusy;
  /** Hands the composer those of the host's messages that are for it. */
  hear: (listener: (m: ToPage) => void) => () => void;
  say: (words: string) => void; // to a screen reader
}

/** Composer is where messages are written. */
export const Composer = memo((p: ComposerProps) => {
  const area = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(() => kept().draft);
  const [attachments, setAttachments] = useState<readonly Attachment[]>([]);
  const [problem, setProblem] = useState<string>();
  const popup = useCompletion(area, setText, p);
  const recall = useHistory(area, text, setText);
  const attach = (more: readonly Attachment[]) => setAttachments((have) => [...have, ...more.filter((m) => !have.some((h) => sameAttachment(h, m)))]);

  const written = (value: string) => {
    setText(value);
    keep({ draft: value });
    setProblem(undefined);
  };
  const send = (whenBusy: WhenBusy) => {
    if (text.trim() === "" && attachments.length === 0) return;
    post({ type: "prompt", text: text.trim(), mentions: popup.mentionsIn(text), attachments: [...attachments], whenBusy });
    if (text.trim()) recall.remember(text.trim());
    written("");
    setAttachments([]);
  };
  const take = async (files: readonly File[]) => {
    const { attachments: found, problems } = await fromFiles(files);
    attach(found);
    setProblem(problems.join(". ") || undefined);
  };

  useEffect(
    () =>
      p.hear((m) => {
        if (m.type === "attach") attach(m.attachments);
        if (m.type === "draft" && area.current!.value.trim() === "") {
          written(m.text);
          popup.mention(m.mentions);
        }
        if (m.type === "sent" && area.current!.value.trim() === m.text.trim()) written("");
        if (m.type === "attach" || m.type === "draft" || m.type === "focus") area.current?.focus();
      }),
    [p.hear],
  );
  useGrowing(area, text);

  const onKeyDown = (e: KeyboardEvent) => {
    if (e.isComposing || popup.onKeyDown(e) || recall.onKeyDown(e)) return;
    if (e.key === "Enter" && !e.shiftKey) {
      e.preventDefault();
      send(e.altKey ? other(p.whenBusy) : p.whenBusy);
    } else if (e.key === "Escape" && p.running) {
      e.preventDefault();
      post({ type: "cancel" });
    } else if (e.key === "PageUp" || e.key === "PageDown") {
      scrollLog(e);
    }
  };
  const onPaste = (e: ClipboardEvent) => {
    const files = [...(e.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    e.preventDefault();
    void take(files);
  };
  const [dragging, onDrag] = useDrop((data) => {
    const uris = urisOf(data);
    if (uris.length > 0) post({ type: "drop", uris });
    else void take([...data.files]);
  });

  const something = text.trim() !== "" || attachments.length > 0;
  return (
    <div class={`composer${dragging ? " dragging" : ""}`} {...onDrag}>
      {popup.list}
      {attachments.length > 0 && <Chips attachments={attachments} remove={(a) => setAttachments(attachments.filter((x) => x !== a))} />}
      <textarea
        ref={area}
        rows={1}
        value={text}
        aria-label="Message to Hermes"
        placeholder={p.running ? "Send another message" : "Ask Hermes (@ file, / command)"}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={popup.id}
        aria-activedescendant={popup.active}
        onInput={(e) => {
          written(e.currentTarget.value);
          popup.look();
        }}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        onClick={popup.look}
        onBlur={popup.close}
      />
      {problem && (
        <div class="problem" role="alert">
          {problem}
        </div>
      )}
      <div class="composer-line">
        <AttachButton take={take} />
        <Pickers options={p.options} />
        <span class="composer-end">
          {p.running && something && <WhenBusyPicker value={p.whenBusy} />}
          {p.running && <IconButton class="stop" icon="debug-stop" label="Stop (Escape)" onClick={() => post({ type: "cancel" })} />}
          {(!p.running || something) && (
            <IconButton
              class="send"
              icon="send"
              disabled={!something}
              label={p.running && p.whenBusy === "queue" ? "Queue (Enter)" : "Send (Enter)"}
              onClick={() => send(p.whenBusy)}
            />
          )}
        </span>
      </div>
    </div>
  );
});

function other(w: WhenBusy): WhenBusy {
  return w === "queue" ? "interrupt" : "queue";
}

function WhenBusyPicker({ value }: { value: WhenBusy }) {
  return (
    <label class="picker" title="What a message does to the work that goes on. Alt+Enter does the other.">
      <span class="hidden">While Hermes works, a message</span>
      <select value={value} onChange={(e) => post({ type: "setWhenBusy", whenBusy: e.currentTarget.value as WhenBusy })}>
        <option value="interrupt">Interrupts</option>
        <option value="queue">Waits</option>
      </select>
      <Icon name="chevron-down" />
    </label>
  );
}

function AttachButton({ take }: { take: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton icon="attach" label="Attach files or pictures" onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={(e) => {
          take([...(e.currentTarget.files ?? [])]);
          e.currentTarget.value = "";
        }}
      />
    </>
  );
}

function Chips({ attachments, remove }: { attachments: readonly Attachment[]; remove: (a: Attachment) => void }) {
  return (
    <ul class="chips" aria-label="Attached">
      {attachments.map((a, i) => (
        <li key={i} class="chip">
          {a.kind === "image" ? <img src={`data:${a.mimeType};base64,${a.data}`} alt="" /> : <Icon name="file" />}
          <span title={a.kind === "image" ? a.name : a.uri}>{a.name}</span>
          <IconButton icon="close" label={`Remove ${a.name}`} onClick={() => remove(a)} />
        </li>
      ))}
    </ul>
  );
}

function sameAttachment(a: Attachment, b: Attachment): boolean {
  return a.kind === b.kind && a.name === b.name && (a.kind === "image" ? a.data === (b as typeof a).data : a.uri === (b as typeof a).uri);
}

/** put writes at once, not with the next render, because the user may type before it. */
function put(area: HTMLTextAreaElement, text: string, caret: number): void {
  area.value = text;
  area.setSelectionRange(caret, caret);
}

/** useGrowing makes the area as high as its text, up to what the style allows. */
function useGrowing(area: { current: HTMLTextAreaElement | null }, text: string) {
  useEffect(() => {
    const a = area.current!;
    a.style.height = "auto";
    a.style.height = `${a.scrollHeight}px`;
  }, [text]);
}

/** useHistory walks through earlier prompts, from the first or the last line on. */
function useHistory(area: { current: HTMLTextAreaElement | null }, text: string, setText: (t: string) => void) {
  const at = useRef<number | undefined>(undefined); // in the history; undefined: the draft
  const writing = useRef("");
  const show = (t: string, caretAtEnd: boolean) => {
    setText(t);
    keep({ draft: t });
    put(area.current!, t, caretAtEnd ? t.length : 0);
  };
  const onKeyDown = (e: KeyboardEvent): boolean => {
    const a = area.current!;
    const plain = !e.shiftKey && !e.ctrlKey && !e.metaKey && !e.altKey && a.selectionStart === a.selectionEnd;
    const history = kept().history;
    if (plain && e.key === "ArrowUp" && !text.slice(0, a.selectionStart).includes("\n") && (a.selectionStart === 0 || at.current !== undefined)) {
      const next = (at.current ?? history.length) - 1;
      if (next < 0) return false;
      if (at.current === undefined) writing.current = text;
      at.current = next;
      show(history[next]!, false);
    } else if (plain && e.key === "ArrowDown" && at.current !== undefined && !text.slice(a.selectionStart).includes("\n")) {
      const next = at.current + 1;
      at.current = next < history.length ? next : undefined;
      show(at.current === undefined ? writing.current : history[next]!, true);
    } else {
      if (e.key.length === 1 || e.key === "Enter") at.current = undefined;
      return false;
    }
    e.preventDefault();
    return true;
  };
  const remember = (t: string) => {
    at.current = undefined;
    keep({ history: [...kept().history.filter((h) => h !== t), t].slice(-maxHistory) });
  };
  return { onKeyDown, remember };
}

/** useCompletion is the list of suggestions, and its keys. */
function useCompletion(area: { current: HTMLTextAreaElement | null }, setText: (t: string) => void, p: ComposerProps) {
  const id = useId();
  const [at, setAt] = useState<Completing>();
  const [files, setFiles] = useState<readonly string[]>([]);
  const [chosen, choose] = useState(0);
  const asked = useRef("");
  const mentioned = useRef(new Set<string>());
  const all = at ? suggestions(at, p.commands, files) : [];

  useEffect(
    () =>
      p.hear((m) => {
        if (m.type === "found" && m.query === asked.current) setFiles(m.files);
      }),
    [p.hear],
  );
  useEffect(() => {
    if (at && all.length > 0) p.say(`${plural(all.length, "suggestion")}. ${all[Math.min(chosen, all.length - 1)]!.label}`);
  }, [at?.kind, all.length, chosen]);

  const look = () => {
    const a = area.current!;
    const found = completing(a.value, a.selectionStart);
    if (found?.query !== at?.query || found?.kind !== at?.kind) choose(0);
    setAt(found);
    if (found?.kind === "mention" && found.query !== asked.current) {
      asked.current = found.query;
      post({ type: "find", query: found.query });
    }
  };
  const close = () => setAt(undefined);
  const accept = (s: Suggestion) => {
    const a = area.current!;
    const after = accepted(a.value, a.selectionStart, at!, s);
    if (s.file) mentioned.current.add(s.file);
    setText(after.text);
    keep({ draft: after.text });
    close();
    put(a, after.text, after.caret);
    a.focus();
  };
  const onKeyDown = (e: KeyboardEvent): boolean => {
    if (all.length === 0) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (e.key === "Enter" && isWhole(at!, all[Math.min(chosen, all.length - 1)]!)) return (close(), false); // then it is sent
    if (step) choose((chosen + step + all.length) % all.length);
    else if (e.key === "Tab" || (e.key === "Enter" && !e.shiftKey)) accept(all[Math.min(chosen, all.length - 1)]!);
    else if (e.key === "Escape") close();
    else return false;
    e.preventDefault();
    e.stopPropagation();
    return true;
  };
  const open = all.length > 0;
  const list = open && <Suggestions id={id} all={all} chosen={Math.min(chosen, all.length - 1)} accept={accept} />;
  const mention = (names: readonly string[]) => names.forEach((n) => mentioned.current.add(n));
  const mentionsIn = (t: string) => [...mentioned.current].filter((name) => t.includes(`@${name}`) || t.includes(`@${quoted(name)}`));
  return {
    mention,
    mentionsIn,
    id: open ? id : undefined,
    active: open ? `${id}-${Math.min(chosen, all.length - 1)}` : undefined,
    list,
    look,
    close,
    onKeyDown,
  };
}

function Suggestions({ id, all, chosen, accept }: { id: string; all: Suggestion[]; chosen: number; accept: (s: Suggestion) => void }) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: "nearest" }), [chosen]);
  return (
    <ul class="suggestions" id={id} tabIndex={0} role="listbox" aria-label="Suggestions" ref={list}>
      {all.map((s, i) => (
        <li
          key={s.insert}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === chosen}
          class={i === chosen ? "chosen" : ""}
          onMouseDown={(e) => {
            e.preventDefault();
            accept(s);
          }}
        >
          <Icon name={s.icon} />
          <span class="suggestion-label">{s.label}</span>
          <span class="suggestion-detail">{s.detail}</span>
        </li>
      ))}
    </ul>
  );
}

/** useDrop tells whether something is dragged above, and attaches dropped items. */
function useDrop(take: (data: DataTransfer) => void): [boolean, Record<string, (e: DragEvent) => void>] {
  const [over, setOver] = useState(false);
  return [
    over,
    {
      onDragOver: (e) => {
        e.preventDefault();
        setOver(true);
      },
      onDragLeave: () => setOver(false),
      onDrop: (e) => {
        e.preventDefault();
        setOver(false);
        if (e.dataTransfer) take(e.dataTransfer);
      },
    },
  ];
}

function scrollLog(e: KeyboardEvent): void {
  const log = document.querySelector(".log");
  if (!log) return;
  e.preventDefault();
  log.scrollBy({ top: (e.key === "PageUp" ? -0.9 : 0.9) * log.clientHeight });
}
