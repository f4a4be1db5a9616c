"""Hints: expressions compared with Python's arithmetic, hints files, and `terrace plan --hints`."""

import json
import random
from fractions import Fraction

import pytest
from terrace import _core

VALUES = {"nnz": 78148.0, "niter": 15.0, "grid.n": 0.375, "zero": 0.0}
SIZES = {"u": 4096.0, "a cg.cpp:76": 626688.0}


def randomly(draw: random.Random, depth: int) -> tuple[str, float]:
    """Returns a random expression and its value. Raises ZeroDivisionError if it divides by 0."""
    kind = draw.randrange(9 if depth else 3)
    if kind == 0:
        text = draw.choice(
            [str(draw.randrange(1000)), f"{draw.random():.6f}", f"{draw.randrange(99)}e{draw.randrange(-9, 9)}"]
        )
        return text, float(text)
    if kind == 1:
        name = draw.choice(list(VALUES))
        return name, VALUES[name]
    if kind == 2:
        name = draw.choice(list(SIZES))
        return f'bytes("{name}")', SIZES[name]
    a, a_value = randomly(draw, depth - 1)
    if kind == 3:
        return f"-({a})", -a_value
    if kind == 4:
        base, power = draw.randrange(-9, 10), draw.randrange(8)
        return f"({base})^{power}", float(base**power)
    b, b_value = randomly(draw, depth - 1)
    if kind == 5:
        c, c_value = randomly(draw, depth - 1)
        chosen = draw.choice((min, max))
        return f"{chosen.__name__}({a}, {b},{c})", chosen(a_value, b_value, c_value)
    operator = draw.choice("+-*/")
    result = {
        "+": lambda: a_value + b_value,
        "-": lambda: a_value - b_value,
        "*": lambda: a_value * b_value,
        "/": lambda: a_value / b_value,
    }[operator]()
    return f"({a}) {operator}({b})", result


def test_random_expressions_equal_python():
    draw = random.Random(5)
    divided_by_zero = 0
    for _ in range(20_000):
        state = draw.getstate()
        try:
            text, value = randomly(draw, 4)
        except ZeroDivisionError:
            divided_by_zero += 1
            continue
        if len(text) > 1000:
            continue
        assert _core.Expression(text).value(VALUES, SIZES) == value, (text, state[1][0])
    assert 0 < divided_by_zero < 5_000


def test_precedence_equals_python():
    # Without parentheses: what Python makes of the same text, with ** for ^.
    draw = random.Random(7)
    for _ in range(20_000):
        words = [str(draw.randrange(1, 9))]
        for _ in range(draw.randrange(1, 8)):
            words += [draw.choice(["+", "-", "*", "/", "-", "+-", "--"]), str(draw.randrange(1, 9))]
            if draw.random() < 0.2:
                words += ["^", str(draw.randrange(4))]
        text = " ".join(words)
        assert _core.Expression(text).value() == pytest.approx(eval(text.replace("^", "**")), rel=1e-14, abs=1e-12)


def test_powers_are_exact_if_representable():
    for base in range(2, 40):
        for exponent in range(-9, 10):
            value = _core.Expression(f"{base}^{exponent}").value()
            exact = Fraction(base) ** exponent
            assert abs(Fraction(value) / exact - 1) <= Fraction(1, 2**52)


def test_missing_name_is_reported():
    with pytest.raises(_core.InvalidError, match="steps has no value"):
        _core.Expression("nnz*steps").value(VALUES)
    with pytest.raises(_core.InvalidError, match="divides by 0"):
        _core.Expression("1/zero").value(VALUES)


def test_hints_file_is_parsed():
    hints = _core.Hints.parse(
        '[values]\nn = "2kB"\n[refs]\n"a b" = "3*n"\n[[phase]]\nname = "p*"\nuses = ["u"]\nspares = ["v"]\n'
    )
    assert hints.values == {"n": 2000.0}
    assert hints.refs == [("a b", "3*n")]
    assert hints.directives == [("p*", "u", True), ("p*", "v", False)]


def phases_and_objects(terrace, store_path):
    done = terrace("plan", store_path, "--fast", "24MiB", "--json")
    document = json.loads(done.stdout)
    return [phase for phase in document["phases"] if "@" not in phase], document


def test_directives_change_the_prediction(terrace, store_path, tmp_path):
    phases, document = phases_and_objects(terrace, store_path)
    hints = tmp_path / "hints.toml"
    everything = json.dumps([item["name"] for item in document["objects"]])
    hints.write_text("".join(f'[[phase]]\nname = "{phase}"\nspares = {everything}\n' for phase in phases))
    done = terrace("plan", store_path, "--fast", "24MiB", "--hints", hints, "--json")
    assert done.returncode == 0, done.stderr
    spared = json.loads(done.stdout)
    # Nothing is used, so nothing is gained, and an iteration takes what it took.
    assert not any(item["parts"] for item in spared["objects"])
    assert spared["predicted_s"] == pytest.approx(document["slow_only_s"])
    assert spared["predicted_s"] > document["predicted_s"]


def test_plan_reports_unknown_names(terrace, store_path, tmp_path):
    hints = tmp_path / "hints.toml"
    hints.write_text('[[phase]]\nname = "no such phase"\nuses = ["no such object"]\n')
    done = terrace("plan", store_path, "--fast", "24MiB", "--hints", hints)
    assert "there was no phase 'no such phase'" in " ".join(done.stdout.split())
    assert "there was no object 'no such object'" in " ".join(done.stdout.split())


def test_invalid_hints_are_one_line(terrace, store_path, tmp_path):
    hints = tmp_path / "hints.toml"
    hints.write_text('[refs]\nu = "2*"\n')
    done = terrace("plan", store_path, "--hints", hints)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "hints.toml:2: refs.u: '2*', column 3" in done.stderr
