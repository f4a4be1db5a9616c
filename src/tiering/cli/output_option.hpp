// SPDX-License-Identifier: Apache-2.0
// Implements --output of run, record, simulate, replay and merge: checks before the run, which may take hours,
// that profiles can be written, and names them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "profile/store/store_name.hpp"

namespace terrace::cli {

// Holds the names of a launch's profiles, one for each configuration: a configuration of --config has a label
// ("label=a"), which its profile's name includes; the only one without --config has the label "".
class ProfileOutputs {
 public:
  // Checks the names against existing files. Throws Error{invalid} if a file cannot be created, is a folder, or
  // exists and is not a profile. `output`: "" without the option.
  ProfileOutputs(const std::string& output, const std::vector<std::string>& labels);
  // Returns the name for a label; without --output, `otherwise` or the next free name after it.
  [[nodiscard]] profile::StoreName of(const std::string& label, const std::string& otherwise) const;
  // Returns the folder of profiles without a name: TERRACE_PROFILES, else "" for the current one; $TMPDIR if no
  // file can be created there. sentence() says so in that case, and is "" otherwise.
  [[nodiscard]] const std::filesystem::path& default_folder() const { return default_folder_; }
  [[nodiscard]] const std::string& sentence() const { return sentence_; }

 private:
  std::map<std::string, profile::StoreName> given_;  // by label
  std::filesystem::path default_folder_;
  std::string sentence_;  // "" if default_folder() is writable
};

}  // namespace terrace::cli
