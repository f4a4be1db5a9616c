"""`terrace lab demo` and its output folder."""

import pytest
from terrace.errors import WrongCallError
from terrace.verbs.lab import demo


def test_foreign_files_are_kept(tmp_path, terrace):
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("years")
    done = terrace("lab", "demo", "-o", tmp_path)
    assert done.returncode == 2
    assert "it contains files that no demo wrote; name a new or empty folder" in " ".join(done.stderr.split())
    assert thesis.read_text() == "years"


def test_file_instead_of_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("text")
    with pytest.raises(WrongCallError, match=r"--output .*/file"):
        demo._prepare_folder(tmp_path / "file")


def test_earlier_demo_is_replaced(tmp_path):
    folder = tmp_path / "out" / "demo"
    demo._prepare_folder(folder)
    (folder / "results.json").write_text("{}")
    demo._prepare_folder(folder)
    assert [path.name for path in folder.iterdir()] == [demo._MARKER_FILE]
