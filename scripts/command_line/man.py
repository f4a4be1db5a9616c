"""Man pages: terrace.1, one for each verb, and one for the compiler wrappers. Macros of man(7)."""

import re

from command_line.description import EXIT_STATUS, Option, Verb

_ABOUT = "place a program's data where it runs fastest"
_WRAPPERS = ("terrace-cc", "terrace-c++", "terrace-fc")
_WRAPPER_PAGE = """\
.SH NAME
terrace\\-cc, terrace\\-c++, terrace\\-fc \\- compile programs whose accesses Terrace sees
.SH SYNOPSIS
.SY terrace\\-cc
.RI [ "arguments of the compiler" ]
.YS
.SH DESCRIPTION
The compiler underneath is called with the same arguments, and with those that make each load and store of the
program report to Terrace. The program runs as always by itself; under
.BR terrace\\-record (1)
and
.BR terrace\\-simulate (1)
its accesses are seen.
.SH ENVIRONMENT
.TP
.BR TERRACE_CC ", " TERRACE_CXX ", " TERRACE_FC
The compilers underneath; gcc, g++ and gfortran by default.
.TP
.B TERRACE_WRAPPER=off
Nothing is added: for the steps of a build that must not be instrumented.
.SH SEE ALSO
.BR terrace (1)
"""


def man_pages(verbs: list[Verb], version: str) -> dict[str, str]:
    """Each page's text by its file's name."""
    root = verbs[0]
    pages = {"terrace.1": _root(root, verbs[1:], version)}
    pages |= {f"terrace-{'-'.join(verb.words)}.1": _verb(verb, verbs, version) for verb in verbs[1:]}
    pages |= {f"{name}.1": _title(name, version) + _WRAPPER_PAGE for name in _WRAPPERS}
    return pages


def escaped(text: str) -> str:
    """Text in which nothing is taken for a request; `words` in backquotes are bold."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"`([^`\n]+)`", r"\\fB\1\\fR", text)
    # Some of roff's devices have typographic forms for these, which a shell does not take.
    for sign, name in (("-", "\\-"), ("'", "\\(aq"), ("`", "\\(ga"), ("^", "\\(ha"), ("~", "\\(ti")):
        text = text.replace(sign, name)
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def _title(name: str, version: str) -> str:
    return f""".\\" Written by scripts/command_line_page.py from what the command says of itself: change it there.
