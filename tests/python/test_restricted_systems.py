"""Systems that lack something, and unusual programs: `terrace run` changes neither output nor status of the
program, and prints at most one line.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TERRACE

sys.path.insert(0, str(ROOT / "tests" / "support"))
from restricted import CONDITIONS, RestrictedError, compiled, small_tmpdir

# Large and small blocks, a mapping that moves, a thread, a child that runs another program, standard output
# through a buffer, and a status of its own.
BUSY = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static unsigned long sum_of(const unsigned char* bytes, size_t size) {
  unsigned long sum = 0;
  for (size_t i = 0; i < size; ++i) sum = sum * 31 + bytes[i];
  return sum;
}
static void* fill(void* block) {
  for (size_t i = 0; i < 6 << 20; ++i) ((unsigned char*)block)[i] = (unsigned char)(i * 7);
  return block;
}
int main(void) {
  unsigned char* block = malloc(6 << 20);
  pthread_t thread;
  if (!block || pthread_create(&thread, NULL, fill, block) != 0) return 90;
  pthread_join(thread, NULL);
  block = realloc(block, 9 << 20);
  memset(block + (6 << 20), 5, 3 << 20);
  unsigned char* map = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return 91;
  memset(map, 3, 4 << 20);
  map = mremap(map, 4 << 20, 8 << 20, MREMAP_MAYMOVE);
  if (map == MAP_FAILED) return 92;
  for (int i = 0; i < 2000; ++i) free(malloc(1 + i * 37 % 30000));
  printf("%lu %lu\n", sum_of(block, 9 << 20), sum_of(map, 8 << 20));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    block[0] = 1;
    execl("/bin/sh", "sh", "-c", "echo from a child; exit 5", NULL);
    _exit(93);
  }
  int status = 0;
  waitpid(child, &status, 0);
  fprintf(stderr, "the child ended with %d\n", WEXITSTATUS(status));
  return 7;
}
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Returns a world-readable folder with the compiled programs."""
    folder = tmp_path_factory.mktemp("restricted")
    for above in (folder, *folder.parents[:3]):
        if above != Path("/tmp"):
            above.chmod(above.stat().st_mode | stat.S_IRUSR | 0o055)
    compiled(folder, BUSY, "busy", "-pthread")
    return folder


def ended(words, cwd, env=None):
    """Returns status, standard output, standard error."""
    done = subprocess.run(
        list(map(str, words)), stdin=subprocess.DEVNULL, capture_output=True, timeout=300, cwd=cwd, env=env
    )
    return done.returncode, done.stdout, done.stderr.decode(errors="replace").splitlines()


def compare(plain, ours, *, silent=False):
    """Checks that the runs are equal except for at most one line of Terrace."""
    said = [line for line in ours[2] if line.startswith("terrace: ")]
    assert [line for line in ours[2] if not line.startswith("terrace: ")] == plain[2]
    assert ours[:2] == plain[:2], ours[2]
    assert len(said) <= (0 if silent else 1), said


@pytest.mark.parametrize("program", ["busy", "python3", "sh"])
@pytest.mark.parametrize("name", list(CONDITIONS))
def test_missing_facility_does_not_affect_the_program(name, program, made, tmp_path):
    words = {
        "busy": [made / "busy"],
        "python3": [
            "/usr/bin/python3",
            "-c",
            "import sys; print(sum(bytearray(range(250)) * 40000)); sys.exit(3)",
        ],
        "sh": ["/bin/sh", "-c", "seq 20000 | sort -n | tail -1; ls /nowhere; exit 4"],
    }[program]
    condition = CONDITIONS[name]
    try:
        plain = ended(condition(made, list(map(str, words))), tmp_path)
        ours = ended(condition(made, [str(TERRACE), "run", "--", *map(str, words)]), tmp_path)
    except RestrictedError as why:
        pytest.skip(str(why))
    assert plain[0] in (3, 4, 7), plain
    compare(plain, ours, silent=name == "all there")


