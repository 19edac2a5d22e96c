import type { Sessions } from "../sessions";
import type { Way } from "../shared/messages";
import type { Failure } from "./failure";

/** A turn that takes longer, in milliseconds, says that it has ended. */
const longTurn = 30_000;
/** A chat that is being opened is visible after this time, in milliseconds. */
const opening = 500;

/** Where the chat is, and how toasts are shown. */
export interface ToastPlaces {
  /** Whether the chat of a session is visible. */
  seen(session: string | undefined): boolean;
  /** Shows a toast with the buttons that may help, and one that opens the chat of the session. */
  tell(kind: "failure" | "end", text: string, session: string | undefined, ways?: readonly Way[]): void;
}

/**
 * Toasts says how turns end whose chat the user does not see: that they have failed, and that a long
 * one has ended. Approvals and questions have toasts of their own.
 */
export class Toasts {
  private readonly began = new Map<string, number>();
  private readonly failures = new Set<string | undefined>(); // of turns that end now
  private readonly ends = new Map<string | undefined, NodeJS.Immediate>(); // of long turns, that are about to be told

  constructor(
    sessions: Pick<Sessions, "onWork">,
    private readonly places: ToastPlaces,
    private readonly now: () => number = Date.now,
    private readonly wait = opening,
  ) {
    sessions.onWork(({ session, running }) => (running ? void this.began.set(session, this.now()) : this.ended(session)));
  }

  failed(session: string | undefined, { error, ways }: Failure): void {
    this.failures.add(session);
    clearImmediate(this.ends.get(session)); // a failure is reported right before or after the end of its turn
    setTimeout(() => {
      this.failures.delete(session);
      if (!this.places.seen(session)) this.places.tell("failure", error, session, ways);
    }, this.wait);
  }

  private ended(session: string): void {
    const took = this.now() - (this.began.get(session) ?? this.now());
    this.began.delete(session);
    if (took < longTurn || this.failures.has(session)) return;
    const tell = () => {
      this.ends.delete(session);
      if (!this.places.seen(session)) this.places.tell("end", `Hermes has ended a turn of ${span(took)}.`, session);
    };
    this.ends.set(session, setImmediate(tell));
  }
}

/** A span of time: "42 s", "2 min 5 s". */
function span(took: number): string {
  const seconds = Math.round(took / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
