"""Runs a script as if it were the program: python -I start.py script folder...

The interpreter is isolated (-I), so nothing of the workspace has run so far. Only
then its folders become importable, behind the standard library and hermes_tools.
"""
import sys


def start():
    import sys  # our own names are gone when the script runs

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
    exec(compile(source, script, "exec", dont_inherit=True), names)


def prepare(ours, folders):
    """Makes the process what a script expects of it."""
    import _signal
    import os
    import sys
    from _thread import get_ident

    def stop(number, _):  # what was printed so far is not lost
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        _signal.signal(number, _signal.SIG_DFL)
        os.kill(os.getpid(), number)

    # A forked process ends by SIGTERM as it would without us: Python loses the signal when
    # it comes as the process begins, or as it goes to wait, and multiprocessing then hangs.
    masks = {}

    def hold():
        masks[get_ident()] = _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGTERM,))

    def let_go():
        _signal.pthread_sigmask(_signal.SIG_SETMASK, masks.pop(get_ident()))

    def forked():
        if _signal.getsignal(_signal.SIGTERM) is stop:
            _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
        let_go()

    os.register_at_fork(before=hold, after_in_parent=let_go, after_in_child=forked)
    sys.meta_path.insert(0, First(set_path(os, ours, folders)))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    _signal.signal(_signal.SIGTERM, stop)


def show_from(here):
    """An excepthook whose tracebacks begin in the script."""
    import sys

    def show(kind, error, trace):
        while trace is not None and trace.tb_frame.f_code.co_filename == here:
            trace = trace.tb_next
        sys.__excepthook__(kind, error.with_traceback(trace), trace)

    return show


def set_path(os, ours, folders):
    """The order is: our module, the standard library, the workspace, installed packages.

    Returns the places of the first two.
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
        user = site.getusersitepackages()  # -I leaves it out
        if os.path.isdir(user):
            site.addsitedir(user)
    return [ours] + standard


class First:
    """Finds hermes_tools and the standard library, whatever the script does to sys.path."""

    def __init__(self, folders):
        from _frozen_importlib_external import PathFinder
        self.find = lambda name: PathFinder.find_spec(name, folders)

    def find_spec(self, name, path=None, target=None):
        return self.find(name) if path is None else None


if __name__ == "__main__":  # neither in the kernel nor in a child that multiprocessing spawns
    start()