@pytest.mark.parametrize("options", [("--intent", "bandwidth"), ("--memory", "256MiB", "--spill", ".")])
@pytest.mark.parametrize("name", ["/dev/shm full", "TMPDIR of 64 KiB", "TMPDIR of 8 KiB"])
def test_full_file_system_does_not_kill_the_program(name, options, made, tmp_path):
    """A write through a mapping of a sparse file on a full disk would raise SIGBUS."""
    words = [str(made / "busy")]
    try:
        plain = ended(CONDITIONS[name](made, words), tmp_path)
        ours = ended(CONDITIONS[name](made, [str(TERRACE), "run", *options, "--", *words]), tmp_path)
    except RestrictedError as why:
        pytest.skip(str(why))
    assert ours[:2] == plain[:2], ours[2]
    assert any(line.startswith("terrace: ") for line in ours[2])


@pytest.mark.parametrize(
    "options", [("--intent", "bandwidth"), ("--memory", "256MiB", "--spill", "."), ("--profile",)]
)
def test_process_without_journal_reports_itself(options, made, tmp_path):
    """The process itself reports that its journal has no space."""
    try:
        done = ended(small_tmpdir(4)(made, [str(TERRACE), "run", *options, "--", "true"]), tmp_path)
    except RestrictedError as why:
        pytest.skip(str(why))
    assert done[0] == 0
    assert any("the program runs unmanaged: journal " in line for line in done[2]), done[2]
    assert not any("never loaded" in line for line in done[2]), done[2]


@pytest.mark.parametrize("options", [("--memory", "256MiB", "--spill", "/var/tmp"), ("-o", "x.terrace"), ("-q",)])
def test_full_tmpdir_is_reported(options, made, tmp_path):
    try:
        done = ended(CONDITIONS["TMPDIR full"](made, [str(TERRACE), "run", *options, "--", "true"]), tmp_path)
    except RestrictedError as why:
        pytest.skip(str(why))
    full = f"terrace: $TMPDIR ({made}/full) is full: Terrace needs some KiB there; set TMPDIR"
    assert (done[0], done[2]) == ((0, []) if options == ("-q",) else (1, [full]))


def test_check_reports_full_shared_memory(made, tmp_path):
    words = [str(TERRACE), "machine", "check"]
    try:
        status, output, _ = ended(CONDITIONS["/dev/shm full"](made, words), tmp_path)
    except RestrictedError as why:
        pytest.skip(str(why))
    assert status == 0
    assert b"/dev/shm is full: 64KiB free" in output


def test_setuid_program_runs_unchanged(tmp_path):
    """It gets its privileges, and at most one line is printed."""
    if os.geteuid() != 0:
        pytest.skip("a program of another user takes the superuser's rights")
    compiled(
        tmp_path,
        '#include <stdio.h>\n#include <unistd.h>\nint main(void) { printf("%d\\n", geteuid()); return 6; }',
        "who",
    )
    os.chown(tmp_path / "who", 65534, 65534)
    (tmp_path / "who").chmod(0o6755)
    words = [tmp_path / "who"]
    plain = ended(words, tmp_path)
    assert plain == (6, b"65534\n", [])
    compare(plain, ended([TERRACE, "run", "--", *words], tmp_path))


@pytest.mark.parametrize("kind", ["-static", "-static-pie"])
def test_static_program_runs_unchanged(kind, tmp_path):
    compiled(tmp_path, BUSY, "static", "-pthread", kind)
    plain = ended([tmp_path / "static"], tmp_path)
    compare(plain, ended([TERRACE, "run", "--", tmp_path / "static"], tmp_path))


def test_script_without_interpreter_is_found_in_the_path(tmp_path):
    (tmp_path / "own-script").write_text("echo $0 $1; exit 9\n")
    (tmp_path / "own-script").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert ended([TERRACE, "run", "--", "own-script", "word"], tmp_path, env) == (
        9,
        f"{tmp_path}/own-script word\n".encode(),
        [],
    )


@pytest.mark.parametrize(
    "kind", ["none", "folder", "no rights", "no interpreter", "another machine", "script", "empty"]
)
def test_unstartable_program_ends_as_in_a_shell(kind, tmp_path):
    """127 where there is no such program, 126 where it cannot be run, one line; a script without an interpreter's
    name runs."""
    program = tmp_path / "program"
    if kind == "folder":
        program.mkdir()
    elif kind == "another machine":
        header = bytearray(Path("/bin/true").read_bytes())
        header[18] = 0xF3 if header[18] != 0xF3 else 0x3E  # e_machine
        program.write_bytes(header)
    elif kind != "none":
        text = {"no interpreter": "#!/nowhere/sh\n", "script": "echo a script; exit 8\n", "empty": ""}
        program.write_text(text.get(kind, "#!/bin/sh\n"))
    if program.exists():
        program.chmod(0o755 if kind != "no rights" else 0o644)
    shell = subprocess.run(["/bin/sh", "-c", f"exec {program}"], capture_output=True, timeout=300)
    if kind in ("script", "empty"):
        shell = subprocess.run(["/bin/sh", "-c", str(program)], capture_output=True, timeout=300)
    ours = ended([TERRACE, "run", "--", program], tmp_path)
    assert ours[0] == shell.returncode, ours[2]
    assert ours[1] == shell.stdout
    if shell.returncode >= 126:
        assert len(ours[2]) == 1
        assert ours[2][0].startswith("terrace: cannot start")
    else:
        assert ours[2] == []


