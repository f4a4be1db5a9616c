"""`{{ picture NAME LINK }}`: a picture that was drawn on this commit; LINK is the way from the page to docs/."""

from __future__ import annotations

from results.markdown import Pages
from results.pictures import PICTURES


def view(pages: Pages, name: str, link: str) -> str:
    """Renders the picture, if it is of this commit: another commit's must not appear."""
    step = f"picture-{name}"
    (picture,) = (one for one in PICTURES if one.name == name)
    if pages.document(step) is None:
        return pages.not_run(step)
    words = picture.words.format_map(pages.document(picture.of) or {})
    return f"![{words}]({link}/{picture.file.removeprefix('docs/')})"
