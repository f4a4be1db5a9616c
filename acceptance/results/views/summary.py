"""`{{ summary }}`: every step, and its state on this commit."""

from __future__ import annotations

from results.markdown import Pages, machine_words, machines, table


def view(pages: Pages) -> str:
    """Renders a row for each step."""
    version = pages.kept.version
    if version is None:
        return "*Nothing has been run on this commit.*"
    rows = []
    for step in pages.steps.values():
        document = pages.document(step.name) or {}
        made = [line for line in document.get("lines", [document]) if "date" in line]
        days = sorted({each["date"] for each in made})
        where = "; ".join(machine_words(each) for each in machines(made))
        rows.append([f"`{step.command}`", step.state(pages.kept), days[-1] if days else "", where])
    changed = ", with changes that are in no commit" if version.dirty else ""
    head = f"Commit `{version.commit}`{changed}."
    return f"{head}\n\n{table(['command', 'state', 'date', 'machine'], rows)}"
