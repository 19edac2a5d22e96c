/** One file that a turn has changed. */
export interface Change {
  readonly path: string; // absolute
  /** The text before the turn; null: there was no file; undefined: the checkpoint has it. */
  before: string | null | undefined;
  /** The text as the turn left it, where that is known. */
  after: string | undefined;
  /** A part of it was accepted: the checkpoint is not the state before the rest. */
  partly?: boolean;
  /** An inline edit has made it: it is accepted or rejected in the document. */
  inline?: boolean;
}

/** Changes of one turn that were neither accepted nor reverted. */
export interface Turn {
  /** Turns that began in this window have the numbers from 1 on, the others negative ones. */
  readonly id: number;
  readonly session: string;
  /** When it began, in milliseconds. */
  readonly began: number;
  title: string;
  /** The state before it, once the server has told. */
  checkpoint?: string;
  readonly changes: Map<string, Change>;
}

/** The changes of a turn in the list of the server. */
export interface Waiting {
  readonly session: string;
  readonly checkpoint: string;
  readonly title: string;
  readonly created: number;
  readonly files: readonly string[]; // absolute
}

/** A turn without a checkpoint in the list of the server. Its changes can be accepted, as a whole, and not reverted. */
export interface Missed extends Waiting {
  readonly commands: boolean; // ran, too: their changes are not known
  readonly why: string; // there is no checkpoint
}

/** What the next window has to know of a change: an inline edit has made it, or a part was accepted. Lines end with "\n". */
export interface Rest {
  readonly session: string;
  readonly checkpoint: string;
  readonly path: string;
  /** The earlier text with the accepted part, if there is one. */
  readonly before?: string;
  /** The text as the turn left it, where that is known. */
  readonly after?: string;
  readonly inline?: boolean;
}

/** Changes keeps the changes of turns until they are accepted or reverted. */
export class Changes {
  /** Newest first; those without changes are left out. */
  private list: Turn[] = [];
  private readonly running = new Map<string, Turn>(); // by session
  private readonly ending = new Set<Turn>(); // their files are not known yet
  private readonly known = new Set<string>(); // checkpoints of the server's earlier lists
  private last = 0;
  private lastLoaded = 0;
  /** Turns without a checkpoint, newest first. */
  missed: readonly Missed[] = [];

  /** rests are those of the earlier window. */
  constructor(private readonly rests: readonly Rest[] = []) {}

  /** The changes of recorded turns that an inline edit has made, or of which a part was accepted. */
  kept(): Rest[] {
    return this.list.flatMap(({ session, checkpoint, changes }) =>
      [...changes.values()].flatMap(({ path, partly, inline, before, after }) => {
        const part = partly && typeof before === "string" ? before : undefined;
        const rest = { session, path, ...(part !== undefined && { before: part }), ...(after !== undefined && { after }), ...(inline && { inline }) };
        return checkpoint !== undefined && (inline || part !== undefined) ? [{ ...rest, checkpoint }] : [];
      }),
    );
  }

  get turns(): readonly Turn[] {
    return this.list;
  }

  /** A turn begins in a session. */
  begin(session: string, title: string): void {
    const turn = { id: ++this.last, session, began: Date.now(), title, changes: new Map() };
    this.running.set(session, turn);
    this.ending.add(turn);
  }

  /** A call of a session's running turn has changed a file. */
  note(session: string, path: string, before: string | null, after: string): void {
    const turn = this.running.get(session);
    if (!turn) {
      return;
    }
    const known = turn.changes.get(path);
    const change = { ...known, path, before: known ? known.before : before, after };
    if (change.before === after) {
      turn.changes.delete(path);
    } else {
      turn.changes.set(path, change);
    }
    this.sort(turn);
  }

  /** The running turn of a session is over. */
  end(session: string): Turn | undefined {
    const turn = this.running.get(session);
    this.running.delete(session);
    return turn;
  }

  /** The files of a turn that has ended are known. */
  complete(turn: Turn | undefined): void {
    if (turn) {
      this.ending.delete(turn);
    }
  }

