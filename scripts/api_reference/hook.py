# SPDX-License-Identifier: Apache-2.0
"""Hook of mkdocs that writes the API reference of the C and C++ headers into the pages that name them.

A line `::: header terrace/terrace.h` of a page becomes the documentation of this header: what Doxygen finds in it
(Doxyfile), rendered by header.md. A declaration without a comment of its own shares the comment of the
declaration in the line above it.
"""

import re
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element, parse

import jinja2
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_log = get_plugin_logger("api_reference")
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MAX_WIDTH = 76  # characters of a code block's line
_DETACHED = "@@@"  # where Doxygen has the end of a comment that is not of one declaration
_PLACE = re.compile(r"^::: header (\S+)$", re.MULTILINE)


@dataclass
class Part:
    """Declarations with their common text; of an enumeration or a structure also a table of its members."""

    text: str = ""
    signatures: list[str] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    rows: list[list[str]] = field(default_factory=list)


@dataclass
class Entry:
    """One heading: a class, an enumeration, or functions that share a comment."""

    names: list[str]
    anchor: str
    parts: list[Part]
    introduction: str = ""  # of this and the next entries, from a comment of its own above

    @property
    def title(self) -> str:
        """Returns the heading."""
        return ", ".join(f"`{name}`" for name in dict.fromkeys(self.names))


