# SPDX-License-Identifier: Apache-2.0
"""Generates completion for fish, for command_line_page.py: a line for each subcommand and option."""

from command_line.bash import all_options
from command_line.description import Option, Subcommand

_FRAME = """# fish completion for terrace.
# Written by scripts/command_line_page.py from `terrace --describe`: do not edit.

# Prints the words before the cursor that name the subcommand; fails behind --, where a program begins.
function __terrace_subcommand
    set -l words (commandline -opc)
    contains -- -- $words; and return 1
    set -l subcommand
    for word in $words[2..-1]
        contains -- "$subcommand $word" @GROUPS_AND_SUBCOMMANDS@; or break
        set subcommand "$subcommand $word"
    end
    string trim -- "$subcommand"
    true
end

function __terrace_at
    set -l subcommand (__terrace_subcommand); and test "$subcommand" = "$argv[1]"
end

function __terrace_behind_dashes
    contains -- -- (commandline -opc)
end

# Prints names from the launcher that is being typed. After a comma another name begins.
function __terrace_names
    set -l before
    set -l typed (commandline -ct | string replace -r '^--[a-z-]+=' '')
    string match -q '*,*' -- $typed; and set before (string replace -r '[^,]*$' '' -- $typed)
    for name in (eval (commandline -opc)[1] --names $argv[1] 2>/dev/null)
        echo "$before$name"
    end
end

# Prints files with an ending, and folders.
function __terrace_files
    set -l ending (string escape --style=regex -- $argv[1])
    __fish_complete_suffix $argv[1] | string match -r '^[^\\t]*(?:/|'$ending')(?:\\t.*)?$'
end

function __terrace_program
    set -l words (commandline -opc)
    set -l dashes (contains -i -- -- $words)
    __fish_complete_subcommand --commandline $words[(math $dashes + 1)..-1] (commandline -ct)
end

complete -c terrace -f
complete -c terrace -n __terrace_behind_dashes -a '(__terrace_program)'
"""


def completion(subcommands: list[Subcommand]) -> str:
    """Returns the text of fish's completion file."""
    by_name = {subcommand.name: subcommand for subcommand in subcommands}
    known = " ".join(f"' {subcommand.name}'" for subcommand in subcommands if subcommand.words)
    lines = [_FRAME.replace("@GROUPS_AND_SUBCOMMANDS@", known)]
    for subcommand in subcommands:
        lines += [_line(subcommand, f"-a {name} -d {_quoted(about)}") for name, about in subcommand.subcommands]
        if not subcommand.words:
            lines += [
                _line(subcommand, "-l help -s h -d 'list the subcommands'"),
                _line(subcommand, "-l version -d 'print the version'"),
            ]
        if not subcommand.subcommands:
            lines += [_line(subcommand, _option(option)) for option in all_options(subcommand, by_name)]
            lines += [_line(subcommand, _values(argument)) for argument in subcommand.arguments if argument.offers]
    return "\n".join(lines) + "\n"


def _line(subcommand: Subcommand, what: str) -> str:
    return f"complete -c terrace -n '__terrace_at \"{subcommand.name}\"' {what}"


def _option(option: Option) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = (" -r " + _values(option)).rstrip() if option.value else ""
    return f"{names}{value} -d {_quoted(' '.join(option.about.split()))}"


def _values(option: Option) -> str:
    """Returns the words of a fish command that complete an option's value."""
    files = [offer for offer in option.offers if offer.what == "files"]
    words = []
    for offer in option.offers:
        if offer.what == "folders":
            words.append("(__fish_complete_directories (commandline -ct))")
        elif offer.what == "names":
            words.append(f"(__terrace_names {offer.which})")
        elif offer.what == "words":
            words.append(offer.which)
        elif offer.which:
            words.append(f"(__terrace_files {offer.which})")
    flag = "-F" if files and not files[0].which else "-f"
    return flag + (f" -a {_quoted(' '.join(words))}" if words else "")


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
