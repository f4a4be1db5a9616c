// What an instruction takes in each phase of a program, where `--core-time` says so: patterns of phases' names
// with a time each, the first that matches deciding. Phases that none of them matches take the machine's time.
#pragma once

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
  struct OfPhases {
    std::string pattern;  // of the shell, for names (fnmatch)
    Seconds instruction;
    bool operator==(const OfPhases&) const = default;
  };
  std::vector<OfPhases> phases;

  [[nodiscard]] std::optional<Seconds> of(const std::string& phase) const;
  [[nodiscard]] bool empty() const { return phases.empty(); }

  void to_blob(BlobWriter& out) const;
  static CoreTimes from_blob(BlobReader& in);
};

}  // namespace terrace::observe
