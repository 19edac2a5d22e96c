// Measures the page with a session of 2,000 items (answers with code, calls with diffs,
// thoughts, messages) and compares it with a session of 20 items in the same run.

import { dist, Harness, type View } from "./harness";
import type { ToPage } from "../../shared/messages";

const session: ToPage = { type: "reset", session: { id: "s", title: "A long session" } };
const update = (u: Record<string, unknown>) => ({ type: "update", update: u, at: 1000 }) as unknown as ToPage;

/** items returns the messages of a session with n items, as a replay sends them. */
function items(n: number): ToPage[] {
  const all: ToPage[] = [session];
  for (let i = 0; all.length <= n + Math.floor(n / 5); i++) {
    all.push({ type: "user", text: `Question ${i}: what about [@src/file${i}.ts](file:///w/src/file${i}.ts)?`, at: 1 });
    all.push(update({ sessionUpdate: "agent_thought_chunk", messageId: `t${i}`, content: { type: "text", text: "I wonder. ".repeat(20) } }));
    all.push(update({ sessionUpdate: "tool_call", toolCallId: `c${i}`, title: `Edit src/file${i}.ts`, name: "patch", kind: "edit", status: "in_progress" }));
    all.push(
      update({
        sessionUpdate: "tool_call_update",
        toolCallId: `c${i}`,
        status: "completed",
        content: [{ type: "diff", path: `/w/src/file${i}.ts`, oldText: source(i, "old"), newText: source(i, "new") }],
      }),
    );
    all.push(
      update({
        sessionUpdate: "tool_call",
        toolCallId: `d${i}`,
        title: `$ go test ./pkg${i}`,
        name: "terminal",
        kind: "execute",
        status: "completed",
        content: [{ type: "content", content: { type: "text", text: "ok\n".repeat(40) } }],
      }),
    );
    all.push(
      update({
        sessionUpdate: "agent_message_chunk",
        messageId: `m${i}`,
        content: {
          type: "text",
          text: `## Answer ${i}\n\nSome **words** about \`file${i}\` and a [link](https://example.org/${i}).\n\n- one\n- two\n\n\`\`\`ts\n${source(i, "new")}\n\`\`\`\n`,
        },
      }),
    );
  }
  return all;
}

function source(i: number, word: string): string {
  return Array.from({ length: 30 }, (_, n) => `export const value${n} = ${n === 12 ? `"${word}${i}"` : n}; // line ${n}`).join("\n");
}

interface Frames {
  median: number;
  p95: number;
  worst: number;
  busy: number;
}

/** streaming lets an answer grow by a piece each 8 ms for a while, and looks at the frames meanwhile. */
async function streaming(view: View, seconds: number): Promise<Frames> {
  return view.page.evaluate(async (length) => {
    const piece = (text: string) =>
      window.postMessage(
        [{ type: "update", update: { sessionUpdate: "agent_message_chunk", messageId: "stream", content: { type: "text", text } }, at: 1 }],
        "*",
      );
    const longTasks: number[] = [];
    new PerformanceObserver((l) => l.getEntries().forEach((e) => longTasks.push(e.duration))).observe({ type: "longtask" });
    const frames: number[] = [];
    let n = 0;
    const feeding = setInterval(() => piece(n++ % 12 === 11 ? "\n\nNext paragraph with `code`. " : `word${n} and another, `), 8);
    const end = performance.now() + length * 1000;
    let last = performance.now();
    while (last < end) {
      const now = await new Promise<number>((r) => requestAnimationFrame(r));
      frames.push(now - last);
      last = now;
    }
    clearInterval(feeding);
    frames.sort((a, b) => a - b);
    const at = (share: number) => Math.round(frames[Math.floor(share * (frames.length - 1))]! * 10) / 10;
    return { median: at(0.5), p95: at(0.95), worst: at(1), busy: Math.round(longTasks.reduce((a, b) => a + b, 0)) };
  }, seconds);
}

