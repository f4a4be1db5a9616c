"""Writes the result pages and the README's block: from documents and templates alone, so that a repetition gives
equal pages."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from results.kept import Kept, Refused, write_whole
from results.markdown import Pages
from results.steps import Step
from results.templates import filled, texts
from results.version import BEGIN, BLOCKS, END, rest

BLOCK = "block"  # the template of what stands between the markers
FOLDER = "docs/results"


def write(root: Path, kept: Kept, steps: list[Step]) -> list[str]:
    """Writes all of them; their names. Raises Refused where a file has no markers."""
    templates = texts(root)
    for step in steps:
        if step.lines and step.name not in templates:  # a new capability has its page without a template
            templates[step.name] = f"# {step.name}\n\n{{{{ lines {step.name} }}}}\n"
    block = templates.pop(BLOCK)
    pages = Pages(root, kept, {step.name: step for step in steps}, templates)
    texts_of_pages = {f"{FOLDER}/{name}.md": _made(text, pages) for name, text in templates.items()}
    for name in BLOCKS:
        texts_of_pages[name] = _with_block(root / name, _made(block, pages))
    for name, text in texts_of_pages.items():
        write_whole(root / name, text)
    for path in (root / FOLDER).glob("*.md"):
        if f"{FOLDER}/{path.name}" not in texts_of_pages:
            path.unlink()
    return sorted(texts_of_pages)


def _made(template: str, pages: Pages) -> str:
    return filled(template, lambda words: _view(words[0])(pages, *words[1:]))


def _view(name: str) -> Callable[..., str]:
    """Renders a view, which takes words of its own."""
    view: Callable[..., str] = importlib.import_module(f"results.views.{name.replace('-', '_')}").view
    return view


def _with_block(path: Path, block: str) -> str:
    text = path.read_text(encoding="utf-8")
    head, begin, tail = text.partition(BEGIN)
    _, end, after = tail.partition(END)
    if not begin or not end:
        raise Refused(f"{path} has no lines '{BEGIN}' and '{END}', between which its figures stand")
    made = f"{head}{BEGIN}\n{block.strip()}\n{END}{after}"
    assert rest(made) == rest(text)
    return made
