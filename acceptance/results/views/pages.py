"""`{{ pages }}`: the other pages."""

from __future__ import annotations

from results.markdown import Pages
from results.templates import title


def view(pages: Pages) -> str:
    """Renders a list of links."""
    return "\n".join(f"- [{title(text)}]({name}.md)" for name, text in pages.templates.items() if name != "index")
