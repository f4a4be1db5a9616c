// SPDX-License-Identifier: Apache-2.0
// Implements `terrace merge FOLDER|JOURNAL... -o OUT`, which writes the profile of a run whose launcher was
// killed. Dispatched by main(). See subcommands.hpp.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "cli/journal_folder.hpp"
#include "cli/output_option.hpp"
#include "cli/parse.hpp"
#include "cli/subcommands.hpp"
#include "cli/summary.hpp"
#include "core/error.hpp"
#include "core/journal.hpp"
#include "profile/store/store.hpp"

namespace terrace::cli {

namespace {

// Throws Error{invalid} unless the file is a journal. A journal whose process wrote nothing is empty, or all
// zeros.
void check_is_journal(const std::string& path) {
  std::array<char, 8> head{};
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), head.size());
  const bool is_empty = std::ranges::all_of(head, [](char c) { return c == 0; });
  if (!is_empty && !has_journal_magic(std::as_bytes(std::span(head))))
    throw Error(Code::invalid,
                path + " is not a journal; name a *.journal, or the folder terrace-* that a launch left");
}

// Returns the journals that the arguments (folders or files) name, by label. Throws Error.
Journals find_journals(const std::vector<std::string>& given) {
  namespace fs = std::filesystem;
  Journals journals;
  for (const auto& path : given) {
    std::error_code ignored;
    if (!fs::exists(path, ignored))
      throw Error(Code::invalid,
                  path + ": there is no such file or folder; name a *.journal, or a folder terrace-* in $TMPDIR");
    if (!fs::is_directory(path, ignored)) {
      check_is_journal(path);
      add_journal(journals, path);
      continue;
    }
    Journals here;
    add_journals_in(here, path);
    if (here.empty())
      throw Error(Code::not_found,
                  path + ": there are no journals (*.journal) in this folder; name a folder terrace-* in $TMPDIR");
    for (const auto& [label, files] : here)
      for (const auto& file : files) add_journal(journals, file);
  }
  return journals;
}

}  // namespace

int run_merge(int argc, char** argv) {
  CLI::App app("write the profile of a run whose launcher was killed", "terrace merge");
  std::vector<std::string> given;
  std::string output;
  bool json = false;
  bool quiet = false;
  app.footer(
      "Example:\n"
      "  terrace merge /tmp/terrace-x7Qd2k -o app.terrace\n"
      "Journals of a killed launcher are in $TMPDIR/terrace-*, and are removed a week after their last change.\n"
      "Each labelled configuration gets a profile of its own.");
  app.add_option("journals", given, "folder with journals, or journals")->required()->type_name("FOLDER|JOURNAL");
  app.add_option("--output,-o", output, "profile to write")->required()->type_name("FILE");
  app.add_flag("--json", json, "print the summary as JSON on standard error");
  app.add_flag("--quiet,-q", quiet, "print no summary");
  if (!parse_arguments(app, "merge", argc, argv)) return 0;
  const auto found = find_journals(given);
  std::vector<std::string> labels;
  labels.reserve(found.size());
  for (const auto& [label, journals] : found) labels.push_back(label);
  const ProfileOutputs outputs(output, labels);
  for (const auto& [label, journals] : found) {
    SummaryContext context;
    context.requested = outputs.of(label, output);
    context.label = label;
    context.quiet = quiet;
    context.json = json;
    print_run_summary(profile::merge_journals(journals, context.requested), context);
  }
  return 0;
}

}  // namespace terrace::cli
