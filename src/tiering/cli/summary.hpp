// What a launch says when the program has ended: one line a configuration, on standard error.
#pragma once

#include <string>

#include "profile/store/store.hpp"

namespace terrace::cli {

// `asked`: the name that was asked for. Where another was written instead a line says which, with `quiet` too; in
// JSON the document says it.
struct SummaryContext {
  // Who was to move data: nobody, or somebody whose choice is made when memory is; nobody, as there is one kind of
  // memory; a planner that learns.
  enum class Mover : std::uint8_t { nobody, one_kind, planner };

  profile::StoreName asked;
  std::string label;
  bool quiet = false;
  bool json = false;
  // The program that was launched, and by which signal it was ended; "" where it ended by itself.
  struct Program {
    std::int64_t process = -1;
    std::string name, signal;
  } program{};
  Mover mover = Mover::nobody;
  std::string fastest;     // the place that data goes to first
  std::string advice;      // what to do where no main loop was seen
  bool over_file = false;  // real memory was over a file: nobody needs accesses
  std::string account;     // what the document has beside the profile's, a JSON object; "": nothing
};
void print_run_summary(const profile::MergeSummary& merged, const SummaryContext& context);

// The document where there is no profile. `account`: a JSON object; "": nothing.
void print_json_without_profile(const std::string& account);

}  // namespace terrace::cli
