"""Completion for fish: a line for each verb and option."""

from command_line.bash import all_options
from command_line.description import Option, Verb

_FRAME = """# fish completion for terrace.
# Written by scripts/command_line_page.py from what the command says of itself.

# The words before the cursor that name the verb; fails behind --, where a program begins.
function __terrace_verb
    set -l words (commandline -opc)
    contains -- -- $words; and return 1
    set -l verb
    for word in $words[2..-1]
        contains -- "$verb $word" @GROUPS_AND_VERBS@; or break
        set verb "$verb $word"
    end
    string trim -- "$verb"
    true
end

function __terrace_at
    set -l verb (__terrace_verb); and test "$verb" = "$argv[1]"
end

function __terrace_behind_dashes
    contains -- -- (commandline -opc)
end

# The launcher that is being typed, which knows its machines and planners. After a comma another name begins.
function __terrace_names
    set -l before
    set -l typed (commandline -ct | string replace -r '^--[a-z-]+=' '')
    string match -q '*,*' -- $typed; and set before (string replace -r '[^,]*$' '' -- $typed)
    for name in (eval (commandline -opc)[1] --names $argv[1] 2>/dev/null)
        echo "$before$name"
    end
end

# Files with that ending, and folders.
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


def completion(verbs: list[Verb]) -> str:
    """The whole file."""
    by_name = {verb.name: verb for verb in verbs}
    known = " ".join(f"' {verb.name}'" for verb in verbs if verb.words)
    lines = [_FRAME.replace("@GROUPS_AND_VERBS@", known)]
    for verb in verbs:
        lines += [_line(verb, f"-a {name} -d {_quoted(about)}") for name, about in verb.verbs]
        if not verb.words:
            lines += [_line(verb, "-l help -s h -d 'The verbs'"), _line(verb, "-l version -d 'The version'")]
        if not verb.verbs:
            lines += [_line(verb, _option(option)) for option in all_options(verb, by_name)]
            lines += [_line(verb, _values(argument)) for argument in verb.arguments if argument.offers]
    return "\n".join(lines) + "\n"


def _line(verb: Verb, what: str) -> str:
    return f"complete -c terrace -n '__terrace_at \"{verb.name}\"' {what}"


def _option(option: Option) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = (" -r " + _values(option)).rstrip() if option.value else ""
    return f"{names}{value} -d {_quoted(' '.join(option.about.split()))}"


def _values(option: Option) -> str:
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
