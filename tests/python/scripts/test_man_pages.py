"""The man pages as man and mandoc render them, compared with --help."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]
MAN = ROOT / "share" / "man" / "man1"
TERRACE = Path(sys.executable).with_name("terrace")
PAGES = sorted(page.name for page in MAN.glob("*.1"))

sys.path.insert(0, str(ROOT / "scripts"))
from command_line.man import escaped  # noqa: E402


def said(*words):
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    return subprocess.run(
        [TERRACE, *words, "--help"], capture_output=True, text=True, check=True, env=environment, timeout=300
    ).stdout


def verbs(*words):
    found = []
    for name in re.findall(r"^  ([a-z][a-z-]*)  ", said(*words), re.MULTILINE):
        below = [*words, name]
        found.append(below)
        if name in ("lab", "experiment"):
            found += verbs(*below)
    return found


def shown(page, width=500):
    """Returns the rendered page."""
    done = subprocess.run(
        ["man", "--warnings", "--nh", "--nj", "-E", "UTF-8", "-l", "-Tutf8", str(page)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "MANWIDTH": str(width), "MAN_KEEP_FORMATTING": "", "LANG": "C.UTF-8"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)


def test_each_subcommand_has_a_page():
    known = {f"terrace-{'-'.join(words)}.1" for words in verbs()}
    assert set(PAGES) == known | {"terrace.1", "terrace-cc.1", "terrace-c++.1", "terrace-fc.1"}


@pytest.mark.parametrize("page", PAGES)
def test_tools_accept_the_pages(page):
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    text = shown(MAN / page)
    name = page.removesuffix(".1")
    assert re.search(rf"^NAME\n +.*{re.escape(name)}.* +[-–—‐] +\w", text, re.MULTILINE)  # noqa: RUF001
    if shutil.which("mandoc"):
        done = subprocess.run(
            ["mandoc", "-T", "lint", "-W", "warning", MAN / page], capture_output=True, text=True
        )
        # A page that is made anew by each build has no date of its own.
        others = [line for line in done.stdout.splitlines() if "missing date" not in line]
        assert others == []


@pytest.mark.parametrize("words", [["run"], ["simulate"], ["machine"], ["plan"], ["compare"], ["lab", "trace"]])
def test_options_and_descriptions_equal_help(words):
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    text, page = said(*words), shown(MAN / f"terrace-{'-'.join(words)}.1")
    lines = re.findall(r"^  (-[-a-z,].*)$", text, re.MULTILINE)
    names = {name for line in lines for name in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", line.split("  ")[0])}
    assert {"--help", "-h"} <= names
    for name in names:
        assert re.search(rf"^ +(-\w, )?{re.escape(name)}\b", page, re.MULTILINE) or f"{name}, " in page, name
    example = re.search(r"^ +(terrace .*)$", text.partition("xample")[2], re.MULTILINE)
    assert example
    assert example[1] in page


@pytest.mark.parametrize(
    "text",
    [
        ".SH not a request",
        "'quoted",
        r"a\back\slash \n \fB",
        "-- --x a-b",
        "`code` and .dot",
        "one\n.two\n'three",
        "é",
    ],
)
def test_text_is_rendered_verbatim(tmp_path, text):
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    page = tmp_path / "any.1"
    page.write_text(f'.TH ANY 1 "" "" ""\n.SH NAME\nany \\- any\n.SH DESCRIPTION\n{escaped(text)}\n')
    body = shown(page).partition("DESCRIPTION\n")[2].strip().splitlines()[0].strip()
    assert body == " ".join(text.replace("`", "").split("\n"))


# Words that fit into a line: a reader's terminal breaks longer ones.
WORDS = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"], exclude_characters="`"), max_size=30)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(WORDS.filter(bool), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=20))
def test_arbitrary_text_is_escaped(tmp_path_factory, paragraphs):
    """Help texts may contain requests, escapes and quotes."""
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    page = tmp_path_factory.mktemp("page") / "any.1"
    text = "".join(f".PP\n{escaped(paragraph)}\n" for paragraph in paragraphs)
    page.write_text(f'.TH ANY 1 "" "" ""\n.SH NAME\nany \\- any\n.SH DESCRIPTION\n{text}.SH END\n')
    body = shown(page).partition("DESCRIPTION\n")[2].partition("\nEND\n")[0]
    assert body.split() == " ".join(paragraphs).split()
