import assert from "node:assert/strict";
import { it } from "node:test";

import { Messages } from "../chat/messages";
import { reduce } from "../shared/reducer";
import { initial, type Note } from "../shared/state";

function setup() {
  const view = { visible: true };
  const toasts: string[] = [];
  let state = initial;
  let now = 0;
  const messages = new Messages({ apply: (m) => void (state = reduce(state, m)) }, view, () => now);
  let cancel = () => {};
  const token = { isCancellationRequested: false, onCancellationRequested: (f: () => void) => ((cancel = f), { dispose() {} }) } as never;
  let press: (button: number | undefined) => void = () => {};
  const show = (text: string, buttons: string[] = [], question = false) =>
    messages.show({ severity: "warning", text, buttons, ...(question && { question: token }) }, () => {
      toasts.push(text);
      return new Promise((resolve) => (press = resolve));
    });
  const notes = () =>
    state.items.map((i) => [(i as Note).severity, (i as Note).text, ...((i as Note).buttons ?? []), (i as Note).choice].filter(Boolean).join(" | "));
  return {
    messages,
    toasts,
    show,
    notes,
    cancel: () => cancel(),
    press: (b?: number) => press(b),
    idOf: (i: number) => (state.items[i] as Note).id!,
    reset: (after = 0) => {
      now += after;
      state = reduce(state, { type: "reset" });
      messages.again();
    },
  };
}

it("a message is a line of the chat, and its buttons answer it once", async () => {
  const { messages, show, notes, toasts, idOf } = setup();
  assert.equal(await show("Done."), undefined);
  const answer = show("Stopped.", ["Start again", "Show log"]);
  assert.deepEqual(notes(), ["warning | Done.", "warning | Stopped. | Start again | Show log"]);
  messages.hidden();
  messages.press(idOf(1), 1);
  messages.press(idOf(1), 0);
  assert.equal(await answer, 1);
  assert.deepEqual(notes(), ["warning | Done.", "warning | Stopped. | Show log"]);
  assert.deepEqual(toasts, []);
});

it("a question that waits becomes one notification when the chat is hidden, and ends when its sender goes", async () => {
  const { messages, show, notes, toasts, press, cancel } = setup();
  const first = show("Open the page?", ["Open", "Do not open"], true);
  messages.hidden();
  messages.hidden();
  assert.deepEqual(toasts, ["Open the page?"]);
  press(0);
  assert.equal(await first, 0);
  const second = show("Open it again?", ["Open"], true);
  cancel();
  assert.equal(await second, undefined);
  assert.deepEqual(notes(), ["warning | Open the page? | Open", "warning | Open it again?"]);
});

it("another session shows fresh messages and questions, and no old ones", async () => {
  const { show, notes, reset } = setup();
  const old = show("Exported.", ["Open"]);
  void show("Open the page?", ["Open"], true);
  reset(11_000);
  assert.equal(await old, undefined);
  assert.deepEqual(notes(), ["warning | Open the page? | Open"]);
  void show("Added.", ["New session"]);
  reset();
  assert.deepEqual(notes(), ["warning | Open the page? | Open", "warning | Added. | New session"]);
});
