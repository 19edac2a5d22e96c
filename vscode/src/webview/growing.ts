import { blocks, codePart, offsetOfLine, type Env, type Fence } from "./markdown";

/** A block of code that still grows is drawn in parts of so many lines. */
const linesOfPart = 200;

/**
 * Growing draws one text that grows at its end. Blocks before the last one are final:
 * they are parsed once, and are the same strings as before, so that they are not drawn
 * again. A long block of code is final but for its last lines. When the text
 * is whole everything is parsed again, since a link may have been defined after its use.
 */
export class Growing {
  private env: Env = {};
  private done: readonly string[] = [];
  private parsed = 0; // where in the text the part begins that is not final
  private code: { fence: Fence; at: number } | undefined; // that part lies in a block of code, whose first part is at this place in done

  /** draw returns the HTML of each block. */
  draw(text: string, open: boolean): readonly string[] {
    if (!open) return blocks(text, {}, false).map((b) => b.html);
    if (text.length < this.parsed || (this.code && closes(this.code.fence, text.slice(this.parsed)))) this.reset();
    return this.code ? this.drawCode(text, this.code.fence, this.code.at) : this.drawBlocks(text);
  }

  private drawBlocks(text: string): readonly string[] {
    const found = blocks(text.slice(this.parsed), this.env, true);
    const last = found.pop();
    if (!last) return this.done;
    if (last.line > 0) {
      this.done = [...this.done, ...found.map((b) => b.html)];
      this.parsed += offsetOfLine(text.slice(this.parsed), last.line);
    }
    const code = offsetOfLine(text.slice(this.parsed), 1) + this.parsed;
    if (!last.fence || !isLong(text.slice(code)) || closes(last.fence, text.slice(code))) return [...this.done, last.html];
    this.code = { fence: last.fence, at: this.done.length };
    this.parsed = code;
    return this.drawCode(text, last.fence, this.done.length);
  }

  private drawCode(text: string, fence: Fence, at: number): readonly string[] {
    let rest = text.slice(this.parsed);
    while (isLong(rest)) {
      const end = offsetOfLine(rest, linesOfPart);
      this.done = [...this.done, codePart(rest.slice(0, end), fence, this.done.length === at)];
      this.parsed += end;
      rest = rest.slice(end);
    }
    return [...this.done, codePart(rest, fence, this.done.length === at)];
  }

  private reset(): void {
    this.env = {};
    this.done = [];
    this.parsed = 0;
    this.code = undefined;
  }
}

/** isLong tells whether there is more than one part. */
function isLong(code: string): boolean {
  return offsetOfLine(code, linesOfPart) < code.length;
}

/** closes tells whether the block of code ends somewhere in a text. */
function closes(fence: Fence, text: string): boolean {
  return new RegExp(`^ {0,3}${fence.mark}+[ \\t]*$`, "m").test(text);
}
