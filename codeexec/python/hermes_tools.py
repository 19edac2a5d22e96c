"""The tools of hermes-ls as functions, for scripts that execute_code runs.

Each call returns a dict. One that failed returns {"error": "..."}: look for it
with result.get("error"). Functions may be called from any thread, from an asyncio
executor and after a fork; calls then run side by side, except those that write
files, which go one after another.
"""
from __future__ import annotations

import itertools
import json
import os
import struct
import threading
import time

try:  # what lies below socket and queue, which cost a third of the start-up and add nothing here
    import _socket as socket
    from _queue import SimpleQueue
except ImportError:
    import socket
    from queue import SimpleQueue

_ADDRESS = os.environ.get("HERMES_RPC_SOCKET", "")
_TOKEN = os.environ.get("HERMES_RPC_TOKEN", "")
_REQUEST = struct.Struct("!IIB")  # length of what follows the first field, number, length of the name
_ANSWER = struct.Struct("!II")  # length of what follows the first field, number


class HermesToolsError(RuntimeError):
    """The connection to hermes-ls is gone: no call can be made any more."""


class Result(dict):
    """What a call returned: a dict that explains a key that is not there."""

    def __missing__(self, key):
        if "error" in self:
            raise KeyError("%r is not there, because the call failed: %s" % (key, self["error"]))
        raise KeyError("%r is not there; the result has %s" % (key, ", ".join(map(repr, self))))


