# SPDX-License-Identifier: Apache-2.0
"""Generates man pages with the macros of man(7), for command_line_page.py: terrace.1, each subcommand's, and the
compiler wrappers'."""

import re

from command_line.description import EXIT_STATUS, Option, Subcommand

_ABOUT = "place a program's data where it runs fastest"
_WRAPPERS = ("terrace-cc", "terrace-c++", "terrace-fc")
_WRAPPER_PAGE = """\
.SH NAME
terrace\\-cc, terrace\\-c++, terrace\\-fc \\- compile programs with instrumented accesses
.SH SYNOPSIS
.SY terrace\\-cc
.RI [ "arguments of the compiler" ]
.YS
.SH DESCRIPTION
The wrappers call the compiler with the same arguments, and with options that instrument each load and store of the
program. By itself the program runs as usual; under
.BR terrace\\-record (1)
and
.BR terrace\\-simulate (1)
its accesses are observed.
.SH ENVIRONMENT
.TP
.BR TERRACE_CC ", " TERRACE_CXX ", " TERRACE_FC
The compilers to call; gcc, g++ and gfortran by default.
.TP
.B TERRACE_WRAPPER=off
Call the compiler unchanged: for the steps of a build that must not be instrumented.
.SH SEE ALSO
.BR terrace (1)
"""


def man_pages(subcommands: list[Subcommand], version: str) -> dict[str, str]:
    """Returns the text of each page by the name of its file."""
    root = subcommands[0]
    pages = {"terrace.1": _root(root, subcommands[1:], version)}
    pages |= {
        f"terrace-{'-'.join(subcommand.words)}.1": _subcommand(subcommand, subcommands, version)
        for subcommand in subcommands[1:]
    }
    pages |= {f"{name}.1": _title(name, version) + _WRAPPER_PAGE for name in _WRAPPERS}
    return pages


def escaped(text: str) -> str:
    """Escapes text so that roff takes nothing for a request; `words` in backquotes become bold."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"`([^`\n]+)`", r"\\fB\1\\fR", text)
    # Some devices of roff print typographic forms of these characters, which a shell does not accept.
    for sign, name in (("-", "\\-"), ("'", "\\(aq"), ("`", "\\(ga"), ("^", "\\(ha"), ("~", "\\(ti")):
        text = text.replace(sign, name)
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def _title(name: str, version: str) -> str:
    return f""".\\" Written by scripts/command_line_page.py from `terrace --describe`: do not edit.
