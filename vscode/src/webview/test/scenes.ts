// States of the page that are worth a look, and a check by axe.

import { failure } from "../../chat/failure";
import type { ToPage } from "../../shared/messages";
import type { View } from "./harness";

export interface Scene {
  messages(stream: (name: string) => ToPage[]): ToPage[];
  then?(view: View): Promise<void>;
}

const ready: ToPage = { type: "server", server: { state: "ready" } };
const expandAll = async (v: View) => {
  await v.page.locator('.log .row[aria-expanded="false"]').evaluateAll((rows) => rows.forEach((r) => (r as HTMLElement).click()));
  await v.tell();
};
const until = (all: ToPage[], is: (m: ToPage) => boolean) => all.slice(0, all.findIndex(is) + 1);
const update = (u: Record<string, unknown>, at = 1000) => ({ type: "update", update: u, at }) as unknown as ToPage;
const answer = (text: string) => update({ sessionUpdate: "agent_message_chunk", messageId: "x", content: { type: "text", text } });

const prose = `Here is how a request goes through the server.

## The way of one request

1. A **frame** is read by \`wire\`, and what is no JSON is answered.
2. The session claims its place: *later prompts wait*.
   - \`interrupt\` cancels the turn that runs
   - \`queue\` waits behind it
3. See [ARCHITECTURE.md](ARCHITECTURE.md#L40) or [the site](https://example.org).

> Cancelling is cancelling the context.

| part | what it does |
| --- | --- |
| \`agent\` | the loop of a turn |
| \`tools\` | what the model may do |

\`\`\`go
// Turn runs until a reply asks for nothing.
func (s *Session) Turn(ctx context.Context, in Input) (StopReason, error) {
	for i := 0; i < s.config.MaxIterations; i++ {
		if stop, err := s.step(ctx); stop != "" || err != nil {
			return stop, fmt.Errorf("turn %d: %w", i, err)
		}
	}
	return MaxTurnRequests, nil
}
\`\`\`

\`\`\`json
{"model": {"default": "gpt-5", "context_window": 128000}, "ok": true}
\`\`\``;

const long = "a".repeat(180);
const wide = `# A heading that is longer than a narrow side bar is wide, as headings often are

| id | name | status | owner | created | changed | size | what it is for |
| --: | --- | :-: | --- | --- | --- | --: | --- |
| 1 | \`internal/checkpoint/keeper.go\` | **done** | somebody | 2026-11-20 | 2026-11-21 | 12,345 | Keeps what was there before a turn |
| 2 | ${long} | open | - | - | - | 0 | https://example.org/${long} |

A path without a break, \`/very/long/${long}/path.go\`, and an address: https://example.org/${long}?q=1

- [x] done
- [ ] to do
  1. one
     - deeper
       - deeper still
         > and quoted

![A diagram of the turn](https://example.org/turn.png)

مرحبا بالعالم, and שלום again, in one line with \`code\`.

\`\`\`ts
const line = "${"0123456789 ".repeat(30)}";
\`\`\`
`;
const command = `set -e\n${Array.from({ length: 60 }, (_, i) => `curl -fsS https://example.org/part-${i}/${"x".repeat(20)} -o /tmp/part-${i} && rm -rf build/part-${i}`).join("\n")}`;
const choices = [
  ["once", "allow_once", "Allow once"],
  ["session", "allow_always", "Allow for this session: curl, rm"],
  ["always", "allow_always", "Always allow: curl, rm"],
  ["no", "reject_once", "Deny"],
].map(([optionId, kind, name]) => ({ optionId, kind, name }));
const rules = Array.from({ length: 60 }, (_, i) => `rm -rf build/part-${i}`).join(" and ");
const many = choices.map((c) => ({ ...c, name: c.name.replace("curl, rm", rules) }));
const asked = (title: string, reason?: string, options = choices) =>
  ({
    type: "ask",
    ask: {
      id: "ask-9",
      kind: "permission",
      at: 1,
      options,
      toolCall: {
        toolCallId: "c9",
        title,
        kind: "execute",
        status: "pending",
        ...(reason && { content: [{ type: "content", content: { type: "text", text: reason } }] }),
      },
    },
  }) as unknown as ToPage;
const failed =
  'the model endpoint https://api.example.org/v1/chat/completions answered 429 Too Many Requests: {"error":{"message":"Rate limit reached for gpt-5 in organization org-0123456789abcdef on tokens per min. Limit: 30000, Used: 29842, Requested: 1893."}}. Wait 3.4 s and ask again, or set model.fallback.';

/** now moves the times of a recorded session so that its last event happens now. */
export function now(all: ToPage[]): ToPage[] {
  const last = Math.max(...[...JSON.stringify(all).matchAll(/"at":(\d+)/g)].map((m) => Number(m[1])));
  return JSON.parse(JSON.stringify(all).replace(/"at":(\d+)/g, (_, at) => `"at":${Date.now() - last + Number(at)}`)) as ToPage[];
}

/** A form of an MCP server with a field of each kind. */
export const serverForm = {
  type: "ask",
  ask: {
    id: "form-1",
    kind: "form",
    at: 1,
    request: {
      sessionId: "s",
      mode: "form",
      message: "shop (MCP server) asks: Your order",
      requestedSchema: {
        type: "object",
        required: ["name", "count", "color"],
        properties: {
          name: { type: "string", title: "Name", description: "As on the letter box", minLength: 2, maxLength: 20 },
          mail: { type: "string", format: "email", title: "Mail" },
          page: { type: "string", format: "uri", title: "Web page" },
          day: { type: "string", format: "date", title: "Day" },
          moment: { type: "string", format: "date-time", title: "Moment" },
          count: { type: "integer", title: "Count", minimum: 1, maximum: 100, default: 42 },
          share: { type: "number", title: "Share", minimum: 0 },
          gift: { type: "boolean", title: "As a gift", description: "Wrapped in paper" },
          color: { type: "string", title: "Color", enum: ["r", "b"], enumNames: ["Red", "Blue"] },
          size: { type: "string", title: "Size", oneOf: ["1", "2", "3", "4", "5", "6"].map((n) => ({ const: n, title: `Size ${n}` })), default: "2" },
          extras: { type: "array", title: "Extras", minItems: 1, maxItems: 2, items: { enum: ["Card", "Ribbon", "Flower"] } },
        },
      },
    },
  },
} as unknown as ToPage;

