// The page in Chromium, under its own policy: its content, its messages to the host, and
// that a keyboard and a screen reader reach all of it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, it } from "node:test";
import type { ToPage } from "../../shared/messages";
import { dist, Harness, themeNames, type View } from "./harness";
import { now, scenes, serverForm } from "./scenes";
import { stream } from "./streams";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let harness: Harness;
before(async () => {
  harness = await Harness.start(dist);
});
after(() => harness.stop());

/** on opens a page, runs a test on it, and demands that nothing was refused or thrown there. */
async function on(messages: readonly ToPage[], test: (v: View) => Promise<void>, o: Parameters<Harness["open"]>[0] = {}): Promise<void> {
  const view = await harness.open(o);
  try {
    await view.tell({ type: "server", server: { state: "ready" } }, ...messages);
    await test(view);
    assert.deepEqual(view.problems, []);
  } finally {
    await harness.close(view);
  }
}

const composer = (v: View) => v.page.getByRole("textbox", { name: "Message to Hermes" });
const session: ToPage = { type: "reset", session: { id: "s", title: "T" } };
const running: ToPage = { type: "turn", running: true, at: 1 };
const update = (u: Record<string, unknown>) => ({ type: "update", update: u, at: 1 }) as unknown as ToPage;
const answer = (text: string, messageId = "m") => update({ sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text } });
const until = (name: string, type: ToPage["type"]) => {
  const all = stream(name);
  return all.slice(0, all.findIndex((m) => m.type === type) + 1);
};
const eventually = async (holds: () => Promise<boolean>) => {
  for (let i = 0; i < 200 && !(await holds()); i++) await new Promise((r) => setTimeout(r, 20));
};
const focused = (v: View) =>
  v.page.evaluate(() => document.activeElement?.getAttribute("aria-label") || document.activeElement?.textContent?.trim() || document.activeElement?.tagName);

describe("axe finds nothing", () => {
  for (const [name, scene] of Object.entries(scenes)) {
    it(name, async () => {
      const view = await harness.open();
      await view.tell(...now(scene.messages(stream)));
      await scene.then?.(view);
      await view.page.evaluate(axeSource);
      for (const [i, theme] of themeNames.entries()) {
        await view.paint(theme);
        const rules = i === 0 ? {} : { runOnly: ["color-contrast"] }; // of the rules, the only one about colours
        const violations = await view.page.evaluate(async (chosen) => {
          const { axe } = window as unknown as {
            axe: { run(o: object): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> };
          };
          return (await axe.run(chosen)).violations.map((x) => `${x.id}: ${x.nodes.map((n) => `${n.html} ${n.failureSummary}`).join("; ")}`);
        }, rules);
        assert.deepEqual(violations, [], theme);
      }
      assert.deepEqual(view.problems, []);
      await harness.close(view);
    });
  }
});

describe("a narrow view", () => {
  for (const [name, scene] of Object.entries(scenes)) {
    it(`of 230 pixels has all of ${name}`, async () => {
      const view = await harness.open({ width: 230, height: 450 });
      await view.tell(...now(scene.messages(stream)));
      await scene.then?.(view);
      const wide = await view.page.evaluate(() => {
        const scrolls = "pre, .table, .diff, .katex-block, [class*=scroll]"; // these have a bar of their own
        const out = [...document.querySelectorAll<HTMLElement>("button, input, textarea, select, [role=button], p, .row, .card, .note")].filter((e) => {
          const b = e.getBoundingClientRect();
          return b.width > 0 && b.height > 0 && (b.left < -1 || b.right > innerWidth + 1) && !e.closest(scrolls) && !e.closest(".hidden");
        });
        return [document.documentElement.scrollWidth, ...out.map((e) => `${e.outerHTML.slice(0, 120)} ${Math.round(e.getBoundingClientRect().right)}`)];
      });
      assert.deepEqual(wide, [230]);
      assert.deepEqual(view.problems, []);
      await harness.close(view);
    });
  }
});

