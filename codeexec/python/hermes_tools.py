"""The tools of hermes-ls as functions, for scripts that execute_code runs.

Each call returns a dict. One that failed returns {"error": "..."}: look for it
with result.get("error"). Functions may be called from any thread, from an asyncio
executor and after a fork; calls then run side by side, except those that write
files, which go one after another.
"""
import os
import time

# What lies below json, socket, struct and queue: importing those would take longer
# than all the rest of a short script.
try:
    import _json
    import _socket as socket
    from _queue import SimpleQueue
    from _struct import Struct
    from _thread import allocate_lock as _Lock
except ImportError:  # another Python than CPython
    import json
    import socket
    from queue import SimpleQueue
    from struct import Struct
    from threading import Lock as _Lock
    _json = None

_ADDRESS = os.environ.get("HERMES_RPC_SOCKET", "")
_TOKEN = os.environ.get("HERMES_RPC_TOKEN", "")
_request = Struct("!II").pack  # length of what follows this field, number; then the tool, a NUL, the arguments
_answer = Struct("!III").unpack_from  # length of what follows this field, number, length of the JSON
_length = Struct("!I").unpack_from  # of each long text after the JSON
_READ = 8192  # bytes at a time, while it is not known how many come
_WHOLE = getattr(socket, "MSG_WAITALL", 0)


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

    Whoever calls while nobody reads becomes the reader, and hands the answers of
    others to them: no thread of our own, and none is woken for a single caller.
    """

    def __init__(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.connect(_ADDRESS)
            self.sock.sendall(("hermes-1 %s\n" % _TOKEN).encode())
        except OSError as error:
            self.sock.close()
            raise HermesToolsError("hermes-ls cannot be reached: %s" % error) from None
        self.send, self.recv = self.sock.sendall, self.sock.recv
        self.number = 0
        self.sending = _Lock()
        self.begin_sending, self.end_sending = self.sending.acquire, self.sending.release
        self.reading = _Lock()
        self.waiting = {}  # number: _Waiter, of those who are not the reader
        self.received = b""
        self.broken = None

    def call(self, request):
        body = request.encode()
        reading = self.reading
        if not reading.acquire(False):
            return _read(self._call_beside(body))
        if not self.begin_sending(False):  # nobody would read meanwhile
            reading.release()
            return _read(self._call_beside(body))
        try:
            try:
                number = self.number = self.number + 1 & 0xFFFFFFFF
                self.send(_request(len(body) + 4, number) + body)
            finally:
                self.end_sending()
            data = self.received or self.recv(_READ)
            if len(data) > 12:  # mostly the answer, whole
                size, got, plain = _answer(data)
                if got == number and size == plain + 8 == len(data) - 4:
                    self.received = b""
                    return Result(_decode(str(data[12:], "utf-8", "replace"), 0)[0])
            self.received = data
            while True:
                got, data = self._receive()
                if got == number:
                    break
                self._deliver(got, data)
        except BaseException as error:  # perhaps in the middle of a request or an answer
            self._break(error)
            raise
        finally:
            reading.release()
            if self.waiting:
                self._hand_on()
        return _read(data)

    def _send(self, body, waiter=None):
        with self.sending:
            number = self.number = self.number + 1 & 0xFFFFFFFF
            if waiter is not None:
                self.waiting[number] = waiter
            self.send(_request(len(body) + 4, number) + body)
        return number

    def _call_beside(self, body):
        """A call while somebody else reads, who may stop doing so."""
        waiter, number = _Waiter(), None
        try:
            try:
                number = self._send(body, waiter)
            except BaseException as error:
                self._break(error)
                raise
            while waiter.answer is None:
                if self.broken:
                    raise HermesToolsError(self.broken)
                if self.reading.acquire(False):
                    self._read_until(waiter)
                else:
                    waiter.news.get()
        finally:
            self.waiting.pop(number, None)
            if waiter.answer is None and self.waiting:
                self._hand_on()
        return waiter.answer

    def _read_until(self, waiter):
        try:
            while waiter.answer is None:
                self._deliver(*self._receive(), but=waiter)
        except BaseException as error:
            self._break(error)
            raise
        finally:
            self.reading.release()
            self._hand_on()

    def _deliver(self, number, data, but=None):
        other = self.waiting.pop(number, None)  # none: its caller was interrupted
        if other is not None:
            other.answer = data
            if other is not but:
                other.news.put(None)

    def _hand_on(self):
        """Wake one of those who wait, to read in our place. The lock is free by then: a
        reading that is given to somebody is lost for all when a signal's handler raises."""
        for other in list(self.waiting.values()):
            if other.answer is None:
                other.news.put(None)
                return

    def _receive(self):
        """The next answer: its number, and all of its bytes."""
        data = self.received or self.recv(_READ)
        have = len(data)
        while have < 12:
            data += self._more(_READ)
            have = len(data)
        size, number, _ = _answer(data)
        size += 4
        if have == size:
            self.received = b""
            return number, data
        if have > size:
            self.received = data[size:]
            return number, data[:size]
        parts = [data]
        while have < size:
            parts.append(self._more(size - have, _WHOLE))
            have += len(parts[-1])
        self.received = b""
        return number, b"".join(parts)

    def _more(self, size, flags=0):
        data = self.recv(size, flags)
        if not data:
            raise HermesToolsError("hermes-ls has closed the connection")
        return data

    def _break(self, error):
        """Nobody can go on with this connection. The next call connects anew."""
        global _link
        if not isinstance(error, HermesToolsError):
            text = "the connection to hermes-ls broke: %r" % error
        else:
            text = str(error)
        self.broken = self.broken or text
        if _link is self:
            _link = None
        self.sock.close()
        for waiter in list(self.waiting.values()):
            waiter.news.put(None)
        if isinstance(error, OSError):
            raise HermesToolsError(self.broken) from None