/** aLongBlock opens a block of code that grows to 100,000 characters while it is open. */
async function aLongBlock(view: View): Promise<void> {
  await view.tell(
    update({
      sessionUpdate: "agent_message_chunk",
      messageId: "stream",
      content: { type: "text", text: "\n\n```ts\n" + source(1, "x").repeat(1) + `\nlet long = 1;`.repeat(7000) },
    }),
  );
}

/** appending is the time from a message to the end of the frame in which it is drawn, in milliseconds: the median of many. */
async function appending(view: View): Promise<number> {
  return view.page.evaluate(async () => {
    const times: number[] = [];
    for (let i = 0; i < 60; i++) {
      const before = performance.now();
      window.postMessage(
        [{ type: "update", update: { sessionUpdate: "tool_call", toolCallId: `x${i}`, title: `Read x${i}`, kind: "read", status: "completed" }, at: 1 }],
        "*",
      );
      await new Promise((r) => window.addEventListener("message", r, { once: true }));
      await new Promise((r) =>
        requestAnimationFrame(() => {
          const c = new MessageChannel();
          c.port1.onmessage = r;
          c.port2.postMessage(0);
        }),
      );
      times.push(performance.now() - before);
    }
    return Math.round(times.sort((a, b) => a - b)[30]! * 10) / 10;
  });
}

/** scrolling goes through the whole log a screen at a time, and says the longest frame. */
async function scrolling(view: View): Promise<Pick<Frames, "median" | "p95" | "worst">> {
  return view.page.evaluate(async () => {
    const log = document.querySelector(".log")!;
    const frames: number[] = [];
    document.dispatchEvent(new WheelEvent("wheel"));
    for (let i = 0; i < 200 && log.scrollTop > 0; i++) {
      document.dispatchEvent(new WheelEvent("wheel"));
      const before = await new Promise<number>((r) => requestAnimationFrame(r));
      log.scrollTop -= log.clientHeight;
      const after = await new Promise<number>((r) => requestAnimationFrame(r));
      frames.push(after - before);
    }
    frames.sort((a, b) => a - b);
    const at = (share: number) => Math.round(frames[Math.floor(share * (frames.length - 1))]! * 10) / 10;
    return { median: at(0.5), p95: at(0.95), worst: at(1) };
  });
}

async function memory(view: View): Promise<number> {
  const cdp = await view.page.context().newCDPSession(view.page);
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  return Math.round(usedSize / 1e5) / 10;
}

async function measure(harness: Harness, n: number) {
  const view = await harness.open({ width: 400, height: 900 });
  await view.tell({ type: "server", server: { state: "ready" } });
  const messages = items(n);
  const load = await view.page.evaluate(async (all) => {
    const before = performance.now();
    window.postMessage(all, "*");
    await new Promise((r) => window.addEventListener("message", r, { once: true }));
    await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
    return Math.round(performance.now() - before);
  }, messages);
  const streamAtOnce = n > 100 ? await streaming(view, 2) : undefined;
  const drawn = await view.page.evaluate(async () => {
    const before = performance.now();
    while (document.querySelector(".undrawn")) await new Promise((r) => setTimeout(r, 20));
    return Math.round(performance.now() - before);
  });
  const count = await view.page.locator(".entry").count();
  const nodes = await view.page.locator("*").count();
  const append = await appending(view);
  const heap = await memory(view);
  await view.tell({ type: "turn", running: true, at: Date.now() });
  const stream = await streaming(view, 5);
  await aLongBlock(view);
  const block = await streaming(view, 3);
  const scroll = await scrolling(view);
  const problems = view.problems;
  await harness.close(view);
  return {
    items: count,
    nodes,
    "load, ms": load,
    ...(streamAtOnce && { "all drawn after, s": 2 + drawn / 1000, "streaming meanwhile, ms": streamAtOnce }),
    "append to drawn, ms": append,
    "heap, MB": heap,
    "streaming frames, ms": stream,
    "streaming into a block of 100,000 characters, ms": block,
    "scrolling frames, ms": scroll,
    ...(problems.length > 0 && { problems }),
  };
}

const harness = await Harness.start(dist);
for (const n of [20, 2000]) console.log(JSON.stringify(await measure(harness, n), undefined, 1));
await harness.stop();
