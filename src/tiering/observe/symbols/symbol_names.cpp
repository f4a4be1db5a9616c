// SPDX-License-Identifier: Apache-2.0
// Demangles symbols and derives the source's names, for the symbol files and the agent. See symbol_names.hpp.
#include "observe/symbols/symbol_names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace terrace::observe {

std::string readable_name(const char* symbol) {
  int status = 0;
  // The demangler takes a one-letter name for a type.
  const bool is_mangled = symbol[0] == '_' && (symbol[1] == 'Z' || (symbol[1] == '_' && symbol[2] == 'Z'));
  char* const demangled = is_mangled ? abi::__cxa_demangle(symbol, nullptr, nullptr, &status) : nullptr;
  if (!is_mangled) status = -1;
  std::string name = status == 0 && demangled ? demangled : symbol;
  std::free(demangled);
  if (status == 0) {
    int angles = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (name[i] == '<') ++angles;
      if (name[i] == '>' && angles > 0) --angles;
      if (name[i] == '(' && angles == 0 && i > 0 && name.compare(i, 11, "(anonymous ") != 0) {
        name.resize(i);
        break;
      }
    }
    return name;
  }
  // gfortran: a module variable is "__module_MOD_name", a local variable with SAVE "name.7".
  if (name.starts_with("__"))
    if (const auto at = name.find("_MOD_"); at != std::string::npos)
      return name.substr(2, at - 2) + "." + name.substr(at + 5);
  if (const auto dot = name.rfind('.'); dot != std::string::npos && dot > 0 && dot + 1 < name.size() &&
                                        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 1,
                                                    name.end(), [](unsigned char c) { return std::isdigit(c); }))
    name.resize(dot);
  return name;
}

std::string source_name(std::string_view name) {
  static constexpr std::array<std::string_view, 6> k_clones{".constprop", ".isra",     ".part",
                                                            ".cold",      ".lto_priv", ".unhooked"};
  auto end = name.size();
  for (const auto clone : k_clones) end = std::min(end, name.find(clone));
  return std::string(name.substr(0, end));
}

bool is_static_initializer(std::string_view name) {
  // gcc; both; clang. Suffixes number the variables and name the file.
  static constexpr std::array<std::string_view, 3> k_prefixes{"__static_initialization_and_destruction_",
                                                              "_GLOBAL__", "__cxx_global_var_init"};
  return std::ranges::any_of(k_prefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace terrace::observe
