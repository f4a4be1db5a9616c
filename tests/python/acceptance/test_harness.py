"""Tests of the acceptance harness: criteria that take hours (--apart), and parts that are made concurrently."""

import argparse
import sys
import threading
import time
from pathlib import Path

import harness
import pytest
from harness import Criterion, Measured, Unfinished


def listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Returns what --list prints for one criterion of either sort."""
    monkeypatch.setattr(sys, "argv", ["a", "--list", *words])
    monkeypatch.setattr(harness, "SETTINGS", argparse.Namespace())
    criteria = [
        Criterion("soon", "goal", lambda: Measured("", True)),
        Criterion("long", "goal", lambda: Measured("", True), True),
    ]
    assert harness.main("a", criteria, {}) == 0
    return capsys.readouterr().out.splitlines()


def test_list_long_line_is_marked_with_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert listed(capsys, monkeypatch) == ["soon: goal", "long (with --apart): goal"]


@pytest.mark.parametrize(("words", "measured"), [([], ["soon"]), (["--apart"], ["soon", "long"])])
def test_main_long_line_is_skipped_without_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], measured: list[str]
) -> None:
    done: list[str] = []

    def criterion(name: str) -> Criterion:
        return Criterion(name, "goal", lambda: (done.append(name), Measured("", True))[1], name == "long")

    monkeypatch.setattr(sys, "argv", ["a", *words])
    monkeypatch.setattr(harness, "SETTINGS", argparse.Namespace())
    monkeypatch.setattr(harness, "_begin", lambda name, quick: {})
    monkeypatch.setattr(harness, "_write", lambda name, rows: None)
    monkeypatch.setattr(harness._SESSION, "folder", harness.ROOT)
    monkeypatch.setattr(harness._SESSION, "keeps", False)
    assert harness.main("a", [criterion("soon"), criterion("long")], {}) == 0
    assert done == measured


def test_keep_parts_two_parts_made_concurrently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness.os, "cpu_count", lambda: 2)
    both = threading.Barrier(2, timeout=60)
    assert harness.keep_parts({"a": both.wait, "b": both.wait}).keys() == {"a", "b"}


def test_keep_parts_time_is_up_none_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness._SESSION, "deadline", time.monotonic())
    with pytest.raises(Unfinished):
        harness.keep_parts({"a": lambda: pytest.fail("was begun")})
