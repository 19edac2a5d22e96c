// Messages while a turn runs, with a server that ends its turns when it is told to.

import assert from "node:assert/strict";
import { it } from "node:test";
import type { ContentBlock } from "../../protocol";
import { ChatState } from "../chatstate";
import { Prompts } from "../prompts";

function setup() {
  const sent: string[] = [];
  let listener: (running: boolean) => void = () => {};
  let end: ((stopReason: string) => void) | undefined;
  let cancels = 0;
  const server = {
    onTurn: (l: (running: boolean) => void) => {
      listener = l;
      return { dispose() {} };
    },
    ensureSession: async () => "s",
    prompt: (blocks: ContentBlock[]) => {
      sent.push(blocks.map((b) => b.text).join(""));
      listener(true);
      return new Promise<{ stopReason: string }>((resolve) => {
        end = (stopReason) => {
          end = undefined;
          listener(false);
          resolve({ stopReason });
        };
      });
    },
    cancel: async () => {
      cancels++;
      end?.("cancelled");
    },
  };
  const chat = new ChatState();
  const prompts = new Prompts(server as never, chat);
  chat.apply({ type: "reset", session: { id: "s", title: "" } });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
  return {
    sent,
    chat,
    prompts,
    settle,
    cancels: () => cancels,
    end: async (reason = "end_turn") => {
      end!(reason);
      await settle();
    },
    say: async (text: string, whenBusy: "interrupt" | "queue" = "interrupt") => {
      void prompts.send([{ type: "text", text }], whenBusy);
      await settle();
    },
    shown: () => chat.state.items.map((i) => (i.kind === "user" || i.kind === "note" ? i.text : i.kind)),
    queue: () => chat.state.queue.map((q) => q.text),
    begin: () => listener(true), // a turn that a command has started
    over: async () => {
      listener(false);
      await settle();
    },
  };
}

it("one message runs", async () => {
  const t = setup();
  await t.say("one");
  assert.deepEqual([t.sent, t.shown(), t.chat.state.turn.running], [["one"], ["one"], true]);
  await t.end();
  assert.deepEqual([t.chat.state.turn.running, t.shown()], [false, ["one"]]);
});

it("one that comes while a question is open goes to the server, and cancels nothing", async () => {
  const t = setup();
  await t.say("one");
  t.chat.apply({ type: "ask", ask: { id: "q", kind: "permission", toolCall: { toolCallId: "c", title: "rm x" }, options: [], at: 1 } } as never);
  await t.say("Because.");
  assert.deepEqual([t.sent, t.cancels(), t.queue()], [["one", "Because."], 0, []]);
});

it("one that waits begins when the turn before it has ended", async () => {
  const t = setup();
  await t.say("one");
  await t.say("two", "queue");
  await t.say("three", "queue");
  assert.deepEqual([t.sent, t.queue(), t.cancels()], [["one"], ["two", "three"], 0]);
  await t.end();
  assert.deepEqual([t.sent, t.queue()], [["one", "two"], ["three"]]);
  await t.end();
  assert.deepEqual([t.sent, t.queue()], [["one", "two", "three"], []]);
  await t.end();
  assert.deepEqual(t.shown(), ["one", "two", "three"]);
});

it("one that interrupts comes after the end of the turn, and before what waits", async () => {
  const t = setup();
  await t.say("one");
  await t.say("later", "queue");
  await t.say("now", "interrupt");
  assert.deepEqual([t.sent, t.queue(), t.cancels()], [["one", "now"], ["later"], 1]);
  assert.deepEqual(t.shown(), ["one", "Cancelled.", "now"]);
});

it("one that waits can be taken back, or sent at once", async () => {
  const t = setup();
  await t.say("one");
  await t.say("two", "queue");
  await t.say("three", "queue");
  t.prompts.unqueue(t.chat.state.queue[0]!.id);
  assert.deepEqual(t.queue(), ["three"]);
  await t.prompts.sendNow(t.chat.state.queue[0]!.id);
  await t.settle();
  assert.deepEqual(t.sent, ["one", "three"]);
});

it("after a stop nothing begins by itself, until the user says something", async () => {
  const t = setup();
  await t.say("one");
  await t.say("two", "queue");
  await t.prompts.cancel();
  await t.settle();
  assert.deepEqual([t.sent, t.queue(), t.chat.state.turn.running], [["one"], ["two"], false]);
  await t.say("three");
  assert.deepEqual([t.sent, t.queue()], [["one", "two"], ["three"]], "in the order in which they were written");
});

it("a command's turn is waited for, or stopped, too", async () => {
  const t = setup();
  t.begin();
  await t.say("one", "queue");
  assert.deepEqual([t.sent, t.queue()], [[], ["one"]]);
  await t.over();
  assert.deepEqual(t.sent, ["one"]);
});

it("a command goes beside the turn that runs", async () => {
  const t = setup();
  t.chat.apply({ type: "update", update: { sessionUpdate: "available_commands_update", availableCommands: [{ name: "status", description: "" }] } });
  await t.say("one");
  await t.say("/status");
  assert.deepEqual([t.sent, t.cancels(), t.queue()], [["one", "/status"], 0, []]);
  await t.say("/etc is a folder");
  assert.equal(t.cancels(), 1, "a path is none");
});

it("another session begins at once; the one before goes on aside, and can be brought back", async () => {
  const t = setup();
  await t.say("one");
  await t.say("two", "queue");
  t.prompts.forget();
  t.chat.show({ id: "other", title: "" });
  const endOne = t.end;
  await t.over(); // of this session nothing runs
  assert.deepEqual([t.shown(), t.queue()], [[], []]);
  await endOne("cancelled");
  assert.deepEqual([t.shown(), t.chat.state.turn.running], [[], false]);
  t.chat.apply({ type: "user", text: "there", at: 1 }, "nowhere");
  assert.deepEqual(t.shown(), []);
  assert.ok(t.chat.showBackground("s"));
  assert.deepEqual([t.shown(), t.chat.state.turn.running, t.chat.state.session?.id], [["one", "Cancelled."], false, "s"]);
  assert.ok(!t.chat.showBackground("s"));
});

it("a failure is said, and what waits goes on", async () => {
  const t = setup();
  const failing = new Prompts(
    {
      onTurn: () => ({ dispose() {} }),
      ensureSession: async () => {
        throw new Error("no endpoint");
      },
      prompt: async () => ({ stopReason: "end_turn" }),
      cancel: async () => {},
    } as never,
    t.chat,
  );
  await failing.send([{ type: "text", text: "x" }], "queue");
  assert.deepEqual([t.shown(), t.chat.state.turn.running], [["No endpoint"], false]);
  assert.equal(failing.retry(), "x");
  assert.equal(failing.retry(), undefined, "a prompt is sent again once");
});

it("a message that no model could be asked is given back", async () => {
  const t = setup();
  const again: string[] = [];
  const unset = new Prompts(
    {
      onTurn: () => ({ dispose() {} }),
      ensureSession: async () => "s",
      prompt: async () => {
        throw new Error("no key for openai at api.openai.com: set providers.openai.api_key or key_env");
      },
      cancel: async () => {},
    } as never,
    t.chat,
    (text) => again.push(text),
  );
  await unset.send([{ type: "text", text: "x" }], "queue");
  assert.deepEqual([t.shown(), again], [["x", "No API key for openai."], ["x"]]);
});
