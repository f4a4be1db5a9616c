// `terrace machine check`: what Terrace can do on a system, and what stands in the way. Each finding is a fact
// with a verdict and, where the verdict is not yes, what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "machine/discover/system_calls.hpp"
#include "machine/discover/system_files.hpp"

namespace terrace::machine {

enum class Verdict { yes, limited, no };
std::string_view name(Verdict verdict);

// A number (bytes where it is a size), a text, or a truth, for programs.
using Fact = std::variant<bool, std::int64_t, std::string>;

struct Finding {
  std::string subject;  // "page moves"; each once, and the same on every system
  Verdict verdict = Verdict::yes;
  std::string found;
  std::string advice;  // empty for yes
  std::vector<std::pair<std::string, Fact>> facts;
};

// In the order of their weight for Terrace. `temporary` is the folder that journals are written to. Never throws
// for what the system lacks or hides: that is what a finding says.
std::vector<Finding> check_system(const SystemFiles& files, SystemCalls& calls, const std::string& temporary);

// A line for each finding: subject, verdict, what was found and what to do.
std::string describe(const std::vector<Finding>& findings);
// One object with "schema": 1.
std::string describe_json(const std::vector<Finding>& findings);

}  // namespace terrace::machine
