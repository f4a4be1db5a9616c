// What a launch says when the program has ended: one line a configuration, on standard error.
#pragma once

#include <string>

#include "profile/store/store.hpp"

namespace terrace::cli {

// `asked`: the name that was asked for. Where there was such a file, a line says which one was written instead,
// with `quiet` too; in JSON the document says it.
struct Closing {
  std::string asked;
  std::string label;
  bool quiet = false;
  bool json = false;
  std::string advice;     // what to do where no main loop was seen
  std::string over_file;  // of real memory over a file, as JSON; "": there was none. Then nobody needs accesses
};
void print_closing(const profile::MergeSummary& merged, const Closing& closing);

}  // namespace terrace::cli
