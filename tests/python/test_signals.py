"""What signals that are sent to the launcher come to: the program has each of them once."""

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

# Says what it counts, and ends when it has had no signal for a while after the first one.
COUNTS = """
import signal, time
had = []
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, lambda number, frame: had.append(signal.Signals(number).name))
print("ready", flush=True)
before = -1
while not had or before != len(had):
    before = len(had)
    time.sleep(0.3)
print(*had, flush=True)
"""


def begun(setup: Callable[[], object]) -> subprocess.Popen[str]:
    words = [TERRACE, "run", "-q", "--memory", "1GiB", "--spill", "/var/tmp", "--", sys.executable, "-c", COUNTS]
    launcher = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=setup, start_new_session=True)
    assert launcher.stdout is not None
    assert launcher.stdout.readline() == "ready\n"
    return launcher


def as_usual() -> None:
    """A job in the background of a script ignores them, and so does whatever it starts."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
def test_what_another_process_sends_is_passed_on(number):
    launcher = begun(as_usual)
    launcher.send_signal(number)
    said, _ = launcher.communicate(timeout=60)
    assert said == f"{number.name}\n"
    assert launcher.returncode == 0


@pytest.mark.parametrize(("key", "name"), [(b"\x03", "SIGINT"), (b"\x1c", "SIGQUIT")])
def test_what_a_terminal_sends_comes_once(key, name):
    """The terminal sends it to the launcher and to the program."""
    ours, theirs = os.openpty()

    def with_terminal() -> None:
        as_usual()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    launcher = begun(with_terminal)
    os.write(ours, key)
    said, _ = launcher.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert said == f"{name}\n"


def test_a_program_that_dies_of_it_ends_the_launcher_alike():
    words = [TERRACE, "run", "-q", "--", "sh", "-c", "echo ready; exec sleep 60"]
    launcher = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=as_usual)
    assert launcher.stdout is not None
    assert launcher.stdout.readline() == "ready\n"
    launcher.send_signal(signal.SIGINT)
    assert launcher.wait(timeout=60) == -signal.SIGINT


def test_what_is_ignored_stays_ignored():
    """As in a script's job in the background: only a program that asks for it has it."""

    def ignores() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    launcher = begun(ignores)
    launcher.send_signal(signal.SIGINT)
    time.sleep(0.1)
    launcher.send_signal(signal.SIGTERM)
    said, _ = launcher.communicate(timeout=60)
    assert said == "SIGTERM\n"
