# SPDX-License-Identifier: Apache-2.0
"""Records the Python frames at the calls of small programs, and the loops that the programs themselves counted.

    python3.9 record_python_programs.py > python_programs_3.9.txt

python_loops_test.cpp reads the recordings, one for each version of Python whose bytecode Terrace decodes. The
interpreter that runs this script makes the bytecode, so it runs on 3.9 to 3.13.
"""

import sys
import types
from collections.abc import Iterable, Iterator

PROGRAMS = {
    "allreduce_each_barrier_every_5th": """
for step in loop("A", range(10)):  # A
    call()
    if step % 5 == 4:
        call()
""",
    "nested_loops": """
def main():
    for i in loop("A", range(3)):  # A
        for j in loop("B", range(4)):  # B
            for k in loop("C", range(2)):  # C
                call()
            call()
        call()
main()
""",
    "function_with_several_calls": """
def exchange():
    call()
    call()
def step(n):
    call()
    exchange()
    for d in loop("B", range(3)):  # B
        exchange()
    if n % 2:
        call()
def main():
    call()
    for n in loop("A", range(5)):  # A
        step(n)
    call()
main()
""",
    "class_with_while": """
class Solver:
    def __init__(self):
        self.error = 1.0
    def norm(self):
        call()
        return self.error
    def solve(self):
        enter("A")
        while turn("A") and self.error > 0.01:  # A
            self.error /= 2
            call()
            self.norm()
        leave("A")
Solver().solve()
""",
    "while_with_continue": """
def main():
    n = 0
    enter("A")
    while turn("A") and n < 8:  # A
        n += 1
        if n % 3 == 0:
            call()
            continue
        call()
        if n % 2:
            continue
        call()
    leave("A")
main()
""",
    "while_true_with_break": """
def main():
    n = 0
    enter("A")
    while True:  # A
        turn("A")  # A
        n += 1
        call()
        if n == 7:
            break
    leave("A")
    call()
main()
""",
    "two_loops": """
def main():
    for i in loop("A", range(3)):  # A
        call()
    for i in loop("B", range(3)):  # B
        call()
    for i in loop("C", range(2)):  # C
        call()
        for i in loop("D", range(2)):  # D
            call()
        for i in loop("E", range(2)):  # E
            call()
main()
""",
    "exceptions": """
def main():
    try:
        call()
        raise KeyError
    except KeyError:
        call()
    with context():
        call()
    for i in loop("A", range(6)):  # A
        try:
            call()
            if i % 2:
                raise ValueError
            call()
        except ValueError:
            call()
        finally:
            call()
        with context():
            call()
        call()
    for i in loop("B", range(3)):  # B
        call()
main()
""",
    "generator": """
def values():
    for i in loop("B", range(5)):  # B
        call()
        yield i
        call()
def main():
    for i in loop("A", values()):  # A
        call()
main()
""",
    "generator_resumed_elsewhere": """
def values():
    n = 0
    while True:
        n += 1
        yield n
def first(source):
    call()
    return next(source)
def second(source):
    call()
    return next(source)
def main():
    source = values()
    for i in loop("A", range(4)):  # A
        first(source)
        second(source)
main()
""",
    "comprehension": """
def main():
    for i in loop("A", range(3)):  # A
        x = [call() for j in loop("B", range(4))]  # B
        call()
main()
""",
    "yield_from": """
def inner():
    for i in loop("B", range(3)):  # B
        call()
        yield i
def outer():
    yield from inner()
    call()
def main():
    for i in loop("A", outer()):  # A
        call()
main()
""",
    "every_third_iteration": """
def report():
    call()
def main():
    for i in loop("A", range(30)):  # A
        if i % 3 == 0:
            report()
main()
""",
    "recursion": """
def cycle(level):
    call()
    if level:
        cycle(level - 1)
        call()
def main():
    for i in loop("A", range(4)):  # A
        cycle(3)
main()
""",
    "async_functions": """
async def exchange():
    call()
    await pause()
    call()
async def main():
    for i in loop("A", range(4)):  # A
        await exchange()
        await exchange()
run(main())
""",
}


class Recorder:
    """Records one program. A loop's visit is its execution from entry to exit."""

    def __init__(self, name: str, source: str) -> None:
        self.source = source.lstrip()
        self.code = compile(self.source, name, "exec")
        self.frames: list = []  # holds all frames, so that their identities stay apart
        self.codes: list = []
        self.visits: dict = {}  # by loop, outermost first: (number of the visit, iteration)
        self.last_visits: dict = {}
        self.num_visits = 0
        self.calls: list = []

    def line_of(self, loop: str) -> str:
        """Returns the line of the loop's statement; "4|5" for `while True`, which has no instruction in 3.12."""
        lines = enumerate(self.source.splitlines(), 1)
        return "|".join(str(i) for i, line in lines if line.endswith("# " + loop))

    def enter(self, loop: str) -> None:
        self.num_visits += 1
        self.visits[loop] = (self.num_visits, 0)

    def turn(self, loop: str) -> bool:
        visit, iteration = self.visits[loop]
        self.visits[loop] = (visit, iteration + 1)
        return True

    def leave(self, loop: str) -> None:
        del self.visits[loop]

    def loop(self, name: str, values: Iterable) -> Iterator:
        self.enter(name)
        iterator = iter(values)
        self.turn(name)  # before the iterator makes calls: the loop's head has been reached
        for value in iterator:
            yield value
            self.turn(name)
        self.leave(name)

    def index(self, known: list, one: object) -> int:
        if not any(other is one for other in known):
            known.append(one)
        return next(i for i, other in enumerate(known) if other is one)

    def call(self) -> None:
        frame = sys._getframe(1)
        stack = []
        while frame:
            if frame.f_code.co_filename == self.code.co_filename:
                activation = self.index(self.frames, frame)
                stack.append((activation, self.index(self.codes, frame.f_code), frame.f_lasti))
            frame = frame.f_back
        ended = "-"
        for name, (visit, iteration) in self.visits.items():
            before = self.last_visits.get(name)
            if before and before[0] == visit and before[1] != iteration:
                ended = self.line_of(name)
                break
        self.last_visits = dict(self.visits)
        self.calls.append((ended, stack[::-1]))

    def run(self) -> None:
        exec(
            self.code,
            {**{name: getattr(self, name) for name in ("call", "loop", "enter", "turn", "leave")}, **TOOLS},
        )

    def print(self) -> None:
        print("program", self.code.co_filename)
        for code in self.codes:
            lines = [line for _, line in line_table(code)]
            print("code", code.co_code.hex(), getattr(code, "co_exceptiontable", b"").hex() or "-", *lines)
        for ended, stack in self.calls:
            print("call", ended, *(f"{a}:{c}:{o}" for a, c, o in stack))


def line_table(code: types.CodeType) -> Iterator:
    """Yields the line of each code unit."""
    import dis

    starts = dict(dis.findlinestarts(code))
    if hasattr(code, "co_positions"):  # from 3.11
        for unit, position in enumerate(code.co_positions()):
            yield unit, position[0] or -1
        return
    line = code.co_firstlineno
    for offset in range(0, len(code.co_code), 2):
        line = starts.get(offset, line)
        yield offset // 2, line


class Context:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> bool:
        return True


@types.coroutine
def pause() -> Iterator:
    yield


def run(coroutine: types.CoroutineType) -> None:
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


TOOLS = {"context": Context, "pause": pause, "run": run}

if __name__ == "__main__":
    print("version", *sys.version_info[:2])
    for name, source in PROGRAMS.items():
        recorder = Recorder(name, source)
        recorder.run()
        recorder.print()
