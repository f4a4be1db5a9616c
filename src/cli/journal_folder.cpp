// The life of a job's journals. See journal_folder.hpp.
#include "cli/journal_folder.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "cli/journals.hpp"
#include "cli/summary.hpp"
#include "core/error.hpp"
#include "profile/store/store.hpp"
#include "profile/store/store_database.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

// What tells this job from others: the batch system's number where there is one.
std::string job_id() {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"})
    if (auto id = environment(name); !id.empty()) return id;
  return std::to_string(getpid());
}

fs::path make_folder() {
  const auto base = environment("TMPDIR").empty() ? std::string("/tmp") : environment("TMPDIR");
  remove_stale_folders(base);
  auto name = base + "/terrace-XXXXXX";
  if (!mkdtemp(name.data())) throw Error(Code::failed, "cannot make a folder in " + base + "; set TMPDIR");
  return name;
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

JournalFolder::JournalFolder(bool keep) : path_(make_folder()), claim_(path_), keep_(keep) {}

JournalFolder::~JournalFolder() {
  std::error_code ignored;
  if (keep_)
    claim_.give_up();
  else
    fs::remove_all(path_, ignored);
}

bool JournalFolder::has_content() const {
  Journals journals;
  add_journals_in(journals, path_);
  for (const auto& [label, files] : journals) {
    const auto merged = profile::merge_journals(files, (path_ / ("content" + label)).string());
    profile::Database database(merged.path, profile::Database::Mode::read);
    fs::remove(merged.path);
    profile::Statement query(database,
                             "SELECT EXISTS(SELECT 1 FROM iteration) OR EXISTS(SELECT 1 FROM loop)"
                             " OR EXISTS(SELECT 1 FROM loop_time)");
    query.bind_all();
    if (query.step() && query.integer(0) != 0) return true;
  }
  return false;
}

void JournalFolder::merge(const LaunchOptions& options, const fs::path& job, const std::string& advice,
                          const std::string& account) {
  const auto output =
      options.output.empty() ? job.filename().string() + "." + job_id() + ".terrace" : options.output;
  const bool over_file = options.verb == "run" && !options.configuration.memory.empty();
  Journals journals;
  add_journals_in(journals, path_);
  try {
    for (const auto& [label, files] : journals) {
      const auto asked = output_of_configuration(output, label);
      print_closing(profile::merge_journals(files, asked),
                    {asked, label, options.quiet, options.json, advice, over_file, account});
    }
    if (journals.empty() && options.json && !options.quiet && !account.empty()) print_account(account);
  } catch (const Error& error) {
    // Nothing is lost: there may be room elsewhere.
    keep_ = true;
    throw Error(error.code(), fmt::format("{}; the journals stay in {}: terrace merge {} -o FILE", error.what(),
                                          path_.string(), path_.string()));
  }
  if (options.keep_journals) tell_where();
}

void JournalFolder::tell_where() const { fmt::print(stderr, "terrace: journals are in {}\n", path_.string()); }

}  // namespace terrace::cli
