"""Runs scripts one after another in one namespace: python -I kernel.py folder folder...

A script comes on stdin: a line "token length path", and then its bytes. The file at
path is for tracebacks. A mark with the token on stdout says that the script starts. A
mark with the token and the exit code on stdout and stderr says where its output ends.
"""
import sys


def serve():
    import os
    import sys

    here, folders = __file__, sys.argv[2:]
    boot = here.rpartition("/")[0]
    sys.path.insert(0, boot)
    from start import prepare, show_from
    sys.path.remove(boot)
    del sys.modules["start"]  # the workspace may have a module of that name
    commands = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    prepare(boot.rpartition("/")[0] + "/lib", folders)
    show = sys.excepthook = show_from(here)
    module = sys.modules["__main__"]
    names = module.__dict__
    builtins = names["__builtins__"]
    names.clear()
    names.update(__name__="__main__", __builtins__=builtins, __doc__=None,
                 __package__=None, __spec__=None, __loader__=None)
    for line in commands:
        token, length, path = line.decode().rstrip("\n").split(" ", 2)
        source = commands.read(int(length))
        sys.argv = [path]
        names["__file__"] = path
        code = 0
        os.write(1, b"\0hermes-start %s\0" % token.encode())
        try:
            try:  # an earlier script may have put something there
                if os.path.lexists(path):
                    os.unlink(path)
                with open(path, "xb") as file:
                    file.write(source)
            except OSError:
                pass  # then tracebacks have no source lines
            exec(compile(source, path, "exec", dont_inherit=True), names)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            if code == 1 and not isinstance(end.code, int):
                print(end.code, file=sys.stderr)
        except BaseException as error:
            code = 1
            show(type(error), error, error.__traceback__)
        for stream, fd in ((sys.stdout, 1), (sys.stderr, 2)):
            try:
                stream.flush()
            except Exception:
                pass
            os.write(fd, b"\0hermes-end %s %d\0" % (token.encode(), code & 0xFF))


serve()
