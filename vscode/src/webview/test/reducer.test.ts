// The reducer over messages of the real server (streams/, recorded by record.mjs), and over
// messages that are hard to record.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ToPage } from "../../shared/messages";
import { reduce } from "../../shared/reducer";
import { initial, type Answer, type Call, type Item, type State } from "../../shared/state";
import { stream } from "./streams";

const replay = (messages: readonly ToPage[], from: State = initial) => messages.reduce(reduce, from);
const calls = (s: State) => s.items.filter((i): i is Call => i.kind === "call");
const named = (s: State, name: string) => calls(s).filter((c) => c.name === name);
const kinds = (s: State) => s.items.map((i) => i.kind).join(" ");
const ready: ToPage = { type: "server", server: { state: "ready" } };
const session: ToPage = { type: "reset", session: { id: "s", title: "" } };
const update = (u: Record<string, unknown>, at?: number) => ({ type: "update", update: u, at }) as unknown as ToPage;
const said = (text: string, messageId = "m", kind = "agent_message_chunk") => update({ sessionUpdate: kind, messageId, content: { type: "text", text } }, 1);
const called = (id: string, more: Record<string, unknown> = {}) =>
  update({ sessionUpdate: "tool_call", toolCallId: id, title: id, kind: "other", status: "pending", ...more }, 100);
const news = (id: string, more: Record<string, unknown>, at = 200) => update({ sessionUpdate: "tool_call_update", toolCallId: id, ...more }, at);

