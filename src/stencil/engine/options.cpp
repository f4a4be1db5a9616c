// What TERRACE_STENCIL says. See terrace/stencil/options.hpp.
#include "terrace/stencil/options.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/error.hpp"
#include "core/units.hpp"

namespace terrace::stencil {
namespace {

constexpr auto k_variable = "TERRACE_STENCIL";

template <class T>
T number_of_text(std::string_view word, std::string_view value) {
  T number{};
  const auto [end, error] = std::from_chars(value.begin(), value.end(), number);
  if (error != std::errc{} || end != value.end() || number < T{})
    throw Error(Code::invalid, std::string(k_variable) + ": " + std::string(word) + "=" + std::string(value) +
                                   ": a number from 0 on is needed");
  return number;
}

void set_word(Options& options, std::string_view word) {
  const auto equals = word.find('=');
  const auto name = word.substr(0, equals);
  const auto value = equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
  if (name == "executor")
    options.executor = value;
  else if (name == "threads")
    options.threads = number_of_text<unsigned>(name, value);
  else if (name == "memory")
    options.memory = parse_bytes(value).value;
  else if (name == "folder")
    options.folder = value;
  else if (name == "depth")
    options.depth = number_of_text<std::ptrdiff_t>(name, value);
  else if (name == "tile") {
    // "256x32": x, y, z.
    auto rest = value;
    for (auto& points : options.tile) {
      const auto next = rest.find('x');
      points = number_of_text<std::ptrdiff_t>(name, rest.substr(0, next));
      rest = next == std::string_view::npos ? std::string_view{"0"} : rest.substr(next + 1);
    }
  } else {
    throw Error(Code::invalid, std::string(k_variable) + ": there is no '" + std::string(name) +
                                   "'; there are executor, threads, tile, memory, folder, depth");
  }
}

}  // namespace

Options Options::from_environment(Options options) {
  const auto* const given = std::getenv(k_variable);
  std::string_view rest = given ? given : "";
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    set_word(options, rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return options;
}

}  // namespace terrace::stencil
