"""Defines the programs of the criteria, each with an input of its own that is made once, and what of a run has to
be the same in all runs.

A case's command takes the words that come in front of the program: Terrace's, or none. Where others than the
program take part (clients, scripts), they run without Terrace.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness import ROOT, SETTINGS, run

from programs_lines import inputs
from programs_lines.filters import filtered
from programs_lines.needed import found, require
from programs_lines.runs import RunResult, forget, ran, scratch

Prefix = Sequence[str]
_INPUT = f"terrace-programs-input-{os.getpid()}-"  # how the folders' names begin


def _nothing(_: Path) -> None:
    """Makes no input; it is in the command."""


def _no_files(_: Path) -> str:
    """Returns no files; the program writes only its output."""
    return ""


@dataclass(frozen=True, eq=False)
class Case:
    """A program and its input."""

    name: str
    kind: str  # of output, for the filter
    needs: tuple[str, ...]
    command: Callable[[Prefix], list[str]]
    make: Callable[[Path], None] = _nothing  # the folder that each run gets a copy of
    files: Callable[[Path], str] = _no_files  # the parts of a run's folder that have to be equal
    is_large: bool = False  # it holds hundreds of MB: out-of-core memory is of use
    is_timed: bool = True  # it does not sleep for most of its time
    errors_count: bool = True  # standard error is equal in every run
    env: Mapping[str, str] = field(default_factory=dict)

    def outcome(self, done: RunResult) -> str:
        """Returns all results of a run that have to be equal."""
        lines = done.err.splitlines() if self.errors_count else []
        own = "\n".join(line for line in lines if not line.startswith("terrace: "))
        texts = (filtered(self.kind, done.out), filtered(self.kind, own), self.files(done.folder))
        return "\n--\n".join((f"status {done.status}", *texts))

    def run(
        self, prefix: Prefix, env: Mapping[str, str], memory: int | None = None, timeout: float = 1800
    ) -> RunResult:
        require(self.needs)
        limit = {} if memory is None else {"memory": memory}
        return ran(self.command(prefix), started_from(self), {**self.env, **env}, timeout=timeout, **limit)


@functools.cache
def _made(name: str, size: float) -> Path:
    """Makes the input of a case in a folder named by a hash, which stays for all of its runs."""
    case = next(one for one in CASES if one.name == name)
    number = hashlib.sha1(f"{name} {size}".encode()).hexdigest()[:10]
    folder = scratch() / f"{_INPUT}{number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    case.make(folder)
    return folder


def started_from(case: Case) -> Path:
    """Returns the folder with its input."""
    return _made(case.name, SETTINGS.size)


def remove_inputs() -> None:
    for folder in scratch().glob(f"{_INPUT}*"):
        shutil.rmtree(folder, ignore_errors=True)
    _made.cache_clear()


def chosen(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if SETTINGS.program in case.name]


def chosen_names(names: Iterable[str]) -> list[str]:
    return [name for name in names if SETTINGS.program in name]


def hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hashes(pattern: str) -> Callable[[Path], str]:
    """Returns a function that hashes all files of a run's folder that match."""
    return lambda folder: "\n".join(f"{path.name} {hash_of(path)}" for path in sorted(folder.glob(pattern)))


def _lmp(name: str) -> Callable[[Prefix], list[str]]:
    return lambda prefix: [*prefix, "lmp", "-in", f"in.{name}", "-log", "none"]


def _script(name: str) -> Callable[[Prefix], list[str]]:
    return lambda prefix: ["/bin/sh", name, *prefix]


def _read(folder: Path, name: str, kind: str) -> str:
    path = folder / name
    return filtered(kind, path.read_text(errors="replace")) if path.exists() else f"no {name}"


def _make_database(folder: Path) -> None:
    """Creates a cluster with pgbench's tables, owned by its user; initdb(1) refuses the superuser."""
    shutil.chown(folder, "postgres", "postgres")
    (folder / "run.sh").write_text(inputs.POSTGRES)
    done = ran(["/bin/sh", "run.sh", "make", str(inputs.scaled(20)), found(_SERVER)], folder, {})
    try:
        if done.status != 0:
            raise RuntimeError(f"the database cannot be made: {done.err.strip()[-300:]}")
        subprocess.run(["cp", "-a", done.folder / "data", folder / "data"], check=True)
    finally:
        forget(done)