  /**
   * load takes the server's list, which has the changes of all sessions of the folder. Turns that it does not have wait no
   * longer, except those that run. It returns the paths that wait no longer.
   */
  load(waiting: readonly Waiting[]): string[] {
    const before = this.paths();
    const turns = waiting.map((w) => this.recorded(w));
    this.list = [...turns, ...[...this.ending].filter((t) => t.checkpoint === undefined)];
    waiting.forEach((w) => this.known.add(w.checkpoint));
    this.sort();
    const after = this.paths();
    return [...before].filter((path) => !after.has(path));
  }

  /** The turn of a checkpoint with the files that wait. */
  private recorded({ session, checkpoint, title, created, files }: Waiting): Turn {
    const turn = this.list.find((t) => t.checkpoint === checkpoint) ?? this.unrecorded(session, checkpoint, created) ?? this.loaded(session, created);
    turn.checkpoint = checkpoint;
    turn.title = title || turn.title;
    const wait = new Set(files);
    [...turn.changes.keys()].filter((path) => !wait.has(path)).forEach((path) => turn.changes.delete(path));
    files.filter((path) => !turn.changes.has(path)).forEach((path) => turn.changes.set(path, this.unseen(turn, path)));
    return turn;
  }

  /** A change that this window has not seen. */
  private unseen(turn: Turn, path: string): Change {
    const rest = this.rests.find((r) => r.session === turn.session && r.checkpoint === turn.checkpoint && r.path === path);
    const known = { ...(rest?.before !== undefined && { partly: true }), ...(rest?.inline && { inline: true }) };
    return { path, before: rest?.before, after: rest?.after, ...known };
  }

  /** The turn of this window that has made a new checkpoint. The time in the list has no fractions of seconds. */
  private unrecorded(session: string, checkpoint: string, created: number): Turn | undefined {
    const fits = (t: Turn) => t.session === session && t.checkpoint === undefined && t.began < created + 1000;
    return this.known.has(checkpoint) ? undefined : [...this.ending].find(fits);
  }

  private loaded(session: string, began: number): Turn {
    return { id: --this.lastLoaded, session, began, title: "", changes: new Map() };
  }

  private paths(): Set<string> {
    return new Set(this.list.flatMap((t) => [...t.changes.keys()]));
  }

  /** The changes of a turn, or one of them, wait no longer. */
  settle(id: number, paths?: Iterable<string>): void {
    const turn = this.turn(id);
    for (const path of paths ?? [...(turn?.changes.keys() ?? [])]) {
      turn?.changes.delete(path);
    }
    this.sort();
  }

  /** A file is as it was before a turn: neither that one nor a later one has changed it. */
  reverted(id: number, paths: Iterable<string>): void {
    const all = [...paths];
    const at = this.list.findIndex((t) => t.id === id);
    for (const turn of this.list.slice(0, at + 1)) {
      all.forEach((path) => turn.changes.delete(path));
    }
    this.sort();
  }

  turn(id: number): Turn | undefined {
    return this.list.find((t) => t.id === id);
  }

  /** The number of the turn that began last. */
  get newest(): number {
    return this.last;
  }

  /** The newest turn that has changed a file, of those that are chosen. */
  find(path: string, chosen: (turn: Turn) => boolean = () => true): { turn: Turn; change: Change } | undefined {
    for (const turn of this.list) {
      const change = chosen(turn) ? turn.changes.get(path) : undefined;
      if (change) {
        return { turn, change };
      }
    }
    return undefined;
  }

  private sort(also?: Turn): void {
    const all = also && !this.list.includes(also) ? [also, ...this.list] : this.list;
    this.list = all.filter((t) => t.changes.size > 0).sort(newestFirst);
  }
}

/** Checkpoints have ids in the order of time. A turn without one is newer. */
function newestFirst(a: Turn, b: Turn): number {
  if (a.checkpoint === undefined || b.checkpoint === undefined) {
    return Number(a.checkpoint !== undefined) - Number(b.checkpoint !== undefined) || b.id - a.id;
  }
  return a.checkpoint < b.checkpoint ? 1 : -1;
}

/** The first line, from 0, in which two texts differ. */
export function firstDifference(a: string, b: string): number {
  let line = 0;
  for (let i = 0; i < a.length && i < b.length && a[i] === b[i]; i++) {
    if (a[i] === "\n") {
      line++;
    }
  }
  return line;
}
