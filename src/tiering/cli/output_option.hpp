// --output: found out before the run whether the profile can be written there, as the run may take hours. And
// where profiles go without it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "profile/store/store_name.hpp"

namespace terrace::cli {

// The names of the profiles that --output gives: one for each label of a configuration.
class ProfileOutputs {
 public:
  // Looks at what is there now. Throws Error{invalid} where a file of such a name cannot be made, is a folder, or
  // is there and no profile. `output`: "" where there is no such option.
  ProfileOutputs(const std::string& output, const std::vector<std::string>& labels);
  // Without the option, `otherwise`, or the next free name after it.
  [[nodiscard]] profile::StoreName of(const std::string& label, const std::string& otherwise) const;
  // For profiles without a name: the one that TERRACE_PROFILES names, or this one; $TMPDIR where no file could be
  // made there, and then the sentence says so.
  [[nodiscard]] const std::filesystem::path& default_folder() const { return usual_; }
  [[nodiscard]] const std::string& sentence() const { return sentence_; }

 private:
  std::map<std::string, profile::StoreName> given_;  // by label
  std::filesystem::path usual_;
  std::string sentence_;  // "" where that is as usual
};

}  // namespace terrace::cli