describe("what a model writes", () => {
  const hostile = [
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>",
    "[a](javascript:document.title='owned') [b](command:workbench.action.quit) [c](data:text/html,x) [d](vbscript:x) <javascript:x>",
    '![p](https://example.org/p.png "t") ![q](file:///etc/passwd)',
    "<iframe src=https://example.org></iframe><style>body{display:none}</style><form action=https://example.org><input></form>",
    "```\"><script>document.title='owned'</script>\n</code></pre><img src=x onerror=document.title='owned'>\n```",
    "```js\n<img src=x onerror=document.title='owned'>\n```",
    "[x]: javascript:document.title='owned'\n\n[x] and [y][x]",
  ].join("\n\n");

  it("runs nothing and fetches nothing", () =>
    on([session, answer(hostile)], async (v) => {
      await v.tell({ type: "turn", running: false, at: 2, stopReason: "end_turn" });
      assert.equal(await v.page.title(), "Hermes");
      assert.equal(await v.page.locator(".answer :is(img, script, iframe, style, form, input)").count(), 0);
      const hrefs = await v.page.locator(".answer a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
      assert.deepEqual(
        hrefs.filter((h) => !/^(https:\/\/example\.org|file:)/.test(h ?? "")),
        [],
      );
      await v.page.getByText("p", { exact: true }).click();
      assert.deepEqual(await v.heard("link"), [{ type: "link", href: "https://example.org/p.png" }]);
      assert.equal(v.page.url().replace(/\/$/, ""), new URL(v.page.url()).origin, "the page has gone nowhere");
    }));

  it("is drawn the same piece by piece as at once", () =>
    on([session], async (v) => {
      const text =
        "# T\n\nSee [one] and *two*:\n\n- a\n- b\n\n  more\n\n| x | y |\n| - | - |\n| 1 | 2 |\n\n```js\nlet a = 1;\n```\n\n1. x\n2. y\n\n[one]: https://example.org/1\n\nEnd";
      for (const piece of text.match(/[\s\S]{1,3}/g)!) await v.tell(answer(piece, "grown"));
      await v.tell(answer(text, "whole"), { type: "turn", running: false, at: 2 });
      const [grown, whole] = await v.page.locator(".markdown").evaluateAll((all) => all.map((m) => m.innerHTML));
      assert.equal(grown, whole);
      assert.match(whole!, /href="https:\/\/example\.org\/1"/);
    }));

  it("is drawn the same where a block of code is long", () =>
    on([session], async (v) => {
      const code = Array.from({ length: 900 }, (_, i) => `const a${i} = ${i};`).join("\n");
      const text = `Before.\n\n\`\`\`js\n${code}\n\`\`\`\n\nAfter.`;
      for (let at = 0; at < text.length; at += 700) await v.tell(answer(text.slice(at, at + 700), "grown"));
      assert.equal(await v.page.locator(".code.part").count(), 0, "it is closed");
      await v.tell(answer(text, "whole"), { type: "turn", running: false, at: 2 });
      const [grown, whole] = await v.page.locator(".markdown").evaluateAll((all) => all.map((m) => m.innerHTML));
      assert.equal(grown, whole);
      await v.tell(answer(text.slice(0, -20), "open"));
      assert.equal((await v.page.locator(".markdown").last().locator("pre").allTextContents()).join(""), `${code}\n`.slice(0, text.slice(0, -20).length - 15));
      assert.ok((await v.page.locator(".code.part").count()) > 3);
    }));

  it("keeps its finished blocks in place while it grows", () =>
    on([session, answer("One.\n\nTwo.\n\nThr")], async (v) => {
      await v.page.evaluate(() => ((document.querySelector(".block") as unknown as { mark: number }).mark = 1));
      await v.tell(answer("ee.\n\nFour."));
      assert.equal(await v.page.evaluate(() => (document.querySelector(".block") as unknown as { mark: number }).mark), 1);
      assert.equal(await v.page.locator(".block").count(), 4);
    }));

  it("has tables with their columns aligned, and lists of tasks", () =>
    on([session, answer("| a | b | c |\n| --: | :-: | - |\n| 1 | 2 | 3 |\n\n- [x] done\n- [ ] to do\n- [link](https://example.org)\n")], async (v) => {
      const sides = await v.page.locator(".table td").evaluateAll((all) => all.map((c) => getComputedStyle(c).textAlign));
      assert.deepEqual(sides, ["right", "center", "start"]);
      assert.deepEqual(
        await v.page
          .locator("li.task")
          .evaluateAll((all) => all.map((t) => `${t.querySelector("[role=img]")!.getAttribute("aria-label")}: ${t.textContent!.trim()}`)),
        ["done: done", "to do: to do"],
      );
      assert.equal(await v.page.locator(".markdown li").count(), 3);
    }));

  it("links the files that there are, with their lines, once the host knows them", () =>
    on(
      [
        session,
        running,
        answer("See `src/a.go:12`, pricing.py and fmt.Println.\n\nNot `gone.go:3`, README.md (no link yet), [b.go](b.go) or https://example.org/c.go. sr"),
      ],
      async (v) => {
        await eventually(async () => (await v.heard("places")).length > 0);
        assert.deepEqual((await v.heard("places"))[0]!.names, ["src/a.go", "pricing.py", "fmt.Println"], "the last block still grows");
        const addresses = { "src/a.go": "file:///w/src/a.go", "pricing.py": "file:///w/pricing.py", "fmt.Println": "" };
        await v.tell({ type: "places", addresses });
        await v.page.getByRole("link", { name: "src/a.go:12" }).click();
        await v.tell({ type: "turn", running: false, at: 2 }); // all is parsed again
        await v.page.getByRole("link", { name: "pricing.py" }).click();
        assert.deepEqual(await v.heard("link"), [
          { type: "link", href: "file:///w/src/a.go#L12" },
          { type: "link", href: "file:///w/pricing.py" },
        ]);
        await v.tell({ type: "places", addresses: { "gone.go": "", "README.md": "" } });
        assert.deepEqual(await v.page.locator(".answer a").allTextContents(), ["src/a.go:12", "pricing.py", "b.go", "https://example.org/c.go"]);
      },
    ));

  it("has maths as VS Code's Markdown has them", () =>
    on(
      [
        session,
        answer(
          "The sum $\\sum_{i=1}^n i = \\frac{n(n+1)}{2}$ costs $5 or $10.\n\n$$\n\\int_0^1 x^2\\,dx\n$$\n\n```math\n\\sqrt{2}\n```\n\n$\\href{javascript:alert(1)}{x} \\nocommand$",
        ),
      ],
      async (v) => {
        await v.tell({ type: "turn", running: false, at: 2 });
        const math = v.page.locator(".answer math");
        assert.equal(await math.count(), 4);
        assert.deepEqual(
          await math.evaluateAll((all) => all.map((m) => [m.querySelector("mfrac, msqrt, msubsup, munderover") !== null, m.getAttribute("display")])),
          [
            [true, null],
            [true, "block"],
            [true, "block"],
            [false, null],
          ],
        );
        assert.match(await v.page.locator(".answer").innerText(), /costs \$5 or \$10\./);
        assert.equal(await v.page.locator(".answer a").count(), 0);
      },
    ));

  it("is read from the right in scripts that are, and code and paths from the left", () =>
    on([session, running, answer("افتح `src/a.go:12` ثم شغّل الاختبار.\n\n- أولا\n\n```go\nx := 1\n```\n\nPlain words.\n\nEnd")], async (v) => {
      await v.tell({ type: "turn", running: false, at: 2 });
      await eventually(async () => (await v.heard("places")).length > 0);
      await v.tell({ type: "places", addresses: { "src/a.go": "file:///w/src/a.go" } });
      const sides = await v.page.locator(".answer").evaluate((a) => {
        const range = document.createRange();
        const at = (e: Element) => (range.selectNodeContents(e), [range.getBoundingClientRect(), a.getBoundingClientRect()] as const);
        const side = (e: Element) => (([text, all]) => (text.left - all.left > all.right - text.right ? "right" : "left"))(at(e));
        return [
          side(a.querySelector("p")!),
          side(a.querySelector("li")!),
          side(a.querySelectorAll("p")[1]!),
          getComputedStyle(a.querySelector("pre")!).direction,
        ];
      });
      assert.deepEqual(sides, ["right", "right", "left", "ltr"]);
      const [whole, line] = await v.page.locator(".answer p code a").evaluate((a) => {
        const text = a.firstChild!;
        const box = (from: number, to: number) => {
          const r = document.createRange();
          r.setStart(text, from);
          r.setEnd(text, to);
          return r.getBoundingClientRect();
        };
        return [box(0, 3).left, box(9, 11).left];
      });
      assert.ok(whole! < line!, "the line stands behind the path");
    }));

  it("has code with buttons, once it is whole", () =>
    on([session, running, answer("```go\nx := 1\n")], async (v) => {
      assert.equal(await v.page.locator(".code button").count(), 0);
      await v.tell(answer("```\n\nDone."));
      await v.page.getByRole("button", { name: "Copy code" }).click();
      await v.page.getByRole("button", { name: "Insert at the cursor" }).click();
      await v.page.getByRole("button", { name: "Apply to the file" }).click();
      assert.deepEqual(
        [await v.heard("copy"), await v.heard("insert"), await v.heard("apply")],
        [[{ type: "copy", text: "x := 1\n" }], [{ type: "insert", text: "x := 1\n" }], [{ type: "apply", text: "x := 1\n", language: "go" }]],
      );
    }));
});

describe("calls", () => {
  it("open to their input, output and diff", () =>
    on(stream("tools"), async (v) => {
      const row = v.page.getByRole("button", { name: /^Edit app\/main\.py/ });
      assert.match((await row.textContent())!, /\+1 −1.*done/);
      await row.click();
      assert.equal(await row.getAttribute("aria-expanded"), "true");
      const lines = await v.page.locator(".diff-line:not(.same)").allTextContents();
      assert.deepEqual(
        lines.map((l) => l.trim()),
        [`5-removed:     print("Hello " + name)`, `5+added:     print(f"Hello {name}")`],
      );
      await v.page.getByRole("button", { name: "Compare main.py in the editor" }).click();
      assert.match((await v.heard("diff"))[0]!.oldText!, /"Hello "/);
      await v.page
        .getByRole("button", { name: /^rm -rf build/ })
        .first()
        .click();
      assert.equal(await v.page.locator(".details", { hasText: "Command" }).locator("code").first().textContent(), "rm -rf build");
    }));

  it("say the exit code of a command that has failed", () => {
    const command = (id: string, code: number) =>
      update({ sessionUpdate: "tool_call", toolCallId: id, title: `$ make ${id}`, kind: "execute", status: "completed", rawOutput: { exit_code: code } });
    return on([session, command("good", 0), command("bad", 2)], async (v) => {
      const said = await v.page.locator(".row").allTextContents();
      assert.doesNotMatch(said[0]!, /exit code/);
      assert.match(said[1]!, /make bad.*exit code 2/);
      assert.equal(await v.page.locator(".call.failed .row-status .codicon-error").count(), 1);
    });
  });

  it("of a script say how far it is", async () => {
    const all = stream("script");
    const at = all.findIndex((m) => m.type === "update" && JSON.stringify(m).includes("2/50"));
    await on(all.slice(0, at + 1), async (v) => {
      assert.match((await v.page.locator(".row-message").textContent())!, /execute_code · 2\/50 calls/);
      await v.tell(...all.slice(at + 1));
      assert.equal(await v.page.locator(".row-message").count(), 0);
      assert.match((await v.page.locator(".row").first().textContent())!, /4 calls/);
    });
  });

  it("subagents stand in a tree, each with its state and its stop", () =>
    on(until("subagents", "ask"), async (v) => {
      const tree = v.page.locator(".children").first();
      assert.equal(await tree.locator(":scope > .subagent").count(), 2);
      await v.page.getByRole("button", { name: "Stop subagent: Remove b.py" }).click();
      const [stopped] = await v.heard("stopSubagent");
      assert.ok(stopped!.subagentId);
      await v.tell(...stream("subagents").slice(until("subagents", "ask").length));
      assert.equal(await v.page.getByRole("button", { name: /^Stop subagent/ }).count(), 0);
      assert.equal(await tree.locator(":scope > .subagent.completed").count(), 2);
    }));
});

describe("questions", () => {
  it("of approval show the whole command and four answers, in order", () =>
    on(until("tools", "ask"), async (v) => {
      const card = v.page.getByRole("group", { name: "Run this command?" });
      assert.equal(await card.locator(".card-command").textContent(), "rm -rf build");
      assert.equal(await card.locator(".primary").count(), 0);
      assert.deepEqual(await card.getByRole("button").allTextContents(), [
        "Allow once",
        "Allow for this session: rm -rf build",
        "Always allow: rm -rf build",
        "Deny",
      ]);
      assert.match((await v.page.getByRole("status").textContent())!, /Hermes asks to run: rm -rf build/);
      await v.page.getByRole("button", { name: "Answer", exact: true }).press("Enter"); // from the footer to the card
      assert.equal(await focused(v), "Allow once");
      await v.page.keyboard.press("ArrowDown");
      assert.equal(await focused(v), "Allow for this session: rm -rf build");
      await v.page.keyboard.press("Enter");
      assert.deepEqual(await v.heard("permit"), [{ type: "permit", askId: "ask-1", optionId: "session" }]);
      await v.tell({ type: "answered", askId: "ask-1", choice: "Allow for this session" });
      assert.equal(await card.count(), 0);
    }));

  it("of approval say what is remembered once, where it is long", () => {
    const scope = "rm -rf a and ".repeat(20) + "rm -rf b";
    const options = [
      ["once", "Allow once"],
      ["session", `Allow for this session: ${scope}`],
      ["always", `Always allow: ${scope}`],
      ["no", "Deny"],
    ].map(([optionId, name]) => ({ optionId, name, kind: optionId === "no" ? "reject_once" : "allow_always" }));
    const ask = {
      type: "ask",
      ask: { id: "a", kind: "permission", at: 1, options, toolCall: { toolCallId: "c", title: "rm -rf a⏎rm -rf b", kind: "execute" } },
    } as unknown as ToPage;
    return on([session, ask], async (v) => {
      const card = v.page.getByRole("group", { name: "Run this command?" });
      assert.deepEqual(await card.getByRole("button").allTextContents(), ["Allow once", "Allow for this session", "Always allow", "Deny"]);
      assert.equal(await card.getByRole("group", { name: "What an answer for longer would allow" }).textContent(), scope);
      assert.equal(await card.getByRole("group", { name: "What is asked for" }).textContent(), "rm -rf a⏎\nrm -rf b");
    });
  });

  it("of an edit show its diffs, and Deny takes a reason", () => {
    const options = [
      ["once", "Allow once", "allow_once"],
      ["session", "Allow for this session: edits of a.txt, n.txt", "allow_always"],
      ["no", "Deny", "reject_once"],
    ].map(([optionId, name, kind]) => ({ optionId, name, kind }));
    const content = [
      { type: "diff", path: "/w/a.txt", oldText: "one\ntwo\n", newText: "one\n2\n" },
      { type: "diff", path: "/w/n.txt", newText: "new\n" },
      { type: "content", content: { type: "text", text: "This changes 2 files, and each edit requires approval in mode careful." } },
    ];
    const ask = {
      type: "ask",
      ask: { id: "e", kind: "permission", at: 1, options, toolCall: { toolCallId: "c", title: "Edit a.txt, add n.txt", kind: "edit", content } },
    } as unknown as ToPage;
    return on([session, ask], async (v) => {
      const card = v.page.getByRole("group", { name: "Make this edit?" });
      assert.match((await card.getByRole("group", { name: "Changes of a.txt" }).textContent())!, /two[^]*2/);
      assert.match((await card.getByRole("group", { name: "Changes of n.txt" }).textContent())!, /new/);
      if (process.env["SHOTS"]) await v.page.screenshot({ path: `${process.env["SHOTS"]}/edit.png` });
      await card.getByRole("button", { name: "Compare a.txt in the editor" }).click();
      assert.deepEqual(await v.heard("diff"), [{ type: "diff", path: "/w/a.txt", oldText: "one\ntwo\n", newText: "one\n2\n" }]);
      await card.getByRole("button", { name: "Deny" }).focus();
      await v.page.keyboard.press("ArrowDown");
      assert.equal(await focused(v), "Deny"); // Allow does not follow it
      await v.page.keyboard.press("Tab");
      await v.page.keyboard.type("Use n.txt only.");
      await v.page.keyboard.press("Enter");
      assert.deepEqual(await v.heard("permit"), [{ type: "permit", askId: "e", optionId: "no", reason: "Use n.txt only." }]);
    });
  });

  it("of a plan show it as Markdown with three choices", () => {
    const options = [
      ["ask", "Start with approvals", "allow_once"],
      ["auto", "Start without asking", "allow_always"],
      ["plan", "Keep planning", "reject_once"],
    ].map(([optionId, name, kind]) => ({ optionId, name, kind }));
    const content = [{ type: "content", content: { type: "text", text: "## Steps\n\n1. Write `a.txt`.\n2. Run the tests." } }];
    const ask = {
      type: "ask",
      ask: { id: "p", kind: "permission", at: 1, options, toolCall: { toolCallId: "c", title: "Plan", kind: "switch_mode", content } },
    } as unknown as ToPage;
    return on([session, ask], async (v) => {
      const card = v.page.getByRole("group", { name: "Start with this plan?" });
      assert.deepEqual(await card.getByRole("button").allTextContents(), ["Start with approvals", "Start without asking", "Keep planning"]);
      assert.deepEqual(await card.getByRole("group", { name: "Plan", exact: true }).getByRole("listitem").allTextContents(), [
        "Write a.txt.",
        "Run the tests.",
      ]);
      if (process.env["SHOTS"]) await v.page.screenshot({ path: `${process.env["SHOTS"]}/plan.png` });
      await card.getByRole("button", { name: "Keep planning" }).click();
      assert.deepEqual(
        (await v.heard("permit")).map((f) => f.optionId),
        ["plan"],
      );
    });
  });

  it("with choices are answered by choosing, or by words", () =>
    on(until("questions", "ask"), async (v) => {
      await v.page.getByRole("button", { name: "Two spaces" }).click();
      await v.page.getByLabel("Or in your own words").fill("Four");
      await v.page.getByLabel("Or in your own words").press("Enter");
      assert.deepEqual(
        (await v.heard("fill")).map((f) => [f.action, f.content]),
        [
          ["accept", { answer: "Two spaces" }],
          ["accept", { answer: "Two spaces", other: "Four" }],
        ],
      );
    }));

  it("without an answer are not sent, and can be declined", () =>
    on(until("questions", "ask"), async (v) => {
      await v.page.getByRole("button", { name: "Answer", exact: true }).first().click();
      assert.equal(await v.page.getByRole("alert").count(), 1);
      await v.page.getByRole("button", { name: "Rather not say" }).click();
      assert.deepEqual(
        (await v.heard("fill")).map((f) => f.action),
        ["decline"],
      );
    }));
});

describe("forms of MCP servers", () => {
  it("have a label, a mark and the texts of each field, and are filled with the keyboard", () =>
    on([session, running, serverForm], async (v) => {
      const form = v.page.getByRole("form", { name: "shop (MCP server) asks: Your order" });
      await form.getByRole("button", { name: "Send", exact: true }).press("Enter");
      assert.deepEqual(await form.getByRole("alert").allTextContents(), ["This field is required.", "Choose one of these."]);
      const name = form.getByRole("textbox", { name: "Name (required)" });
      assert.equal(await name.evaluate((e) => e === document.activeElement), true);
      assert.equal(await name.getAttribute("aria-invalid"), "true");
      const texts = (await name.getAttribute("aria-describedby"))!.split(" ");
      assert.deepEqual(await Promise.all(texts.map((id) => form.locator(`[id="${id}"]`).textContent())), [
        "As on the letter box",
        "Enter 2 to 20 characters.",
        "This field is required.",
      ]);
      await v.page.keyboard.type("Ann");
      await form.getByLabel("Mail (optional)").fill("ann");
      await form.getByLabel("Count (required)").fill("500");
      await form.getByRole("radiogroup", { name: "Color (required)" }).getByLabel("Blue").press("Space");
      await form.getByLabel("Day (optional)").press("5"); // half of a date
      await name.press("Enter");
      assert.deepEqual(await form.getByRole("alert").allTextContents(), [
        "Enter an email address, such as name@example.org.",
        "Enter a whole date: year, month and day.",
        "Enter a whole number from 1 to 100.",
      ]);
      assert.deepEqual(await v.heard("fill"), []);
      await form.getByLabel("Mail (optional)").fill("ann@example.org");
      await form.getByLabel("Count (required)").fill("2");
      await form.getByLabel("Day (optional)").fill("2026-11-23");
      await form.getByLabel("As a gift").press("Space");
      await form.getByLabel("Size (optional)").selectOption("Size 6");
      await form.getByRole("group", { name: "Extras (optional)" }).getByLabel("Ribbon").check();
      await name.press("Enter");
      const content = { name: "Ann", mail: "ann@example.org", day: "2026-11-23", count: 2, gift: true, color: "b", size: "6", extras: ["Ribbon"] };
      assert.deepEqual(await v.heard("fill"), [{ type: "fill", askId: "form-1", action: "accept", content }]);
    }));

  it("are sent empty if all fields are optional, and declined or canceled", () => {
    const ask = { ...serverForm, ask: { id: "o", kind: "form", at: 1, request: { sessionId: "s", message: "Anything?", mode: "form" } } } as unknown as {
      ask: { request: { requestedSchema?: unknown } };
    };
    ask.ask.request.requestedSchema = { type: "object", properties: { note: { type: "string" }, some: { type: "array", items: { enum: ["a"] } } } };
    return on([session, running, ask as unknown as ToPage], async (v) => {
      for (const name of ["Send", "Decline", "Cancel"]) await v.page.getByRole("button", { name, exact: true }).click();
      assert.deepEqual(
        (await v.heard("fill")).map((f) => [f.action, f.content]),
        [
          ["accept", {}],
          ["decline", undefined],
          ["cancel", undefined],
        ],
      );
    });
  });

  it("keep the values that the server refused", () =>
    on([session, running, serverForm], async (v) => {
      await v.page.getByLabel("Name (required)").fill("Ann");
      await v.page.getByLabel("Red", { exact: true }).check();
      await v.page.getByRole("button", { name: "Send", exact: true }).click();
      assert.equal((await v.heard("fill")).length, 1);
      await v.tell({ type: "answered", askId: "form-1", choice: "Ann" });
      const { ask } = serverForm as unknown as { ask: { request: object } };
      const message = "shop (MCP server) asks: Your order\n\nThe last values do not fit: name is taken";
      await v.tell({ type: "ask", ask: { ...ask, id: "form-2", request: { ...ask.request, message } } } as unknown as ToPage);
      assert.equal(await v.page.getByLabel("Name (required)").inputValue(), "Ann");
      assert.equal(await v.page.getByLabel("Red", { exact: true }).isChecked(), true);
    }));
});

describe("the composer", () => {
  it("sends with Enter, breaks the line with Shift+Enter, and remembers", () =>
    on([session], async (v) => {
      await composer(v).pressSequentially("one");
      await composer(v).press("Shift+Enter");
      await composer(v).pressSequentially("two");
      await composer(v).press("Enter");
      assert.deepEqual(await v.heard("prompt"), [{ type: "prompt", text: "one\ntwo", mentions: [], attachments: [], whenBusy: "interrupt" }]);
      assert.equal(await composer(v).inputValue(), "");
      await composer(v).pressSequentially("draft");
      await composer(v).press("Home");
      await composer(v).press("ArrowUp");
      assert.equal(await composer(v).inputValue(), "one\ntwo");
      await composer(v).press("End");
      await composer(v).press("ArrowDown");
      await composer(v).press("End");
      await composer(v).press("ArrowDown");
      assert.equal(await composer(v).inputValue(), "draft");
    }));

  it("takes back what was not heard, unless something is being written", () =>
    on([session], async (v) => {
      await v.tell({ type: "draft", text: "again @a.go", mentions: ["a.go"] });
      assert.equal(await composer(v).inputValue(), "again @a.go");
      await v.tell({ type: "draft", text: "other", mentions: [] });
      await composer(v).press("Enter");
      assert.deepEqual(
        (await v.heard("prompt")).map((p) => [p.text, p.mentions]),
        [["again @a.go", ["a.go"]]],
      );
    }));

  it("offers ways out of a failure", () =>
    on([session, { type: "turn", running: false, at: 1, error: "No model.", ways: [{ label: "Set API Key…", command: "hermes.key" }] }], async (v) => {
      await v.page.getByRole("button", { name: "Set API Key…" }).click();
      assert.deepEqual(await v.heard("run"), [{ type: "run", command: "hermes.key" }]);
    }));

  it("offers choices below the answer of a hard turn, once", () =>
    on(
      [
        session,
        {
          type: "update",
          at: 1,
          update: {
            sessionUpdate: "notice",
            severity: "info",
            title: "Worked: keep it as a skill · Worked",
            _meta: { hermes: { offers: [1, 2].map((n) => ({ label: ["Worked: keep it as a skill", "Worked"][n - 1], prompt: `/feedback ${String(n)}` })) } },
          },
        },
      ],
      async (v) => {
        const choices = v.page.getByRole("group", { name: "How did it go?" }).getByRole("button");
        assert.deepEqual(await choices.allTextContents(), ["Worked: keep it as a skill", "Worked"]);
        await choices.nth(1).click();
        assert.ok(await choices.nth(0).isDisabled());
        assert.deepEqual(await v.heard("prompt"), [{ type: "prompt", text: "/feedback 2", mentions: [], attachments: [], whenBusy: "queue" }]);
      },
    ));

  it("shows the text that a command sent when the user opens it", () =>
    on(
      [
        session,
        { type: "update", at: 1, update: { sessionUpdate: "notice", severity: "info", title: "Sent to the model:", description: "Knit rows.\n\nSeven." } },
      ],
      async (v) => {
        const sent = v.page.getByText("Knit rows.");
        assert.ok(!(await sent.isVisible()));
        await v.page.getByText("Sent to the model:").click();
        assert.equal(await sent.innerText(), "Knit rows.\n\nSeven.");
      },
    ));

  it("goes back to before a prompt, and offers that for no command", () =>
    on(
      [session, { type: "user", text: "Mend it", messageId: "p1", at: 1 }, answer("Done."), { type: "user", text: "/status", messageId: "p2", at: 2 }],
      async (v) => {
        await v.page.getByRole("button", { name: "Edit and resend" }).click();
        await v.page.getByRole("button", { name: "Restore files to here" }).press("Enter");
        assert.deepEqual(await v.heard("rewind"), [
          { type: "rewind", prompt: "p1", files: false },
          { type: "rewind", prompt: "p1", files: true },
        ]);
      },
    ));

  it("sends nothing that is empty", () =>
    on([session], async (v) => {
      await composer(v).fill("  \n ");
      await composer(v).press("Enter");
      assert.deepEqual(await v.heard("prompt"), []);
      assert.ok(await v.page.getByRole("button", { name: /^Send/ }).isDisabled());
    }));

  it("stops with Escape, and offers to interrupt or to wait", () =>
    on([session, running], async (v) => {
      await composer(v).press("Escape");
      assert.equal((await v.heard("cancel")).length, 1);
      await composer(v).fill("more");
      await v.page.getByLabel("While Hermes works, a message").selectOption("queue");
      assert.deepEqual(await v.heard("setWhenBusy"), [{ type: "setWhenBusy", whenBusy: "queue" }]);
      await v.tell({ type: "preferences", whenBusy: "queue" });
      await composer(v).press("Alt+Enter");
      await composer(v).fill("and more");
      await composer(v).press("Enter");
      assert.deepEqual(
        (await v.heard("prompt")).map((p) => [p.text, p.whenBusy]),
        [
          ["more", "interrupt"],
          ["and more", "queue"],
        ],
      );
    }));

  it("completes mentions with the keyboard", () =>
    on([session], async (v) => {
      await composer(v).pressSequentially("see @ma");
      await v.page.waitForFunction(() =>
        (window as unknown as { posted: { type: string; query: string }[] }).posted.some((m) => m.type === "find" && m.query === "ma"),
      );
      await v.tell({ type: "found", query: "ma", files: ["src/main.go", "src/domain.go"] });
      const options = v.page.getByRole("option");
      await options.nth(1).waitFor();
      await composer(v).press("ArrowDown");
      assert.equal(await composer(v).getAttribute("aria-activedescendant"), await options.nth(1).getAttribute("id"));
      await composer(v).press("ArrowUp");
      const atOnce = await composer(v).evaluate((area: HTMLTextAreaElement) => {
        area.dispatchEvent(new KeyboardEvent("keydown", { key: "Tab", bubbles: true, cancelable: true }));
        return [area.value, area.selectionStart]; // where the next key writes, however soon it comes
      });
      assert.deepEqual(atOnce, ["see @src/main.go ", 17]);
      await options.first().waitFor({ state: "detached" });
      assert.deepEqual((await v.heard("prompt")).length, 0);
      await composer(v).pressSequentially("@se");
      await v.page.getByRole("option", { name: /selection/ }).click();
      assert.equal(await composer(v).inputValue(), "see @src/main.go @selection ");
      await composer(v).press("Enter");
      assert.deepEqual(
        (await v.heard("prompt")).map((p) => p.mentions),
        [["src/main.go"]],
      );
      await composer(v).pressSequentially("@di");
      await options.first().waitFor();
      await composer(v).press("Escape");
      await options.first().waitFor({ state: "detached" });
      assert.deepEqual(await v.heard("cancel"), []);
    }));

  it("completes the server's commands", () =>
    on(
      [
        session,
        update({
          sessionUpdate: "available_commands_update",
          availableCommands: [
            { name: "compact", description: "Sum up what was said" },
            { name: "model", description: "Choose a model", input: { hint: "name" } },
          ],
        }),
      ],
      async (v) => {
        await composer(v).pressSequentially("/");
        await v.page.getByRole("option").nth(1).waitFor();
        await composer(v).pressSequentially("mo");
        await v.page.getByRole("option").nth(1).waitFor({ state: "detached" });
        await composer(v).press("Enter");
        assert.equal(await composer(v).inputValue(), "/model ");
        await composer(v).fill("/compact");
        await v.page.getByRole("option", { name: "/compact" }).waitFor();
        await composer(v).press("Enter"); // it stands there: nothing is left to complete
        assert.deepEqual(
          (await v.heard("prompt")).map((p) => p.text),
          ["/compact"],
        );
      },
    ));

  it("takes pasted pictures and dropped files", () =>
    on([session], async (v) => {
      await composer(v).evaluate((area) => {
        const png = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="), (c) =>
          c.charCodeAt(0),
        );
        const pasted = new DataTransfer();
        pasted.items.add(new File([png], "shot.png", { type: "image/png" }));
        pasted.items.add(new File([png], "image.png", { type: "image/png" }));
        area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: pasted, bubbles: true, cancelable: true }));
        const dropped = new DataTransfer();
        dropped.items.add(new File(["hello"], "note.txt", { type: "text/plain" }));
        area.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
        const dragged = new DataTransfer();
        dragged.setData("text/uri-list", "file:///w/a.go\r\nfile:///w/b.go");
        area.dispatchEvent(new DragEvent("drop", { dataTransfer: dragged, bubbles: true, cancelable: true }));
      });
      await v.page.getByText("note.txt").waitFor();
      assert.deepEqual(await v.heard("drop"), [{ type: "drop", uris: ["file:///w/a.go", "file:///w/b.go"] }]);
      await v.tell({ type: "attach", attachments: [{ kind: "file", name: "a.go", uri: "file:///w/a.go" }] });
      await v.page.getByRole("button", { name: "Remove note.txt" }).click();
      await composer(v).press("Enter");
      const [prompt] = await v.heard("prompt");
      assert.deepEqual(
        prompt!.attachments.map((a) => `${a.kind} ${a.name} ${a.uri ?? ""}`),
        ["image shot.png attachment:///shot.png", "image image.png ", "file a.go file:///w/a.go"], // a picture of the clipboard has no name
      );
      assert.match((prompt!.attachments[0] as { data: string }).data, /^iVBORw0KGgo/);
    }));

  it("says what cannot be attached", () =>
    on([session], async (v) => {
      await composer(v).evaluate((area) => {
        const dropped = new DataTransfer();
        dropped.items.add(new File([new Uint8Array([0, 1, 2])], "a.bin"));
        dropped.items.add(new File([new Uint8Array([0, 1, 2])], "photo.HEIC"));
        area.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
      });
      await v.page.getByText("a.bin is not a text").waitFor();
      await v.page.getByText("photo.HEIC is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are").waitFor();
    }));

  it("shows what waits, which can be taken back", () =>
    on([session, running, { type: "queue", queue: [{ id: "q1", text: "then this" }] }], async (v) => {
      await v.page.getByRole("button", { name: "Send this message now" }).click();
      await v.page.getByRole("button", { name: "Do not send this message" }).click();
      assert.deepEqual([await v.heard("sendNow"), await v.heard("unqueue")], [[{ type: "sendNow", id: "q1" }], [{ type: "unqueue", id: "q1" }]]);
    }));

  it("has the session's settings", () =>
    on(stream("answer").slice(0, 2), async (v) => {
      await v.page.getByRole("combobox", { name: "Mode", exact: true }).selectOption("auto");
      assert.deepEqual(await v.heard("setOption"), [{ type: "setOption", id: "mode", value: "auto" }]);
      assert.equal(await v.page.getByRole("combobox", { name: "Model" }).count(), 1);
      await v.page.getByRole("combobox", { name: "Model" }).press("Enter");
      assert.deepEqual(await v.heard("run"), [{ type: "run", command: "hermes.model" }]);
    }));
});

