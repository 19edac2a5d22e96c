// Rows of the view of extensions.
import { ExtensionsResult, MCPServerState, Offer } from "./protocol";

/** An entry, or a group of them. */
export interface Row {
  /** The same for the same entry in each listing, so that a menu that is open knows its row after the view was listed again. */
  readonly id: string;
  readonly label: string;
  readonly detail?: string;
  readonly tooltip?: string;
  readonly icon: string;
  /** Says which actions a row has: see view/item/context in package.json. */
  readonly kind: string;
  /** The argument of its actions: the name of a server or a skill, a target of the memory, the number of a learning. */
  readonly name?: string;
  readonly children?: readonly Row[];
}

/** Returns the groups, without those that are empty. */
export function rowsOf(all: ExtensionsResult, restricted = false): Row[] {
  const groups: Row[] = [
    ...all.offered.filter((o) => !o.trusted).map((o) => offerRow(o, restricted)),
    group("MCP servers", "plug", all.mcp.map(serverRow)),
    group(
      "Skills",
      "mortar-board",
      all.skills.map((s) => entry(s.name, s.error ?? s.description, s.error ? "warning" : "book", s.error ? "skill.broken" : "skill", s.place)),
    ),
    group(
      "Memory",
      "notebook",
      all.memory.map((m) => ({
        label: m.heading,
        detail: m.usage,
        tooltip: m.entries.join("\n§\n") || "No entries.",
        icon: "note",
        kind: "memory",
        name: m.target,
      })),
      "memories",
    ),
    group(
      "Learnings",
      "lightbulb",
      all.learnings.map((l) => ({
        label: l.worked,
        detail: l.program,
        tooltip: `Error: ${l.error}\nFailed: ${l.failed}\nWorked: ${l.worked}`,
        icon: "check",
        kind: "learning",
        name: String(l.id),
      })),
      "learnings",
    ),
    group(
      "Plugins",
      "extensions",
      all.plugins.map((p) => entry(p.name, p.error ?? p.description, p.error ? "warning" : "extensions", "plugin", p.error ? p.state : p.version)),
    ),
    group(
      "Hooks",
      "git-commit",
      all.hooks.map((h) => entry(h.event, h.error ?? h.command, h.error ? "warning" : "terminal", "hook", h.matcher || "all tools")),
    ),
    group(
      "Commands",
      "terminal",
      all.commands.map((c) => ({ ...entry(`/${c.name}`, c.description, "file", "file", c.description), name: c.path })),
    ),
    group(
      "Agents",
      "organization",
      all.agents.map((a) => ({ ...entry(a.name, a.description, "file", "file", a.description), name: a.path })),
    ),
  ];
  return groups.filter((g) => g.children!.length > 0);
}

/** Gives the rows of a group their ids. Rows that are alike are told apart by their order. */
function withIds(group: string, rows: Unnamed[]): Row[] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const id = `${group}/${row.name ?? row.label}`;
    const before = seen.get(id) ?? 0;
    seen.set(id, before + 1);
    return { ...row, id: before > 0 ? `${id}#${before}` : id };
  });
}

type Unnamed = Omit<Row, "id">;

const group = (label: string, icon: string, children: Unnamed[], kind = "group"): Row => ({
  id: label,
  label,
  icon,
  kind,
  children: withIds(label, children),
  detail: children.length > 0 ? String(children.length) : undefined,
});

const entry = (label: string, tooltip: string, icon: string, kind: string, detail?: string): Unnamed => ({ label, tooltip, icon, kind, name: label, detail });

const serverIcons: Record<string, string> = {
  connected: "pass",
  connecting: "loading~spin",
  "needs login": "key",
  "needs approval": "shield",
  "not approved": "shield",
  failed: "error",
};

function serverRow(s: MCPServerState): Unnamed {
  return {
    label: s.name,
    detail: s.state === "connected" ? `${s.tools} ${s.tools === 1 ? "tool" : "tools"}` : s.state,
    tooltip: [s.from, s.error].filter(Boolean).join("\n"),
    icon: serverIcons[s.state] ?? "circle-slash",
    kind: `server.${s.state.replaceAll(" ", "-")}${s.approved ? ".approved-here" : ""}`,
    name: s.name,
  };
}

function offerRow(o: Offer, restricted: boolean): Row {
  const rows = (kind: string, list: Offer["skills"]) => list.map((e) => ({ ...entry(e.name, e.error ?? e.description ?? "", "lock", "offered", kind) }));
  return {
    id: `offered/${o.folder}`,
    label: restricted ? "Not used in Restricted Mode" : "Not used until you trust the folder",
    tooltip: o.folder,
    icon: "workspace-untrusted",
    kind: restricted ? "restricted" : "untrusted",
    name: o.folder,
    children: withIds(`offered/${o.folder}`, [
      ...rows("skill", o.skills),
      ...rows("command", o.commands),
      ...rows("agent", o.agents),
      ...rows("MCP server", o.servers),
    ]),
  };
}

/** The servers that want the user's attention: those that need a login, then those that failed. */
export function troubled(servers: readonly MCPServerState[]): MCPServerState[] {
  const of = (state: string) => servers.filter((s) => s.state === state);
  return [...of("needs login"), ...of("failed")];
}