def test_users_preloaded_library_stays(tmp_path):
    """Before the program and its children."""
    library = compiled(
        tmp_path,
        "#define _GNU_SOURCE\n#include <string.h>\n#include <unistd.h>\n"
        '__attribute__((constructor)) static void here(void) { if (write(1, "preloaded\\n", 10) < 0) _exit(9); }',
        "own.so",
        "-shared",
        "-fPIC",
    )
    env = {**os.environ, "LD_PRELOAD": str(library)}
    program = ["/bin/sh", "-c", "/bin/echo one; echo two"]
    plain = ended(program, tmp_path, env)
    assert plain[1].count(b"preloaded") == 2
    ours = ended([TERRACE, "run", "--", *program], tmp_path, env)
    assert ours[1].split(b"\n", 1)[1] == plain[1]  # the launcher had it first
    assert ours[0] == plain[0]
    assert ours[2] == []


def test_address_sanitizer_program_runs(tmp_path):
    """Its runtime wants to be the first library; it says so and ends where it is not. Also as another one's child,
    where it has its memory to itself all the same."""
    compiled(tmp_path, BUSY, "checked", "-pthread", "-fsanitize=address")
    env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    plain = ended([tmp_path / "checked"], tmp_path, env)
    assert plain[0] == 7
    compare(plain, ended([TERRACE, "run", "--", tmp_path / "checked"], tmp_path, env))
    within = ["/bin/sh", "-c", f"{tmp_path}/checked; exit $?"]
    compare(plain, ended([TERRACE, "run", "--", *within], tmp_path, env), silent=True)


def test_address_sanitizer_still_finds_errors(tmp_path):
    """Past the end of a large block, in a child of the program."""
    compiled(
        tmp_path,
        "#include <stdlib.h>\nint main(int count, char** words) { volatile char* block = malloc(9 << 20);"
        " block[(9 << 20) + count - 1] = words[0][0]; return 0; }",
        "wrong",
        "-fsanitize=address",
    )
    words = ["/bin/sh", "-c", f"{tmp_path}/wrong; exit $?"]
    plain = ended(words, tmp_path)
    ours = ended([TERRACE, "run", "--", *words], tmp_path)
    assert plain[0] == ours[0] != 0
    for done in (plain, ours):
        assert any("heap-buffer-overflow" in line for line in done[2]), done[2][:3]


@pytest.mark.parametrize("way", ["off", "python", "stdin"])
def test_off_disables_everything(way, made, tmp_path):
    """TERRACE=off: no call and no variable is added."""
    env = {**os.environ, "TERRACE": "off"}
    words = {
        "off": ["env"],
        "python": [sys.executable, "-c", "print(len(open('/proc/self/maps').read()) > 0)"],
        "stdin": ["cat"],
    }[way]
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]}")
    plain = ended(words, tmp_path, env)
    ours = ended([TERRACE, "run", "--", *words], tmp_path, env)
    assert sorted(ours[1].splitlines()) == sorted(plain[1].splitlines())
    compare((plain[0], ours[1], plain[2]), ours, silent=True)


@pytest.mark.parametrize("name", ["no /proc", "no /sys", "no TMPDIR", "small files"])
def test_requested_feature_is_not_omitted_silently(name, made, tmp_path):
    """The message and the status report an unavailable feature."""
    words = [str(TERRACE), "run", "-o", str(tmp_path / "own.terrace"), "--", "true"]
    try:
        status, _, said = ended(CONDITIONS[name](made, words), tmp_path)
    except RestrictedError as why:
        pytest.skip(str(why))
    assert (status == 0) == (tmp_path / "own.terrace").exists()
    assert status == 0 or said