describe("the session", () => {
  it("has a title, its usage, and ways to others", () =>
    on(stream("tools"), async (v) => {
      assert.match((await v.page.getByRole("heading", { level: 1 }).textContent())!, /^Use an f-string/);
      await v.page.getByRole("button", { name: /^Context: \d+ % of 128k tokens used/ }).click();
      assert.match((await v.page.locator(".usage-details").textContent())!, /Window.*Tokens.*Requests/);
      for (const name of ["New session", "Resume a session", "Fork this session"]) await v.page.getByRole("button", { name, exact: true }).click();
      assert.deepEqual(
        (await v.heard("session")).map((s) => s.action),
        ["new", "resume", "fork"],
      );
    }));

  it("shows the plan as a list", () =>
    on(stream("tools"), async (v) => {
      await v.page.getByRole("button", { name: /^Plan.*2 of 3 done/ }).click();
      assert.deepEqual(await v.page.getByRole("region", { name: "Plan" }).getByRole("listitem").allTextContents(), [
        "Change greet, done",
        "Remove build, done",
        "Run it, in progress",
      ]);
    }));

  it("tells a screen reader of beginnings and ends, not of tokens", () =>
    on([session, running], async (v) => {
      const status = v.page.getByRole("status");
      assert.equal(await status.textContent(), "Hermes works");
      await v.tell(answer("Some "), answer("words."));
      assert.equal(await status.textContent(), "Hermes works");
      await v.tell({ type: "turn", running: false, at: 2, stopReason: "end_turn" });
      assert.equal(await status.textContent(), "Hermes answered: Some words.");
      assert.equal(await v.page.locator("[aria-live]:not([aria-live=off])").count(), 0);
    }));

  it("can be walked through with Tab, the composer last", () =>
    on(until("tools", "ask"), async (v) => {
      await v.page.evaluate(() => (document.activeElement as HTMLElement).blur());
      const seen: string[] = [];
      for (let i = 0; i < 40; i++) {
        await v.page.keyboard.press("Tab");
        seen.push(String(await focused(v)));
        if (seen.at(-1) === "Message to Hermes") break;
      }
      for (const wanted of ["New session", "Messages", "Allow once", "Deny", "Answer"]) assert.ok(seen.includes(wanted), `${wanted} in ${seen.join(", ")}`);
      assert.ok(seen.indexOf("Allow once") < seen.indexOf("Deny") && seen.at(-1) === "Message to Hermes");
    }));

  it("goes on with the last one", () =>
    on([{ type: "last", session: { id: "s9", title: "Yesterday" } }], async (v) => {
      await v.page.getByRole("button", { name: "Go on with “Yesterday”" }).click();
      assert.deepEqual(await v.heard("session"), [{ type: "session", action: "resume", sessionId: "s9" }]);
    }));

  it("a server that is gone can be started again", () =>
    on([session, { type: "server", server: { state: "stopped", message: "It stopped." } }], async (v) => {
      assert.match((await v.page.getByRole("alert").textContent())!, /It stopped\./);
      await v.page.getByRole("button", { name: "Start again" }).click();
      assert.equal((await v.heard("restart")).length, 1);
    }));
});