.TH {escaped(name.upper())} 1 "" "Terrace {version}" "Terrace"
"""


def _link(words: list[str]) -> str:
    return f".BR {escaped('-'.join(['terrace', *words]))} (1)"


def _exit_status() -> str:
    return ".SH EXIT STATUS\n" + escaped(EXIT_STATUS.removeprefix("Exit status: "))


def _root(root: Subcommand, subcommands: list[Subcommand], version: str) -> str:
    """Returns the page terrace.1, with a list of all subcommands."""
    parts = [
        _title("terrace", version),
        f".SH NAME\nterrace \\- {escaped(_ABOUT)}\n",
        ".SH SYNOPSIS\n.SY terrace\n.I SUBCOMMAND\n.RI [ options ]\n",
        "[\\fB\\-\\-\\fR\\~\\fIPROGRAM\\fR [\\fIarguments\\fR]]\n.YS\n",
        ".SH DESCRIPTION\n" + escaped(_PURPOSE),
        ".SH SUBCOMMANDS\n",
        *(f".TP\n{_link([name])}\n{escaped(about)}\n" for name, about in root.subcommands),
        ".SH OPTIONS\n.TP\n.BR \\-h ,\\~ \\-\\-help\n",
        "List the subcommands; behind a subcommand, its options and an example.\n",
        ".TP\n.B \\-\\-version\nPrint the version, and the commit that was built.\n",
        _exit_status(),
        ".SH ENVIRONMENT\n",
        ".TP\n.B TERRACE=off\nDisable Terrace: the program runs as if it were called alone.\n",
        ".TP\n.B TERRACE_MACHINES\n",
        "Folders of machine files, separated by colons; they take precedence over the shipped ones.\n",
        ".TP\n.B TERRACE_PYTHON\n",
        "The interpreter that has Terrace's Python package, for the analysis subcommands.\n",
        ".SH SEE ALSO\n" + ",\n".join(_link(subcommand.words) for subcommand in subcommands) + "\n",
    ]
    return "".join(parts)


_PURPOSE = """\
Terrace places data on machines with more than one kind of memory. It profiles how a program accesses each of
its data objects in each phase, predicts the cost of every placement, and then places and migrates the data, for
unmodified programs too. A machine that is not available is a text file: the program then runs in virtual time.
"""


def _subcommand(subcommand: Subcommand, subcommands: list[Subcommand], version: str) -> str:
    """Returns the page of a subcommand."""
    name = "-".join(["terrace", *subcommand.words])
    first, _, rest = subcommand.about.partition("\n\n")
    above = [other for other in subcommands if other.words == subcommand.words[:-1]]
    return "".join(
        [
            _title(name, version),
            f".SH NAME\n{escaped(name)} \\- {escaped(_short(first))}\n",
            _synopsis(subcommand),
            _description(subcommand, first, rest),
            _options(subcommand),
            _examples(subcommand),
            _exit_status(),
            ".SH SEE ALSO\n" + ",\n".join(_link(other.words) for other in above) + "\n",
        ]
    )


def _short(text: str) -> str:
    """Returns text as one line without the full stop, as whatis(1) shows it."""
    line = " ".join(text.split()).removesuffix(".")
    return line[:1].lower() + line[1:]


def _synopsis(subcommand: Subcommand) -> str:
    called = escaped("terrace " + subcommand.name).replace(" ", "\\~")
    lines = [f".SH SYNOPSIS\n.SY {called}"]
    if subcommand.subcommands:
        lines += [".I SUBCOMMAND", ".RI [ options ]"]
    else:
        lines.append(".RI [ options ]")
        for argument in subcommand.arguments:
            dots = "..." if argument.repeats and not argument.value.endswith("...") else ""
            text = f"\\fI{escaped(argument.shown)}\\fR{dots}".replace(" ", "\\~")
            lines.append(text if argument.required else f"[{text}]")
        if subcommand.program and not any("PROGRAM" in argument.value for argument in subcommand.arguments):
            lines.append("[\\-\\-] \\fIPROGRAM\\fR [\\fIARGUMENTS\\fR]" if not subcommand.arguments else "")
    return "\n".join(line for line in lines if line) + "\n.YS\n"


def _description(subcommand: Subcommand, first: str, rest: str) -> str:
    text = ".SH DESCRIPTION\n" + escaped(first[:1].upper() + first[1:].rstrip(".")) + ".\n"
    text += "".join(f".PP\n{escaped(paragraph)}\n" for paragraph in rest.split("\n\n") if paragraph)
    if subcommand.passed_on_to:
        text += f".PP\nOptions that are not below are those of\n{_link([subcommand.passed_on_to])}.\n"
    before, has_examples, _ = _split_examples(subcommand.more)
    text += (
        _block(before if has_examples else subcommand.more if not subcommand.subcommands else "")
        if subcommand.more
        else ""
    )
    if subcommand.subcommands:
        text += ".SH SUBCOMMANDS\n" + "".join(
            f".TP\n{_link([*subcommand.words, name])}\n{escaped(about)}\n"
            for name, about in subcommand.subcommands
        )
    return text


def _options(subcommand: Subcommand) -> str:
    if not subcommand.options:
        return ""
    arguments = "".join(
        f".TP\n.I {escaped(argument.shown)}\n{_about(argument)}" for argument in subcommand.arguments
    )
    groups = dict.fromkeys(option.group for option in subcommand.dashed)
    dashed = ""
    for group in groups:
        heading = f".SS {escaped(group)}\n" if len(groups) > 1 else ""
        dashed += heading + "".join(_option(option) for option in subcommand.dashed if option.group == group)
    return (f".SH ARGUMENTS\n{arguments}" if arguments else "") + f".SH OPTIONS\n{dashed}"


def _option(option: Option) -> str:
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in option.names)
    value = f" \\fI{escaped(option.value)}\\fR" if option.value else ""
    return f".TP\n{names}{value}\n{_about(option)}"


def _about(option: Option) -> str:
    """Returns the description of an option, with its default and its conditions."""
    facts = []
    if option.required:
        facts.append("required")
    if option.default:
        facts.append(f"default: {option.default}")
    if option.repeats and "repeated" not in option.about:
        facts.append("may be repeated")
    if option.needs:
        facts.append("only with " + ", ".join(option.needs))
    if option.excludes:
        facts.append("not with " + ", ".join(option.excludes))
    about = " ".join(option.about.split())
    return escaped(about + (f" ({'; '.join(facts)})" if facts else "")).strip() + "\n"


def _split_examples(more: str) -> tuple[str, bool, str]:
    found = re.search(r"^Examples?:\n", more, re.MULTILINE)
    return (more[: found.start()], True, more[found.end() :]) if found else (more, False, "")


def _examples(subcommand: Subcommand) -> str:
    _, found, examples = _split_examples(subcommand.more)
    return ".SH EXAMPLES\n" + _block(examples, first=True) if found else ""


def _block(text: str, *, first: bool = False) -> str:
    """Formats indented lines verbatim, others as paragraphs."""
    parts: list[tuple[bool, list[str]]] = []
    for line in text.strip("\n").split("\n"):
        literal = line.startswith(" ") or (not line and bool(parts) and parts[-1][0])
        if not parts or parts[-1][0] != literal:
            parts.append((literal, []))
        parts[-1][1].append(line[2:] if literal else line)
    made = ""
    for index, (literal, lines) in enumerate(parts):
        body = escaped("\n".join(lines).strip("\n"))
        separator = "" if first and index == 0 else ".PP\n"
        if literal:
            made += f"{separator}.EX\n{body}\n.EE\n"
        elif body:
            made += f"{separator}{body}\n"
    return made
