// SPDX-License-Identifier: Apache-2.0
// Parses TERRACE_STENCIL, and refuses words that its executor ignores. Programs call Options::from_environment()
// through Context; see terrace/stencil/options.hpp.
#include "terrace/stencil/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ranges>
#include <set>
#include <string_view>

#include "core/error.hpp"
#include "core/units.hpp"
#include "core/unknown_name.hpp"
#include "stencil/execute/executor.hpp"

namespace terrace::stencil {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::invalid, "TERRACE_STENCIL: " + what); }

struct Word {
  std::string_view name;
  std::string_view value;
  [[nodiscard]] std::string text() const { return std::string(name) + "=" + std::string(value); }
};

template <class T>
T number_of(const Word& word) {
  T number{};
  const auto [end, error] = std::from_chars(word.value.begin(), word.value.end(), number);
  if (error != std::errc{} || end != word.value.end() || number < T{})
    refuse(word.text() + ": a number from 0 on is needed");
  return number;
}

std::uint64_t bytes_of(const Word& word) {
  try {
    return parse_bytes(word.value).value;
  } catch (const Error& error) {
    throw Error(error.code(), "TERRACE_STENCIL: " + std::string(word.name) + ": " + error.what());
  }
}

std::string text_of(const Word& word) {
  if (word.value.empty()) refuse(word.text() + ": a value is needed");
  return std::string(word.value);
}

bool flag_of(const Word& word) {
  if (word.value != "0" && word.value != "1") refuse(word.text() + ": it is 0 or 1");
  return word.value == "1";
}

// Parses a tile: "256x32" is x, y, z.
std::array<std::ptrdiff_t, 3> tile_of(const Word& word) {
  std::array<std::ptrdiff_t, 3> tile{0, 0, 0};
  auto rest = word.value;
  for (auto& points : tile) {
    const auto next = rest.find('x');
    const auto part = rest.substr(0, next);
    const auto [end, error] = std::from_chars(part.begin(), part.end(), points);
    if (error != std::errc{} || end != part.end() || points < 0)
      refuse(word.text() + ": a tile has numbers from 0 on with x between them, as 256x32x8");
    rest = next == std::string_view::npos ? std::string_view{} : rest.substr(next + 1);
    if (next != std::string_view::npos) continue;
    if (std::ranges::all_of(tile, [](auto size) { return size == 0; }))
      refuse(word.text() +
             ": no dimension is cut: leave the word out for a size that is chosen, or take "
             "executor=parallel, which cuts nothing");
    return tile;
  }
  refuse(word.text() + ": a tile has three numbers at most, as 256x32x8");
}

struct Meaning {
  std::string_view name;
  void (*set)(Options& options, const Word& word);
};
constexpr std::array k_meanings{
    Meaning{"executor", [](Options& options, const Word& word) { options.executor = text_of(word); }},
    Meaning{"threads", [](Options& options, const Word& word) { options.threads = number_of<unsigned>(word); }},
    Meaning{"tile", [](Options& options, const Word& word) { options.tile = tile_of(word); }},
    Meaning{"memory", [](Options& options, const Word& word) { options.memory = bytes_of(word); }},
    Meaning{"folder", [](Options& options, const Word& word) { options.folder = text_of(word); }},
    Meaning{"depth", [](Options& options, const Word& word) { options.depth = number_of<std::ptrdiff_t>(word); }},
    Meaning{"paged", [](Options& options, const Word& word) { options.is_paged = flag_of(word); }},
    Meaning{"plans", [](Options& options, const Word& word) { options.plans = text_of(word); }},
};

constexpr std::string_view k_blanks = " \t\r\n";

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(k_blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(k_blanks) - first + 1);
}

Word word_of_text(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return {without_blanks(text), {}};
  return {without_blanks(text.substr(0, equals)), without_blanks(text.substr(equals + 1))};
}

// A value followed by a blank and another word: a comma is missing.
void check_commas(const Word& word) {
  const auto equals = word.value.rfind('=');
  if (equals == std::string_view::npos) return;
  const auto before = without_blanks(word.value.substr(0, equals));
  const auto blank = before.find_last_of(k_blanks);
  if (blank == std::string_view::npos) return;
  if (std::ranges::find(k_meanings, before.substr(blank + 1), &Meaning::name) != k_meanings.end())
    refuse(word.text() + ": words have commas between them, not blanks");
}

// Sets the option that a word NAME=VALUE names.
void set_word(Options& options, const Word& word) {
  check_commas(word);
  const auto found = std::ranges::find(k_meanings, word.name, &Meaning::name);
  if (found == k_meanings.end())
    refuse("there is no '" + std::string(word.name) + "'; there are " +
           join_names(k_meanings | std::views::transform(&Meaning::name)));
  found->set(options, word);
}

bool is_used(const ExecutorVariant& executor, std::string_view word) {
  const auto used = executor.words();
  return std::ranges::find(used, word) != used.end();
}

// Refuse options that the executor ignores.
void check_use(const Options& options, const std::set<std::string_view>& given) {
  const auto& executor = find_executor(options.executor);
  for (const auto name : given) {
    if (name == "executor" || name == "depth" || name == "plans" || is_used(executor, name)) continue;
    if (name == "threads" && options.threads == 1) continue;
    std::string takes;
    for (const auto* other : executors())
      if (is_used(*other, name)) takes.append(takes.empty() ? "" : ", ").append(other->name());
    refuse(std::string(name) + "= has no effect with executor=" + options.executor + "; it has with " + takes);
  }
  if (given.contains("folder") && is_used(executor, "paged") && !options.is_paged)
    refuse("folder= has no effect with executor=" + options.executor + " without paged=1");
}

}  // namespace

Options Options::from_environment(Options options) {
  const auto* const variable = std::getenv("TERRACE_STENCIL");
  auto rest = without_blanks(variable ? variable : "");
  std::set<std::string_view> given;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto word = word_of_text(rest.substr(0, comma));
    set_word(options, word);
    if (!given.insert(word.name).second) refuse(std::string(word.name) + "= is there twice");
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  check_use(options, given);
  return options;
}

}  // namespace terrace::stencil
