// Markdown to HTML, block by block, so that what has been drawn stays as it is while
// a text grows.
//
// Nothing of a text is trusted: HTML in it is shown as text, pictures become links
// (none is ever fetched), and what comes out passes DOMPurify before it reaches the
// page.

import DOMPurify from "dompurify";
import hljs from "highlight.js/lib/common";
import MarkdownIt, { type Token } from "markdown-it";

/** Above this length (in characters) code is not coloured while it still grows, and above the second never. */
const colouredWhileOpen = 4_000;
const colouredAtAll = 100_000;

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false });

// Only what a host could open; markdown-it itself refuses javascript: and data:.
markdown.validateLink = (href) => /^(https?:|mailto:|file:|#|[^:]*$)/i.test(href.trim());

markdown.renderer.rules["image"] = (tokens, i) => {
  const source = String(tokens[i]!.attrGet("src") ?? "");
  const words = tokens[i]!.content || source;
  return `<a href="${escape(source)}" class="picture"><span class="codicon codicon-file-media"></span>${escape(words)}</a>`;
};
markdown.renderer.rules["table_open"] = () => `<div class="table" tabindex="0" role="group" aria-label="Table"><table>`;
markdown.renderer.rules["table_close"] = () => `</table></div>`;
markdown.renderer.rules["fence"] = (tokens, i, _options, env) => code(tokens[i]!.content, tokens[i]!.info, isOpen(env));
markdown.renderer.rules["code_block"] = (tokens, i, _options, env) => code(tokens[i]!.content, "", isOpen(env));

type Env = NonNullable<Parameters<typeof markdown.parse>[1]>;

function isOpen(env: unknown): boolean {
  return (env as { open?: boolean } | undefined)?.open === true;
}

/**
 * Growing draws one text that grows at its end. Blocks before the last one are final:
 * they are parsed once. When the text is whole everything is parsed again, since a
 * link may have been defined after its use.
 */
export class Growing {
  private readonly env: Env = {};
  private done: string[] = [];
  private parsed = 0; // where in the text the last block begins

  /** draw returns the HTML of each block; those that are final are the same strings as before. */
  draw(text: string, open: boolean): readonly string[] {
    if (!open) return blocks(text, {}, false).map((b) => b.html);
    if (text.length < this.parsed) this.reset();
    const rest = blocks(text.slice(this.parsed), this.env, true);
    const last = rest.pop();
    if (last && last.line > 0) {
      this.done = [...this.done, ...rest.map((b) => b.html)];
      this.parsed += offsetOfLine(text.slice(this.parsed), last.line);
    }
    return last ? [...this.done, last.html] : this.done;
  }

  private reset(): void {
    this.done = [];
    this.parsed = 0;
  }
}

/** draw is the whole of a text that does not grow. */
export function draw(text: string): string {
  return blocks(text, {}, false).map((b) => b.html).join("");
}

interface Block {
  html: string;
  line: number; // on which it begins
}

function blocks(text: string, env: Env, open: boolean): Block[] {
  const tokens = markdown.parse(text, env);
  const ends = topLevel(tokens);
  return ends.map(([from, to], i) => ({
    html: clean(markdown.renderer.render(tokens.slice(from, to), markdown.options, { ...env, open: open && i === ends.length - 1 })),
    line: tokens[from]!.map?.[0] ?? 0,
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

function offsetOfLine(text: string, line: number): number {
  let at = 0;
  for (; line > 0; line--) at = text.indexOf("\n", at) + 1;
  return at;
}

/** code is a block with a bar: its language and what can be done with it. While it grows there are no buttons. */
function code(content: string, info: string, open: boolean): string {
  const language = /^[\w+#.-]{1,30}/.exec(info.trim())?.[0] ?? "";
  const buttons = open ? "" : button("copy", "copy", "Copy code") + button("insert", "insert", "Insert at the cursor") + button("apply", "git-pull-request-go-to-changes", "Apply to the file");
  return `<div class="code" data-language="${escape(language)}"><div class="code-bar"><span class="code-language">${escape(language || "text")}</span><span class="code-actions">${buttons}</span></div>` +
    `<pre tabindex="0" role="group" aria-label="${escape(language ? `Code, ${language}` : "Code")}"><code class="hljs">${coloured(content, language, open)}</code></pre></div>`;
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

const allowed = {
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "button", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol",
    "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["href", "title", "class", "start", "type", "role", "tabindex", "aria-label", "data-do", "data-language"],
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(https?:|mailto:|file:|#|[^:]*$)/i,
};

function clean(html: string): string {
  return DOMPurify.sanitize(html, allowed);
}

export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
