"""Makes the table of workloads that the integration tests include, from the manifests.

CMake runs it when it configures: `workload_table.py WORKLOADS TABLE` writes TABLE, a row for each workload in the
order of the fields of tests/integration/workload.hpp, and prints the names of those that state the size `hooked`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from terrace.errors import WrongCallError
from terrace.lab.workloads import Workload, read_all


def row(workload: Workload) -> str:
    """Returns an initializer. C++ reads strings as JSON writes them."""
    loop = workload.loop
    fields: list[object] = [
        workload.name,
        " ".join(workload.words("tiny")),
        " ".join(workload.words("test")),
        " ".join(workload.words("hooked")) if workload.has("hooked") else "",
        workload.openmp,
        workload.verified_by,
        workload.time_lines,
        loop.name if loop else "",
        loop.iterations if loop else 0,
        "".join(f"{phase}\n" for phase in loop.phases) if loop else "",
    ]
    return f"{{{', '.join(map(json.dumps, fields))}}},\n"


def main() -> int:
    """Writes the table. Returns 1, after one line, if a manifest is wrong."""
    folder, table = map(Path, sys.argv[1:])
    try:
        there = read_all(folder)
    except WrongCallError as error:
        print(error, file=sys.stderr)
        return 1
    text = "".join(map(row, there.values()))
    if not table.exists() or table.read_text() != text:
        table.write_text(text)
    print(";".join(name for name, workload in there.items() if workload.has("hooked")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
