"""Signals sent to the launcher reach the program exactly once."""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable

import pytest
from conftest import TERRACE

# All that a program can have: 32 and 33 are the C library's own.
PASSED_ON = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD})

# Says what it counts, and ends when it has had no signal for a while after the first one.
COUNTS = """
import signal, time
had = []
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, lambda number, frame: had.append(int(number)))
print("ready", flush=True)
before = -1
while not had or before != len(had):
    before = len(had)
    time.sleep(0.15)
print(*had, flush=True)
"""

# Says which signal was sent while it was blocked.
UNBLOCKS = """
import signal
print("ready", flush=True)
print(int(signal.sigwait({signal.SIGALRM})), flush=True)
"""

# Says the value that comes with a signal: the fourth word of what sigwaitinfo(2) tells.
HAS_VALUE = """
import ctypes, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN + 2})
mask = (ctypes.c_ulong * 16)(1 << (signal.SIGRTMIN + 1))
about = (ctypes.c_int * 32)()
print("ready", flush=True)
assert ctypes.CDLL(None).sigwaitinfo(mask, about) == signal.SIGRTMIN + 2
print(about[6], flush=True)
"""


def begun(setup: Callable[[], object], program: str = COUNTS) -> subprocess.Popen[str]:
    words = [TERRACE, "run", "-q", "--memory", "1GiB", "--spill", "/var/tmp", "--", sys.executable, "-c", program]
    launcher = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=setup, start_new_session=True)
    assert launcher.stdout is not None
    assert launcher.stdout.readline() == "ready\n"
    return launcher


def as_usual() -> None:
    """Restores default dispositions, which background jobs of scripts ignore and children inherit."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("first", range(6))
def test_signals_of_another_process_are_forwarded(first):
    """Each of ten is counted once: to start the program takes longer than all else."""
    numbers = PASSED_ON[first::6]
    launcher = begun(as_usual)
    for number in numbers:
        launcher.send_signal(number)
    said, _ = launcher.communicate(timeout=300)
    assert sorted(map(int, said.split())) == sorted(map(int, numbers))
    assert launcher.returncode == 0


def test_blocked_signal_is_forwarded():
    launcher = begun(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM}), UNBLOCKS)
    launcher.send_signal(signal.SIGALRM)
    said, _ = launcher.communicate(timeout=300)
    assert said == "14\n"


def test_signal_keeps_its_value():
    launcher = begun(as_usual, HAS_VALUE)
    queued = ctypes.CDLL(None).sigqueue(launcher.pid, signal.SIGRTMIN + 2, ctypes.c_void_p(12345))
    said, _ = launcher.communicate(timeout=300)
    assert queued == 0
    assert said == "12345\n"


def test_pending_alarm_is_forwarded():
    """As after `alarm(1)` and execve(2): the timer is the launcher's, whose process id the program would have."""
    launcher = begun(lambda: signal.setitimer(signal.ITIMER_REAL, 3))
    said, _ = launcher.communicate(timeout=300)
    assert said == f"{int(signal.SIGALRM)}\n"


def test_parent_sees_the_program_stop():
    words = [TERRACE, "run", "-q", "--", "sh", "-c", "echo $$; kill -STOP $$; echo continued"]
    launcher = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    _, status = os.waitpid(launcher.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    launcher.send_signal(signal.SIGCONT)
    said, _ = launcher.communicate(timeout=300)
    assert said.splitlines()[1:] == ["continued"]
    assert launcher.returncode == 0


def test_signal_to_the_process_group_arrives_once():
    words = [
        TERRACE,
        "run",
        "-q",
        "--",
        sys.executable,
        "-c",
        COUNTS.replace("before = -1", "import os; os.kill(0, 10)\nbefore = -1"),
    ]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, text=True, timeout=300, start_new_session=True, check=True
    )
    assert done.stdout.splitlines() == ["ready", "10"]


@pytest.mark.parametrize(("setup", "status"), [(signal.SIG_DFL, -signal.SIGPIPE), (signal.SIG_IGN, 0)])
def test_broken_pipe_of_the_launcher_is_as_usual(setup, status):
    """As for any program: SIGPIPE ends it, unless ignored."""
    reads, writes = os.pipe()
    os.close(reads)
    words = [TERRACE, "run", "--memory", "1GiB", "--spill", "/var/tmp", "--", "true"]
    begins = lambda: signal.signal(signal.SIGPIPE, setup)  # noqa: E731
    done = subprocess.run(words, stderr=writes, timeout=300, preexec_fn=begins)
    os.close(writes)
    assert done.returncode == status


@pytest.mark.parametrize(
    ("key", "number"), [(b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT), (b"\x1a", signal.SIGTSTP)]
)
def test_terminal_signal_arrives_once(key, number):
    """The terminal sends it to the launcher and to the program."""
    ours, theirs = os.openpty()

    def with_terminal() -> None:
        as_usual()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    launcher = begun(with_terminal)
    os.write(ours, key)
    said, _ = launcher.communicate(timeout=300)
    os.close(ours)
    os.close(theirs)
    assert said == f"{int(number)}\n"


def test_launcher_ends_by_the_programs_signal():
    words = [TERRACE, "run", "-q", "--", "sh", "-c", "echo ready; exec sleep 60"]
    launcher = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=as_usual)
    assert launcher.stdout is not None
    assert launcher.stdout.readline() == "ready\n"
    launcher.send_signal(signal.SIGINT)
    assert launcher.wait(timeout=300) == -signal.SIGINT


def test_ignored_signal_stays_ignored():
    """As in a script's background job: only a program that installs a handler gets it."""

    def ignores() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    launcher = begun(ignores)
    launcher.send_signal(signal.SIGINT)
    time.sleep(0.1)
    launcher.send_signal(signal.SIGTERM)
    said, _ = launcher.communicate(timeout=300)
    assert said == f"{int(signal.SIGTERM)}\n"
