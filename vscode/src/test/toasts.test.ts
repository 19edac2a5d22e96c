import assert from "node:assert/strict";
import { it } from "node:test";
import { Toasts } from "../chat/toasts";

function setup(visible: string[]) {
  const told: string[] = [];
  let work: (_: { session: string; running: boolean }) => void = () => {};
  let now = 0;
  const toasts = new Toasts(
    { onWork: (f: typeof work) => ((work = f), { dispose() {} }) } as never,
    {
      seen: (s) => visible.includes(s ?? ""),
      tell: (kind, text, session, ways = []) => told.push([`${kind} ${session}: ${text}`, ...ways.map((w) => w.label)].join(" | ")),
    },
    () => now,
    1,
  );
  const turn = async (session: string, took: number, error?: string) => {
    work({ session, running: true });
    now += took;
    work({ session, running: false });
    if (error) {
      await Promise.resolve();
      toasts.failed(session, { error, ways: [{ label: "Retry", command: "hermes.chat.retry" }] });
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  return { told, turn };
}

it("turns whose chat is visible have no toast", async () => {
  const { told, turn } = setup(["a"]);
  await turn("a", 100);
  await turn("a", 60_000);
  await turn("a", 60_000, "The key was refused.");
  assert.deepEqual(told, []);
});

it("of hidden turns, failures and the end of a long one have one toast each", async () => {
  const { told, turn } = setup(["a"]);
  await turn("b", 29_000);
  await turn("b", 42_000);
  await turn("b", 1, "The key was refused.");
  await turn("b", 125_000, "The key was refused.");
  assert.deepEqual(told, ["end b: Hermes has ended a turn of 42 s.", "failure b: The key was refused. | Retry", "failure b: The key was refused. | Retry"]);
});