def _make_repository(folder: Path) -> None:
    run(
        ["git", "-c", "safe.directory=*", "clone", "--quiet", "--bare", "--no-hardlinks", ROOT, folder / "own.git"]
    )


def _make_sources(folder: Path) -> None:
    shutil.copytree(ROOT / "src", folder / "src")
    shutil.copytree(ROOT / "include", folder / "include")
    (folder / "build.sh").write_text(inputs.BUILD)


_SERVER = "/usr/lib/postgresql/*/bin/postgres"
_TESTS = "/usr/lib/python3*/test/test_os.py"
_PYTHON = ["/usr/bin/python3", "-m", "test"]
# Without those that wait for most of their time, or for the network.
_COMPUTING = (
    "test_array test_bytes test_bufio test_builtin test_bz2 test_collections test_complex test_copy test_csv "
    "test_decimal test_deque test_descr test_dict test_difflib test_enum test_float test_fractions test_gc "
    "test_hashlib test_heapq test_io test_itertools test_json test_list test_long test_lzma test_mmap test_pickle "
    "test_re test_set test_sort test_statistics test_struct test_tokenize test_unicode test_zlib"
)
_PROCESSES = (
    "test_os test_posix test_subprocess test_threading test_thread test_threadsignals test_mmap "
    "test_multiprocessing_fork test_multiprocessing_spawn test_multiprocessing_forkserver test_signal test_fork1 "
    "test_wait3 test_wait4 test_popen test_pty test_faulthandler test_resource test_ctypes test_atexit "
    "test_concurrent_futures test_queue test_sched test_sqlite3 test_tempfile test_io test_memoryview"
)

CASES = (
    Case("lmp, liquid", "lmp", ("lmp",), _lmp("lj"), inputs.make_liquid, is_large=True),
    Case("lmp, copper", "lmp", ("lmp", "/usr/share/lammps/potentials/Cu_u3.eam"), _lmp("eam"), inputs.make_copper),
    Case("lmp, chains", "lmp", ("lmp",), _lmp("chain"), inputs.make_chains),
    Case(
        "hpcc",
        "hpcc",
        ("hpcc",),
        lambda prefix: [*prefix, "hpcc"],
        inputs.make_hpcc,
        lambda folder: _read(folder, "hpccoutf.txt", "hpcc"),
        is_large=True,
    ),
    Case(
        "python3 -m test",
        "python",
        (_TESTS,),
        lambda prefix: [*prefix, *_PYTHON, *_COMPUTING.split()],
        env={"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "1"},
    ),
    Case(
        "python3 -m test, processes",
        "python",
        (_TESTS,),
        lambda prefix: [*prefix, *_PYTHON, *_PROCESSES.split()],
        is_timed=False,
        errors_count=False,  # helpers of the tests that are killed complain now and then
        env={"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "1"},
    ),
    Case("sqlite3", "sqlite3", ("sqlite3",), _script("run.sh"), inputs.make_sqlite, is_large=True),
    Case(
        "redis-server",
        "redis",
        ("redis-server", "redis-cli", "redis-benchmark"),
        _script("run.sh"),
        inputs.make_redis,
        is_large=True,
    ),
    Case(
        "postgres",
        "postgres",
        (_SERVER, "pgbench", "runuser"),
        lambda prefix: ["/bin/sh", "run.sh", "run", str(inputs.scaled(4000)), found(_SERVER), *prefix],
        _make_database,
    ),
    Case(
        "git fsck",
        "git",
        ("git",),
        lambda prefix: [*prefix, "git", "-C", "own.git", "fsck", "--full", "--no-progress"],
        _make_repository,
    ),
    Case(
        "g++",
        "g++",
        ("g++",),
        lambda prefix: [*prefix, "/bin/sh", "build.sh"],
        _make_sources,
        hashes("*.o"),
    ),
    Case(
        "stress-ng --vm",
        "stress-ng",
        ("stress-ng",),
        lambda prefix: [
            *prefix,
            *(
                "stress-ng",
                "--vm",
                "1",
                "--vm-keep",
                "--verify",
                "--no-rand-seed",
                "--temp-path",
                ".",
                "--vm-bytes",
            ),
            f"{inputs.scaled(448)}M",
            "--vm-ops",
            "12000",
        ],
        is_large=True,
    ),
)
