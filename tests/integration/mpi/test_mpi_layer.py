# SPDX-License-Identifier: Apache-2.0
"""Runs programs of each MPI installation plain and with libterrace-mpi.so, and compares what they print, how they
end, and which calls a listener saw with those that the programs count themselves.

TERRACE_MPI_LAYER names the library, TERRACE_MPI_PREFIXES more installations (installations.py).
"""

import os
import platform
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from installations import Installation, find_installations

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
LAYER = Path(os.environ.get("TERRACE_MPI_LAYER", ROOT / "build/release/src/agent/mpi/libterrace-mpi.so"))
TIMEOUT_S = 180
INSTALLATIONS = find_installations()

pytestmark = pytest.mark.skipif(not LAYER.exists(), reason=f"no {LAYER}")


def run(command: list[str], env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=env)


def compile_program(command: list[str]) -> None:
    done = run(command)
    assert done.returncode == 0, done.stderr


@dataclass
class Programs:
    """Compiles the test programs of one installation when they are first asked for."""

    mpi: Installation
    folder: Path

    def c(self, name: str, *options: str) -> str:
        target = self.folder / name
        if not target.exists():
            sources = [str(HERE / f"{name}.c"), *([str(HERE / "called.c")] if name in ("wide", "plugin") else [])]
            compile_program([self.mpi.cc, "-O1", *sources, "-o", str(target), "-lpthread", *options])
        return str(target)

    def shared(self, name: str) -> str:
        return self.c(name, "-shared", "-fPIC")

    def fortran(self, interface: str) -> str:
        if not self.mpi.fc:
            pytest.skip(f"{self.mpi.name} has no Fortran compiler")
        target = self.folder / interface
        if not target.exists():
            bookkeeping = self.folder / "called.o"
            compile_program(["gcc", "-O1", "-c", str(HERE / "called.c"), "-o", str(bookkeeping)])
            compile_program(
                # mpif.h has no interfaces: gfortran compares the types of arguments between calls.
                [self.mpi.fc, "-O1", "-fallow-argument-mismatch", "-w", f"-D{interface}", f"-J{self.folder}",
                 str(HERE / "halo.F90"), str(bookkeeping), "-o", str(target), "-lpthread"]
            )  # fmt: skip
        return str(target)


@pytest.fixture(scope="session", params=INSTALLATIONS, ids=lambda one: one.name)
def programs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(request.param, tmp_path_factory.mktemp(request.param.name))


@pytest.fixture(scope="session")
def listener(tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("listener") / "liblistener.so"
    compile_program(
        ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'src/tiering'}",
         str(HERE / "counting_listener.cpp"), "-o", str(library)]
    )  # fmt: skip
    return str(library)


def read_rows(path: Path) -> dict[str, list[int]]:
    return {words[0]: [int(word) for word in words[1:]] for words in map(str.split, path.read_text().splitlines())}


def compare_counts(folder: Path, ranks: int, only: set[str] | None = None) -> None:
    """Compares what the listener counted with what the programs say, rank by rank."""
    called = sorted(folder.glob("called.*"))
    assert len(called) == ranks
    for path in called:
        said = read_rows(path)
        seen = read_rows(path.with_name(path.name.replace("called", "counted")))
        unfinished = {name: row for name, row in seen.items() if row[0] != row[1]}
        assert not unfinished
        counted = {name: [row[0], *row[2:]] for name, row in seen.items()}
        if only:  # mpi4py calls a function's large-count variant where the library has one
            small = {name.removesuffix("_c"): row for name, row in counted.items()}
            counted = {name: row for name, row in small.items() if name in only}
        assert counted == said


def compare_messages(folder: Path, tags: set[int]) -> None:
    """Checks that each message that a rank sends is received: same ranks, tag, size and number."""
    rows = [line.split() for path in folder.glob("messages.*") for line in path.read_text().splitlines()]
    ends = {kind: Counter(tuple(row[1:]) for row in rows if row[0] == kind) for kind in ("sent", "received")}
    named = {
        kind: Counter({row: n for row, n in end.items() if int(row[2]) in tags}) for kind, end in ends.items()
    }
    assert {int(row[2]) for row in named["sent"]} == tags
    assert named["sent"] == named["received"]