class Headers:
    """Documentation of all headers, as Doxygen found it."""

    def __init__(self, folder: Path) -> None:
        compounds = [found for path in folder.glob("*.xml") for found in parse(path).iter("compounddef")]
        self.files = {_file(found): found for found in compounds if found.get("kind") == "file"}
        self.classes = [found for found in compounds if found.get("kind") in ("class", "struct")]
        free = [found for found in compounds if found.get("kind") in ("file", "namespace")]
        self.free = [member for found in free for member in found.iter("memberdef")]
        self.anchors: dict[str, tuple[str, str]] = {}  # of entries, by Doxygen's identifier: page and anchor
        self.links: dict[str, str] = {}  # by Doxygen's identifier: page and anchor

    def place(self, header: str, page: str) -> None:
        """Notes that the page documents the header, for links to it."""
        self.links[self.files[header].get("id", "")] = f"{page}#{_slug(header)}"
        for found in self._declarations(header):
            anchor = name = _anchor(found)
            count = 1
            while (page, anchor) in self.anchors.values():
                count += 1
                anchor = f"{name}-{count}"
            self.anchors[found.get("id", "")] = page, anchor
            for each in (found, *found.iter("memberdef"), *found.iter("enumvalue")):
                self.links[each.get("id", "")] = f"{page}#{anchor}"

    def render(self, header: str) -> str:
        """Returns the header's documentation in Markdown."""
        text = self._text(self.files[header])
        text = re.sub(rf"^\[?{re.escape(Path(header).name)}(\]\(.*?\))?: ", "", text)
        content = {
            "name": header,
            "anchor": _slug(header),
            "text": text[:1].upper() + text[1:],
            "entries": self._entries(header),
        }
        template = jinja2.Template((HERE / "header.md").read_text(), trim_blocks=True, lstrip_blocks=True)
        return re.sub(r"\n{3,}", "\n\n", template.render(header=content))

    def _declarations(self, header: str) -> list[Element]:
        """Returns the classes and free declarations of a header in their order."""
        found = [
            each
            for each in (*self.free, *self.classes)
            if _file(each) == header and each.get("prot", "public") == "public" and not _is_hidden(each)
        ]
        unique = {_location(each): each for each in found}
        return [unique[at] for at in sorted(unique)]

    def _entries(self, header: str) -> list[Entry]:
        """Returns the documented declarations of a header in its order."""
        lines, end = self._lines(header), 0
        entries: list[Entry] = []
        for found in self._declarations(header):
            line, text = _location(found)[0], self._text(found)
            shares = not text and found.get("kind") == "function" and all(lines[end : line - 1])
            if shares and entries and entries[-1].parts[-1].signatures:
                entries[-1].names.append(_name(found))
                entries[-1].parts[-1].signatures.append(_signature(found, qualified=True))
            else:
                introduction, _, text = text.rpartition(_DETACHED)
                parts = list(self._parts(found, text.strip()))
                entries.append(Entry([_name(found)], self.anchors[found.get("id", "")][1], parts, introduction))
            end = _end(found)
        for entry in entries:
            if not any(part.text or part.rows for part in entry.parts):
                _log.warning("%s has no comment on %s", header, entry.title)
        return entries

    @staticmethod
    def _lines(header: str) -> list[str]:
        return (ROOT / "include" / header).read_text(encoding="utf-8").splitlines()

    def _parts(self, found: Element, text: str) -> Iterator[Part]:
        """Yields the parts of a declaration's documentation: signatures, fields, values."""
        if found.get("kind") in ("class", "struct"):
            fields = [each for each in _public(found) if each.get("kind") == "variable"]
            yield Part(text, [_class_signature(found)], ("field", "meaning"), self._fields(fields))
            yield from self._functions([each for each in _public(found) if each.get("kind") == "function"])
        elif found.get("kind") == "enum":
            rows = [
                [f"`{each.findtext('name')}{_initializer(each)}`", self._text(each)]
                for each in found.iter("enumvalue")
            ]
            columns = ("value", "meaning") if any(row[1] for row in rows) else ("value",)
            yield Part(text, columns=columns, rows=[row[: len(columns)] for row in rows])
        else:
            yield Part(text, [_signature(found, qualified=True)])

    def _fields(self, fields: list[Element]) -> list[list[str]]:
        """Returns a row for each field, or for several that share a comment."""
        rows: list[list[str]] = []
        lines, end = self._lines(_file(fields[0])) if fields else [], 0
        for each in fields:
            text, code = self._text(each).replace("\n\n", "<br>"), f"`{_signature(each)}`"
            line = _location(each)[0]
            if not text and rows and rows[-1][1] and line - end <= 1:
                rows[-1][0] += f"<br>{code}"
            else:
                rows.append([code, text])
            has_own_comment = re.search(r"//|/\*", lines[line - 1])
            end = 0 if has_own_comment else line
        return rows

    def _functions(self, functions: list[Element]) -> Iterator[Part]:
        """Yields member functions: overloads share a text, and others without a text a block."""
        part, name = Part(), ""
        for each in functions:
            text = self._text(each)
            if text or (part.text and _name(each) != name):
                if part.signatures:
                    yield part
                part = Part(text)
            part.signatures.append(_signature(each))
            name = _name(each)
        if part.signatures:
            yield part

    def _text(self, found: Element) -> str:
        """Returns Doxygen's description of a declaration in Markdown."""
        paragraphs = [
            self._markdown(para)
            for kind in ("briefdescription", "detaileddescription")
            for para in found.findall(f"{kind}/para")
        ]
        return "\n\n".join(text.strip() for text in paragraphs if text.strip())

    def _markdown(self, element: Element) -> str:
        """Converts Doxygen's XML of a comment to Markdown, with links to other declarations."""
        made = _escape(element.text)
        for child in element:
            content = "".join(child.itertext())
            if child.tag == "computeroutput":
                made += f"`{content}`"
            elif child.tag == "ref" and child.get("refid") in self.links and re.search(r"\W|_", content):
                made += f"[{self._markdown(child)}]({self.links[child.get('refid', '')]})"
            elif child.tag == "simplesect" and child.get("kind") == "par":
                below = "\n\n".join(self._markdown(para) for para in child.iterfind("para"))
                made += f"\n\n{_DETACHED}\n\n{below}"
            elif child.tag == "ndash":
                made += "--"
            elif child.tag in ("verbatim", "programlisting"):
                language = "cpp" if ";" in content else "text"
                made += f"\n\n```{language}\n{textwrap.dedent(content).strip()}\n```\n\n"
            elif child.tag == "itemizedlist":
                items = [self._markdown(para).strip() for para in child.iterfind("listitem/para")]
                made += "\n\n" + "\n".join(f"- {item}" for item in items) + "\n\n"
            else:
                made += self._markdown(child)
            made += _escape(child.tail) if not made.endswith("\n\n") else _escape(child.tail).lstrip()
        return made


def _escape(text: str | None) -> str:
    return re.sub(r"([*\[\]\\])", r"\\\1", re.sub(r"\s+", " ", text or "")).replace("<", "&lt;")


def _slug(header: str) -> str:
    return re.sub(r"\W", "-", header)


def _name(found: Element) -> str:
    name = found.findtext("compoundname") or found.findtext("name") or ""
    if name.startswith("@"):  # an enumeration without a name
        return found.findtext("enumvalue/name") or ""
    return name.rpartition("::")[2]


def _full_name(found: Element) -> str:
    name = found.findtext("compoundname") or found.findtext("qualifiedname") or found.findtext("name") or ""
    return _name(found) if "@" in name else name


def _class_name(member: Element) -> str:
    return (member.findtext("qualifiedname") or "").rpartition("::")[0].rpartition("::")[2]


def _anchor(found: Element) -> str:
    return re.sub(r"\W+", "-", _full_name(found)).strip("-")


def _at(found: Element, key: str) -> str:
    location = found.find("location")
    return "" if location is None else location.get(key, "")


def _file(found: Element) -> str:
    return _at(found, "file")