export const scenes: Record<string, Scene> = {
  welcome: { messages: () => [ready, { type: "last", session: { id: "s", title: "Use an f-string in greet, then clean up" } }] },
  answer: {
    messages: (stream) => [
      ready,
      ...stream("answer").slice(0, 2),
      { type: "user", text: "How does [@server/turn.go](file:///w/server/turn.go) decide what runs next?", at: 1 },
      answer(prose),
      { type: "turn", running: false, at: 1, stopReason: "end_turn" },
    ],
  },
  tools: { messages: (stream) => [ready, ...stream("tools")] },
  "tools-open": { messages: (stream) => [ready, ...stream("tools")], then: expandAll },
  approval: { messages: (stream) => [ready, ...until(stream("tools"), (m) => m.type === "ask")] },
  form: {
    messages: () => [ready, { type: "user", text: "Order a chair", at: 1 }, { type: "turn", running: true, at: 1 }, serverForm],
    then: async (v) => {
      await v.page.getByRole("button", { name: "Send", exact: true }).click();
    },
  },
  question: { messages: (stream) => [ready, ...until(stream("questions"), (m) => m.type === "ask")] },
  script: { messages: (stream) => [ready, ...stream("script")], then: expandAll },
  subagents: { messages: (stream) => [ready, ...until(stream("subagents"), (m) => m.type === "ask")] },
  endings: { messages: (stream) => [ready, ...stream("endings")] },
  busy: {
    messages: (stream) => [
      ready,
      ...until(stream("tools"), (m) => m.type === "update" && m.update.sessionUpdate === "plan"),
      { type: "queue", queue: [{ id: "1", text: "And then run the tests" }] },
      {
        type: "attach",
        attachments: [
          { kind: "file", name: "app/main.py", uri: "file:///w/app/main.py" },
          {
            kind: "image",
            name: "screen.png",
            mimeType: "image/png",
            data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
          },
        ],
      },
      update({
        sessionUpdate: "usage_update",
        used: 92000,
        size: 128000,
        cost: { amount: 0.42, currency: "USD" },
        _meta: { hermes: { usage: { requests: 12, input: 410000, output: 8200 } } },
      }),
      { type: "found", query: "", files: ["app/main.py", "app/util.py"] },
    ],
    then: async (v) => {
      await v.page.getByRole("button", { name: /^Plan/ }).click();
      await v.page.getByRole("button", { name: /Context/ }).click();
      await v.page.getByRole("textbox", { name: "Message to Hermes" }).fill("Look at @");
      await v.tell({ type: "found", query: "", files: ["app/main.py", "app/util.py", "docs/a-rather-long-name-of-a-file-somewhere.md"] });
    },
  },
  stopped: {
    messages: (stream) => [
      ready,
      ...stream("answer"),
      { type: "server", server: { state: "stopped", message: "The Hermes server stopped several times in a short while, and is not started again." } },
    ],
  },
  wide: {
    messages: () => [
      ready,
      { type: "reset", session: { id: "s", title: `Mend ${long}` } },
      { type: "user", text: `Look at ${long} please, [@src/${long}.ts](file:///w/a.ts)`, at: 1 },
      answer(wide),
      { type: "turn", running: false, at: 1, stopReason: "end_turn" },
    ],
  },
  "approval-long": {
    messages: () => [
      ready,
      { type: "user", text: "Fetch the parts", at: 1 },
      { type: "turn", running: true, at: 1 },
      asked(command.replaceAll("\n", "⏎"), "It downloads, and removes folders without asking.", many),
    ],
  },
  rtl: {
    messages: () => [
      ready,
      { type: "reset", session: { id: "s", title: "תקן את קובץ ההגדרות" } },
      { type: "user", text: "תקן את [@הגדרות.json](file:///w/x.json) ואת [@gpj.\u202etxt.exe](file:///w/y)", at: 1 },
      update({
        sessionUpdate: "tool_call",
        toolCallId: "r",
        title: "Edit הגדרות/קובץ.json",
        name: "patch",
        kind: "edit",
        status: "completed",
        content: [{ type: "diff", path: "/w/הגדרות/קובץ.json", oldText: '{\n  "שם": 1\n}\n', newText: '{\n  "שם": 2\n}\n' }],
      }),
      answer("תיקנתי את הקובץ:\n\n- ראשון\n- שני\n\nDone in `הגדרות.json`."),
      { type: "turn", running: true, at: 1 },
      asked("rm -rf בנייה"),
    ],
    then: expandAll,
  },
  failed: { messages: () => [ready, { type: "user", text: "Go on", at: 1 }, answer("I begin with"), { type: "turn", running: false, at: 1, error: failed }] },
  unset: {
    messages: () => [
      ready,
      { type: "user", text: "Hello", at: 1 },
      { type: "turn", running: false, at: 1, ...failure(new Error("no key for openai at api.openai.com: set providers.openai.api_key or key_env")) },
    ],
  },
  restricted: { messages: (stream) => [{ type: "server", server: { state: "ready", restricted: true } }, ...stream("answer")] },
};
