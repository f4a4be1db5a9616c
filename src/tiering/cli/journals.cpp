// SPDX-License-Identifier: Apache-2.0
// Parses the names of journals. See journals.hpp.
#include "cli/journals.hpp"

#include <algorithm>

namespace terrace::cli {

namespace fs = std::filesystem;

void add_journal(Journals& journals, const fs::path& file) {
  const auto name = file.filename().string();
  const auto label = name.substr(0, name.find('.'));
  auto& files = journals[label == "-" ? "" : label];
  const auto path = file.string();
  if (const auto at = std::lower_bound(files.begin(), files.end(), path); at == files.end() || *at != path)
    files.insert(at, path);
}

void add_journals_in(Journals& journals, const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".journal") add_journal(journals, entry.path());
}

bool has_journal_of(const fs::path& folder, int process) {
  Journals journals;
  add_journals_in(journals, folder);
  const auto part = "." + std::to_string(process) + ".";
  for (const auto& [label, files] : journals)
    for (const auto& file : files)
      if (fs::path(file).filename().string().find(part) != std::string::npos) return true;
  return false;
}

std::string output_of_configuration(const std::string& output, const std::string& label) {
  if (label.empty()) return output;
  const std::string ending = ".terrace";
  const auto stem = output.ends_with(ending) ? output.substr(0, output.size() - ending.size()) : output;
  return stem + "." + label + ending;
}

}  // namespace terrace::cli