def _location(found: Element) -> tuple[int, int]:
    return int(_at(found, "line") or 0), int(_at(found, "column") or 0)


def _end(found: Element) -> int:
    """Returns the last line of a declaration; it may be longer than Doxygen says."""
    return max(_location(found)[0], int(_at(found, "bodyend") or 0))


def _public(found: Element) -> list[Element]:
    members = [each for each in found.iter("memberdef") if each.get("prot") == "public" and not _is_hidden(each)]
    return sorted(members, key=_location)


def _is_hidden(found: Element) -> bool:
    """Returns whether a declaration is none that a user writes."""
    kind, name, arguments = found.get("kind"), _name(found), found.findtext("argsstring") or ""
    has_text = "".join("".join(each.itertext()) for each in found.iterfind("*/para"))
    if kind == "define":
        return not has_text or name.endswith("_PUBLIC")
    if kind == "typedef":
        return _plain(found.find("type")) in (f"enum {name}", f"struct {name}")
    is_moving = "&&" in arguments and name in (_class_name(found), "operator=")
    return (
        kind == "friend"
        or name.startswith("~")
        or name in ("operator==", "operator!=", "rebind")
        or arguments.endswith("=delete")
        or is_moving
    )


def _plain(element: Element | None) -> str:
    text = "" if element is None else " ".join("".join(element.itertext()).split())
    text = re.sub(r" ([*&]+)", r"\1", text)
    text = re.sub(r"([*&])(?=[A-Za-z_])", r"\1 ", text)
    text = re.sub(r"(?<!<)< | (?=>)", lambda found: found[0].strip(), text)
    return re.sub(r"(?<=[\w)>\]*&])=(?=[^=])| =(?=0$)", " = ", text)


def _initializer(found: Element) -> str:
    text = _plain(found.find("initializer"))
    return text if text.startswith("{") or not text else f" {text}"


def _template(found: Element) -> str:
    parameters = [
        " ".join(filter(None, (_plain(each.find("type")), _plain(each.find("declname")))))
        for each in found.iterfind("templateparamlist/param")
    ]
    return f"template <{', '.join(parameters)}>\n" if parameters else ""


def _class_signature(found: Element) -> str:
    bases = ", ".join(
        f"public {_plain(each)}" for each in found.iterfind("basecompoundref") if each.get("prot") == "public"
    )
    return f"{_template(found)}{found.get('kind')} {_full_name(found)}{bases and f' : {bases}'};"


def _signature(found: Element, qualified: bool = False) -> str:
    """Returns a declaration as a user would write it."""
    kind, name = found.get("kind"), _full_name(found) if qualified else _name(found)
    kind_words = {"typedef": "using"} if "::" in _full_name(found) else {"typedef": "typedef"}
    words = [
        "static" if found.get("static") == "yes" else "",
        "explicit" if found.get("explicit") == "yes" else "",
        "virtual" if found.get("virt") == "pure-virtual" else "",
        "#define" if kind == "define" else kind_words.get(kind or "", ""),
    ]
    type_, arguments = _plain(found.find("type")), _plain(found.find("argsstring"))
    if kind == "typedef" and words[-1] == "using":
        return f"{_template(found)}using {name} = {type_};"
    if kind == "variable":
        return f"{type_} {name}{arguments}{_initializer(found)}"
    line = " ".join(filter(None, (*words, type_, name))) + arguments
    end = "" if kind == "define" else ";"
    return _template(found) + _wrapped(line + end)


def _wrapped(line: str) -> str:
    """Returns a declaration with one parameter a line if it is long."""
    head, bracket, rest = line.partition("(")
    if len(line) <= MAX_WIDTH or not bracket:
        return line
    parts, depth = [""], 0
    for sign in rest:
        depth += (sign in "(<{[") - (sign in ")>}]")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return f"{head}(\n    " + ",\n    ".join(part.strip() for part in parts)


_headers: Headers


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Runs Doxygen, and finds which page documents which header."""
    global _headers  # noqa: PLW0603  (a hook of mkdocs is a module)
    if shutil.which("doxygen") is None:
        raise PluginError("doxygen is missing, which reads the headers: run scripts/setup docs")
    out = ROOT / "build" / "api_reference"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    done = subprocess.run(["doxygen", HERE / "Doxyfile"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise PluginError(f"doxygen ended with {done.returncode}:\n{done.stderr}")
    _headers = Headers(out / "xml")
    for file in files.documentation_pages():
        if file.src_uri.startswith("reference/api/"):
            for header in _PLACE.findall(file.content_string):
                _headers.place(header, Path(file.src_uri).name)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replaces each line that names a header."""
    return _PLACE.sub(lambda found: _headers.render(found[1]), markdown)