describe("recorded sessions", () => {
  it("answer: thought and text are one item each, and closed", () => {
    const s = replay(stream("answer"));
    assert.equal(kinds(s), "user thought answer");
    const [, thought, answer] = s.items as [Item, Extract<Item, { kind: "thought" }>, Answer];
    assert.equal(thought.text, "It is a small **module**. I shall say so.");
    assert.ok(!thought.open && thought.ended! > thought.started!);
    assert.match(answer.text, /^It adds:\n\n```python\ndef add\(a, b\):\n {4}return a \+ b\n```\n\nSee \[the docs\]/);
    assert.ok(!answer.open && answer.messageId);
    assert.equal(s.session?.title, "What does this do?");
    assert.ok(s.usage!.size === 128000 && s.usage!.used > 0 && s.usage!.requests === 1);
    assert.equal(s.turn.running, false);
  });

  it("tools: calls, diff, plan, what was agreed to and what was not", () => {
    const s = replay(stream("tools"));
    assert.deepEqual(
      calls(s).map((c) => `${c.name} ${c.status}`),
      [
        "read_file completed",
        "search_files completed",
        "todo completed",
        "patch completed",
        "terminal completed",
        "terminal failed",
        "todo completed",
        "read_file failed",
      ],
    );
    const diff = named(s, "patch")[0]!.content.find((c) => c.type === "diff")!;
    assert.match(diff.oldText!, /"Hello " \+ name/);
    assert.match(diff.newText!, /f"Hello \{name\}"/);
    assert.deepEqual(
      s.plan.map((e) => e.status),
      ["completed", "completed", "in_progress"],
    );
    assert.deepEqual(
      named(s, "terminal").map((c) => c.answer),
      ["once", "no"],
    );
    assert.deepEqual(s.waiting, []);
    assert.ok(calls(s).every((c) => c.ended! >= c.started! && c.ask === undefined));
  });

  it("tools: the question stands in its call while it waits", () => {
    const all = stream("tools");
    const at = all.findIndex((m) => m.type === "ask");
    const s = replay(all.slice(0, at + 1));
    const asking = calls(s).find((c) => c.ask)!;
    assert.equal(asking.title, "$ rm -rf build");
    const ask = asking.ask!;
    assert.ok(ask.kind === "permission" && ask.toolCall.title === "rm -rf build");
    assert.deepEqual(s.waiting, [ask.id]);
  });

  it("script: the count lives while it runs, the calls stay", () => {
    const all = stream("script");
    const lines = new Set<string>();
    const s = all.reduce((before, m) => {
      const after = reduce(before, m);
      const message = named(after, "execute_code")[0]?.message;
      if (message) lines.add(message);
      return after;
    }, initial);
    assert.ok(
      [...lines].some((l) => /^execute_code · 2\/50 calls/.test(l)),
      [...lines].join("; "),
    );
    const script = named(s, "execute_code")[0]!;
    assert.equal(script.message, undefined);
    assert.deepEqual(
      script.inner?.map((i) => i.tool),
      ["search_files", "read_file", "read_file", "read_file"],
    );
  });

  it("subagents: a tree, and the question of one of them in it", () => {
    const all = stream("subagents");
    const s = replay(all);
    const [delegation] = named(s, "delegate_task");
    assert.deepEqual(
      delegation!.children.map((c) => `${c.subagent!.goal.split("\n")[0]}: ${c.subagent!.status}`),
      ["Read a.py and say what is in it: completed", "Remove b.py: completed"],
    );
    const asked = delegation!.children[1]!.children[0]!;
    assert.ok(asked.status === "failed" && asked.answer === "no" && asked.title.startsWith("rm -rf b.py"));
    assert.equal(calls(s).length, 1, "nothing of it stands outside");
    const waiting = replay(all.slice(0, all.findIndex((m) => m.type === "ask") + 1));
    assert.ok(named(waiting, "delegate_task")[0]!.children[1]!.children[0]!.ask);
  });

  it("questions: a form stands in its call", () => {
    const all = stream("questions");
    const open = replay(all.slice(0, all.findIndex((m) => m.type === "ask") + 1));
    const ask = named(open, "clarify")[0]!.ask!;
    assert.ok(ask.kind === "form" && ask.request.message === "How shall I indent?");
    assert.equal(named(replay(all), "clarify")[0]!.answer, "Tabs");
  });

  it("endings: cancelled, failed and cut off are said", () => {
    const notes = replay(stream("endings")).items.filter((i) => i.kind === "note");
    assert.ok(notes.some((n) => n.text === "Cancelled."));
    assert.ok(
      notes.some((n) => n.severity === "error" && /401/.test(n.text)),
      JSON.stringify(notes),
    );
    assert.equal(notes.filter((n) => /length limit/.test(n.text)).length, 1, "the server says it, once");
  });

  it("a page that opens late has the same state", () => {
    for (const name of ["answer", "tools", "script", "subagents", "questions", "endings"]) {
      const s = replay(stream(name));
      assert.deepEqual(reduce(initial, JSON.parse(JSON.stringify({ type: "restore", state: s }))), JSON.parse(JSON.stringify(s)));
    }
  });
});

describe("identity", () => {
  it("what has not changed is the same object, so that it is not drawn again", () => {
    const before = replay([session, said("one"), called("a"), called("b"), said("two", "n")]);
    const after = replay([said(" more", "n"), news("b", { status: "completed" })], before);
    assert.equal(after.items[0], before.items[0]);
    assert.equal(after.items[1], before.items[1]);
    assert.notEqual(after.items[2], before.items[2]);
    assert.notEqual(after.items[3], before.items[3]);
    assert.equal(after.plan, before.plan);
  });

  it("a message for the composer changes nothing", () => {
    const s = replay([session]);
    for (const m of [{ type: "focus" }, { type: "draft", text: "x" }, { type: "found", query: "", files: [] }] as ToPage[]) assert.equal(reduce(s, m), s);
  });

  it("keys are never used twice", () => {
    for (const name of ["tools", "subagents"]) {
      const keys: number[] = [];
      const walk = (items: readonly Item[]) =>
        items.forEach((i) => {
          keys.push(i.key);
          if (i.kind === "call") walk(i.children);
        });
      walk(replay(stream(name)).items);
      assert.equal(new Set(keys).size, keys.length);
    }
  });
});

