"""Runs a script as if it were the program: python -I start.py script folder...

A mark with the token of the run on stdout says that the script starts.

The interpreter is isolated (-I), so no code of the workspace has run before. Then the
workspace folders become importable, after hermes_tools and the standard library.
"""
import sys


def start():
    import os
    import sys  # the module's own names are cleared before the script runs

    script = sys.argv[1]
    prepare(__file__.rpartition("/boot/")[0] + "/lib", sys.argv[2:])
    sys.excepthook = show_from(__file__)
    sys.argv = [script]
    with open(script, "rb") as file:
        source = file.read()
    names = sys.modules["__main__"].__dict__
    builtins = names["__builtins__"]
    names.clear()
    names.update(__name__="__main__", __file__=script, __builtins__=builtins, __doc__=None,
                 __package__=None, __spec__=None, __loader__=None)
    os.write(1, b"\0hermes-start %s\0" % os.environ["HERMES_RPC_TOKEN"].encode())
    exec(compile(source, script, "exec", dont_inherit=True), names)


def prepare(ours, folders):
    """Prepares the process for a script: imports, streams, and SIGTERM."""
    import os
    import signal
    import sys

    def stop(number, _):  # flush the text that was printed, and end as without a handler
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    # A forked process has no handler of ours: Python loses a signal that comes when the
    # process begins or is about to wait, and then multiprocessing hangs.
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))

    def unblock():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))

    def forked():
        if signal.getsignal(signal.SIGTERM) is stop:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        unblock()

    os.register_at_fork(before=block, after_in_parent=unblock, after_in_child=forked)
    sys.meta_path.insert(0, First(set_path(os, ours, folders)))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    signal.signal(signal.SIGTERM, stop)


def show_from(here):
    """Returns an excepthook whose tracebacks begin in the script."""
    import sys

    def show(kind, error, trace):
        while trace is not None and trace.tb_frame.f_code.co_filename == here:
            trace = trace.tb_next
        sys.__excepthook__(kind, error.with_traceback(trace), trace)

    return show


def set_path(os, ours, folders):
    """The order is: our module, the standard library, the workspace, installed packages.

    Returns the folders of the first two.
    """
    library = os.path.dirname(os.__file__)
    standard = [p for p in sys.path if p in (library, library + "/lib-dynload")
                or p.endswith(".zip") and os.path.basename(p).startswith("python3")]
    installed = [p for p in sys.path if p not in standard]
    extra = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folders and os.path.isabs(p)]
    for folder in folders:  # PEP 582
        packages = "%s/__pypackages__/%d.%d/lib" % ((folder,) + sys.version_info[:2])
        if os.path.isdir(packages):
            extra.append(packages)
    sys.path[:] = [ours] + standard + folders + extra + installed
    if folders and sys.prefix == sys.base_prefix:
        import site
        user = site.getusersitepackages()  # left out by -I
        if os.path.isdir(user):
            site.addsitedir(user)
    return [ours] + standard


class First:
    """Finds hermes_tools and the standard library, also if the script changes sys.path."""

    def __init__(self, folders):
        from importlib.machinery import PathFinder
        self.find = lambda name: PathFinder.find_spec(name, folders)

    def find_spec(self, name, path=None, target=None):
        return self.find(name) if path is None else None


if __name__ == "__main__":  # neither in the kernel nor in a child that multiprocessing spawns
    start()
