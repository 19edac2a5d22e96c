// Markdown to HTML, block by block.
//
// Nothing of a text is trusted: HTML in it is shown as text, pictures become links
// (none is ever fetched), and the HTML passes DOMPurify before it reaches the
// page.

import DOMPurify from "dompurify";
import hljs from "highlight.js/lib/common";
import MarkdownIt, { type Token } from "markdown-it";
import math from "@vscode/markdown-it-katex";

import { places } from "../shared/names";
import { addressOf, titleOf, withLine } from "./places";

/** Above this length (in characters) code is not coloured while it still grows, and above the second never. */
const colouredWhileOpen = 4_000;
const colouredAtAll = 100_000;

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false });
// README.md and main.rs are files: Md and rs are domains, too. As in VS Code's Markdown, an address begins with its scheme.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

// Maths as VS Code's Markdown reads them. MathML needs no fonts and no styles of its own.
const maths = { output: "mathml", strict: "ignore", maxSize: 20, maxExpand: 200, throwOnError: false, enableBareBlocks: true, enableFencedBlocks: true };

// Addresses that a host could open. markdown-it itself rejects javascript: and data:.
const openable = /^(https?:|mailto:|file:|[^:]*$|[^:]+\.\w+:\d+(:\d+)?$)/i;
markdown.validateLink = (href) => openable.test(href.trim());

markdown.renderer.rules["image"] = (tokens, i) => {
  const source = String(tokens[i]!.attrGet("src") ?? "");
  const words = tokens[i]!.content || source;
  return `<a href="${escape(source)}" class="picture"><span class="codicon codicon-file-media"></span>${escape(words)}</a>`;
};
markdown.renderer.rules["table_open"] = () => `<div class="table" tabindex="0" role="group" aria-label="Table"><table>`;
markdown.renderer.rules["table_close"] = () => `</table></div>`;

// Our policy allows no styles of its own: classes say how a cell is aligned.
for (const cell of ["th_open", "td_open"]) {
  markdown.renderer.rules[cell] = (tokens, i, options, _env, self) => {
    const token = tokens[i]!;
    const side = /text-align:\s*(\w+)/.exec(String(token.attrGet("style") ?? ""))?.[1];
    token.attrs = side ? [["class", side]] : null;
    return self.renderToken(tokens, i, options);
  };
}

for (const list of ["bullet_list_open", "ordered_list_open"]) {
  markdown.renderer.rules[list] = (tokens, i, options, _env, self) => {
    tokens[i]!.attrSet("dir", "auto"); // its marks stand where its lines begin
    return self.renderToken(tokens, i, options);
  };
}

/** A list item that begins with [ ] or [x] has a mark instead. */
markdown.core.ruler.after("inline", "tasks", (state) => {
  state.tokens.forEach((token, i) => {
    const first = token.children?.[0];
    const task = first?.type === "text" && state.tokens[i - 2]?.type === "list_item_open" ? /^\[([ xX])\]\s/.exec(first.content) : null;
    if (!task || !first) return;
    first.content = first.content.slice(task[0].length);
    const mark = new state.Token("html_inline", "", 0);
    mark.content = task[1] === " " ? taskMark("circle-large-outline", "to do") : taskMark("pass-filled", "done");
    token.children!.unshift(mark);
    state.tokens[i - 2]!.attrSet("class", "task");
  });
});

function taskMark(icon: string, word: string): string {
  return `<span class="codicon codicon-${icon}" role="img" aria-label="${word}"></span> `;
}

markdown.renderer.rules["fence"] = (tokens, i, _options, env) => code(tokens[i]!.content, tokens[i]!.info, isOpen(env));
markdown.use(math, maths);
markdown.renderer.rules["code_block"] = (tokens, i, _options, env) => code(tokens[i]!.content, "", isOpen(env));

markdown.renderer.rules["text"] = (tokens, i, _options, env) => (inLink(tokens, i) ? escape(tokens[i]!.content) : linked(tokens[i]!.content, isOpen(env)));
markdown.renderer.rules["code_inline"] = (tokens, i, _options, env) =>
  `<code>${inLink(tokens, i) ? escape(tokens[i]!.content) : linked(tokens[i]!.content, isOpen(env))}</code>`;

function inLink(tokens: readonly Token[], i: number): boolean {
  const opened = tokens.slice(0, i).findLast((t) => t.type === "link_open" || t.type === "link_close");
  return opened?.type === "link_open";
}

/** linked is a text as HTML, whose files are links. While it grows, a name may not be whole: then it has none. */
function linked(text: string, open: boolean): string {
  if (open) return escape(text);
  return places(text)
    .map(({ text: part, name, line }) => {
      if (name === undefined) return escape(part);
      const address = addressOf(name);
      return address
        ? `<a class="place" href="${escape(withLine(address, line))}" title="${escape(titleOf(name, line))}">${escape(part)}</a>`
        : `<span data-place="${escape(withLine(name, line))}">${escape(part)}</span>`;
    })
    .join("");
}

