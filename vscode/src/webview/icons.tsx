import type { Call } from "../shared/state";

export function Icon({ name, spin }: { name: string; spin?: boolean }) {
  return <span class={`codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`} aria-hidden="true" />;
}

/** An icon that does something. Its label is its name, and its tip. */
export function IconButton(p: { icon: string; label: string; onClick: () => void; class?: string; disabled?: boolean; pressed?: boolean }) {
  return (
    <button
      type="button"
      class={`icon ${p.class ?? ""}`}
      title={p.label}
      aria-label={p.label}
      aria-pressed={p.pressed}
      disabled={p.disabled}
      onClick={p.onClick}
    >
      <Icon name={p.icon} />
    </button>
  );
}

const byName: Record<string, string> = {
  execute_code: "code",
  delegate_task: "organization",
  todo: "checklist",
  clarify: "question",
};

const byKind: Record<string, string> = {
  read: "file",
  edit: "edit",
  delete: "trash",
  move: "arrow-swap",
  search: "search",
  execute: "terminal",
  think: "lightbulb",
  fetch: "globe",
};

export function iconOf(c: Call): string {
  return c.subagent ? "hubot" : (byName[c.name ?? ""] ?? byKind[c.tool] ?? "tools");
}