.TH {escaped(name.upper())} 1 "" "Terrace {version}" "Terrace"
"""


def _link(words: list[str]) -> str:
    return f".BR {escaped('-'.join(['terrace', *words]))} (1)"


def _exit_status() -> str:
    return ".SH EXIT STATUS\n" + escaped(EXIT_STATUS.removeprefix("Exit status: "))


def _root(root: Verb, verbs: list[Verb], version: str) -> str:
    parts = [
        _title("terrace", version),
        f".SH NAME\nterrace \\- {escaped(_ABOUT)}\n",
        ".SH SYNOPSIS\n.SY terrace\n.I VERB\n.RI [ options ]\n",
        "[\\fB\\-\\-\\fR\\~\\fIPROGRAM\\fR [\\fIarguments\\fR]]\n.YS\n",
        ".SH DESCRIPTION\n" + escaped(_PURPOSE),
        ".SH VERBS\n",
        *(f".TP\n{_link([name])}\n{escaped(about)}\n" for name, about in root.verbs),
        ".SH OPTIONS\n.TP\n.BR \\-h ,\\~ \\-\\-help\nThe verbs; behind a verb, its options and an example.\n",
        ".TP\n.B \\-\\-version\nThe version, and the commit that was built.\n",
        _exit_status(),
        ".SH ENVIRONMENT\n",
        ".TP\n.B TERRACE=off\nTerrace vanishes: the program runs as if it were called alone.\n",
        ".TP\n.B TERRACE_MACHINES\n",
        "Folders of machine files, with colons between them; they go before the shipped ones.\n",
        ".TP\n.B TERRACE_PYTHON\nThe interpreter that has Terrace's Python package, for the verbs that analyse.\n",
        ".SH SEE ALSO\n" + ",\n".join(_link(verb.words) for verb in verbs) + "\n",
    ]
    return "".join(parts)


_PURPOSE = """\
Terrace places data on machines with more than one kind of memory. It learns what a program does with each of its
data objects in each phase of its run, predicts what every placement would cost, and then puts and moves the data,
for unmodified programs too. A machine that is not there is a text file: the program then runs in virtual time.
"""


def _verb(verb: Verb, verbs: list[Verb], version: str) -> str:
    name = "-".join(["terrace", *verb.words])
    first, _, rest = verb.about.partition("\n\n")
    above = [other for other in verbs if other.words == verb.words[:-1]]
    return "".join(
        [
            _title(name, version),
            f".SH NAME\n{escaped(name)} \\- {escaped(_short(first))}\n",
            _synopsis(verb),
            _description(verb, first, rest),
            _options(verb),
            _examples(verb),
            _exit_status(),
            ".SH SEE ALSO\n" + ",\n".join(_link(other.words) for other in above) + "\n",
        ]
    )


def _short(text: str) -> str:
    """Of one line, without the full stop, as whatis(1) shows it."""
    line = " ".join(text.split()).removesuffix(".")
    return line[:1].lower() + line[1:]


def _synopsis(verb: Verb) -> str:
    called = escaped("terrace " + verb.name).replace(" ", "\\~")
    lines = [f".SH SYNOPSIS\n.SY {called}"]
    if verb.verbs:
        lines += [".I VERB", ".RI [ options ]"]
    else:
        lines.append(".RI [ options ]")
        for argument in verb.arguments:
            dots = "..." if argument.repeats and not argument.value.endswith("...") else ""
            text = f"\\fI{escaped(argument.shown)}\\fR{dots}".replace(" ", "\\~")
            lines.append(text if argument.required else f"[{text}]")
        if verb.program and not any("PROGRAM" in argument.value for argument in verb.arguments):
            lines.append("[\\-\\-] \\fIPROGRAM\\fR [\\fIARGUMENTS\\fR]" if not verb.arguments else "")
    return "\n".join(line for line in lines if line) + "\n.YS\n"


def _description(verb: Verb, first: str, rest: str) -> str:
    text = ".SH DESCRIPTION\n" + escaped(first[:1].upper() + first[1:].rstrip(".")) + ".\n"
    text += "".join(f".PP\n{escaped(paragraph)}\n" for paragraph in rest.split("\n\n") if paragraph)
    if verb.passed_on_to:
        text += f".PP\nOptions that are not below are those of\n{_link([verb.passed_on_to])}.\n"
    before, has_examples, _ = _split_examples(verb.more)
    text += _block(before if has_examples else verb.more if not verb.verbs else "") if verb.more else ""
    if verb.verbs:
        text += ".SH VERBS\n" + "".join(
            f".TP\n{_link([*verb.words, name])}\n{escaped(about)}\n" for name, about in verb.verbs
        )
    return text


def _options(verb: Verb) -> str:
    if not verb.options:
        return ""
    arguments = "".join(f".TP\n.I {escaped(argument.shown)}\n{_about(argument)}" for argument in verb.arguments)
    dashed = "".join(_option(option) for option in verb.dashed)
    return (f".SH ARGUMENTS\n{arguments}" if arguments else "") + f".SH OPTIONS\n{dashed}"


def _option(option: Option) -> str:
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in option.names)
    value = f" \\fI{escaped(option.value)}\\fR" if option.value else ""
    return f".TP\n{names}{value}\n{_about(option)}"


def _about(option: Option) -> str:
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


def _examples(verb: Verb) -> str:
    _, found, examples = _split_examples(verb.more)
    return ".SH EXAMPLES\n" + _block(examples, first=True) if found else ""


def _block(text: str, *, first: bool = False) -> str:
    """Indented lines as they are, others as paragraphs."""
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