class Comparison:
    """Runs a program plain and with the layer, and compares output, exit status and counts."""

    def __init__(self, mpi: Installation, listener: str, folder: Path) -> None:
        self.mpi, self.listener, self.folder = mpi, listener, folder

    def run(self, program: list[str], preload: str = "", counts: bool = False) -> subprocess.CompletedProcess[str]:
        more = {"TERRACE_MPI_COUNTS": str(self.folder), "TERRACE_MPI_DESCRIBE": "1"} if counts else {}
        return run(self.mpi.command(program, 4, preload), env=self.mpi.environment(more))

    def check(self, program: list[str], only: set[str] | None = None) -> None:
        plain = self.run(program)
        assert plain.returncode == 0, plain.stderr
        silent = self.run(program, f"{LAYER}")  # without a listener
        listened = self.run(program, f"{LAYER}:{self.listener}", counts=True)
        for one in (silent, listened):
            assert (one.returncode, one.stdout) == (plain.returncode, plain.stdout), one.stderr
        compare_counts(self.folder, 4, only)


@pytest.fixture
def comparison(programs: Programs, listener: str, tmp_path: Path) -> Comparison:
    return Comparison(programs.mpi, listener, tmp_path)


def test_wide_each_installation_counts_exactly(programs: Programs, comparison: Comparison, tmp_path: Path) -> None:
    comparison.check([programs.c("wide"), str(tmp_path / "file"), *programs.mpi.parts])
    # Tags 2 to 5 have receives with wildcards, by MPI_Mrecv or by MPI_PROC_NULL.
    tags = {1, 7, 10, 11} | {12 for part in programs.mpi.parts if part == "partitioned"}
    compare_messages(tmp_path, tags | {13 for part in programs.mpi.parts if part == "large"})


@pytest.mark.parametrize("interface", ["MPIF", "USE_MPI", "USE_MPI_F08"])
def test_fortran_each_interface_counts_exactly(programs: Programs, comparison: Comparison, interface: str) -> None:
    comparison.check([programs.fortran(interface)])
    compare_messages(comparison.folder, {1, 2, 3, 4})


def test_mpi4py_buffers_and_objects_count_exactly(programs: Programs, comparison: Comparison) -> None:
    if not programs.mpi.python:
        pytest.skip(f"{programs.mpi.name} has no mpi4py")
    named = {"Allreduce", "Barrier", "Irecv", "Send"}
    comparison.check([programs.mpi.python, str(HERE / "python_program.py")], only=named)


def test_plugin_of_local_scope_counts_exactly(programs: Programs, comparison: Comparison, tmp_path: Path) -> None:
    host = tmp_path / "host"
    compile_program(["gcc", str(HERE / "plugin_host.c"), "-o", str(host), "-ldl"])
    comparison.check([str(host), programs.shared("plugin")])


# Writes the exit status of one rank to a file of the folder $0.
RECORD_STATUS = 'env LD_PRELOAD="$PRELOAD" "$@"; status=$?; echo $status > "$0/status.$$"; exit $status'


@pytest.mark.parametrize(("end", "status"), [("abort", 7), ("exit", 3), ("kill", 137)])
def test_early_end_of_a_rank_keeps_the_exit_status(
    programs: Programs, listener: str, tmp_path: Path, end: str, status: int
) -> None:
    program = programs.c("ends")
    for name, preload in (("plain", ""), ("layered", f"{LAYER}:{listener}")):
        folder = tmp_path / name
        folder.mkdir()
        command = programs.mpi.command(["sh", "-c", RECORD_STATUS, str(folder), program, end])
        done = run(command, env=programs.mpi.environment({"PRELOAD": preload}))
        assert done.returncode != 0
        if end == "abort":  # the launcher ends all ranks, and reports the status
            assert done.returncode == status
        else:  # what the launcher reports depends on which rank it sees first
            assert status in {int(path.read_text()) for path in folder.iterdir()}


@pytest.mark.parametrize("tool_first", [True, False])
def test_profiling_tool_in_either_order_loses_no_call(
    programs: Programs, comparison: Comparison, tool_first: bool
) -> None:
    tool = programs.shared("profiling_tool")
    program = [programs.c("wide"), "-", "threads", "collectives"]
    plain = comparison.run(program, tool)
    assert "tool: 60 1\n" in plain.stdout
    libraries = [tool, str(LAYER)] if tool_first else [str(LAYER), tool]
    layered = comparison.run(program, ":".join([*libraries, comparison.listener]), counts=True)
    assert (layered.returncode, layered.stdout) == (0, plain.stdout), layered.stderr
    # A tool that comes first adds a call of its own (PMPI_Comm_rank) to those of the program.
    called = sorted(comparison.folder.glob("called.*"))
    assert len(called) == 4
    for path in called:
        said = read_rows(path)
        seen = read_rows(path.with_name(path.name.replace("called", "counted")))
        said["Comm_rank"][0] += tool_first
        assert {name: row[0] for name, row in seen.items()} == {name: row[0] for name, row in said.items()}


