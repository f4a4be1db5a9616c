// See output_option.hpp.
#include "cli/output_option.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/journals.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

void check_folder(const std::string& output) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid, "--output " + output + ": " + why);
  };
  std::error_code ignored;
  if (fs::is_directory(output, ignored) || output.ends_with('/')) refuse("it is a folder; name a file in it");
  const auto parent = fs::path(output).parent_path();
  const auto folder = parent.empty() ? fs::path(".") : parent;
  if (!fs::is_directory(folder, ignored)) refuse("there is no folder " + folder.string());
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse("no file can be made in " + folder.string() + ": " + std::strerror(errno));
}

}  // namespace

Outputs::Outputs(const std::string& output, const std::vector<std::string>& labels) {
  if (output.empty()) return;
  check_folder(output);
  try {
    for (const auto& label : labels)
      given_.emplace(label, profile::StoreName::given(output_of_configuration(output, label)));
  } catch (const Error& error) {
    throw Error(error.code(), std::string("--output ") + error.what());
  }
}

profile::StoreName Outputs::of(const std::string& label, const std::string& otherwise) const {
  const auto at = given_.find(label);
  if (at != given_.end()) return at->second;
  return profile::StoreName::next_free(output_of_configuration(otherwise, label));
}

}  // namespace terrace::cli
