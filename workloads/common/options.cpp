// Parses the command line of a workload: `--name value` pairs and --help. See options.hpp.
#include "common/options.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

namespace workloads {
namespace {

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

std::optional<double> unit_factor(std::string_view unit) {
  static constexpr std::array<std::pair<std::string_view, double>, 10> k_units{{{"", 1.0},
                                                                                {"B", 1.0},
                                                                                {"kB", 1e3},
                                                                                {"KB", 1e3},
                                                                                {"MB", 1e6},
                                                                                {"GB", 1e9},
                                                                                {"KiB", 0x1p10},
                                                                                {"MiB", 0x1p20},
                                                                                {"GiB", 0x1p30},
                                                                                {"TiB", 0x1p40}}};
  for (const auto& [name, factor] : k_units) {
    if (name == unit) return factor;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  const auto factor = unit_factor(text.substr(static_cast<std::size_t>(end - text.data())));
  // Negated so that what is not a number fails too; 2^63 bytes are more than any machine's.
  if (!factor || !(value * *factor >= 1.0 && value * *factor < 0x1p63)) return std::nullopt;
  return static_cast<std::uint64_t>(value * *factor);
}

std::string print_count(std::uint64_t value) { return value == 0 ? "" : std::to_string(value); }

// Prints a size in the largest unit of which it is a multiple.
std::string print_bytes(std::uint64_t value) {
  if (value == 0) return "";
  std::size_t unit = 0;
  static constexpr std::array<const char*, 4> k_units{"B", "KiB", "MiB", "GiB"};
  for (; unit + 1 < k_units.size() && value % 1024 == 0; ++unit) value /= 1024;
  return std::to_string(value) + k_units[unit];
}

}  // namespace

Options::Options(std::string program, std::string summary)
    : program_(std::move(program)), summary_(std::move(summary)) {}

void Options::text(std::string name, std::string* target, std::string help) {
  options_.push_back({std::move(name), target, std::move(help), *target});
}

void Options::count(std::string name, std::uint64_t* target, std::string help) {
  options_.push_back({std::move(name), Count{target}, std::move(help), print_count(*target)});
}

void Options::bytes(std::string name, std::uint64_t* target, std::string help) {
  options_.push_back({std::move(name), Bytes{target}, std::move(help), print_bytes(*target)});
}

void Options::fail(const std::string& message) const {
  if (!silent_) std::fprintf(stderr, "%s: %s\n", program_.c_str(), message.c_str());
  std::exit(2);
}

void Options::assign(const Option& option, const std::string& value) const {
  if (const auto* text = std::get_if<std::string*>(&option.target)) {
    **text = value;
    return;
  }
  const auto* count = std::get_if<Count>(&option.target);
  const auto number = count != nullptr ? parse_count(value) : parse_bytes(value);
  if (!number) {
    fail(option.name + ": expected " +
         (count != nullptr ? "a whole number of at least 1" : "a size such as 64MiB") + ", found '" + value + "'");
  }
  *(count != nullptr ? count->target : std::get<Bytes>(option.target).target) = *number;
}

void Options::print_help() const {
  std::printf("%s: %s\n\nOptions:\n", program_.c_str(), summary_.c_str());
  for (const Option& option : options_) {
    const std::string standard = option.standard.empty() ? "" : " [default: " + option.standard + "]";
    std::printf("  %-16s %s%s\n", option.name.c_str(), option.help.c_str(), standard.c_str());
  }
  std::printf("  %-16s %s\n", "--help", "print this");
}

void Options::parse(int argc, char** argv) const {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      if (!silent_) print_help();
      std::exit(0);
    }
    std::optional<std::string> value;
    if (const auto equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const Option* found = nullptr;
    for (const Option& option : options_) {
      if (option.name == name) found = &option;
    }
    if (found == nullptr) fail("no option '" + name + "'; --help lists them");
    if (!value) {
      if (i + 1 == argc) fail(name + ": its value is missing");
      value = argv[++i];
    }
    assign(*found, *value);
  }
}

}  // namespace workloads
