#!/usr/bin/env python3
"""Takes docs/neovim.svg: the project of the demo in a real Neovim, whose bugs are fixed in the chat.

    docs/neovim.py bin/hermes-ls nvim > docs/neovim.svg

The model is the endpoint of e2e/vscode with the responses of the demo. It needs Go, git and tmux.
"""
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

COLUMNS, ROWS = 132, 40
LINE, CHAR, PAD = 18, 8.4, 14
FORE, BACK = "#e0e2ea", "#14161b"
BASIC = ["#07080d", "#ffc0b9", "#b3f6c0", "#fce094", "#a6dbff", "#ffcaff", "#8cf8f7", "#eef1f8"] * 2
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROMPT = "The tests fail (`python3 -m unittest`). Find out why, fix the code, and run them again."


class Screen:
    """A terminal with Neovim."""

    def __init__(self, work, home, binary, nvim):
        init = os.path.join(work, "init.lua")
        with open(init, "w") as f:
            f.write(f"""
vim.o.termguicolors, vim.o.number, vim.o.laststatus, vim.o.swapfile = true, true, 3, false
vim.opt.rtp:prepend({ROOT!r})
require("hermes").setup({{ cmd = {{ {binary!r} }}, chat = {{ size = 0.48 }} }})
""")
        env = dict(os.environ, HERMES_HOME=home, LANG="C.UTF-8", TERM="xterm-256color",
                   XDG_STATE_HOME=work + "/state", XDG_DATA_HOME=work + "/data", XDG_CONFIG_HOME=work + "/config")
        self.tmux_command = ["tmux", "-S", work + "/tmux", "-f", "/dev/null"]
        subprocess.run([*self.tmux_command, "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS + 1), "--",
                        nvim, "-u", init, "inventory/pricing.py"], cwd=os.path.join(work, "project"), env=env, check=True)
        self.tmux("set", "-g", "status", "off")
        self.tmux("resize-window", "-x", str(COLUMNS), "-y", str(ROWS))

    def tmux(self, *args):
        return subprocess.run([*self.tmux_command, *args], capture_output=True, text=True).stdout

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)
        self.tmux("send-keys", "Enter")

    def wait(self, *texts):
        end = time.time() + 60
        while not all(text in self.tmux("capture-pane", "-p") for text in texts):
            if time.time() > end:
                sys.exit("the screen does not show %r:\n%s" % (texts, self.tmux("capture-pane", "-p")))
            time.sleep(0.1)


def colors(state, codes):
    """The colors after a CSI m sequence."""
    codes = [int(c or 0) for c in re.split("[;:]", codes)]
    while codes:
        c = codes.pop(0)
        if c == 0:
            state = {}
        elif c in (38, 48) and codes and codes.pop(0) == 2:
            state = {**state, c: "#%02x%02x%02x" % tuple(codes[:3])}
            codes = codes[3:]
        elif 30 <= c <= 37 or 40 <= c <= 47:
            state = {**state, 38 if c < 40 else 48: BASIC[c % 10]}
        elif 90 <= c <= 97 or 100 <= c <= 107:
            state = {**state, 38 if c < 100 else 48: BASIC[c % 10]}
        elif c in (39, 49):
            state = {k: v for k, v in state.items() if k != c - 1}
        elif c in (1, 2, 3, 4, 7):
            state = {**state, c: True}
        elif c in (22, 23, 24, 27):
            state = {k: v for k, v in state.items() if k not in {22: (1, 2), 23: (3,), 24: (4,), 27: (7,)}[c]}
    return state


def svg(text):
    out = []
    for y, row in enumerate(text.split("\n")[:ROWS]):
        x, state = 0, {}
        for token in re.findall(r"\x1b\[[0-9;:]*m|[^\x1b]+", row):
            if token[0] == "\x1b":
                state = colors(state, token[2:-1])
                continue
            fore, back = state.get(38, FORE), state.get(48)
            if 7 in state:
                fore, back = back or BACK, fore
            left, top = PAD + x * CHAR, PAD + y * LINE
            if back:
                out.append(f'<rect x="{left:.1f}" y="{top}" width="{len(token) * CHAR + 0.3:.1f}" height="{LINE}" fill="{back}"/>')
            if token.strip():
                style = "".join(s for key, s in ((1, ' font-weight="bold"'), (3, ' font-style="italic"'), (4, ' text-decoration="underline"')) if key in state)
                out.append(f'<text x="{left:.1f}" y="{top + LINE - 5}" fill="{fore}" textLength="{len(token) * CHAR:.1f}"{style}>{html.escape(token)}</text>')
            x += len(token)
    width, height = COLUMNS * CHAR + 2 * PAD, ROWS * LINE + 2 * PAD
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">
<title>Neovim: a file, and the chat with its plan, tool calls and an answer</title>
<style>text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}}</style>
<rect width="100%" height="100%" rx="8" fill="{BACK}"/>
{chr(10).join(out)}
</svg>"""


def picture(binary, nvim):
    work = tempfile.mkdtemp(prefix="hermes-picture-")
    endpoint = subprocess.Popen(["go", "run", "./e2e/vscode/endpoint", "cmd/hermes-ls/demo/responses/job.jsonl"],
                                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    screen = None
    try:
        shutil.copytree(os.path.join(ROOT, "cmd/hermes-ls/demo/project"), work + "/project")
        subprocess.run(["git", "init", "-q", work + "/project"], check=True)
        os.mkdir(work + "/home")
        with open(work + "/home/config.yaml", "w") as f:
            f.write(f'model: {{provider: custom, base_url: "{endpoint.stdout.readline().strip()}", default: your-model, context_window: 128000}}\n')
        screen = Screen(work, work + "/home", binary, nvim)
        screen.wait("line_total")
        screen.type(":Hermes ask " + PROMPT)
        screen.wait("● idle", "The tests passed")
        screen.type(":Hermes")
        screen.type(":silent! call search('^✓ Edit', 'b') | normal! zo")
        screen.tmux("send-keys", ":echo", "Enter")
        screen.wait("@@ -11,6")
        time.sleep(1)  # the last redraw
        return svg(screen.tmux("capture-pane", "-e", "-p"))
    finally:
        if screen:
            screen.tmux("kill-server")
        endpoint.stdin.close()
        endpoint.wait()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(picture(os.path.abspath(sys.argv[1]), shutil.which(sys.argv[2]) or sys.argv[2]))
