"""A conversation with `hermes-ls acp` through the official Python SDK: an unsaved
buffer, a new file, a file that the client refuses, a command in the client's
terminal, a permission, and a cancel."""

import asyncio
import json
import os

import acp
from acp import schema
from acp.stdio import spawn_agent_process

WORKSPACE = os.environ["HERMES_WS"]
report = {"updates": [], "asked": [], "wrote": {}, "commands": [], "stops": []}


def at(name):
    return os.path.join(WORKSPACE, name)


buffers = {at("shop.py"): "# typed, not saved\ndef total(a, b):\n    return a - b\n"}


def script(*replies):
    lines = [json.dumps(reply) for reply in replies]
    return "\n".join(["```hermes-script", *lines, "```"])


def call(name, **args):
    return {"call": {"name": name, "args": args}}


class Editor(acp.Client):
    """An editor with buffers, terminals, and a user who allows everything once."""

    def __init__(self):
        self.terminals = {}

    async def session_update(self, session_id, update, **_):
        report["updates"].append(update.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def request_permission(self, session_id, tool_call, options, **_):
        report["asked"].append({"title": tool_call.title, "options": [o.option_id for o in options]})
        once = next(o for o in options if o.kind == "allow_once")
        outcome = schema.AllowedOutcome(outcome="selected", option_id=once.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, session_id, path, **_):
        if path == at("secret.txt"):
            raise acp.RequestError(-32001, "the user keeps this file")
        if path not in buffers and not os.path.exists(path):
            raise acp.RequestError.resource_not_found(path)
        if path not in buffers:
            with open(path, encoding="utf-8") as f:
                buffers[path] = f.read()
        return schema.ReadTextFileResponse(content=buffers[path])

    async def write_text_file(self, session_id, path, content, **_):
        report["wrote"][os.path.relpath(path, WORKSPACE)] = buffers[path] = content
        return schema.WriteTextFileResponse()

    async def create_terminal(self, session_id, command, args=None, env=None, cwd=None, output_byte_limit=None, **_):
        report["commands"].append([command, *(args or [])])
        process = await asyncio.create_subprocess_exec(
            command, *(args or []), cwd=cwd, stdin=asyncio.subprocess.DEVNULL,
            env={**os.environ, **{v.name: v.value for v in env or []}},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )
        terminal = f"terminal-{len(self.terminals)}"
        self.terminals[terminal] = process, asyncio.ensure_future(process.stdout.read())
        return schema.CreateTerminalResponse(terminal_id=terminal)

    async def wait_for_terminal_exit(self, session_id, terminal_id, **_):
        process, _ = self.terminals[terminal_id]
        code = await process.wait()
        if code < 0:
            return schema.WaitForTerminalExitResponse(signal=str(-code))
        return schema.WaitForTerminalExitResponse(exit_code=code)

    async def terminal_output(self, session_id, terminal_id, **_):
        process, output = self.terminals[terminal_id]
        await process.wait()
        return schema.TerminalOutputResponse(output=(await output).decode(), truncated=False)

    async def kill_terminal(self, session_id, terminal_id, **_):
        process, _ = self.terminals[terminal_id]
        process.terminate()
        return schema.KillTerminalResponse()

    async def release_terminal(self, session_id, terminal_id, **_):
        report["released"] = report.get("released", 0) + 1
        return schema.ReleaseTerminalResponse()


async def converse():
    files = schema.FileSystemCapabilities(read_text_file=True, write_text_file=True)
    can = schema.ClientCapabilities(fs=files, terminal=True)
    async with spawn_agent_process(Editor(), os.environ["HERMES_BIN"], "acp", env=dict(os.environ), cwd=WORKSPACE) as (agent, _):
        info = await agent.initialize(acp.PROTOCOL_VERSION, client_capabilities=can)
        report["protocol"] = info.protocol_version
        session = (await agent.new_session(cwd=WORKSPACE, mcp_servers=[])).session_id

        async def prompt(text):
            answer = await agent.prompt(session_id=session, prompt=[acp.text_block(text)])
            report["stops"].append(answer.stop_reason)

        await prompt("Mend it.\n" + script(
            [call("patch", path="shop.py", old_string="a - b", new_string="a + b")],
            [call("write_file", path="notes/new.txt", content="new\n")],
            [call("read_file", path="secret.txt")],
            [call("terminal", command="echo hello from $PWD")],
            [call("terminal", command="rm -rf build && echo swept")],
            [{"text": "Mended."}],
        ))
        seen = len(report["updates"])
        running = asyncio.ensure_future(prompt(script([call("terminal", command="sleep 63.5")], [{"text": "never"}])))
        while not any("terminal-2" in json.dumps(u) for u in report["updates"][seen:]):
            await asyncio.sleep(0.01)
        await agent.cancel(session_id=session)
        await running
        listed = await agent.list_sessions(cwd=WORKSPACE)
        report["listed"] = [s.session_id == session for s in listed.sessions]


asyncio.run(asyncio.wait_for(converse(), 150))
with open(os.environ["HERMES_REPORT"], "w", encoding="utf-8") as out:
    json.dump(report, out, indent=1)
