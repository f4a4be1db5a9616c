// Journals by the configuration that they are of, and the profile that each configuration gets.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace terrace::cli {

// Sorted paths by label. A journal is named LABEL.PROCESS.N.journal ("-" for no label).
using Journals = std::map<std::string, std::vector<std::string>>;

void add_journal(Journals& journals, const std::filesystem::path& file);
// Every journal that is in the folder itself.
void add_journals_in(Journals& journals, const std::filesystem::path& folder);
// Whether a process has begun one there.
bool has_journal_of(const std::filesystem::path& folder, int process);

// "out.terrace", "out.LABEL.terrace".
std::string output_of_configuration(const std::string& output, const std::string& label);

}  // namespace terrace::cli
