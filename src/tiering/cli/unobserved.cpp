// SPDX-License-Identifier: Apache-2.0
// Finds programs of a run that never loaded the library, by journals and by the program's ELF file, for the
// launcher's messages. See unobserved.hpp.
#include "cli/unobserved.hpp"

#include <fmt/core.h>

#include <fstream>

#include "cli/journal_folder.hpp"
#include "observe/symbols/files/symbols_writer.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

// Adds a line if an observed process started a program that cannot load the library (agent's note_unobserved()).
void add_started_program(std::vector<std::string>& lines, const fs::path& journals) {
  std::ifstream in(journals / runtime::k_unobserved);
  std::string path;
  std::string why;
  if (std::getline(in, path) && std::getline(in, why))
    lines.push_back(fmt::format("{}, which was started by the program, ran without Terrace: {}", path, why));
}

}  // namespace

const char* describe_missed_effect(const LaunchOptions& options, const runtime::Session& session) {
  return options.subcommand != "run"  ? "no profile of it is made"
         : session.spill.is_wanted()  ? "--memory has no effect on it"
         : session.intent.is_wanted() ? "--intent has no effect on it"
         : options.has_requests       ? "the options have no effect on it"
                                      : nullptr;
}

std::vector<std::string> find_unobserved_programs(const std::string& program, const char* missed,
                                                  const fs::path& journals, const ChildExit& ending) {
  std::vector<std::string> lines;
  // A process whose start-up failed has reported the reason itself.
  const bool has_tried = fs::exists(journals / (runtime::k_unmanaged + std::to_string(ending.process)));
  if (!has_journal_of(journals, ending.process) && !has_tried) {
    const auto why = missed ? observe::why_not_loaded(program) : observe::why_not_loadable(program);
    if (missed)
      lines.push_back(fmt::format("{} never loaded Terrace: {}, and {}", program,
                                  why.empty() ? "the reason is unknown" : why, missed));
    else if (!why.empty())
      lines.push_back(fmt::format("{} ran without Terrace: {}", program, why));
  }
  add_started_program(lines, journals);
  return lines;
}

ChildExit exit_of_launch(const LaunchOptions& options, const fs::path& journals, const ChildExit& program) {
  if (options.subcommand == "run" || program.status != 0) return program;
  Journals made;
  add_journals_in(made, journals);
  auto ending = program;
  if (made.empty()) ending.status = 1;
  return ending;
}

}  // namespace terrace::cli
