# SPDX-License-Identifier: Apache-2.0
"""Golden sets are compared between two installations, never with rows of a third or of the same one."""

import json

import pytest
from house_lines import golden

PROGRAMS = ("cg", "mg")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Returns a function that makes an installation; its rows have the loop time that it is given."""
    made = []

    def rows(self, known):
        for program in PROGRAMS:
            if program + golden.DONE not in known:
                made.append(program)
                yield f"{program} record", {"loop_s": self._terrace.with_name("loop_s").read_text(), "moves": 1}
                yield program + golden.DONE, {}

    monkeypatch.setattr(golden.Golden, "__init__", lambda self, terrace, *_: setattr(self, "_terrace", terrace))
    monkeypatch.setattr(golden.Golden, "rows", rows)

    def build(name, loop_s="1.5", version="(commit 0123456789ab)"):
        terrace = tmp_path / name / "bin" / "terrace"
        library = tmp_path / name / "lib" / "terrace" / "libterrace.so"
        for folder in (terrace.parent, library.parent):
            folder.mkdir(parents=True, exist_ok=True)
        terrace.write_text(f"#!/bin/sh\necho 'terrace 1 {version}'\n# {name}\n")
        terrace.chmod(0o755)
        library.write_text(loop_s)
        terrace.with_name("loop_s").write_text(loop_s)
        return terrace

    build.made = made
    return build


@pytest.fixture
def file(tmp_path, install):
    golden.make(tmp_path / "golden.json", install("old"), tmp_path)
    install.made.clear()
    return tmp_path / "golden.json"


def test_equal_results_of_two_installations(file, install):
    assert golden.compare(file, file.with_suffix(".now"), install("new"), file.parent) == (2, {})
    assert install.made == [*PROGRAMS]


def test_changed_result_is_reported(file, install):
    count, found = golden.compare(file, file.with_suffix(".now"), install("new", "2.5"), file.parent)
    line = "loop_s; loop 1.5 s -> 2.5 s"
    assert (count, found) == (2, {"cg record": line, "mg record": line})


def test_interrupted_comparison_continues(file, install):
    now, terrace = file.with_suffix(".now"), install("new")
    rows = {"cg record": {"loop_s": "1.5", "moves": 1}, "cg done": {}}
    golden._write(now, golden.identity(terrace), rows)
    assert golden.compare(file, now, terrace, file.parent) == (2, {})
    assert install.made == ["mg"]


def test_rows_of_another_installation_are_deleted(file, install, capsys):
    now = file.with_suffix(".now")
    golden.compare(file, now, install("new"), file.parent)
    install.made.clear()
    count, found = golden.compare(file, now, install("newer", "2.5"), file.parent)
    assert (count, len(found), install.made) == (2, 2, [*PROGRAMS])
    assert f"{now} is of another installation: deleted" in capsys.readouterr().err


def test_rows_without_identity_are_deleted(file, install):
    now = file.with_suffix(".now")
    now.write_text(json.dumps({"schema": 1, "rows": json.loads(file.read_text())["rows"]}))
    golden.compare(file, now, install("new"), file.parent)
    assert install.made == [*PROGRAMS]


def test_same_installation_is_refused(file, install):
    with pytest.raises(golden.Refused, match="itself, commit 0123456789ab"):
        golden.compare(file, file.with_suffix(".now"), install("old"), file.parent)


def test_changed_library_is_another_installation(file, install):
    assert golden.compare(file, file.with_suffix(".now"), install("old", "2.5"), file.parent)[1]


def test_write_keeps_a_file_of_another_installation(file, install):
    with pytest.raises(golden.Refused, match="is of another installation, commit 0123456789ab"):
        golden.make(file, install("new"), file.parent)
    assert golden.read(file)[1]


def test_file_without_identity_is_refused(file, install):
    file.write_text('{"schema": 1, "rows": {}}')
    with pytest.raises(golden.Refused, match="does not state its installation"):
        golden.compare(file, file.with_suffix(".now"), install("new"), file.parent)


@pytest.mark.parametrize("version", ["(GNU coreutils) 9.1", "(commit )"])
def test_launcher_without_commit_is_refused(file, install, version):
    with pytest.raises(golden.Refused, match="states no commit"):
        golden.compare(file, file.with_suffix(".now"), install("new", version=version), file.parent)


def test_another_program_is_refused(file, tmp_path):
    program = tmp_path / "other" / "bin" / "true"
    program.parent.mkdir(parents=True)
    program.write_text("")
    with pytest.raises(golden.Refused, match=r"libterrace\.so is missing"):
        golden.compare(file, file.with_suffix(".now"), program, tmp_path)


def test_differences_of_row_names_without_markers():
    before = {"a": {"loop_s": "1"}, "b": {"loop_s": "1"}, "x done": {}}
    now = {"a": {"loop_s": "1"}, "c": {"loop_s": "1"}, "y done": {}}
    assert golden.differences(before, now) == {"b": "missing", "c": "new"}
    assert golden.differences(before, {"a": {}, "b": {"loop_s": "1"}})["a"].startswith("loop_s;")
