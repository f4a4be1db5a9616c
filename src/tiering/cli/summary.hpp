// SPDX-License-Identifier: Apache-2.0
// Prints what run, record, simulate, replay and merge report when a profile is written: one line for each
// configuration, on standard error.
#pragma once

#include <string>

#include "profile/store/store.hpp"

namespace terrace::cli {

// Facts about a launch that the profile does not have.
struct SummaryContext {
  // Whether data could move: no planner, or one that places data at allocation only; a single kind of memory; a
  // planner that learns.
  enum class Mover : std::uint8_t { none, one_kind, planner };

  // Requested name of the profile. If another name was written instead, a line names it, even if `quiet`; with
  // `json` the document does.
  profile::StoreName requested;
  std::string label;
  bool quiet = false;
  bool json = false;
  // The launched program, and the signal that killed it; "": it exited.
  struct Program {
    std::int64_t process = -1;
    std::string name, signal;
  } program{};
  Mover mover = Mover::none;
  std::string fastest;       // name of the fastest place
  std::string advice;        // what to do if no main loop was found
  bool out_of_core = false;  // real memory was backed by a file: no accesses are needed
  std::string extra_json;    // members added to the JSON document, as an object; "": none
};

// Prints the summary of a merged profile.
void print_run_summary(const profile::MergeSummary& merged, const SummaryContext& context);

// Prints the JSON document of a launch without a profile. `extra_json`: as in SummaryContext.
void print_json_without_profile(const std::string& extra_json);

}  // namespace terrace::cli
