#!/usr/bin/env python3
"""Records `hermes-ls demo` in a pseudo terminal and writes it as an animated SVG.

    docs/record.py bin/hermes-ls > docs/demo.svg

Each line appears when the program had written it; the picture scrolls as a
terminal does. Standard library only.
"""
import html
import os
import pty
import re
import sys
import time

COLUMNS, ROWS = 100, 30
LINE, CHAR, PAD = 18, 8.4, 14
COLORS = {"1": 'font-weight="bold"', "2": 'fill="#8b949e"', "31": 'fill="#ff7b72"', "32": 'fill="#7ee787"', "36": 'fill="#79c0ff"'}


def record(binary):
    """Lines with the seconds at which they were complete."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["COLUMNS"] = str(COLUMNS)
        os.execv(binary, [binary, "demo"])
    began, text, lines = time.time(), "", []
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            data = b""
        text += data.decode("utf-8", "replace").replace("\r", "")
        while "\n" in text or (not data and text):
            line, _, text = text.partition("\n")
            for row in wrap(line):
                lines.append((time.time() - began, row))
        if not data:
            break
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        sys.exit("the demo failed: nothing was recorded")
    return lines


def wrap(line):
    """Rows of at most COLUMNS characters; colours hold over the break."""
    rows, row, width, color = [], "", 0, ""
    for token in re.findall(r"\x1b\[[0-9;]*m|.", line):
        if token[0] == "\x1b":
            color = "" if token == "\x1b[0m" else token
        else:
            if width == COLUMNS:
                rows.append(row + "\x1b[0m")
                row, width = color, 0
            width += 1
        row += token
    return rows + [row]


def spans(row):
    """One row as tspans with their colours."""
    out, color = "", ""
    for token in re.split(r"(\x1b\[[0-9;]*m)", row):
        if token.startswith("\x1b"):
            color = COLORS.get(token[2:-1], "")
        elif token:
            out += f"<tspan {color}>{html.escape(token)}</tspan>"
    return out


def svg(lines):
    width, height = COLUMNS * CHAR + 2 * PAD, ROWS * LINE + 2 * PAD
    total = lines[-1][0] + 6
    steps = ["0%{transform:translateY(0)}"]
    body = []
    for i, (at, row) in enumerate(lines):
        y = PAD + (i + 1) * LINE - 5
        body.append(f'<text class="l" x="{PAD}" y="{y}" style="animation-delay:{at:.2f}s">{spans(row)}</text>')
        if i >= ROWS:
            steps.append(f"{100 * at / total:.3f}%{{transform:translateY({-(i - ROWS + 1) * LINE}px)}}")
    steps.append(f"100%{{transform:translateY({-max(0, len(lines) - ROWS) * LINE}px)}}")
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">
<title>hermes-ls demo: a question answered, a plan, edits in an open buffer, failing tests mended</title>
<style>
text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}}
.l{{visibility:hidden;animation:show 0s forwards}}
.all{{animation:scroll {total:.1f}s step-end forwards}}
@keyframes show{{to{{visibility:visible}}}}
@keyframes scroll{{{"".join(steps)}}}
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<svg y="{PAD // 2}" height="{height - PAD}" width="100%"><g class="all">
{chr(10).join(body)}
</g></svg>
</svg>"""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(svg(record(os.path.abspath(sys.argv[1]))))
