// SPDX-License-Identifier: Apache-2.0
// Parses the record of a Slurm job and converts its generic resources to a budget. See slurm_budget.hpp.
#include "cli/slurm_budget.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "core/error.hpp"

namespace terrace::cli {

namespace {

constexpr Bytes k_default_unit{1 << 20};
constexpr std::uint64_t k_page_bytes = 4096;

// Returns the position of the first of `ends` outside of brackets and parentheses, or the text's size.
std::size_t find_outside_brackets(std::string_view text, std::string_view ends) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (depth == 0 && ends.find(text[i]) != std::string_view::npos) return i;
    if (text[i] == '[' || text[i] == '(') ++depth;
    if ((text[i] == ']' || text[i] == ')') && depth > 0) --depth;
  }
  return text.size();
}

// Removes and returns the text before the next of `ends` outside of brackets, and removes that character.
std::string_view take_item(std::string_view& text, std::string_view ends) {
  const auto size = find_outside_brackets(text, ends);
  const auto item = text.substr(0, size);
  text.remove_prefix(std::min(text.size(), size + 1));
  return item;
}

// Parses a whole text of decimal digits.
std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && next == end ? std::optional(number) : std::nullopt;
}

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

// Parses a count with one of Slurm's suffixes, which are powers of 1024.
std::optional<std::uint64_t> parse_count(std::string_view text) {
  constexpr std::string_view k_suffixes = "KMGTP";
  std::uint64_t factor = 1;
  if (!text.empty())
    if (const auto power = k_suffixes.find(text.back()); power != std::string_view::npos) {
      factor = std::uint64_t{1} << (10 * (power + 1));
      text.remove_suffix(1);
    }
  const auto number = parse_number(text);
  return number ? std::optional(multiply(*number, factor)) : std::nullopt;
}

// Returns whether `digits` is a number of the range "LOW-HIGH" or "NUMBER". Slurm pads numbers with zeros to the
// width of LOW.
bool is_in_range(std::string_view range, std::string_view digits) {
  const auto dash = range.find('-');
  const auto low = range.substr(0, dash);
  const auto first = parse_number(low);
  const auto last = dash == std::string_view::npos ? first : parse_number(range.substr(dash + 1));
  const auto number = parse_number(digits);
  if (!first || !last || !number || *number < *first || *number > *last) return false;
  return digits.size() == low.size() || (digits.size() > low.size() && digits.front() != '0');
}

// Returns whether one expression without outer commas ("rack[1-2]n[01-16]") contains the node.
bool matches(std::string_view expression, std::string_view node) {
  const auto open = expression.find('[');
  if (node.substr(0, open) != expression.substr(0, open)) return false;
  if (open == std::string_view::npos) return true;
  const auto close = expression.find(']', open);
  if (close == std::string_view::npos) return false;
  node.remove_prefix(open);
  const auto rest = expression.substr(close + 1);
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  for (std::size_t size = 1; size <= node.size() && is_digit(node[size - 1]); ++size) {
    auto ranges = expression.substr(open + 1, close - open - 1);
    bool is_in_any = false;
    while (!ranges.empty() && !is_in_any) is_in_any = is_in_range(take_item(ranges, ","), node.substr(0, size));
    if (is_in_any && matches(rest, node.substr(size))) return true;
  }
  return false;
}

// Returns the value of "KEY=" among the words of a line; "" if it has none.
std::string_view value_of(std::string_view line, std::string_view key) {
  while (!line.empty()) {
    const auto word = take_item(line, " \t\r");
    if (word.starts_with(key)) return word.substr(key.size());
  }
  return {};
}

