"""scripts/types_twice.py: which definitions of types count, and that this tree defines each once."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
import types_twice  # noqa: E402


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("namespace a { class B { int x; }; }", {"a::B"}),
        ("namespace a::b { struct C final : public D { struct E {}; }; }", {"a::b::C", "a::b::C::E"}),
        ("namespace a { struct B; B make(); }", set()),
        ("namespace a { namespace { struct B {}; } struct C {}; }", {"a::C"}),
        ("namespace a { void f() { struct B {}; } enum class C { d }; }", {"a::C"}),
        ("namespace a { struct B::State {}; }", {"a::B::State"}),
        ("namespace a { template <> struct B<int> {}; template <typename T> class D {}; }", {"a::D"}),
        ("namespace a { // struct B {\nconst char* t = \"struct C {\"; struct D { char c = '{'; }; }", {"a::D"}),
        ('extern "C" { struct B { int x; }; }', {"B"}),
        ("#define X struct B {\nstruct alignas(64) C { int x; };", {"C"}),
    ],
)
def test_definitions_with_linkage_are_found(text, expected):
    assert types_twice.types(text) == expected


def test_this_tree_defines_each_type_once():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "types_twice.py"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
