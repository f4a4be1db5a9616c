"""Answers of an unfinished experiment come back in a checkout that has nothing but the repository."""

import json

import pytest
from results.answers import bring_back, drop, put_by
from results.kept import Refused
from results.version import Version

ONE = Version("1" * 40, False)


def leave(folder, name, seconds):
    path = folder / "cells" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": 2, "loop_s": seconds}, indent=1) + "\n")


@pytest.fixture
def documents(tmp_path):
    folder = tmp_path / "here"
    leave(folder, "cg/a/any/slow-only.json", 0.1 + 0.2)
    leave(folder, "mg/a/1-of-4/live-auto.json", 1e-9)
    leave(folder, "mg/a/1-of-4/.half-written.json.77", 3.0)
    put_by(tmp_path / "documents", ONE, "study-W", "terrace lab experiment study --class W", folder)
    return tmp_path / "documents"


def test_bring_back_restores_all_answers(documents, tmp_path):
    bring_back(documents, ONE, "study-W", tmp_path / "there")
    files = {
        root: {path.relative_to(tmp_path / root): path.read_bytes() for path in (tmp_path / root).rglob("*.json")}
        for root in ("here", "there")
    }
    assert files["there"] == files["here"]
    assert len(files["there"]) == 2


def test_bring_back_existing_answer_stays(documents, tmp_path):
    leave(tmp_path / "there", "cg/a/any/slow-only.json", 4.0)
    bring_back(documents, ONE, "study-W", tmp_path / "there")
    assert json.loads((tmp_path / "there/cells/cg/a/any/slow-only.json").read_text())["loop_s"] == 4.0


def test_bring_back_other_commit_or_step_restores_nothing(documents, tmp_path):
    bring_back(documents, ONE, "study-S", tmp_path / "there")
    assert not (tmp_path / "there").exists()
    with pytest.raises(Refused):
        bring_back(documents, Version("2" * 40, False), "study-W", tmp_path / "there")


def test_drop_finished_experiment_leaves_no_answers(documents):
    drop(documents, "study-W")
    drop(documents, "study-W")
    assert not list(documents.glob("*"))