// Adds the resources of a record's "GRES=": "gpu:a100:2(IDX:0-1),hbm(CNT:4000)".
void add_counts(std::string_view text, GresCounts& counts) {
  while (!text.empty()) {
    auto item = take_item(text, ",");
    std::optional<std::uint64_t> count;
    if (const auto mark = item.find("(CNT:"); mark != std::string_view::npos) {
      const auto end = item.find(')', mark);
      if (end == std::string_view::npos) continue;
      count = parse_count(item.substr(mark + 5, end - mark - 5));
    }
    item = item.substr(0, item.find('('));
    if (const auto colon = item.rfind(':'); !count && colon != std::string_view::npos)
      count = parse_count(item.substr(colon + 1));
    const auto name = item.substr(0, item.find(':'));
    if (name.empty() || !count) continue;
    auto& sum = counts[std::string(name)];
    sum = sum > std::numeric_limits<std::uint64_t>::max() - *count ? std::numeric_limits<std::uint64_t>::max()
                                                                   : sum + *count;
  }
}

}  // namespace

bool contains_node(std::string_view hostlist, std::string_view node) {
  while (!hostlist.empty())
    if (matches(take_item(hostlist, ","), node)) return !node.empty();
  return false;
}

std::optional<GresCounts> find_gres_counts(std::string_view record, std::string_view job,
                                           const std::vector<std::string>& nodes) {
  for (const auto& node : nodes) {
    std::optional<GresCounts> found;
    bool is_of_job = false;
    for (auto lines = record; !lines.empty();) {
      const auto end = std::min(lines.find('\n'), lines.size());
      const auto line = lines.substr(0, end);
      lines.remove_prefix(std::min(lines.size(), end + 1));
      if (line.starts_with("JobId="))
        is_of_job = value_of(line, "JobId=") == job || value_of(line, "HetJobId=") == job;
      const auto list = is_of_job ? value_of(line, "Nodes=") : std::string_view();
      if (!contains_node(list, node)) continue;
      if (!found) found.emplace();
      add_counts(value_of(line, "GRES="), *found);
    }
    if (found) return found;
  }
  return std::nullopt;
}

std::vector<GresUnit> parse_gres_units(std::string_view text) {
  std::vector<GresUnit> units;
  while (!text.empty()) {
    const auto item = take_item(text, ",");
    const auto equals = item.find('=');
    const auto colon = item.find(':', equals == std::string_view::npos ? 0 : equals);
    if (equals == std::string_view::npos || colon == std::string_view::npos || equals == 0 || colon == equals + 1)
      throw Error(Code::invalid, "TERRACE_GRES: '" + std::string(item) +
                                     "' is not RESOURCE=KIND:UNIT; write for example hbm=hbm:1MiB");
    const auto unit = parse_bytes(item.substr(colon + 1));
    units.push_back(
        {std::string(item.substr(0, equals)), std::string(item.substr(equals + 1, colon - equals - 1)), unit});
  }
  return units;
}

std::vector<GresUnit> default_gres_units(const machine::Machine& machine) {
  std::vector<GresUnit> units;
  for (const auto& kind : machine.kinds()) units.push_back({kind, kind, k_default_unit});
  return units;
}

std::string budget_of_gres(const machine::Machine& machine, const GresCounts& counts,
                           const std::vector<GresUnit>& units) {
  std::map<std::string, std::uint64_t> bytes;  // by kind
  for (const auto& unit : units)
    if (const auto count = counts.find(unit.resource); count != counts.end()) {
      auto& sum = bytes[unit.kind];
      const auto more = multiply(count->second, unit.unit.value);
      sum = sum > std::numeric_limits<std::uint64_t>::max() - more ? std::numeric_limits<std::uint64_t>::max()
                                                                   : sum + more;
    }
  std::string text;
  for (const auto& [kind, size] : bytes) {
    std::uint64_t domains = 0;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();  // capacity of a domain
    for (std::size_t i = 0; i < machine.domains().size(); ++i) {
      std::uint64_t capacity = 0;
      for (const auto id : machine.fastest_first(static_cast<DomainId>(i)))
        if (machine.place(id).kind == kind) capacity += machine.place(id).capacity.value;
      if (capacity == 0) continue;
      ++domains;
      least = std::min(least, capacity);
    }
    if (domains == 0) continue;
    const auto share = std::min(size / domains, least) / k_page_bytes * k_page_bytes;
    text += (text.empty() ? "" : ",") + kind + "=" + format_exact(Bytes{share});
  }
  return text;
}

}  // namespace terrace::cli
