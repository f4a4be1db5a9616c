"""Machine-readable self-description: --version, --names, and --describe of each subcommand."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

TERRACE = Path(sys.executable).with_name("terrace")
KEYS = {"names", "argument", "value", "default", "about", "group", "required", "repeats", "needs", "excludes"}


def said(*words):
    done = subprocess.run([TERRACE, *words], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def described(*words):
    return json.loads(said(*words, "--describe"))


def descriptions(terrace, *words):
    """Returns (words, description) of a command and of each subcommand below it. The launcher describes itself and
    native subcommands; it passes the option on to the others.
    """
    analysis = terrace(*words, "--describe") if words else None
    document = json.loads(analysis.stdout) if analysis and analysis.returncode == 0 else described(*words)
    yield words, document
    for verb in document.get("verbs", []):
        yield from descriptions(terrace, *words, verb["name"])


def test_version_prints_version_and_commit():
    version = re.findall(
        r"^project\(Terrace VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE
    )
    first, second = said("--version").splitlines()
    commit = re.fullmatch(rf"terrace {re.escape(version[0])} \(commit ([0-9a-f]{{12}})\+?\)", first)
    assert commit
    known = subprocess.run(["git", "-C", ROOT, "cat-file", "-t", commit[1]], capture_output=True, text=True)
    assert known.stdout == "commit\n"
    assert "terrace machine check" in second


def test_each_subcommand_describes_its_options(terrace):
    verbs = {words: document for words, document in descriptions(terrace) if words}
    assert {("run",), ("machine",), ("show",), ("lab", "experiment", "moves")} <= set(verbs)
    for words, document in verbs.items():
        assert document["schema"] == 1
        assert document["name"] == " ".join(["terrace", *words])
        for option in document.get("options", []):
            assert set(option) == KEYS, words
            assert option["names"] or option["argument"], words
            assert option["about"], (words, option["names"])
            assert all(re.fullmatch("-[a-zA-Z]|--[a-z][a-z-]*", name) for name in option["names"])
        if "verbs" not in document:
            assert any("--help" in option["names"] for option in document["options"]), words


@pytest.mark.parametrize(
    ("option", "facts"),
    [
        ("--machine", {"names": ["-m", "--machine"], "value": "FILE|NAME", "required": False}),
        ("--quiet", {"value": ""}),
        ("--watermark", {"names": ["--watermark"], "default": "0.1", "group": "Placement by intent"}),
    ],
)
def test_describe_native_option(option, facts):
    (found,) = [known for known in described("run")["options"] if option in known["names"]]
    assert {key: found[key] for key in facts} == facts


@pytest.mark.parametrize(
    ("option", "facts"),
    [
        ("--format", {"names": ["-F", "--format"], "value": "perfetto|csv|json", "default": "perfetto"}),
        ("--table", {"value": "str", "default": ""}),
    ],
)
def test_describe_python_option(option, facts):
    (found,) = [known for known in described("export")["options"] if option in known["names"]]
    assert {key: found[key] for key in facts} == facts


@pytest.mark.parametrize(
    ("words", "current", "former"),
    [
        (("bounds",), "--plan", "--guided"),
        (("compare",), "--input-dir", "--in"),
        (("lab", "gpu"), "--save-trace", "--keep"),
        (("lab", "misses"), "--whole-run", "--whole"),
    ],
)
def test_describe_omits_former_option_names(words, current, former):
    names = [name for option in described(*words)["options"] for name in option["names"]]
    assert current in names
    assert former not in names


def test_names_equal_tables():
    files = {file.stem for file in (ROOT / "machines").glob("*.toml")}
    assert files <= set(said("--names", "machines").split())
    folder = ROOT / "src" / "tiering" / "observe" / "collectors"
    assert len(said("--names", "collectors").split()) == len(list(folder.glob("*.cpp")))
    assert {"bandwidth", "latency", "capacity", "normal"} <= set(said("--names", "intents").split())


def test_unknown_kind_of_names_is_refused():
    done = subprocess.run([TERRACE, "--names", "chairs"], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("terrace: --names: there is no kind of names 'chairs'; there are machines, ")


def test_workload_names_equal_folder(tmp_path):
    def names():
        done = subprocess.run([TERRACE, "--names", "workloads"], capture_output=True, text=True, cwd=tmp_path)
        return done.stdout.split()

    assert names() == []
    for name in ("mine", "other", "none"):
        (tmp_path / "workloads" / name).mkdir(parents=True)
    for name in ("other", "mine"):
        (tmp_path / "workloads" / name / "workload.toml").touch()
    assert names() == ["mine", "other"]


def test_describe_elsewhere_is_an_ordinary_word(tmp_path):
    """After other words it belongs to the program, or is an unknown option."""
    done = subprocess.run(
        [TERRACE, "run", "-q", "--", "echo", "--describe"], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, "--describe\n")
    done = subprocess.run([TERRACE, "run", "-q", "--describe"], capture_output=True, text=True)
    assert done.returncode == 2
