"""Completion in the shells, compared with --help and with the launcher's accepted words."""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SHARE = ROOT / "share"
TERRACE = Path(sys.executable).with_name("terrace")
sys.path.insert(0, str(ROOT / "scripts"))
from command_line import bash as bash_script  # noqa: E402
from command_line import fish as fish_script  # noqa: E402
from command_line import zsh as zsh_script  # noqa: E402
from command_line.description import Option, Subcommand  # noqa: E402

VERBS = ["run", "record", "simulate", "replay", "merge", "machine", "show", "plan", "compare", "lab sweep"]
SHELLS = ["bash", "zsh", "fish"]


# Succeeds where the shell has the functions that it comes with, which it lacks where it was only unpacked.
WHOLE = {"bash": "true", "zsh": "autoload +X -Uz compinit", "fish": "type -q __fish_complete_suffix"}


def needs(shell):
    if shutil.which(shell) is None or subprocess.run([shell, "-c", WHOLE[shell]], capture_output=True).returncode:
        pytest.skip(f"{shell} is not installed")


def environment(folder):
    return {
        "PATH": f"{TERRACE.parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "PS1": "",
        "XDG_CONFIG_HOME": str(folder),
    }


class Terminal:
    """An interactive shell on a pseudo-terminal."""

    def __init__(self, command, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment(folder))
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 200, 0, 0))

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read(self, until):
        """Reads output up to the pattern; fails the test if it never appears."""
        text, end = "", time.monotonic() + 300
        while not re.search(until, text):
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {until!r} in {text!r}"
            text += os.read(self.terminal, 1 << 16).decode(errors="replace")
        return text

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


BASH = r"""
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_terrace
printf '%s\n' "${COMPREPLY[@]}"
"""
# Records the arguments of compadd, not their display on the terminal.
ZSH = r"""
autoload -Uz compinit; compinit -u -D
capture() {
  compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
    local -a hits
    builtin compadd -A hits "$@"
    print -rl -- "<"$^hits">"
    builtin compadd "$@"
  }
  compstate[insert]=
  compstate[list]=
  _main_complete
  print "EN""D"
}
zle -C capture complete-word capture; bindkey '^T' capture; print REA""DY
"""


def bash(line, folder):
    words = line.split(" ")
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH, "-", SHARE / "bash-completion/completions/terrace", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(folder),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return {word for word in done.stdout.split("\n") if word}


def zsh(line, folder):
    shell = Terminal(["zsh", "-f", "-i"], folder)
    try:
        shell.type(f"fpath=({SHARE}/zsh/site-functions $fpath)\n")
        shell.type(ZSH.strip() + "\n")
        shell.read("READY\r")
        shell.type(line + "\x14")
        return set(re.findall(r"<([^<>\r\n]+)>", shell.read("END\r")))
    finally:
        shell.type("\x03\x04")
        shell.close()


def fish(line, folder):
    script = f"source {SHARE}/fish/vendor_completions.d/terrace.fish; complete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(folder),
        timeout=300,
    )
    assert done.stderr == ""
    return {offer.partition("\t")[0] for offer in done.stdout.splitlines()}


COMPLETE = {"bash": bash, "zsh": zsh, "fish": fish}


@pytest.fixture(params=SHELLS)
def complete(request, tmp_path):
    """Returns the offers for a line in a folder with a few files, in each shell."""
    needs(request.param)
    (tmp_path / "app.terrace").touch()
    (tmp_path / "app.c").touch()
    (tmp_path / "scratch").mkdir()
    return lambda line: COMPLETE[request.param](line, tmp_path)


@cache
def helped(*words):
    done = subprocess.run(
        [TERRACE, *words, "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"},
    )
    return done.stdout


def verbs_of(*words):
    return set(re.findall(r"^  ([a-z][a-z-]*)  ", helped(*words), re.MULTILINE))


@pytest.mark.parametrize("words", [(), ("lab",), ("lab", "experiment")])
def test_subcommands_equal_help(complete, words):
    known = verbs_of(*words)
    assert known
    assert complete(" ".join(["terrace", *words, ""])) - {"--help", "--version", "-h"} == known


@pytest.mark.parametrize("verb", VERBS)
def test_options_equal_help(complete, verb):
    text = helped(*verb.split())
    # Lines of options begin with their names; what follows two spaces is said of them.
    lines = re.findall(r"^  ((?:-|--)[a-z].*)$", text, re.MULTILINE)
    known = {name for line in lines for name in re.findall(r"--[a-z][a-z-]*", line.split("  ")[0])}
    assert "--help" in known
    if verb == "compare":  # which passes on what it does not know
        known |= complete("terrace run --")
    assert {offer for offer in complete(f"terrace {verb} --") if offer != "--"} == known


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("terrace run --machine unimem-bw", {"unimem-bw2", "unimem-bw4", "unimem-bw8"}),
        ("terrace plan -p slo", {"slow-only"}),
        ("terrace record --collector page", {"page-references"}),
        ("terrace run --progress sent", {"sentinel"}),
        ("terrace run --intent band", {"bandwidth"}),
        ("terrace machine mea", {"measure"}),
        ("terrace export --format per", {"perfetto"}),
        ("terrace show app", {"app.terrace"}),
        ("terrace run --plan app", {"app.terrace", "app.c"}),
        ("terrace compare --memory 4GiB --intent lat", {"latency"}),
        ("terrace run --fast 1GiB -- tru", {"true", "truncate"}),
        ("terrace run -- cat app", {"app.terrace", "app.c"}),
    ],
)
def test_values_are_offered(complete, line, offers):
    assert complete(line) == offers


