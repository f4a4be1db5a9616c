"""`terrace run --memory --plan`: pinned and first evicted data follow the plan."""

import subprocess

import pytest
from conftest import run

PLAN = 'schema = 2\n\n[[object]]\nname = "{name}"\nplace = "{place}"\n'


def test_plan_selects_resident_data(tmp_path, disk):
    """The program's results are unchanged, and a line reports the plan."""
    (tmp_path / "two.c").write_text(
        "#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n#include <sys/resource.h>\n"
        "__attribute__((noinline)) static char* make_first(size_t n) "
        '{ char* p = malloc(n); __asm__ volatile("" : "+r"(p)); return p; }\n'
        "__attribute__((noinline)) static char* make_second(size_t n) "
        '{ char* p = malloc(n); __asm__ volatile("" : "+r"(p)); return p; }\n'
        "static int sweep(char* p, size_t n) "
        "{ int s = 0; for (size_t i = 0; i < n; i += 64) s += p[i]++; return s; }\n"
        "int main(void) {\n"
        "  const size_t n = 64u << 20; char* a = make_first(n); char* b = make_second(n); int s = 0;\n"
        "  memset(a, 1, n); memset(b, 2, n);\n"
        "  for (int i = 0; i < 6; ++i) s += sweep(a, n) + sweep(b, n);\n"
        '  printf("%d\\n", s);\n  return 0;\n}\n'
    )
    subprocess.run(["gcc", "-O1", "-g", tmp_path / "two.c", "-o", tmp_path / "two"], check=True)
    plain = subprocess.run([tmp_path / "two"], capture_output=True, text=True, check=True).stdout
    plan = tmp_path / "plan.toml"
    for name, place in (("make_first*", "memory"), ("make_second*", "file"), ("nothing", "memory")):
        plan.write_text(PLAN.format(name=name, place=place))
        done = run("--memory", "96MiB", "--spill", disk, "--plan", plan, "--", tmp_path / "two")
        assert (done.returncode, done.stdout) == (0, plain)
        last = done.stderr.splitlines()[-1]
        assert ("the plan names none of its blocks" in last) == (name == "nothing"), last
        assert "; the plan " in last


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            PLAN.format(name="a", place="hbm"),
            'object \'a\': with --memory, the place of a whole object is "memory" or "file"; write one of them',
        ),
        (
            'schema = 2\nphases = ["x"]\n[[object]]\nname = "a"\nplace = "memory"\n'
            '[[segment]]\nname = "x"\nmoves = [{ object = "a", to = "file" }]\n',
            "with --memory, accesses decide when data move: remove 'moves' from each [[segment]]",
        ),
    ],
)
def test_unsuitable_plan_is_refused(tmp_path, disk, text, said):
    (tmp_path / "plan.toml").write_text(text)
    done = run("--memory", "96MiB", "--spill", disk, "--plan", tmp_path / "plan.toml", "--", "true")
    assert done.returncode == 2
    assert done.stderr == f"terrace: {tmp_path / 'plan.toml'}: {said}\n"
