// SPDX-License-Identifier: Apache-2.0
// Holds the instruction times that `--core-time` sets for phases and functions of a program: patterns of phase
// names with a time each, of which the first match applies, and names of functions. The default is the machine's
// time. A function's time is relative to the program's: a phase with a time of its own scales it.
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

// Names of the phases before and after a main loop (terrace.h).
inline constexpr std::string_view k_before_loop = "before";
inline constexpr std::string_view k_after_loop = "after";

struct CoreTimes {
  struct PhasePattern {
    std::string pattern;  // of phase names, as in fnmatch(3)
    Seconds instruction;
    bool operator==(const PhasePattern&) const = default;
  };
  std::vector<PhasePattern> phases;
  // Instruction times of functions, by name without parameters (symbols/symbol_names.hpp).
  std::map<std::string, Seconds, std::less<>> functions{};

  // Returns the instruction time of a phase; nothing where no pattern matches.
  [[nodiscard]] std::optional<Seconds> find(const std::string& phase) const;
  void to_blob(BlobWriter& out) const;
  static CoreTimes from_blob(BlobReader& in);
};

}  // namespace terrace::observe
