"""--output is looked at before the program runs, which may take hours."""

from __future__ import annotations

import os
import subprocess

import pytest
from conftest import TERRACE, run


@pytest.mark.parametrize("verb", ["run", "record", "simulate"])
@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("no/such.terrace", "there is no folder no"),
        ("here", "it is a folder; name a file in it"),
        ("here/", "it is a folder; name a file in it"),
        ("file/x.terrace", "there is no folder file"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_run(verb, output, why, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "file").touch()
    machine = ("--machine", "unimem-lat4") if verb == "simulate" else ()
    done = run(*machine, "-o", output, "--", "touch", "was-run", verb=verb, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"terrace: --output {output}: {why}\n")
    assert not (tmp_path / "was-run").exists()


def test_a_folder_that_may_not_be_written_is_refused(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("another user takes the superuser's rights")
    tmp_path.chmod(0o755)
    for above in tmp_path.parents[:3]:
        above.chmod(above.stat().st_mode | 0o055)
    words = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    words += [TERRACE, "run", "-o", tmp_path / "x.terrace", "--", "true"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env={**os.environ, "HOME": "/"})
    assert done.returncode == 2
    assert done.stderr.startswith(f"terrace: --output {tmp_path}/x.terrace: no file can be made in {tmp_path}: ")
