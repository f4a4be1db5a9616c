"""`{{ finding STEP | NAME | PATTERN | SENTENCE }}`: a sentence with figures of a criterion or of a table.

NAME is a criterion's item or a table. PATTERN finds the figures in the criterion's text, where `{name}` matches a
word; without braces it names a row by COLUMN=VALUE, separated by commas. SENTENCE has the figures as `{name}`, for
those of rows also with a format of Python's.
"""

from __future__ import annotations

import re

from results.markdown import Pages, rows_of


def view(pages: Pages, *words: str) -> str:
    """Renders the sentence; the measured text itself if the pattern does not match."""
    step, name, pattern, sentence = (part.strip() for part in " ".join(words).split(" | "))
    if "{" not in pattern:
        wanted = dict(part.split("=", 1) for part in pattern.split(","))
        rows = rows_of(pages.document(step), name)
        found = [row for row in rows if all(str(row.get(key)) == value for key, value in wanted.items())]
        return sentence.format_map(found[0]) if found else pages.not_run(step)
    criterion = pages.kept.criterion(step, name)
    if criterion is None:
        return pages.not_run(step)
    text = str(criterion["measured"])
    named = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>\\S+?)", re.escape(pattern))
    match = re.search(rf"{named}(?=[\s,;:)]|$)", text)
    return sentence.format_map(match.groupdict()) if match else f"{name}: {text.partition(chr(10))[0]}."