class _Waiter:
    """Where the answer of a call arrives, and news that somebody else should read."""

    __slots__ = ("answer", "news")

    def __init__(self):
        self.answer = None
        self.news = SimpleQueue()


_link = None
_linking = _Lock()


def _forked():
    # The parent goes on with its connection and its locks; we make our own.
    global _link, _linking
    if _link is not None:
        _link.sock.close()
    _link, _linking = None, _Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _connect():
    global _link
    with _linking:
        if _link is None:
            _link = _Link()
        return _link


def _call(tool, args):
    return (_link or _connect()).call(tool + "\0" + _encode(args))


def _given(**args):
    """The arguments that are not left to the tool."""
    return {name: value for name, value in args.items() if value is not None}


def _plain(value):
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError("a tool takes text, numbers, lists and dicts, not %s" % type(value).__name__)


class _Rules:
    """How the scanner reads: as json.loads, but a NaN is what stands_for gives for it."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int

    def __init__(self, stands_for):
        self.parse_constant = stands_for


def _read(answer):
    """A result out of the bytes of an answer. A long text in it stands behind the JSON,
    as it is, and a NaN where it belongs."""
    _, _, size = _answer(answer)
    end = size + 12
    if end == len(answer):
        return Result(_decode(str(answer[12:], "utf-8", "replace"), 0)[0])
    view, texts = memoryview(answer), []
    text = str(view[12:end], "utf-8", "replace")
    while end < len(answer):
        size, = _length(answer, end)
        end += 4 + size
        texts.append(str(view[end - size:end], "utf-8", "replace"))
    texts.reverse()
    return Result(_scanner(lambda _: texts.pop())(text, 0)[0])


if _json:
    _quoted = _json.encode_basestring_ascii
    _chunks = _json.make_encoder(None, _plain, _quoted, None, ":", ",", False, False, True)

    def _encode(args):
        return "".join(_chunks(args, 0))

    def _scanner(stands_for):
        return _json.make_scanner(_Rules(stands_for))
else:
    from json.encoder import encode_basestring_ascii as _quoted

    def _encode(args):
        return json.dumps(args, default=_plain)

    def _scanner(stands_for):
        return json.JSONDecoder(parse_constant=stands_for, strict=False).scan_once

_decode = _scanner(float)


# tool: read_file
def read_file(path: str, offset: int = 1, limit: int = 500) -> dict:
    """Read a text file, from line offset on, at most limit lines.

    Returns {"content": "1|first line\\n2|second line\\n", "total_lines": int,
    "file_size": int, "truncated": bool, "next_offset": int (when truncated)}.
    """
    try:  # as _call does, three times as fast
        request = f'read_file\0{{"path":{_quoted(path)},"offset":{offset:d},"limit":{limit:d}}}'
    except (TypeError, ValueError):
        return _call("read_file", {"path": path, "offset": offset, "limit": limit})
    return (_link or _connect()).call(request)


# tool: write_file
def write_file(path: str, content: str) -> dict:
    """Create a file, or replace all of its content.

    Returns {"bytes_written": int, "created": bool, "diff": str}.
    """
    return _call("write_file", {"path": path, "content": content})


# tool: search_files
def search_files(pattern: str, target: str = "content", path: str = ".", file_glob: "str | None" = None,
                 limit: int = 50, offset: int = 0, context: int = 0, output_mode: str = "content") -> dict:
    """Search file contents by regular expression, or, with target="files", names by glob.

    Returns {"matches": [{"path": str, "line": int, "content": str}], "total_count": int,
    "truncated": bool}; with target="files" {"files": [str], ...}.
    """
    return _call("search_files", _given(
        pattern=pattern, target=target, path=path, file_glob=file_glob,
        limit=limit, offset=offset, context=context, output_mode=output_mode))


# tool: patch
def patch(path: "str | None" = None, old_string: "str | None" = None, new_string: "str | None" = None,
          replace_all: bool = False, mode: "str | None" = None, patch: "str | None" = None) -> dict:
    """Replace old_string by new_string in a file. An empty new_string deletes old_string.

    Returns {"success": bool, "diff": str, "files_modified": [str], "replacements": int}.
    """
    return _call("patch", _given(
        path=path, old_string=old_string, new_string=new_string,
        replace_all=replace_all or None, mode=mode, patch=patch))


# tool: terminal
def terminal(command: str, timeout: "float | None" = None, workdir: "str | None" = None,
             background: bool = False, pty: bool = False) -> dict:
    """Run a shell command in the foreground, at most timeout seconds.

    Returns {"output": str (stdout and stderr), "exit_code": int, "cwd": str}. Each
    command starts from the session's folder and variables; none changes them.
    background and pty are refused here: call terminal as a tool for those.
    """
    return _call("terminal", _given(command=command, timeout=timeout, workdir=workdir,
                                    background=background or None, pty=pty or None))


# tool: web_search
def web_search(query: str, limit: int = 5) -> dict:
    """Search the web.

    Returns {"data": {"web": [{"url": str, "title": str, "description": str}]}}.
    """
    return _call("web_search", {"query": query, "limit": limit})


# tool: web_extract
def web_extract(urls: list, char_limit: "int | None" = None) -> dict:
    """Read web pages as Markdown.

    Returns {"results": [{"url": str, "title": str, "content": str, "error": str (if any)}]}.
    """
    return _call("web_extract", _given(
        urls=[urls] if isinstance(urls, str) else urls, char_limit=char_limit))


# tool: end


def json_parse(text: str):
    """Parse JSON, also with raw control characters in its strings."""
    import json
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