describe("the end of the log", () => {
  const long: ToPage[] = [session, ...Array.from({ length: 60 }, (_, i) => answer(`Line ${i}\n\n`, `m${i}`))];
  const left = (v: View) => v.page.locator(".log").evaluate((l) => l.scrollHeight - l.scrollTop - l.clientHeight);

  it("is followed, also when the frame changes its size", () =>
    on(long, async (v) => {
      assert.ok((await left(v)) < 2);
      for (const height of [300, 900, 200, 700]) {
        await v.page.setViewportSize({ width: 400, height });
        await v.tell(answer("more\n\n".repeat(5), `h${height}`));
        assert.ok((await left(v)) < 2, `at ${height}`);
      }
      await v.page.evaluate(() => {
        document.body.style.display = "none";
      });
      await v.tell(answer("more\n\n".repeat(5), "hidden"));
      await v.page.evaluate(() => {
        document.body.style.display = "";
      });
      await v.tell();
      assert.ok((await left(v)) < 2, "after it was hidden");
    }));

  it("is followed while the user writes, whatever moves", () =>
    on(long, async (v) => {
      await composer(v).press("x");
      await v.page.locator(".log").evaluate((l) => {
        l.scrollTop -= 200;
      }); // as when items go, or the composer grows
      await v.tell(answer("more\n\n", "more"));
      assert.ok((await left(v)) < 2);
    }));

  it("is left alone while the user reads above, until the user sends something", () =>
    on(long, async (v) => {
      await v.page.locator(".log").hover();
      await v.page.mouse.wheel(0, -600);
      await v.page.getByRole("button", { name: "Go to the end" }).waitFor();
      const before = await left(v);
      await v.tell(answer("more\n\n".repeat(20), "more"));
      assert.ok((await left(v)) > before);
      await v.tell({ type: "user", text: "hi", at: 2 });
      assert.ok((await left(v)) < 2);
      assert.equal(await v.page.getByRole("button", { name: "Go to the end" }).count(), 0);
    }));
});

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

