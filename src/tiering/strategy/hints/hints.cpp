// SPDX-License-Identifier: Apache-2.0
// Stores and combines the hints of the user and of the program, and finds those that name unknown objects or
// phases, for the runtime's configurations. See hints.hpp.
#include "strategy/hints/hints.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "machine/nearest_name.hpp"

namespace terrace::strategy {
namespace {

using Sentences = std::vector<std::string>;

constexpr std::size_t k_max_name = 1000;
constexpr std::size_t k_shown_of_name = 60;  // characters of an invalid name shown in a message

bool any_is(const std::string& name_or_pattern, const std::vector<std::string>& all) {
  return std::ranges::any_of(all,
                             [&](const std::string& name) { return model::matches_name(name_or_pattern, name); });
}

std::string or_nearest(const std::string& word, const std::vector<std::string>& known) {
  const auto nearest = machine::nearest_name(word, known);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

// Appends a sentence on a name of the hints that the program did not have, once, with the nearest known name.
void add_unknown(Sentences& sentences, std::set<std::string>& said, const char* what, const std::string& word,
                 const std::vector<std::string>& known) {
  if (any_is(word, known)) return;
  auto sentence = "hints: there was no " + std::string(what) + " '" + word + "'" + or_nearest(word, known);
  if (said.insert(sentence).second) sentences.push_back(std::move(sentence));
}

void check_name(const char* what, const std::string& name) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (name.empty() || name.size() > k_max_name || std::ranges::any_of(name, is_control))
    throw Error(Code::invalid, "the name of " + std::string(what == std::string_view("object") ? "an " : "a ") +
                                   what + " must have from 1 to 1000 characters, in one line");
}

}  // namespace

void Hints::to_blob(BlobWriter& out) const {
  out.put(static_cast<std::uint32_t>(values.size()));
  for (const auto& [name, value] : values) {
    out.put(name);
    out.put(value);
  }
  out.put(static_cast<std::uint32_t>(counts.size()));
  for (const auto& count : counts) {
    out.put(count.object);
    count.references.to_blob(out);
  }
  directives.to_blob(out);
}

Hints Hints::from_blob(BlobReader& in) {
  Hints hints;
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) {
    auto name = in.get_string();
    hints.values[std::move(name)] = in.get<double>();
  }
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) {
    auto object = in.get_string();
    hints.counts.push_back({std::move(object), Expression::from_blob(in)});
  }
  hints.directives = model::Directives::from_blob(in);
  return hints;
}

void HintRegistry::add(const observe::ProgramHint& hint) {
  using What = observe::ProgramHint::What;
  const std::string of(hint.of), says(hint.says);
  switch (hint.what) {
    case What::value:
      return set_value(of, hint.value);
    case What::references:
      check_name("object", of);
      return set_count({of, Expression::parse(says)});
    case What::uses:
    case What::spares:
      check_name("phase", of);
      check_name("object", says);
      return set_directive({of, says, hint.what == What::uses});
  }
}

void HintRegistry::set_value(const std::string& name, double value) {
  if (!is_value_name(name))
    throw Error(Code::invalid, "'" + name.substr(0, k_shown_of_name) +
                                   "' is no name of a value; use letters, digits, _ and ., no digit first");
  if (!std::isfinite(value))
    throw Error(Code::invalid, "the value of '" + name + "' is no finite number; give a finite one");
  from_program_.values[name] = value;
}

void HintRegistry::set_count(ReferenceCount count) {
  const auto before = std::ranges::find(from_program_.counts, count.object, &ReferenceCount::object);
  if (before != from_program_.counts.end())
    *before = std::move(count);
  else
    from_program_.counts.push_back(std::move(count));
}

void HintRegistry::set_directive(const model::Directive& directive) {
  auto all = from_program_.directives.all();
  const auto before = std::ranges::find_if(all, [&](const model::Directive& one) {
    return one.phase == directive.phase && one.object == directive.object;
  });
  if (before != all.end())
    before->used = directive.used;
  else
    all.push_back(directive);
  from_program_.directives = model::Directives(std::move(all));
}

const ReferenceCount* HintRegistry::count_of(const std::string& object) const {
  for (const auto* hints : {&from_user_, &from_program_})
    for (const auto& count : hints->counts)
      if (model::matches_name(count.object, object)) return &count;
  return nullptr;
}

std::optional<double> HintRegistry::value(const std::string& name) const {
  for (const auto* hints : {&from_user_, &from_program_})
    if (const auto found = hints->values.find(name); found != hints->values.end()) return found->second;
  return std::nullopt;
}

model::Directives HintRegistry::directives() const {
  auto all = from_user_.directives;
  for (const auto& directive : from_program_.directives.all()) all.add(directive);
  return all;
}

std::vector<std::string> HintRegistry::unused(const std::vector<std::string>& objects,
                                              const std::vector<std::string>& phases) const {
  Sentences sentences;
  std::set<std::string> said, taken;
  for (const auto* hints : {&from_user_, &from_program_}) {
    for (const auto& count : hints->counts) {
      add_unknown(sentences, said, "object", count.object, objects);
      for (const auto& object : count.references.objects())
        add_unknown(sentences, said, "object", object, objects);
      for (auto& name : count.references.names()) taken.insert(std::move(name));
    }
    for (const auto& directive : hints->directives.all()) {
      add_unknown(sentences, said, "phase", directive.phase, phases);
      add_unknown(sentences, said, "object", directive.object, objects);
    }
  }
  const std::vector<std::string> known(taken.begin(), taken.end());
  for (const auto& [name, value] : from_user_.values)
    if (!taken.contains(name))
      sentences.push_back("hints: no expression takes the value '" + name + "'" + or_nearest(name, known));
  return sentences;
}

}  // namespace terrace::strategy
