// What a launch says when the program has ended: one line a configuration, on standard error.
#pragma once

#include <string>

#include "profile/store/store.hpp"

namespace terrace::cli {

void print_summary(const profile::MergeSummary& merged, const std::string& label, bool json);

}  // namespace terrace::cli
