// SPDX-License-Identifier: Apache-2.0
// Declares `terrace machine check`: what Terrace can do on a system, and what prevents the rest. Each finding is
// a fact with a verdict and, unless the verdict is yes, advice.
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
std::string_view verdict_name(Verdict verdict);

// Machine-readable value: a number (sizes in bytes), a text, or a Boolean.
using Fact = std::variant<bool, std::int64_t, std::string>;

struct Finding {
  std::string subject;  // "page moves"; unique, and the same on every system
  Verdict verdict = Verdict::yes;
  std::string found;
  std::string advice;  // empty for yes
  std::vector<std::pair<std::string, Fact>> facts;
};

// Checks the system. Returns findings by descending importance. `temporary` is the folder for journals. Does not
// throw for features that the system lacks or hides: a finding reports them.
std::vector<Finding> check_system(const SystemFiles& files, SystemCalls& calls, const std::string& temporary);

// Returns a line for each finding: subject, verdict, what was found and what to do.
std::string describe(const std::vector<Finding>& findings);
// Returns a JSON object with "schema": 1.
std::string describe_json(const std::vector<Finding>& findings);

}  // namespace terrace::machine
