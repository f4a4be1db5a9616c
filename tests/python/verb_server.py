"""Runs analysis subcommands in forks of a process that has imported Terrace.

A start of Python with NumPy and SciPy takes longer than most subcommands. `python -P verb_server.py` reads a JSON
line for each call, and answers with its status.
"""

import importlib
import json
import os
import pkgutil
import sys
import traceback
from pathlib import Path

# A fork has one thread.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import scipy.optimize  # noqa: F401
import terrace.verbs
from terrace import cli


def call(request: dict) -> int:
    """Runs a subcommand in this process, as `python -P -m terrace` does, and returns its status."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, name in enumerate((os.devnull, request["output"], request["errors"])):
        file = os.open(name, os.O_RDWR)
        os.dup2(file, number)
        os.close(file)
    sys.argv = [str(Path(cli.__file__).with_name("__main__.py")), *request["words"]]
    try:
        cli.main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def serve() -> None:
    """Answers requests until standard input ends."""
    for module in pkgutil.walk_packages(terrace.verbs.__path__, "terrace.verbs."):
        importlib.import_module(module.name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = call(json.loads(line))
            finally:
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(ended), flush=True)


if __name__ == "__main__":
    serve()