describe("pictures", () => {
  it("of messages and of calls are thumbnails that open", () =>
    on(
      [
        session,
        { type: "user", text: "What is it?", images: [`data:image/png;base64,${pixel}`], at: 1 },
        update({
          sessionUpdate: "tool_call",
          toolCallId: "p",
          title: "Look at a.png",
          name: "read_file",
          kind: "read",
          status: "completed",
          content: [
            { type: "content", content: { type: "text", text: "one picture" } },
            { type: "content", content: { type: "image", mimeType: "image/png", data: pixel } },
          ],
        }),
      ],
      async (v) => {
        for (const name of ["Attached picture 1", "Picture 1"]) {
          const picture = v.page.getByRole("button", { name, exact: true });
          assert.equal(await picture.getAttribute("aria-expanded"), "false");
          await picture.click();
          assert.equal(await picture.getAttribute("aria-expanded"), "true");
          assert.ok((await picture.boundingBox())!.width > 200);
        }
      },
    ));
});

describe("the look of the editor", () => {
  const code = "```python\n" + "x = " + "1 + ".repeat(200) + "1\n```\n";
  const facts = (v: View) =>
    v.page.evaluate(() => {
      const pre = document.querySelector(".code pre")!;
      const style = getComputedStyle(pre);
      return {
        wraps: pre.scrollWidth <= pre.clientWidth,
        font: style.fontFamily,
        size: style.fontSize,
        space: parseFloat(getComputedStyle(document.querySelector(".entry.answer")!).marginTop),
      };
    });
  it("is followed: font, size, wrapping and density", () =>
    on([session, answer(code)], async (v) => {
      await v.page.evaluate(() => {
        document.documentElement.style.setProperty("--vscode-editor-font-family", "Courier");
        document.documentElement.style.setProperty("--vscode-editor-font-size", "17px");
      });
      const before = await facts(v);
      assert.deepEqual([before.wraps, before.font, before.size], [false, "Courier", "17px"]);
      await v.tell({ type: "look", look: { wrap: true, compact: true } });
      const after = await facts(v);
      assert.equal(after.wraps, true);
      assert.ok(after.space < before.space);
    }));
});
