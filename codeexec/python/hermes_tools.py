"""The tools of hermes-ls as functions, for scripts that execute_code runs.

Each function returns a dict. If the call fails, the dict is {"error": "..."}: check it
with result.get("error"). Functions may be called from any thread, from an asyncio
executor and after a fork. Such calls run at the same time, except those that write
files, which run one after another.
"""
import json
import os
import socket
import time

_ADDRESS = os.environ.get("HERMES_RPC_SOCKET", "")
_TOKEN = os.environ.get("HERMES_RPC_TOKEN", "")
_MAX_IDLE = 32


class HermesToolsError(RuntimeError):
    """The connection to hermes-ls failed, so it is unknown whether the call ran."""


class Result(dict):
    """The result of a call. A KeyError says which keys there are, or why the call failed."""

    def __missing__(self, key):
        if "error" in self:
            raise KeyError("%r is not there, because the call failed: %s" % (key, self["error"]))
        raise KeyError("%r is not there; the result has %s" % (key, ", ".join(map(repr, self))))


def _connect():
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(_ADDRESS)
    _send(connection, _TOKEN.encode())
    return connection


def _send(connection, frame):
    connection.sendall(len(frame).to_bytes(4, "big") + frame)


def _receive(connection):
    data, size = b"", 4
    while len(data) < size:
        more = connection.recv(65536)
        if not more:
            raise ConnectionError("it was closed")
        data += more
        if len(data) >= 4:
            size = 4 + int.from_bytes(data[:4], "big")
    return data[4:]


_idle = []  # connections without a call; a connection has one call at a time

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # they are the parent's


def _plain(value):
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError("a tool takes text, numbers, lists and dicts, not %s" % type(value).__name__)


_encode = json.JSONEncoder(default=_plain, separators=(",", ":")).encode
_decode = json.JSONDecoder(strict=False).decode


def _call(tool, args):
    """Calls a tool and returns its result. Arguments that are None are not sent."""
    args = {name: value for name, value in args.items() if value is not None}
    request = _encode({"tool": tool, "args": args}).encode()
    connection = None
    try:
        try:
            connection = _idle.pop()
        except IndexError:
            connection = _connect()
        _send(connection, request)
        response = _receive(connection)
    except BaseException as error:
        if connection is not None:
            connection.close()  # it may be in the middle of a frame
        if isinstance(error, OSError):
            raise HermesToolsError("the connection to hermes-ls failed: %s" % error) from None
        raise
    if len(_idle) < _MAX_IDLE:
        _idle.append(connection)
    else:
        connection.close()
    return Result(_decode(response.decode("utf-8", "replace")))


def json_parse(text: str):
    """Parse JSON, also with raw control characters in its strings."""
    return json.loads(text, strict=False)


def shell_quote(text: str) -> str:
    """Quote text as one word of a shell command."""
    import shlex
    return shlex.quote(str(text))


def retry(fn, max_attempts: int = 3, delay: float = 2):
    """Call fn until it neither raises nor returns {"error": ...}. The delay doubles each time.

    After max_attempts, retry raises the last error or returns the last result.
    """
    for attempt in range(1, max_attempts + 1):
        try:
            result = fn()
            if attempt == max_attempts or not (isinstance(result, dict) and result.get("error")):
                return result
        except Exception:
            if attempt == max_attempts:
                raise
        time.sleep(delay * 2 ** (attempt - 1))
