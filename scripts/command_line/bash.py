# SPDX-License-Identifier: Apache-2.0
"""Generates completion for bash, for command_line_page.py: subcommands and options are static, names of machines
etc. are queried."""

from collections.abc import Iterable

from command_line.description import Offer, Option, Subcommand

_FRAME = r"""# bash completion for terrace.
# Written by scripts/command_line_page.py from `terrace --describe`: do not edit.

# _terrace_offer OFFER...: adds completions of the word under the cursor.
_terrace_offer() {
  local offer line
  for offer in "$@"; do
    case $offer in
      files:*)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do
          if [[ -d $line || $line == *"${offer#files:}" ]]; then COMPREPLY+=("$line"); fi
        done < <(compgen -f -- "$cur")
        ;;
      folders:)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$cur")
        ;;
      names:*)
        # After a comma another name begins.
        local before=
        [[ $cur == *,* ]] && before=${cur%,*},
        while IFS= read -r line; do COMPREPLY+=("$before$line"); done \
          < <(compgen -W "$("$terrace" --names "${offer#names:}" 2>/dev/null)" -- "${cur##*,}")
        ;;
      words:*)
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "${offer#words:}" -- "$cur")
        ;;
    esac
  done
}

# These functions return their result in $reply. _terrace_subcommands SUBCOMMAND: its own subcommands.
_terrace_subcommands() {
  case $1 in
@SUBCOMMANDS@
    *) reply='' ;;
  esac
}

_terrace_options() {
  case $1 in
@OPTIONS@
    *) reply='' ;;
  esac
}

# _terrace_value "SUBCOMMAND OPTION": offers for the option's value, a word for each; `none` if there are no
# offers, nothing for an option without a value.
_terrace_value() {
  case $1 in
@VALUES@
    *) reply='' ;;
  esac
}

_terrace_argument() {
  case $1 in
@ARGUMENTS@
    *) reply='' ;;
  esac
}

_terrace() {
  local terrace=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} subcommand='' word reply
  local -i index=1
  COMPREPLY=()
  terrace=${terrace/#\~\//$HOME/}
  # Collect the words that name the subcommand.
  while ((index < COMP_CWORD)); do
    _terrace_subcommands "$subcommand"
    word=${COMP_WORDS[index]}
    [[ " $reply " == *" $word "* ]] || break
    subcommand=${subcommand:+$subcommand }$word
    index+=1
  done
  # Behind --: a program and its arguments.
  for ((; index < COMP_CWORD; ++index)); do
    [[ ${COMP_WORDS[index]} == -- ]] || continue
    if declare -F _command_offset >/dev/null; then
      _command_offset $((index + 1))
    elif ((index + 1 == COMP_CWORD)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
    return
  done
  _terrace_subcommands "$subcommand"
  if [[ -n $reply ]]; then
    [[ $subcommand ]] || reply+=' --help --version'
    _terrace_offer "words:$reply"
    return
  fi
  word=${COMP_WORDS[COMP_CWORD - 1]}
  # bash splits --option=value at the =.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $word == = ]] && ((COMP_CWORD > 2)); then
    word=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  _terrace_value "$subcommand $word"
  if [[ -n $reply ]]; then
    # shellcheck disable=SC2086  # a word for each offer
    _terrace_offer $reply
  elif [[ $cur == -* ]]; then
    _terrace_options "$subcommand"
    _terrace_offer "words:$reply"
  else
    _terrace_argument "$subcommand"
    # shellcheck disable=SC2086
    _terrace_offer $reply
    if ((${#COMPREPLY[@]} == 0)); then
      _terrace_options "$subcommand"
      _terrace_offer "words:$reply"
    fi
  fi
}

complete -F _terrace terrace
"""


def completion(subcommands: list[Subcommand]) -> str:
    """Returns the text of bash's completion file."""
    by_name = {subcommand.name: subcommand for subcommand in subcommands}
    options = {
        subcommand.name: all_options(subcommand, by_name)
        for subcommand in subcommands
        if not subcommand.subcommands
    }
    parts = {
        "SUBCOMMANDS": _cases(
            (subcommand.name, " ".join(name for name, _ in subcommand.subcommands))
            for subcommand in subcommands
            if subcommand.subcommands
        ),
        "OPTIONS": _cases(
            (name, " ".join(word for option in known for word in option.names)) for name, known in options.items()
        ),
        "VALUES": _cases(
            ("|".join(f'"{name} {word}"' for word in option.names), _offers(option.offers) or "none")
            for name, known in options.items()
            for option in known
            if option.value and option.names
        ),
        "ARGUMENTS": _cases(
            (subcommand.name, _offers(offer for argument in subcommand.arguments for offer in argument.offers))
            for subcommand in subcommands
            if any(argument.offers for argument in subcommand.arguments)
        ),
    }
    text = _FRAME
    for mark, lines in parts.items():
        text = text.replace(f"@{mark}@", lines)
    return text


def all_options(subcommand: Subcommand, by_name: dict[str, Subcommand]) -> list[Option]:
    """Returns its own options, and those of the subcommand that it forwards unknown options to."""
    own = {word for option in subcommand.dashed for word in option.names}
    others = by_name[subcommand.passed_on_to].dashed if subcommand.passed_on_to else []
    return subcommand.dashed + [option for option in others if not own & set(option.names)]


def _offers(offers: Iterable[Offer]) -> str:
    return " ".join(dict.fromkeys(f"{offer.what}:{offer.which}" for offer in offers))


def _cases(cases: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        f"    {name if name.startswith(chr(34)) else f'{chr(34)}{name}{chr(34)}'}) reply={text!r} ;;"
        for name, text in cases
    )
