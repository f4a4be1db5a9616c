// SPDX-License-Identifier: Apache-2.0
// Groups journal files by configuration, and names the profile of each configuration.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace terrace::cli {

// Sorted paths by label. A journal's name is LABEL.PROCESS.N.journal ("-": no label).
using Journals = std::map<std::string, std::vector<std::string>>;

// Adds a file under its label.
void add_journal(Journals& journals, const std::filesystem::path& file);
// Adds all journals in the folder, not in folders below it.
void add_journals_in(Journals& journals, const std::filesystem::path& folder);
// Returns whether the folder has a journal of a process.
bool has_journal_of(const std::filesystem::path& folder, int process);

// Returns the profile of a configuration: "out.terrace" for no label, else "out.LABEL.terrace".
std::string output_of_configuration(const std::string& output, const std::string& label);

}  // namespace terrace::cli