describe("messages", () => {
  it("go on only while they are the last, of the same kind and id", () => {
    const s = replay([session, said("a"), said("b"), said("c", "other"), said("hm", "t", "agent_thought_chunk"), said("d", "other")]);
    assert.equal(kinds(s), "answer answer thought answer");
    assert.equal((s.items[0] as Answer).text, "ab");
    assert.deepEqual(
      s.items.map((i) => "open" in i && i.open),
      [false, false, false, true],
    );
  });

  it("white space alone begins nothing", () => {
    assert.equal(kinds(replay([session, said("\n")])), "");
  });

  it("of the user's may hold pictures and mentions", () => {
    const s = replay([
      session,
      update({ sessionUpdate: "user_message_chunk", messageId: "u", content: { type: "text", text: "Look at " } }),
      update({ sessionUpdate: "user_message_chunk", messageId: "u", content: { type: "resource_link", name: "a.go", uri: "file:///a.go" } }),
      update({ sessionUpdate: "user_message_chunk", messageId: "u", content: { type: "image", mimeType: "image/png", data: "AA==" } }),
    ]);
    assert.deepEqual(
      s.items.map((i) => i.kind === "user" && [i.text, i.images]),
      [["Look at [@a.go](file:///a.go)", ["data:image/png;base64,AA=="]]],
    );
  });
});

it("the output of a command is not a message of the session", () => {
  const commands = update({ sessionUpdate: "available_commands_update", availableCommands: [{ name: "status", description: "" }] });
  const s = replay([
    session,
    commands,
    { type: "user", text: "/status", at: 1 },
    said("idle", "a1"),
    { type: "user", text: "/etc is full", at: 1 },
    said("so", "a2"),
  ]);
  assert.deepEqual(
    s.items.map((i) => i.kind === "answer" && i.unlogged),
    [false, true, false, undefined],
  );
});

describe("a log that has lost its end", () => {
  const user = (messageId: string): ToPage => ({ type: "user", text: messageId, messageId, at: 1 });
  const commands = update({ sessionUpdate: "available_commands_update", availableCommands: [{ name: "undo", description: "" }] });
  const before = [
    session,
    commands,
    user("p1"),
    said("one", "a1"),
    called("c1"),
    user("p2"),
    said("two", "a2"),
    said("and", "t2", "agent_thought_chunk"),
    called("c2"),
    user("/undo"),
  ];
  const after = (rewound: Record<string, unknown>) => {
    const s = replay([...before, update({ sessionUpdate: "session_info_update", _meta: { hermes: { rewound: { branchId: "b", ...rewound } } } })]);
    return s.items.map((i) => ("messageId" in i ? i.messageId : (i as Call).id));
  };
  it("keeps what was before the prompt", () => assert.deepEqual(after({ prompt: "p2", text: "p2" }), ["p1", "a1", "c1", "/undo"]));
  it("keeps what is before its first prompt: nothing, but the command itself", () => assert.deepEqual(after({ prompt: "p1" }), ["/undo"]));
  it("keeps a message with its calls", () => assert.deepEqual(after({ messageId: "a1" }), ["p1", "a1", "c1", "/undo"]));
  it("keeps nothing else without either", () => assert.deepEqual(after({}), ["/undo"]));
  it("stays as it is when the prompt is none of its own", () => assert.equal(after({ prompt: "p9" }).length, 8));
  it("has its title still", () => assert.equal(replay([...before, update({ sessionUpdate: "session_info_update", title: "New" })]).session?.title, "New"));
});

