// Rows of the list of sessions.
import { SessionHit, SessionInfo } from "./protocol";

/** A session, with its forks, or with the hits of a search in it. */
export interface SessionRow {
  readonly session: SessionInfo;
  /** It was forked from another session of the list. */
  readonly fork: boolean;
  readonly children: (SessionRow | HitRow)[];
}

export interface HitRow {
  readonly hit: SessionHit;
}

export const isRow = (row: SessionRow | HitRow): row is SessionRow => "session" in row;

const parentOf = (s: SessionInfo) => (s._meta?.hermes as { parentId?: string } | undefined)?.parentId;

/** Returns sessions with forks below the session that they come from, in the order of the list. */
export function nest(list: readonly SessionInfo[]): SessionRow[] {
  const known = new Set(list.map((s) => s.sessionId));
  const rows = new Map<string, SessionRow>(list.map((session) => [session.sessionId, { session, fork: known.has(parentOf(session) ?? ""), children: [] }]));
  const top: SessionRow[] = [];
  for (const row of rows.values()) {
    (row.fork ? rows.get(parentOf(row.session)!)!.children : top).push(row);
  }
  return top;
}

/** Returns the sessions of hits, the one with the best hit first, with their hits. */
export function grouped(hits: readonly SessionHit[]): SessionRow[] {
  const rows = new Map<string, SessionRow>();
  for (const hit of hits) {
    const row = rows.get(hit.sessionId) ?? { session: hit, fork: false, children: [] };
    rows.set(hit.sessionId, row);
    row.children.push({ hit });
  }
  return [...rows.values()];
}