class _Link:
    """A connection that any number of threads share.

    Whoever waits for an answer while nobody reads becomes the reader, and hands the
    answers of others to them: no thread of our own, and none is woken for a single
    caller.
    """

    def __init__(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.connect(_ADDRESS)
            self.sock.sendall(("hermes-1 %s\n" % _TOKEN).encode())
        except OSError as error:
            self.sock.close()
            raise HermesToolsError("hermes-ls cannot be reached: %s" % error) from None
        self.numbers = itertools.count(1)
        self.sending = threading.Lock()
        self.reading = threading.Lock()
        self.waiting = {}  # number: _Waiter
        self.received = b""
        self.broken = None

    def call(self, tool, args):
        number = next(self.numbers) & 0xFFFFFFFF
        name = tool.encode()
        body = _encode(args).encode()
        waiter = self.waiting[number] = _Waiter()
        try:
            with self.sending:
                self._send(_REQUEST.pack(5 + len(name) + len(body), number, len(name)) + name + body)
            while waiter.answer is None:
                if self.broken:
                    raise HermesToolsError(self.broken)
                if self.reading.acquire(False):
                    self._read_until(waiter)
                else:
                    waiter.news.get()
        finally:
            self.waiting.pop(number, None)
            if waiter.answer is None:
                self._hand_on()
        return Result(_decode(str(waiter.answer, "utf-8", "replace"), 0)[0])

    def _send(self, request):
        try:
            self.sock.sendall(request)
        except BaseException as error:  # perhaps in the middle of a request: nobody could go on
            self._break("the connection to hermes-ls broke: %r" % error)
            if isinstance(error, OSError):
                raise HermesToolsError(self.broken) from None
            raise

    def _read_until(self, waiter):
        try:
            while waiter.answer is None:
                number, answer = self._receive()
                other = self.waiting.get(number)  # none: its caller was interrupted
                if other is not None:
                    other.answer = answer
                    if other is not waiter:
                        other.news.put(None)
        except BaseException as error:  # perhaps in the middle of an answer
            self._break("the connection to hermes-ls broke: %r" % error)
            if isinstance(error, OSError):
                raise HermesToolsError(self.broken) from None
            raise
        finally:
            self.reading.release()
            self._hand_on()

    def _hand_on(self):
        """Wake one of those who wait, to read in our place."""
        for other in list(self.waiting.values()):
            if other.answer is None:
                other.news.put(None)
                return

    def _receive(self):
        data = self.received
        while len(data) < 8:
            data += self._more(16384)
        size, number = _ANSWER.unpack_from(data)
        end = 4 + size
        if len(data) >= end:
            self.received = data[end:]
            return number, data[8:end]
        answer = bytearray(size - 4)
        have = len(data) - 8
        answer[:have] = data[8:]
        self.received = b""
        with memoryview(answer) as view:
            while have < len(answer):
                n = self.sock.recv_into(view[have:])
                if n == 0:
                    self._ended()
                have += n
        return number, answer

    def _more(self, size):
        data = self.sock.recv(size)
        if not data:
            self._ended()
        return data

    def _ended(self):
        self.broken = "hermes-ls has closed the connection"
        raise HermesToolsError(self.broken)

    def _break(self, why):
        global _link
        self.broken = self.broken or why
        if _link is self:
            _link = None  # the next call connects anew
        self.sock.close()
        for waiter in list(self.waiting.values()):
            waiter.news.put(None)


class _Waiter:
    """Where the answer of a call arrives, and news that somebody else should read."""

    __slots__ = ("answer", "news")

    def __init__(self):
        self.answer = None
        self.news = SimpleQueue()


_link = None
_linking = threading.Lock()


def _forked():
    # The parent goes on with its connection and its locks; we make our own.
    global _link, _linking
    if _link is not None:
        _link.sock.close()
    _link, _linking = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _plain(value):
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError("a tool takes text, numbers, lists and dicts, not %s" % type(value).__name__)


_encode = json.JSONEncoder(default=_plain, check_circular=False).encode
_decode = json.JSONDecoder().scan_once  # nothing stands around an answer


def _call(tool, **args):
    global _link
    link = _link
    if link is None:
        with _linking:
            link = _link
            if link is None:
                link = _link = _Link()
    return link.call(tool, {name: value for name, value in args.items() if value is not None})


# tool: read_file
def read_file(path: str, offset: int = 1, limit: int = 500) -> dict:
    """Read a text file, from line offset on, at most limit lines.

    Returns {"content": "1|first line\\n2|second line\\n", "total_lines": int,
    "file_size": int, "truncated": bool, "next_offset": int (when truncated)}.
    """
    return _call("read_file", path=path, offset=offset, limit=limit)


# tool: write_file
def write_file(path: str, content: str) -> dict:
    """Create a file, or replace all of its content.

    Returns {"bytes_written": int, "created": bool, "diff": str}.
    """
    return _call("write_file", path=path, content=content)


# tool: search_files
def search_files(pattern: str, target: str = "content", path: str = ".", file_glob: str | None = None,
                 limit: int = 50, offset: int = 0, context: int = 0, output_mode: str = "content") -> dict:
    """Search file contents by regular expression, or, with target="files", names by glob.

    Returns {"matches": [{"path": str, "line": int, "content": str}], "total_count": int,
    "truncated": bool}; with target="files" {"files": [str], ...}.
    """
    return _call("search_files", pattern=pattern, target=target, path=path, file_glob=file_glob,
                 limit=limit, offset=offset, context=context, output_mode=output_mode)


# tool: patch
def patch(path: str | None = None, old_string: str | None = None, new_string: str | None = None,
          replace_all: bool = False, mode: str | None = None, patch: str | None = None) -> dict:
    """Replace old_string by new_string in a file.

    Returns {"success": bool, "diff": str, "files_modified": [str], "replacements": int}.
    """
    return _call("patch", path=path, old_string=old_string, new_string=new_string,
                 replace_all=replace_all or None, mode=mode, patch=patch)


# tool: terminal
def terminal(command: str, timeout: float | None = None, workdir: str | None = None) -> dict:
    """Run a shell command in the foreground, at most timeout seconds.

    Returns {"output": str (stdout and stderr), "exit_code": int, "cwd": str}. Each
    command starts from the session's folder and variables; none changes them.
    """
    return _call("terminal", command=command, timeout=timeout, workdir=workdir)


# tool: web_search
def web_search(query: str, limit: int = 5) -> dict:
    """Search the web.

    Returns {"data": {"web": [{"url": str, "title": str, "description": str}]}}.
    """
    return _call("web_search", query=query, limit=limit)


# tool: web_extract
def web_extract(urls: list, char_limit: int | None = None) -> dict:
    """Read web pages as Markdown.

    Returns {"results": [{"url": str, "title": str, "content": str, "error": str (if any)}]}.
    """
    return _call("web_extract", urls=[urls] if isinstance(urls, str) else urls, char_limit=char_limit)


# tool: end


def json_parse(text: str):
    """Parse JSON, also with raw control characters in its strings."""
    return json.loads(text, strict=False)


def shell_quote(text: str) -> str:
    """Quote text as one word of a shell command."""
    import shlex
    return shlex.quote(str(text))


def retry(fn, max_attempts: int = 3, delay: float = 2):
    """Call fn until it neither raises nor returns {"error": ...}; delay doubles each time.

    After max_attempts the last error is raised, or the last result returned.
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