describe("calls", () => {
  it("keep what news leaves out", () => {
    const s = replay([session, called("a", { name: "terminal", rawInput: { command: "ls" } }), news("a", { status: "completed", rawOutput: { output: "x" } })]);
    const [a] = calls(s);
    assert.deepEqual([a!.name, a!.input, a!.output, a!.started, a!.ended], ["terminal", { command: "ls" }, { output: "x" }, 100, 200]);
  });

  it("of the past have no durations", () => {
    const s = replay([session, update({ sessionUpdate: "tool_call", toolCallId: "a", title: "a", status: "completed" })]);
    assert.deepEqual([calls(s)[0]!.started, calls(s)[0]!.ended], [undefined, undefined]);
  });

  it("that nobody has announced are passed over", () => {
    const s = replay([session]);
    assert.equal(reduce(s, news("ghost", { status: "failed" })), s);
  });

  it("of an unknown kind of update change nothing", () => {
    const s = replay([session]);
    assert.equal(reduce(s, update({ sessionUpdate: "of_the_future" })), s);
  });

  it("subagents of subagents stand below them", () => {
    const meta = (sessionId: string, parentSessionId: string, parentToolCallId?: string) => ({
      _meta: { hermes: { subagent: { sessionId, parentSessionId, parentToolCallId, goal: sessionId, status: "running" } } },
    });
    const s = replay([
      session,
      called("d", { name: "delegate_task" }),
      called("subagent-c1", meta("c1", "s", "d")),
      called("subagent-c2", meta("c2", "c1", "d")),
      called("subagent-c3", meta("c3", "nobody")),
    ]);
    assert.deepEqual(
      calls(s).map((c) => c.id),
      ["d", "subagent-c3"],
    );
    assert.equal(calls(s)[0]!.children[0]!.children[0]!.id, "subagent-c2");
  });
});

describe("questions", () => {
  const ask = (id: string, toolCallId: string): ToPage => ({
    type: "ask",
    ask: { id, kind: "permission", at: 1, options: [], toolCall: { toolCallId, title: "rm", kind: "execute" } },
  });

  it("about a call that was never shown get a place of their own", () => {
    const s = replay([session, ask("q", "nowhere")]);
    assert.equal(calls(s)[0]!.ask!.id, "q");
  });

  it("of a server, which belong to no call, end with their answer", () => {
    const form: ToPage = { type: "ask", ask: { id: "f", kind: "form", at: 1, request: { sessionId: "s", message: "Name?", mode: "form" } } };
    const [call] = calls(replay([session, form, { type: "answered", askId: "f", choice: "Ann", at: 3 }]));
    assert.deepEqual([call!.ask, call!.answer, call!.status, call!.ended], [undefined, "Ann", "completed", 3]);
  });

  it("that were withdrawn leave no choice behind", () => {
    const s = replay([session, called("a"), ask("q", "a"), { type: "answered", askId: "q" }]);
    assert.deepEqual([s.waiting, calls(s)[0]!.ask, calls(s)[0]!.answer], [[], undefined, undefined]);
    assert.equal(reduce(s, { type: "answered", askId: "q", choice: "late" }), s);
  });
});

describe("the server", () => {
  const running: ToPage[] = [
    ready,
    session,
    { type: "user", text: "go", at: 1 },
    { type: "turn", running: true, at: 1 },
    called("a"),
    said("half"),
    { type: "ask", ask: { id: "q", kind: "permission", at: 1, options: [], toolCall: { toolCallId: "a" } } },
  ];

  it("that exits ends its turns; the messages stay", () => {
    const s = replay([...running, { type: "server", server: { state: "stopped", message: "gone" } }]);
    assert.equal(kinds(s), "user call answer");
    assert.deepEqual([calls(s)[0]!.status, calls(s)[0]!.ask, s.waiting, s.turn.running], ["failed", undefined, [], false]);
    assert.equal((s.items[2] as Answer).open, false);
  });

  it("that starts for the first time ends nothing", () => {
    const s = replay([{ type: "server", server: { state: "ready" } }]);
    assert.deepEqual(s.items, []);
  });

  it("another session begins empty, but keeps what is not the session's", () => {
    const s = replay([...running, { type: "preferences", whenBusy: "queue" }, { type: "reset", session: { id: "t", title: "T" } }]);
    assert.deepEqual([s.items, s.waiting, s.session?.id, s.whenBusy, s.server.state], [[], [], "t", "queue", "ready"]);
  });
});

it("two thousand items are as many", () => {
  const many: ToPage[] = [session];
  for (let i = 0; i < 1000; i++) many.push(said(`answer ${i}`, `m${i}`), called(`c${i}`), news(`c${i}`, { status: "completed" }));
  const s = replay(many);
  assert.equal(s.items.length, 2000);
});
