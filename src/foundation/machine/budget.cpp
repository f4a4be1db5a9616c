// SPDX-License-Identifier: Apache-2.0
// Parses and formats budgets (`--budget hbm=16GiB`, `--fast`) for the command line and the Python package: bytes
// allowed for each kind in each domain.
#include <algorithm>

#include "core/error.hpp"
#include "machine/machine.hpp"

namespace terrace::machine {
namespace {

// Allows a domain `size` bytes of a kind, filling its fastest place first.
void allow_in_domain(const Machine& machine, Budget& budget, DomainId domain, std::string_view kind, Bytes size) {
  Bytes left = size;
  Bytes present{0};
  for (const auto id : machine.fastest_first(domain)) {
    const auto& place = machine.place(id);
    if (place.kind != kind) continue;
    budget[id] = std::min(left, place.capacity);
    left -= budget[id];
    present += place.capacity;
  }
  if (left.value > 0) {
    throw Error(Code::invalid, "budget " + std::string(kind) + "=" + format(size) + ": domain '" +
                                   machine.domains()[domain].name + "' has only " + format(present) + " of " +
                                   std::string(kind) + "; give at most that");
  }
}

// Allows each domain that has the kind `size` bytes of it.
void allow_kind(const Machine& machine, Budget& budget, std::string_view kind, Bytes size) {
  for (std::size_t i = 0; i < machine.domains().size(); ++i) {
    const auto domain = static_cast<DomainId>(i);
    if (machine.find_kind(domain, kind)) allow_in_domain(machine, budget, domain, kind, size);
  }
}

struct Word {  // "hbm=16GiB"
  std::string_view name;
  Bytes size;
};

std::vector<Word> split_budget(std::string_view text) {
  std::vector<Word> words;
  while (true) {
    const auto comma = text.find(',');
    const auto item = text.substr(0, comma);
    const auto equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw Error(Code::invalid,
                  "budget: '" + std::string(item) + "' is not NAME=SIZE; write for example hbm=16GiB");
    }
    const Word word{item.substr(0, equals), parse_bytes(item.substr(equals + 1))};
    for (const auto& other : words) {
      if (other.name == word.name) {
        throw Error(Code::invalid, "budget: '" + std::string(word.name) + "' is given twice; give it once");
      }
    }
    words.push_back(word);
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string list_kinds_and_places(const Machine& machine) {
  std::string text = "the kinds ";
  const auto kinds = machine.kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i) text += (i > 0 ? ", " : "") + kinds[i];
  text += " and the places ";
  for (std::size_t i = 0; i < machine.places().size(); ++i) text += (i > 0 ? ", " : "") + machine.places()[i].name;
  return text;
}

Budget fast_budget(const Machine& machine, Bytes fast) {
  auto budget = whole_budget(machine);
  for (std::size_t i = 0; i < machine.domains().size(); ++i) {
    const auto domain = static_cast<DomainId>(i);
    allow_in_domain(machine, budget, domain, machine.place(machine.fastest_first(domain).front()).kind, fast);
  }
  return budget;
}

std::string format_budget(std::string_view text) {
  if (text.find('=') == std::string_view::npos) return format_exact(parse_bytes(text));
  std::string budget;
  for (const auto& word : split_budget(text)) {
    if (!budget.empty()) budget += ',';
    budget += std::string(word.name) + "=" + format_exact(word.size);
  }
  return budget;
}

Budget parse_budget(const Machine& machine, std::string_view text) {
  if (text.find('=') == std::string_view::npos) return fast_budget(machine, parse_bytes(text));
  const auto words = split_budget(text);
  const auto kinds = machine.kinds();
  auto budget = whole_budget(machine);
  const auto is_kind = [&](std::string_view name) {
    return std::find(kinds.begin(), kinds.end(), name) != kinds.end();
  };
  for (const auto& word : words) {
    if (is_kind(word.name)) allow_kind(machine, budget, word.name, word.size);
  }
  // An entry of a place overrides that of its kind, in any order.
  for (const auto& word : words) {
    if (is_kind(word.name)) continue;
    const auto id = machine.find_place(word.name);
    if (!id) {
      throw Error(Code::invalid, "budget: '" + std::string(word.name) +
                                     "' is neither a kind nor a place of machine '" + machine.name() +
                                     "'; there are " + list_kinds_and_places(machine));
    }
    const auto& place = machine.place(*id);
    if (word.size > place.capacity) {
      throw Error(Code::invalid, "budget " + place.name + "=" + format(word.size) + ": place '" + place.name +
                                     "' has only " + format(place.capacity) + "; give at most that");
    }
    budget[*id] = word.size;
  }
  return budget;
}

}  // namespace terrace::machine
