/** One file that a turn has changed. */
export interface Change {
  readonly path: string; // absolute
  /** The text before the turn; null: there was no file; undefined: the checkpoint has it. */
  before: string | null | undefined;
  /** The text as the turn left it, where that is known. */
  after: string | undefined;
  /** A part of it was accepted: the checkpoint is not the state before the rest. */
  partly?: boolean;
}

/** Changes of one turn that were neither accepted nor reverted. */
export interface Turn {
  readonly id: number;
  readonly session: string;
  title: string;
  /** The state before it, once the server has told. */
  checkpoint?: string;
  readonly changes: Map<string, Change>;
}

/** Turns whose changes wait are kept up to this many. */
const kept = 20;

/** Changes keeps the changes of turns until they are accepted or reverted. */
export class Changes {
  /** Newest first; those without changes are left out. */
  private list: Turn[] = [];
  private readonly running = new Map<string, Turn>(); // by session
  private last = 0;

  get turns(): readonly Turn[] {
    return this.list;
  }

  /** A turn begins in a session. */
  begin(session: string, title: string): void {
    this.running.set(session, { id: ++this.last, session, title, changes: new Map() });
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

  /** complete adds all files that a turn has changed, from its checkpoint. */
  complete(turn: Turn, checkpoint: { id: string; title: string; files: string[] }): void {
    turn.checkpoint = checkpoint.id;
    turn.title = checkpoint.title || turn.title;
    for (const path of checkpoint.files) {
      if (!turn.changes.has(path)) {
        turn.changes.set(path, { path, before: undefined, after: undefined });
      }
    }
    this.sort(turn);
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
    for (const turn of this.list.filter((t) => t.id >= id)) {
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
    this.list = all
      .filter((t) => t.changes.size > 0)
      .sort((a, b) => b.id - a.id)
      .slice(0, kept);
  }
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
