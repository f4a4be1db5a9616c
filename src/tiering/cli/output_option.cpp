// SPDX-License-Identifier: Apache-2.0
// Checks --output of run, record, simulate, replay and merge, and names the profile of each configuration (one, or
// each of --config) by its label. See output_option.hpp.
#include "cli/output_option.hpp"

#include <fmt/format.h>

#include "cli/file_option.hpp"
#include "cli/journal_folder.hpp"
#include "core/error.hpp"

namespace terrace::cli {

ProfileOutputs::ProfileOutputs(const std::string& output, const std::vector<std::string>& labels) {
  default_folder_ = environment("TERRACE_PROFILES");
  if (output.empty()) {
    if (const auto why = why_not_writable(default_folder_.empty() ? "." : default_folder_); !why.empty()) {
      default_folder_ = temporary_folder();
      sentence_ = fmt::format("{}: the profile goes to {}", why, default_folder_.string());
    }
    return;
  }
  check_output_file("--output", output);
  try {
    for (const auto& label : labels)
      given_.emplace(label, profile::StoreName::requested(output_of_configuration(output, label)));
  } catch (const Error& error) {
    throw Error(error.code(), std::string("--output ") + error.what());
  }
}

profile::StoreName ProfileOutputs::of(const std::string& label, const std::string& otherwise) const {
  const auto at = given_.find(label);
  if (at != given_.end()) return at->second;
  return profile::StoreName::next_free(output_of_configuration(otherwise, label));
}

}  // namespace terrace::cli
