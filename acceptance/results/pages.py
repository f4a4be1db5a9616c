"""Writes the result pages, and the README's block: from documents and templates alone, so that a repetition gives
equal pages. The block needs all steps of the quick tier; pages say which of their steps were not run. `make
results` calls it last."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from results.kept import Kept, Refused, write_whole
from results.markdown import Pages
from results.steps import QUICK, Step
from results.templates import BLOCK, filled, texts
from results.version import BEGIN, BLOCKS, END, rest

README = BLOCKS[0]
FOLDER = "docs/results"


def write(root: Path, kept: Kept, steps: list[Step], page: str = "") -> list[str]:
    """Writes all of them, or one page alone, and returns their names. Raises Refused for an unknown page."""
    templates = texts(root)
    for step in steps:
        # A new capability has its page without a template.
        if step.has_criteria and step.name not in templates and step.name in kept.documents:
            templates[step.name] = f"# {step.name}\n\n{{{{ lines {step.name} }}}}\n"
    del templates[BLOCK]
    pages = Pages(root, kept, {step.name: step for step in steps}, templates)
    if page:
        if page not in templates:
            raise Refused(f"there is no page {page}; there are {', '.join(templates)}")
        made = {f"{FOLDER}/{page}.md": _made(templates[page], pages)}
        return _write_files(root, made | _pictures(pages))
    texts_of_pages = {f"{FOLDER}/{name}.md": _made(text, pages) for name, text in templates.items()}
    texts_of_pages |= _pictures(pages)
    for path in [*(root / FOLDER).glob("*.md"), *(root / FOLDER / "pictures").glob("*.svg")]:
        if path.relative_to(root).as_posix() not in texts_of_pages:
            path.unlink()
    return _write_files(root, texts_of_pages)


def _pictures(pages: Pages) -> dict[str, str]:
    return {f"{FOLDER}/pictures/{name}.svg": text for name, text in pages.pictures.items()}


def _write_files(root: Path, texts_of_files: dict[str, str]) -> list[str]:
    for name, text in texts_of_files.items():
        write_whole(root / name, text)
    return sorted(texts_of_files)


def write_readme(root: Path, kept: Kept, steps: list[Step]) -> None:
    """Writes the README's block. Raises Refused if a step of the quick tier was not run on this commit, or if the
    README has no markers."""
    if missing := [name for name in QUICK if name not in kept.documents]:
        raise Refused(f"{README} is unchanged: {', '.join(missing)} are not finished on this commit")
    pages = Pages(root, kept, {step.name: step for step in steps}, {})
    write_whole(root / README, _with_block(root / README, _made(texts(root)[BLOCK], pages)))


def _made(template: str, pages: Pages) -> str:
    return filled(template, lambda words: _view(words[0])(pages, *words[1:]))


def _view(name: str) -> Callable[..., str]:
    """Renders a view, which takes words of its own."""
    view: Callable[..., str] = importlib.import_module(f"results.views.{name.replace('-', '_')}").view
    return view


def _with_block(path: Path, block: str) -> str:
    """Returns the README's text with a new block between its marks."""
    text = path.read_text(encoding="utf-8")
    head, begin, tail = text.partition(BEGIN)
    _, end, after = tail.partition(END)
    if not begin or not end:
        raise Refused(f"{path} has no lines '{BEGIN}' and '{END}', between which its figures stand")
    made = f"{head}{BEGIN}\n{block.strip()}\n{END}{after}"
    assert rest(made) == rest(text)
    return made
