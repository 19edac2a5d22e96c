"""Runs a Hermes plugin: python3 -c HELPER DIR FILE KIND.

It loads FILE of DIR, calls register(ctx), and answers JSON-RPC messages, one on each line. Output
of the plugin goes to stderr, which hermes-ls writes to the plugin's log.
"""

import asyncio
import contextvars
import importlib.util
import inspect
import json
import os
import re
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

wire_in = os.fdopen(os.dup(0), "r", encoding="utf-8", errors="replace", newline="\n")
wire_out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
os.dup2(2, 1)  # output of the plugin is no message
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.stdin = open(os.devnull)

write_lock = threading.Lock()
current = contextvars.ContextVar("call", default=0)
waiting = {}  # id of our request -> [event, response]
waiting_lock = threading.Lock()
last_id = 0
pool = ThreadPoolExecutor(max_workers=16)

NAMES = {
    "session:start": "on_session_start",
    "session:end": "on_session_end",
    "agent:start": "pre_llm_call",
    "agent:end": "transform_llm_output",
}
EVENTS = {"pre_tool_call", "transform_tool_result", "post_tool_call", "pre_llm_call", "transform_llm_output", "pre_compress",
          "on_session_start", "on_session_end", "subagent_start", "subagent_stop"}


def send(message):
    text = json.dumps(dict(message, jsonrpc="2.0"), ensure_ascii=False, default=str)
    with write_lock:
        wire_out.write(text + "\n")
        wire_out.flush()


def notify(method, **params):
    send({"method": method, "params": params})


def ask(method, **params):
    global last_id
    with waiting_lock:
        last_id += 1
        number = last_id
        waiting[number] = [threading.Event(), None]
    send({"id": number, "method": method, "params": dict(params, call=current.get())})
    waiting[number][0].wait()
    response = waiting.pop(number)[1]
    if "error" in response:
        raise RuntimeError(response["error"].get("message", "failed"))
    return response.get("result")


def place(error):
    """Returns the file and line of the plugin where an error comes from."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith(root + os.sep):
            return "%s:%d" % (os.path.relpath(frame.filename, root), frame.lineno)
    if isinstance(error, SyntaxError) and error.filename:
        return "%s:%s" % (os.path.relpath(error.filename, root), error.lineno)
    return ""


def described(error):
    where = place(error)
    text = "%s: %s" % (type(error).__name__, error)
    return "%s: %s" % (where, text) if where else text


def run(function, *args, **kwargs):
    """Calls a function of the plugin, also if it is async."""
    result = function(*args, **kwargs)
    if inspect.isawaitable(result):

        async def wait():
            return await result

        result = asyncio.run(wait())
    return result


def fitting(function, values):
    """Returns the values that a function takes by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return values
    if any(p.kind == p.VAR_KEYWORD for p in parameters):
        return values
    names = {p.name for p in parameters if p.kind != p.POSITIONAL_ONLY}
    return {k: v for k, v in values.items() if k in names}


