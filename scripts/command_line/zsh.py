# SPDX-License-Identifier: Apache-2.0
"""Generates completion for zsh, for command_line_page.py: a case for each subcommand, with _arguments of its
options."""

import re

from command_line.bash import all_options
from command_line.description import Option, Subcommand

_FRAME = r"""#compdef terrace
# zsh completion for terrace. Written by scripts/command_line_page.py from `terrace --describe`.

# _terrace_offer OFFER...: adds completions of the word under the cursor. Names come from the launcher that is
# being typed; after a comma another name begins.
_terrace_offer() {
  local offer expl
  local -a names
  local -i failed=1
  for offer; do
    case $offer in
      files=*) _files -g "*${offer#files=}" && failed=0 ;;
      folders=) _path_files -/ && failed=0 ;;
      names=*)
        names=(${(f)"$(_call_program names ${(q)terrace} --names ${offer#names=})"})
        compset -P '*,'
        _wanted names expl ${offer#names=} compadd -a names && failed=0
        ;;
      words=*) _wanted words expl word compadd ${offer#words=} && failed=0 ;;
    esac
  done
  return failed
}

_terrace_below() {
  local -a subcommands
  case $1 in
@SUBCOMMANDS@
  esac
  _describe -t subcommands subcommand subcommands
}

_terrace_at() {
  case $1 in
@OPTIONS@
  esac
}

_terrace() {
  local terrace=${(Q)words[1]} subcommand= expl
  local -i dashes=${words[(i)--]} index=2
  terrace=${terrace/#\~\//$HOME/}
  local -a known=(@KNOWN@)
  while ((index < CURRENT)) && [[ -n ${known[(r)${subcommand:+$subcommand }${words[index]}]} ]]; do
    subcommand+=${subcommand:+ }${words[index]}
    index+=1
  done
  # Behind --: a program and its arguments.
  if ((dashes < CURRENT)); then
    words=("${(@)words[dashes + 1,-1]}")
    ((CURRENT -= dashes))
    _normal
    return
  fi
  case $subcommand in
@GROUPS@
      if [[ -z $subcommand && $PREFIX == -* ]]; then
        _arguments '(-h --help)'{-h,--help}'[list the subcommands]' '--version[print the version]'
      else
        _terrace_below "$subcommand"
      fi
      ;;
    *)
      words=("$subcommand" "${(@)words[index,-1]}")
      ((CURRENT -= index - 2))
      _terrace_at "$subcommand"
      ;;
  esac
}

_terrace "$@"
"""


def completion(subcommands: list[Subcommand]) -> str:
    """Returns the text of zsh's completion file."""
    by_name = {subcommand.name: subcommand for subcommand in subcommands}
    groups = [subcommand for subcommand in subcommands if subcommand.subcommands]
    parts = {
        "SUBCOMMANDS": "\n".join(_below(subcommand) for subcommand in groups),
        "OPTIONS": "\n".join(
            _case(subcommand, all_options(subcommand, by_name))
            for subcommand in subcommands
            if not subcommand.subcommands
        ),
        "KNOWN": " ".join(f"'{subcommand.name}'" for subcommand in subcommands if subcommand.words),
        "GROUPS": "    " + "|".join(f"'{subcommand.name}'" for subcommand in groups) + ")",
    }
    text = _FRAME
    for mark, lines in parts.items():
        text = text.replace(f"@{mark}@", lines)
    return text


def _below(subcommand: Subcommand) -> str:
    names = " ".join(_quoted(f"{name}:{about}") for name, about in subcommand.subcommands)
    return f"    '{subcommand.name}') subcommands=({names}) ;;"


def _case(subcommand: Subcommand, options: list[Option]) -> str:
    lines = [f"    '{subcommand.name}')", "      _arguments -s \\"]
    lines += [f"        {_option(option)} \\" for option in options]
    lines += [f"        {_argument(argument)} \\" for argument in subcommand.arguments if argument.offers]
    lines[-1] = lines[-1].removesuffix(" \\")
    return "\n".join([*lines, "      ;;"])


def _option(option: Option) -> str:
    """Returns the _arguments specification of an option."""
    about = f"[{_plain(' '.join(option.about.split()))}]"
    value = f":{_plain(option.value)}:{_action(option)}" if option.value else ""
    names = [f"{name}=" if option.value and name.startswith("--") else name for name in option.names]
    names = [f"{name}+" if option.value and not name.startswith("--") else name for name in names]
    if option.repeats:
        return " ".join(f"'*{name}'{_quoted(about + value)}" for name in names)
    if len(names) == 1:
        return _quoted(names[0] + about + value)
    return f"'({' '.join(option.names)})'{{{','.join(names)}}}{_quoted(about + value)}"


def _argument(argument: Option) -> str:
    mark = "*" if argument.repeats else ""
    return _quoted(f"{mark}:{_plain(argument.argument)}:{_action(argument)}")


def _action(option: Option) -> str:
    offers = " ".join(f"{offer.what}={offer.which}" for offer in option.offers)
    return f" _terrace_offer {offers}" if offers else " "


def _plain(text: str) -> str:
    """Escapes the characters that have a meaning in a specification of _arguments."""
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
