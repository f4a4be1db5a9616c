"""`{{ pages }}`: the other pages, each with the question that its first line asks."""

from __future__ import annotations

from results.markdown import Pages
from results.templates import title


def view(pages: Pages) -> str:
    """Renders a list of links."""
    return "\n".join(
        f"- [{title(text)}]({name}.md){_question(text)}"
        for name, text in pages.templates.items()
        if name != "index"
    )


def _question(text: str) -> str:
    """Returns the first line below the title, if it is a question."""
    first = text.split("\n\n", 1)[-1].partition("\n")[0]
    return f": {first}" if first.endswith("?") else ""
