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

std::uint64_t bytes_of_text(std::string_view word, std::string_view value) {
  try {
    return parse_bytes(value).value;
  } catch (const Error& error) {
    throw Error(error.code(), std::string(k_variable) + ": " + std::string(word) + ": " + error.what());
  }
}

// "256x32": x, y, z.
std::array<std::ptrdiff_t, 3> tile_of_text(std::string_view word, std::string_view value) {
  std::array<std::ptrdiff_t, 3> tile{0, 0, 0};
  auto rest = value;
  for (auto& points : tile) {
    const auto next = rest.find('x');
    points = number_of_text<std::ptrdiff_t>(word, rest.substr(0, next));
    if (next == std::string_view::npos) return tile;
    rest = rest.substr(next + 1);
  }
  throw Error(Code::invalid, std::string(k_variable) + ": " + std::string(word) + "=" + std::string(value) +
                                 ": a tile has three numbers at most, as 256x32x8");
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
    options.memory = bytes_of_text(name, value);
  else if (name == "folder")
    options.folder = value;
  else if (name == "paged")
    options.is_paged = number_of_text<unsigned>(name, value) != 0;
  else if (name == "depth")
    options.depth = number_of_text<std::ptrdiff_t>(name, value);
  else if (name == "plans")
    options.plans = value;
  else if (name == "tile")
    options.tile = tile_of_text(name, value);
  else
    throw Error(Code::invalid, std::string(k_variable) + ": there is no '" + std::string(name) +
                                   "'; there are executor, threads, tile, memory, folder, depth, paged, plans");
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