export type Env = NonNullable<Parameters<typeof markdown.parse>[1]>;

function isOpen(env: unknown): boolean {
  return (env as { open?: boolean } | undefined)?.open === true;
}

/** draw is the whole of a text that does not grow. */
export function draw(text: string): string {
  return blocks(text, {}, false)
    .map((b) => b.html)
    .join("");
}

export interface Block {
  html: string;
  line: number; // on which it begins
  fence?: Fence;
}

/** How a block of code was begun. */
export interface Fence {
  mark: string; // ``` or ~~~, or more of them
  info: string;
}

/** blocks returns the outermost blocks of a text. If the text is open, the last block still grows. */
export function blocks(text: string, env: Env, open: boolean): Block[] {
  const tokens = markdown.parse(text, env);
  const ends = topLevel(tokens);
  return ends.map(([from, to], i) => ({
    html: clean(markdown.renderer.render(tokens.slice(from, to), markdown.options, { ...env, open: open && i === ends.length - 1 })),
    line: tokens[from]!.map?.[0] ?? 0,
    ...(tokens[from]!.type === "fence" && { fence: { mark: tokens[from]!.markup, info: tokens[from]!.info } }),
  }));
}

/** topLevel is where each block of the outermost level begins and ends among the tokens. */
function topLevel(tokens: Token[]): [number, number][] {
  const found: [number, number][] = [];
  let from = 0;
  tokens.forEach((t, i) => {
    if (t.level === 0 && t.nesting <= 0) {
      found.push([from, i + 1]);
      from = i + 1;
    }
  });
  return found;
}

/** offsetOfLine is where a line begins, the first being 0; the end, if there is none. */
export function offsetOfLine(text: string, line: number): number {
  let at = 0;
  for (; line > 0; line--) {
    const end = text.indexOf("\n", at);
    if (end < 0) return text.length;
    at = end + 1;
  }
  return at;
}

/** codePart is a piece of a long block of code that still grows; the first has the bar. */
export function codePart(content: string, fence: Fence, first: boolean): string {
  const language = languageOf(fence.info);
  const bar = first ? `<div class="code-bar"><span class="code-language">${escape(language || "text")}</span></div>` : "";
  return clean(`<div class="code part">${bar}<pre><code class="hljs">${escape(content)}</code></pre></div>`);
}

function languageOf(info: string): string {
  return /^[\w+#.-]{1,30}/.exec(info.trim())?.[0] ?? "";
}

/** code returns a block of code with a bar: its language and buttons. While it grows, there are no buttons. */
function code(content: string, info: string, open: boolean): string {
  const language = languageOf(info);
  const buttons = open
    ? ""
    : button("copy", "copy", "Copy code") +
      button("insert", "insert", "Insert at the cursor") +
      button("apply", "git-pull-request-go-to-changes", "Apply to the file");
  return (
    `<div class="code" data-language="${escape(language)}"><div class="code-bar"><span class="code-language">${escape(language || "text")}</span><span class="code-actions">${buttons}</span></div>` +
    `<pre tabindex="0" role="group" aria-label="${escape(language ? `Code, ${language}` : "Code")}"><code class="hljs">${coloured(content, language, open)}</code></pre></div>`
  );
}

function button(action: string, icon: string, label: string): string {
  return `<button type="button" class="icon" data-do="${action}" title="${label}" aria-label="${label}"><span class="codicon codicon-${icon}"></span></button>`;
}

/** coloured is code as HTML. */
export function coloured(content: string, language: string, open = false): string {
  const limit = open ? colouredWhileOpen : colouredAtAll;
  if (!language || content.length > limit || !hljs.getLanguage(language)) return escape(content);
  return hljs.highlight(content, { language, ignoreIllegals: true }).value;
}

// The elements and attributes that KaTeX writes.
const mathTags =
  "math semantics annotation mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd mstyle mpadded menclose mphantom mprescripts mmultiscripts mglyph";
const mathAttributes =
  "accent accentunder columnalign columnlines columnspacing display displaystyle encoding fence height linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator stretchy symmetric voffset width xmlns".split(
    " ",
  );

const allowed = {
  ALLOWED_TAGS: [
    ...mathTags.split(" "),
    "a",
    "blockquote",
    "br",
    "button",
    "code",
    "del",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
  ],
  ALLOWED_ATTR: [
    "href",
    "title",
    "class",
    "start",
    "dir",
    "type",
    "role",
    "tabindex",
    "aria-label",
    "data-do",
    "data-language",
    "data-place",
    ...mathAttributes,
  ],
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: openable,
};

function clean(html: string): string {
  return DOMPurify.sanitize(html, allowed);
}

export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