def test_folders_only_if_a_folder_is_required(complete):
    assert {offer.rstrip("/") for offer in complete("terrace run --spill s")} == {"scratch"}
    assert complete("terrace run --spill app") == set()


def test_names_after_a_comma_are_offered(complete):
    line = "terrace lab sweep --machines unimem-bw2,unimem-ed"
    assert {offer.removeprefix("unimem-bw2,") for offer in complete(line)} == {"unimem-edison"}


def test_user_machine_is_offered(complete, tmp_path, monkeypatch):
    """Names are queried at completion time, not stored in the file."""
    folder = tmp_path / "machines"
    folder.mkdir()
    shutil.copy(ROOT / "machines/unimem-bw2.toml", folder / "our-cluster.toml")
    monkeypatch.setattr(
        sys.modules[__name__],
        "environment",
        lambda home, given=environment: {**given(home), "TERRACE_MACHINES": str(folder)},
    )
    assert complete("terrace run -m our-cl") == {"our-cluster"}


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("machines", ["--machine"]),
        ("planners", ["--machine", "unimem-bw2", "--fast", "1MiB", "--planner"]),
        ("collectors", ["--machine", "unimem-bw2", "--collector"]),
    ],
)
def test_listed_names_are_accepted(kind, option, tmp_path):
    """Each listed name is accepted by simulate, and an unlisted one is not."""
    names = subprocess.run([TERRACE, "--names", kind], capture_output=True, text=True, check=True).stdout.split()
    assert len(names) > 3

    def status(name):
        command = [TERRACE, "simulate", "-q", *option, name, "-o", tmp_path / "x", "--", "/nonexistent"]
        return subprocess.run(command, capture_output=True, text=True, timeout=300).returncode

    # 127: the call was right, and there is no such program.
    assert {name: status(name) for name in names if status(name) != 127} == {}
    assert status("no-such-name") == 2


ODD = [
    "it's 'quoted' and \"quoted\"",
    "[in brackets]: and (these), {those}",
    r"a\back\slash \n \'",
    "$HOME `id` $(id) * ? ~ # ! % & ; | < >",
    "one\ntwo",
    "ends in a backslash \\",
]


@pytest.mark.parametrize("about", ODD)
def test_help_texts_are_inert(complete, about, tmp_path, monkeypatch):
    """Whatever an option's help contains, the option and its neighbours are offered and nothing is executed."""

    def option(name, value):
        facts = {"argument": "", "default": "", "required": False, "repeats": False, "needs": [], "excludes": []}
        return Option(names=[name], value=value, about=about, **facts)

    options = [option("--odd", ""), option("--file", "FILE"), option("--what", about), option("--end", "")]
    line = " ".join(about.split())
    subcommands = [Subcommand([], "", subcommands=[("show", line), ("next", line)])]
    subcommands.append(Subcommand(["show"], about, options=options))
    subcommands.append(Subcommand(["next"], about, options=options[:1]))
    for path, shell in (
        ("bash-completion/completions/terrace", bash_script),
        ("zsh/site-functions/_terrace", zsh_script),
        ("fish/vendor_completions.d/terrace.fish", fish_script),
    ):
        file = tmp_path / "share" / path
        file.parent.mkdir(parents=True)
        file.write_text(shell.completion(subcommands))
    monkeypatch.setattr(sys.modules[__name__], "SHARE", tmp_path / "share")
    assert complete("terrace n") == {"next"}
    assert complete("terrace show --") - {"--"} == {"--odd", "--file", "--what", "--end"}
    assert complete("terrace show --file app.t") == {"app.terrace"}


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_tab_completes(shell, tmp_path):
    needs(shell)
    loads = {
        "bash": f"bind 'set enable-bracketed-paste off'; source {SHARE}/bash-completion/completions/terrace",
        "zsh": f"fpath=({SHARE}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D",
    }
    terminal = Terminal([shell, *({"bash": ["--norc", "-i"], "zsh": ["-f", "-i"]}[shell])], tmp_path)
    try:
        terminal.type(loads[shell] + "; echo REA''DY\n")
        terminal.read("READY\r")
        terminal.type("echo 'begin'; terrace run --machine unimem-ed\t")
        assert "unimem-edison " in terminal.read("unimem-edison ")
    finally:
        terminal.type("\x03\x04")
        terminal.close()
