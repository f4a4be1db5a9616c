// What an instruction takes in each phase and in each function of a program, where `--core-time` says so: patterns
// of phases' names with a time each, the first that matches deciding, and functions' names. What none of them
// names takes the machine's time. A function's time is one of the program's constant: a phase that has a time of
// its own scales it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob.hpp"
#include "core/units.hpp"

namespace terrace::observe {

// Names of what runs outside of a main loop, as phases (terrace.h).
inline constexpr std::string_view k_before_loop = "before";
inline constexpr std::string_view k_after_loop = "after";

struct CoreTimes {
  struct PhasePattern {
    std::string pattern;  // of the shell, for names (fnmatch)
    Seconds instruction;
    bool operator==(const PhasePattern&) const = default;
  };
  std::vector<PhasePattern> phases;
  // Core time of functions, by name without parameters (symbols/symbol_names.hpp).
  std::map<std::string, Seconds, std::less<>> functions{};

  [[nodiscard]] std::optional<Seconds> find(const std::string& phase) const;
  void to_blob(BlobWriter& out) const;
  static CoreTimes from_blob(BlobReader& in);
};

}  // namespace terrace::observe