# --- the entries, without an MPI installation ------------------------------------------------------------------


@dataclass(frozen=True)
class Architecture:
    """Tools for one architecture of the layer."""

    name: str
    prefix: str
    emulator: tuple[str, ...]
    layer_sources: bool  # compile the layer, too
    entry: str  # pattern of an entry in a disassembly, with its number


ARCHITECTURES = [
    Architecture("x86-64", "", (), False, r"mov\s+\$(0x[0-9a-f]+),%r10d\n.*jmp\s+\w+ <forward_call>"),
    Architecture(
        "aarch64", "aarch64-linux-gnu-", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"), True,
        r"mov\s+w16, #(0x[0-9a-f]+).*\n.*b\s+\w+ <forward_call>",
    ),
]  # fmt: skip


@pytest.fixture(params=ARCHITECTURES, ids=lambda one: one.name, scope="module")
def architecture(request: pytest.FixtureRequest) -> Architecture:
    one: Architecture = request.param
    if not one.layer_sources and platform.machine() != "x86_64":
        pytest.skip("not an x86-64 machine")
    for tool in (f"{one.prefix}g++", f"{one.prefix}objdump", *one.emulator[:1]):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    return one


@pytest.fixture(scope="module")
def layer(architecture: Architecture, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layer for the architecture."""
    if not architecture.layer_sources:
        return LAYER
    sources, build = ROOT / "src/tiering/agent/mpi", LAYER.resolve().parent
    library = tmp_path_factory.mktemp(architecture.name) / "libterrace-mpi.so"
    compile_program(
        [f"{architecture.prefix}g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
         "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", f"-I{ROOT / 'src/tiering'}",
         f"-I{ROOT / 'src/foundation'}", f"-I{build / 'generated'}",
         str(sources / f"entries_{architecture.name}.S"),
         *map(str, sources.glob("*.cpp")), str(sources.parent / "linking/file_references.cpp"), "-static-libgcc",
         "-static-libstdc++", "-Wl,--as-needed,-z,defs", f"-Wl,--version-script={build / 'terrace-mpi.map'}",
         "-o", str(library)]
    )  # fmt: skip
    return library


@pytest.fixture(scope="module")
def entries(architecture: Architecture, layer: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the test of the entries."""
    folder = tmp_path_factory.mktemp("entries")
    fake, program = folder / "libfake.so", folder / "entries"
    compile_program(
        [f"{architecture.prefix}gcc", "-O2", "-shared", "-fPIC", str(HERE / "fake_mpi.c"), "-o", str(fake)]
    )
    compile_program(
        [f"{architecture.prefix}g++", "-std=c++20", "-O2", "-rdynamic", f"-I{ROOT / 'src/tiering'}",
         str(HERE / "entries_test.cpp"), "-o", str(program), str(fake), f"-Wl,-rpath,{folder}", "-ldl", "-pthread",
         "-Wl,--allow-shlib-undefined"]
    )  # fmt: skip
    if architecture.emulator:
        return [*architecture.emulator, "-E", f"LD_PRELOAD={layer}", str(program)]
    return ["env", f"LD_PRELOAD={layer}", str(program)]


@pytest.mark.parametrize("options", [[], ["silent"]], ids=["listener", "no-listener"])
def test_entries_with_and_without_listener_forward_calls(entries: list[str], options: list[str]) -> None:
    done = run([*entries, *options])
    assert (done.returncode, done.stdout) == (0, f"{0 if options else 40011} calls, 0 failures\n"), done.stdout
    assert done.stderr == "terrace: no loaded library defines MPI_Win_fence; the call returns an error\n"


def test_entries_disassembled_have_distinct_numbers(architecture: Architecture, layer: Path) -> None:
    listing = run([f"{architecture.prefix}objdump", "-d", "--no-show-raw-insn", str(layer)]).stdout
    pattern = re.compile(rf"<(\w+)>:\n.*{architecture.entry}")
    numbers = {name: int(number, 16) for name, number in pattern.findall(listing)}
    names = exported_names(layer)
    assert set(numbers) == names
    assert len(set(numbers.values())) == len(names) > 4000
    table = list(read_table())
    for index, name in enumerate(table):
        if f"MPI_{name}" in numbers:
            assert numbers[f"MPI_{name}"] == 16 * index
            assert numbers[f"PMPI_{name}"] == 16 * index + 8


def test_layer_needs_the_c_library_alone(architecture: Architecture, layer: Path) -> None:
    section = run([f"{architecture.prefix}readelf", "-d", str(layer)]).stdout
    assert re.findall(r"NEEDED.*\[(.*)\]", section) == ["libc.so.6"]


# --- the table against the libraries ---------------------------------------------------------------------------

# Families that are not interposed: they neither communicate nor wait, or are no functions.
NOT_INTERPOSED = re.compile(
    r"""(?ix) p?mpi_ (
        pcontrol | w(time|tick)(_f90)? | aint_(add|diff)(_f90)? | t_\w+ | abi_\w+ | sizeof\w*
      | get_(library_)?version
      | \w+_(c2f|f2c|fromint|toint) | status_(c2f08|f082c|f082f|f2f08)
      | (\w+_)?(null_copy|null_delete|dup)_fn | conversion_fn_null | fortran_\w+ | f08_status(es)?_ignore
      | delete_error_\w+ | (un)?weight(ed|s_empty) | argvs?_null | errcodes_ignore | t_pvar_all_handles
    ) (_f08|_f08ts)? _? $"""
)
# Other spellings of the same functions: those of other compilers' Fortran, and Open MPI's internal ones.
OTHER_SPELLING = re.compile(r"P?MPI_[A-Z0-9_]+$|p?mpi_\w*[a-z0-9]$|p?mpi_\w+__$|P?MPI_\w+_(f|f08)$")


def exported_names(library: Path | str) -> set[str]:
    listing = run(["nm", "-D", "--defined-only", str(library)]).stdout
    names = {words[2].split("@")[0] for words in map(str.split, listing.splitlines()) if words[1] in "TWi"}
    return {name for name in names if re.match(r"P?MPI_|p?mpi_", name)}


def libraries_of(program: str) -> Iterator[str]:
    for line in run(["ldd", program]).stdout.splitlines():
        if match := re.match(r"\s*(libmpi\S*)\s+=> (\S+)", line):
            yield match.group(2)


def test_table_names_that_libraries_export_are_interposed(programs: Programs) -> None:
    built = [
        programs.c("ends"),
        *([programs.fortran(one) for one in ("MPIF", "USE_MPI_F08")] if programs.mpi.fc else []),
    ]
    names = {name for program in built for library in libraries_of(program) for name in exported_names(library)}
    assert len(names) > 900
    wanted = {name for name in names if not NOT_INTERPOSED.match(name) and not OTHER_SPELLING.match(name)}
    assert len(wanted) > 700
    assert wanted - exported_names(LAYER) == set()


def read_table() -> dict[str, list[str]]:
    text = (ROOT / "src/tiering/agent/mpi/mpi_functions.txt").read_text()
    return {words[0]: words[1:] for words in map(str.split, text.splitlines()) if words[:1] != ["#"]}


def read_prototypes(cc: str) -> dict[str, list[str]]:
    """Returns the parameters of each function in C."""
    text = run([cc, "-E", "-P", "-x", "c", "-include", "mpi.h", "/dev/null"]).stdout
    prototypes = {}
    for name, parameters in re.findall(
        r"\bint\s+MPI_([A-Z]\w+)\s*\(([^;{}]*?)\)\s*(?:__attribute__[^;]*)?;", text
    ):
        flat = re.sub(r"\([^()]*\)", "", parameters)
        prototypes[name] = [] if flat.strip() == "void" else [" ".join(one.split()) for one in flat.split(",")]
    return prototypes


# Names that a prototype may give to the parameter at a position.
PARAMETERS = {
    "count": r"(send|recv|origin_|target_|result_)?counts?\[?\]?",
    "datatype": r"((send|recv)types?|(origin_|target_|result_)?(data)?type)\[?\]?",
    "peer": r"dest|source|root|target_rank",
    "tag": r"(send|recv)?tag",
    "handle": r"comm|win|fh",
}
FEWER_FORTRAN_ARGUMENTS = {"Init": 2, "Init_thread": 2}  # argc and argv


def test_table_positions_equal_the_prototypes(programs: Programs) -> None:
    prototypes = read_prototypes(programs.mpi.cc)
    num_checked = 0
    for name, (_, num_arguments, *transfers) in read_table().items():
        if name not in prototypes:
            continue
        parameters = prototypes[name]
        assert int(num_arguments) == len(parameters) - FEWER_FORTRAN_ARGUMENTS.get(name, 0), name
        for kind, *positions in (transfers[i : i + 6] for i in range(0, len(transfers), 6)):
            for meaning, position in zip(PARAMETERS, positions, strict=True):
                if position != "-":
                    last = parameters[int(position)].split()[-1].lstrip("*")
                    assert re.fullmatch(PARAMETERS[meaning], last), (name, kind, meaning, last)
                    num_checked += 1
    if not programs.mpi.library.startswith("Open MPI") or num_checked:
        assert num_checked > 300