def as_result(value):
    """Returns a tool's result as hermes-ls takes it: an object."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        return {"result": value}
    text = value.strip()
    if text.startswith("{"):
        try:
            found, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            return {"result": value}
        rest = text[end:].strip()
        if rest:
            found["note"] = (str(found["note"]) + "\n" if found.get("note") else "") + rest
        return found
    return {"result": value}


class Context:
    """The ctx of register(ctx), with the names of Hermes Agent."""

    def __init__(self, settings):
        self.settings = settings or {}
        self.tools, self.hooks, self.commands, self.sections, self.skills = {}, {}, {}, [], []
        self.offers = []
        self.command_offers = []

    def register_tool(self, name, toolset=None, schema=None, handler=None, check_fn=None, requires_env=None,
                      is_async=False, description="", emoji="", override=False, read_only=False, **_):
        if handler is None:
            raise TypeError("register_tool(%r) has no handler" % name)
        for variable in requires_env or []:
            if not os.environ.get(variable):
                notify("log", message="the tool %s is left out: %s is not set" % (name, variable))
                return
        if check_fn is not None and not check_fn():
            notify("log", message="the tool %s is left out: its check_fn says that it cannot run" % name)
            return
        schema = schema or {}
        if "function" in schema:
            schema = schema["function"]
        parameters = schema.get("parameters", schema if "properties" in schema else None)
        self.tools[name] = handler
        offer = {"name": name, "description": description or schema.get("description", ""),
                 "parameters": parameters or {"type": "object", "properties": {}}, "read_only": bool(read_only)}
        if toolset:
            offer["toolset"] = toolset
        self.offers = [o for o in self.offers if o["name"] != name] + [offer]

    def register_hook(self, hook_name, callback):
        event = NAMES.get(hook_name, hook_name)
        if event not in EVENTS:
            notify("log", message="the event %s does not occur in hermes-ls" % hook_name)
            return
        self.hooks.setdefault(event, []).append(callback)

    def register_command(self, name, handler, description="", args_hint="", **_):
        name = name.lstrip("/")
        self.commands[name] = handler
        self.command_offers.append({"name": name, "description": description, "hint": args_hint or ""})

    def register_system_prompt_section(self, id, content, **_):
        if callable(content):
            content = content({}) if inspect.signature(content).parameters else content()
        self.sections.append({"id": id, "text": str(content or "")})

    def register_skill(self, name, path, description="", **_):
        path = os.path.relpath(os.path.join(root, str(path)), root)
        self.skills.append({"name": name, "path": path})

    def dispatch_tool(self, tool_name, args=None, **_):
        result = ask("tool", name=tool_name, arguments=args or {})
        return json.dumps(result, ensure_ascii=False)

    def has_capability(self, name):
        return hasattr(type(self), "register_" + name) or name in ("dispatch_tool", "get_config")

    def get_config(self, key=None, default=None):
        if key is None:
            return self.settings
        value = self.settings
        for part in str(key).split("."):
            if not isinstance(value, dict) or part not in value:
                return default
            value = value[part]
        return value

    def progress(self, text):
        notify("progress", text=str(text), call=current.get())

    def __getattr__(self, name):
        if name.startswith("register_"):
            raise AttributeError("hermes-ls has no ctx.%s; it has register_tool, register_hook, register_command, "
                                 "register_system_prompt_section and register_skill" % name)
        raise AttributeError("hermes-ls has no ctx.%s" % name)


def hook_values(event, payload):
    """Returns the arguments of a hook as Hermes Agent names them."""
    extra = payload.get("extra") or {}
    values = dict(extra)
    session = payload.get("session_id", "")
    values.update(session_id=session, cwd=payload.get("cwd", ""), task_id=session, turn_id="", api_request_id="", model="",
                  platform="editor", telemetry_schema_version="hermes.observer.v1")
    if payload.get("tool_name"):
        values.update(tool_name=payload["tool_name"], args=payload.get("tool_input") or {},
                      tool_call_id=extra.get("tool_call_id", ""), middleware_trace=[])
    if "tool_response" in payload:
        response = payload["tool_response"]
        values["result"] = json.dumps(response, ensure_ascii=False)
        failed = isinstance(response, dict) and "error" in response
        values.update(status="error" if failed else "ok", error_type="tool_error" if failed else None,
                      error_message=response.get("error", "") if failed else None, duration_ms=0)
    if "prompt" in payload:
        values.update(user_message=payload["prompt"], conversation_history=[], is_first_turn=False, sender_id="")
    if event == "on_session_end":
        values.update(completed=True, interrupted=False, reason="session_end")
    if event in ("subagent_start", "subagent_stop"):
        values.update(parent_turn_id="", parent_subagent_id=None, child_session_id=session, child_subagent_id=session,
                      child_role=None, child_goal=extra.get("goal", ""), child_status=extra.get("status", ""),
                      child_summary=extra.get("summary", ""), duration_ms=0)
    if "response_text" in extra:
        values.update(assistant_response=extra["response_text"], response_text=extra["response_text"],
                      final_response=extra["response_text"])
    return values


def as_hook_result(event, value):
    if value is None:
        return {}
    if isinstance(value, str):
        if event == "transform_tool_result":
            return {"result": as_result(value)}
        if event == "transform_llm_output":
            return {"text": value}
        if event == "post_tool_call":
            return {"note": value}
        return {"context": value}
    return value


def merged(event, answers):
    """Returns one answer: the first that blocks, then the first that asks, else all together."""
    for wanted in (("block", "deny"), ("approve", "ask")):
        for answer in answers:
            specific = answer.get("hookSpecificOutput") or {}
            if answer.get("action") in wanted or answer.get("decision") in wanted[:1] or specific.get("permissionDecision") in wanted:
                return answer
    out = {}
    for answer in answers:
        for key, value in answer.items():
            if key == "args" and isinstance(out.get("args"), dict) and isinstance(value, dict):
                out["args"] = dict(out["args"], **value)
            elif key in ("context", "note") and out.get(key):
                out[key] = "%s\n%s" % (out[key], value)
            else:
                out[key] = value
    return out


def load(file, kind):
    """Imports the plugin as a package and returns its module."""
    name = "hermes_plugins." + re.sub(r"\W", "_", os.path.basename(root))
    parent = type(sys)("hermes_plugins")
    parent.__path__ = []
    sys.modules["hermes_plugins"] = parent
    sys.path.insert(0, root)
    spec = importlib.util.spec_from_file_location(name, os.path.join(root, file), submodule_search_locations=[root])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


context = None


def initialize(params):
    global context
    context = Context(params.get("settings"))
    module = load(sys.argv[2], sys.argv[3])
    if sys.argv[3] == "observer":
        handle = getattr(module, "handle", None)
        if handle is None:
            raise RuntimeError("%s has no handle(event, context)" % sys.argv[2])
        for name, event in NAMES.items():
            context.register_hook(event, lambda _name=name, **values: (run(handle, _name, values), None)[1])
    else:
        register = getattr(module, "register", None)
        if register is None:
            raise RuntimeError("%s has no register(ctx)" % sys.argv[2])
        run(register, context)
    return {"tools": context.offers, "hooks": sorted(context.hooks), "commands": context.command_offers,
            "prompt_sections": context.sections, "skills": context.skills}


def tool(params):
    handler = context.tools.get(params["name"])
    if handler is None:
        raise RuntimeError("the plugin has no tool %s" % params["name"])
    extra = fitting(handler, {"session_id": params.get("session_id", ""), "task_id": params.get("session_id", ""), "cwd": params.get("cwd", "")})
    return as_result(run(handler, params.get("arguments") or {}, **extra))


def hook(params):
    event, payload = params["event"], params.get("payload") or {}
    values, answers = hook_values(event, payload), []
    for function in context.hooks.get(event, []):
        try:
            answers.append(as_hook_result(event, run(function, **fitting(function, values))))
        except Exception:
            if event == "pre_tool_call":
                raise
            traceback.print_exc()
    return merged(event, [a for a in answers if isinstance(a, dict)])


def command(params):
    handler = context.commands.get(params["name"])
    if handler is None:
        raise RuntimeError("the plugin has no command %s" % params["name"])
    text = run(handler, params.get("args", ""))
    return {"text": "" if text is None else str(text)}


METHODS = {"initialize": initialize, "tool": tool, "hook": hook, "command": command}


def answer(message):
    current.set(message.get("id", 0))
    try:
        result = METHODS[message["method"]](message.get("params") or {})
        send({"id": message["id"], "result": result})
    except BaseException as error:  # the plugin's code may raise anything
        if place(error):
            traceback.print_exc()
        send({"id": message["id"], "error": {"code": -32000, "message": described(error)}})


root = os.path.abspath(sys.argv[1])


def main():
    for line in wire_in:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        method = message.get("method")
        if method is None:
            slot = waiting.get(message.get("id"))
            if slot:
                slot[1] = message
                slot[0].set()
        elif method == "shutdown":
            break
        elif method in METHODS and "id" in message:
            # initialize runs here, because modules expect the main thread
            if method == "initialize":
                contextvars.copy_context().run(answer, message)
            else:
                pool.submit(contextvars.copy_context().run, answer, message)
    os._exit(0)


main()
