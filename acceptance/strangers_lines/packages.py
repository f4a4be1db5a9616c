"""Runs short examples of Python packages that bring their own copy of OpenMP, in every mode that places data. A
criterion of acceptance/strangers.

The packages are installed from PyPI into an environment of their own (work("packages")). The truth is what an
example prints without Terrace.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness import ROOT, TERRACE, Criterion, Measured, Unavailable, environment, keep_part, run, work

PACKAGES = ("scikit-learn", "xgboost-cpu", "lightgbm", "faiss-cpu")
THREADS = 3
LIMIT = 600.0  # seconds for an example; one that hangs has failed

_DATA = """
import numpy as np
random = np.random.default_rng(1)
x = random.random((2000, 16))
y = (x[:, :8].sum(1) > x[:, 8:].sum(1)).astype(int)
"""

EXAMPLES = {
    "scikit-learn": """
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
print("%.6f" % KMeans(4, n_init=2, random_state=0).fit(x).inertia_)
print(HistGradientBoostingClassifier(max_iter=5).fit(x, y).predict(x).sum())
print(KNeighborsClassifier(3, algorithm="brute").fit(x, y).predict(x[:500]).sum())
""",
    "xgboost-cpu": """
import xgboost
model = xgboost.XGBClassifier(n_estimators=10, max_depth=4, n_jobs=THREADS).fit(x, y)
print(model.predict(x).sum(), np.argsort(-model.feature_importances_)[:4])
""",
    "lightgbm": """
import lightgbm
wanted = {"objective": "binary", "verbose": -1, "num_threads": THREADS, "deterministic": True, "seed": 1}
print((lightgbm.train(wanted, lightgbm.Dataset(x, y), 10).predict(x) > 0.5).sum())
""",
    "faiss-cpu": """
import faiss
faiss.omp_set_num_threads(THREADS)
points = x.astype("float32")
index = faiss.IndexIVFFlat(faiss.IndexFlatL2(16), 16, 8)
index.train(points)
index.add(points)
print(index.search(points[:200], 4)[1].sum())
""",
}
ALL = "all in one process"

# A plan for the machine unimem-lat4 on one node of this machine.
_PLAN = 'schema = 2\n[[object]]\nname = "*"\nplace = "dram"\n'


def modes(folder: Path) -> dict[str, list[str]]:
    """Returns the words before `--`, by mode; the files that they name are made in the folder."""
    simulated = (ROOT / "machines" / "unimem-lat4.toml").read_text(encoding="utf-8")
    here, plan = folder / "here.toml", folder / "plan.toml"
    here.write_text(simulated.replace("[[place]]\n", "[[place]]\nnuma_node = 0\n"), encoding="utf-8")
    plan.write_text(_PLAN, encoding="utf-8")
    obeys = ["--plan", str(plan)]
    return {
        "by intent": ["run", "--intent", "bandwidth"],
        "out of core": ["run", "--memory", "512MiB", "--spill", str(folder)],
        "observed": ["run", "--profile", "-o", "observed.terrace"],
        "live": ["run", "-m", str(here), "-o", "live.terrace"],
        "obeying a plan": ["run", "-m", str(here), *obeys, "-o", "obeyed.terrace"],
        "recorded": ["record", "-o", "recorded.terrace"],
        "simulated": ["simulate", "-m", "unimem-lat4", "-o", "simulated.terrace"],
        "simulated, obeying a plan": ["simulate", "-m", "unimem-lat4", *obeys, "-o", "simulated.terrace"],
    }


def _prints(words: Sequence[str | Path], folder: Path) -> str:
    """Runs a command; returns their output, or how they failed."""
    try:
        done = run(["env", f"OMP_NUM_THREADS={THREADS}", *words], check=False, timeout=LIMIT, cwd=folder)
    except subprocess.TimeoutExpired:
        return f"nothing within {LIMIT:.0f} s"
    if done.returncode != 0:
        return f"status {done.returncode}: {' | '.join(done.stderr.strip().splitlines()[-2:])}"
    return done.stdout


def _differences(name: str) -> dict[str, str]:
    """Describes differences of the output, by mode; "" without any."""
    python = environment(work("packages") / "environment", "--only-binary", ":all:", *PACKAGES)
    folder = work("packages") / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    texts = EXAMPLES.values() if name == ALL else [EXAMPLES[name]]
    program = folder / "example.py"
    program.write_text((_DATA + "".join(texts)).replace("THREADS", str(THREADS)), encoding="utf-8")
    example = [str(python), str(program)]
    wanted = _prints(example, folder)
    if wanted.startswith(("status ", "nothing ")):
        raise Unavailable(f"{name} fails without Terrace: {wanted}")
    found = {
        mode: _prints([TERRACE, words[0], "-q", *words[1:], "--", *example], folder)
        for mode, words in modes(folder).items()
    }
    return {mode: f"prints {one.strip()[:200]!r}" if one != wanted else "" for mode, one in found.items()}


def compare(name: str) -> Measured:
    """Compares what an example prints in every mode with what it prints without Terrace."""
    found = keep_part(f"package-{name}", functools.partial(_differences, name))
    different = [f"{mode} {what}" for mode, what in found.items() if what]
    return Measured("; ".join(different) or f"as without Terrace in all {len(found)} modes", not different)


CRITERIA = [
    Criterion(
        f"OpenMP of a package: {name}",
        "prints in every mode what it prints without Terrace",
        functools.partial(compare, name),
    )
    for name in (*EXAMPLES, ALL)
]
