// SPDX-License-Identifier: Apache-2.0
// Implements the folder of journals (the files in which processes log a run): creates it for the launcher, parses
// the journals' names, searches them, and merges them into profiles. See journal_folder.hpp.
#include "cli/journal_folder.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "cli/job_id.hpp"
#include "core/blob.hpp"
#include "core/error.hpp"
#include "core/journal.hpp"
#include "core/mpi_rank.hpp"
#include "profile/records.hpp"
#include "profile/store/store.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

// Returns the job's identifier for the profile's name: the batch system's number, the MPI job's, or else this
// process.
std::string job_id(const std::optional<MpiRank>& mpi) {
  if (auto job = find_batch_job(); !job.empty()) return job;
  if (!mpi || mpi->size == 1) return std::to_string(getpid());
  auto id =
      mpi->job.substr(mpi->job.starts_with(k_mpi_parent) ? k_mpi_parent.size() : 0);  // "prterun-node7-1268@1"
  std::ranges::replace_if(
      id, [](char c) { return c == '/' || c == '@'; }, '-');
  return id;
}

// Returns whether any journal has a record for which `is` holds, or cannot be read: merging it reports the reason.
template <class Is>
bool any_record_in(const fs::path& folder, Is is) {
  Journals journals;
  add_journals_in(journals, folder);
  for (const auto& [label, files] : journals)
    for (const auto& file : files) {
      bool any = false;
      if (!profile::visit_journal(file, [&](const JournalRecord& record) { any = any || is(record); }) || any)
        return true;
    }
  return false;
}

bool is_of(const JournalRecord& record, profile::RecordType type) {
  return static_cast<profile::RecordType>(record.type) == type;
}

// Returns the program of the MPI job's lowest rank that has called MPI: a rank may begin as a shell. Without calls,
// of the lowest rank; "" if the journals have no ranks.
std::string find_rank_program(const Journals& journals) {
  struct Rank {
    bool has_no_calls = true;
    std::int64_t number = -1;
    std::string program;
  };
  Rank first;
  for (const auto& [label, files] : journals)
    for (const auto& file : files) {
      Rank one;
      profile::visit_journal(file, [&](const JournalRecord& record) {
        if (is_of(record, profile::RecordType::mpi)) one.has_no_calls = false;
        if (!is_of(record, profile::RecordType::run)) return;
        profile::RunRecord run;
        BlobReader reader(record.payload);
        profile::decode(reader, run);
        one.number = run.rank;
        one.program = fs::path(run.program).filename().string();
      });
      if (one.number < 0) continue;
      if (first.number < 0 || std::tie(one.has_no_calls, one.number) < std::tie(first.has_no_calls, first.number))
        first = one;
    }
  return first.program;
}

bool is_of_loops(const JournalRecord& record) {
  return is_of(record, profile::RecordType::loop) || is_of(record, profile::RecordType::iteration);
}

// Iterations, plans and transfers; a loop alone gives nothing to place.
bool is_of_placing(const JournalRecord& record) {
  return is_of(record, profile::RecordType::iteration) || is_of(record, profile::RecordType::plan) ||
         is_of(record, profile::RecordType::transfers);
}

// Returns whether a record is a note that begins with `text`.
bool begins_with(const JournalRecord& record, std::string_view text) {
  if (!is_of(record, profile::RecordType::note)) return false;
  profile::NoteRecord note;
  BlobReader reader(record.payload);
  profile::decode(reader, note);
  return note.text.starts_with(text);
}

// Returns whether a record is a note, other than the usual ones of uninstrumented programs and of programs with
// regions.
bool is_note(const JournalRecord& record) {
  return is_of(record, profile::RecordType::note) && !begins_with(record, profile::k_no_access) &&
         !begins_with(record, profile::k_phases_from);
}

// Returns whether the folder of a killed launcher is removed at once: in batch and MPI jobs, after which their
// user cannot merge the journals of a node.
bool is_removed_at_once(bool keep) { return !keep && !find_node_job().empty(); }

fs::path make_folder() {
  const auto base = temporary_folder().string();
  remove_stale_folders(base);
  auto name = base + "/terrace-XXXXXX";
  if (!mkdtemp(name.data()))
    throw Error(Code::failed, errno == ENOSPC ? describe_full_folder()
                                              : "cannot make a folder in " + base +
                                                    "; set TMPDIR to a folder that you can write to");
  return name;
}

// Prints that a signal ended this launcher's rank. MPI launchers then kill the other ranks' launchers, so that
// none may be left to print the closing line of the job.
void print_lost_rank(const MpiRank& mpi, const SummaryContext::Program& program, const std::string& profile) {
  fmt::print(stderr, "terrace: rank {} of {} ({}, {}) was ended by {}; the profile goes up to there: {}\n",
             mpi.rank, mpi.size, program.name, program.process, program.signal, profile);
}

}  // namespace

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

fs::path temporary_folder() {
  const auto given = environment("TMPDIR");
  return given.empty() ? "/tmp" : given;
}

std::string describe_full_folder() {
  const auto given = environment("TMPDIR");
  return fmt::format("{} is full: Terrace needs some KiB there; set TMPDIR",
                     given.empty() ? "/tmp" : "$TMPDIR (" + given + ")");
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

JournalFolder::JournalFolder(bool keep)
    : path_(make_folder()),
      lock_(path_, is_removed_at_once(keep)),
      watcher_(path_, is_removed_at_once(keep)),
      keep_(keep) {}

JournalFolder::~JournalFolder() {
  if (keep_)
    lock_.protect_folder();
  else
    lock_.remove_folder();
}

bool JournalFolder::has_iterations_or_loops() const { return any_record_in(path_, is_of_loops); }

bool JournalFolder::has_mpi_calls() const {
  return any_record_in(path_, [](const JournalRecord& record) { return is_of(record, profile::RecordType::mpi); });
}

bool JournalFolder::has_findings() const {
  return any_record_in(path_,
                       [](const JournalRecord& record) { return is_of_placing(record) || is_note(record); });
}

bool JournalFolder::has_no_accesses() const {
  Journals journals;
  add_journals_in(journals, path_);
  for (const auto& [label, files] : journals)
    for (const auto& file : files) {
      bool is_noted = false;
      bool has_iterations = false;
      const auto look = [&](const JournalRecord& record) {
        has_iterations = has_iterations || is_of(record, profile::RecordType::iteration);
        is_noted = is_noted || begins_with(record, profile::k_no_access);
      };
      if (!profile::visit_journal(file, look) || has_iterations || !is_noted) return false;
    }
  return !journals.empty();
}

// A process has another journal after each exec; the last one counts.
std::string JournalFolder::reason_terrace_stopped() const {
  const auto how = [](const JournalRecord& record) {
    profile::EndRecord end;
    if (!is_of(record, profile::RecordType::end)) return std::string();
    BlobReader reader(record.payload);
    profile::decode(reader, end);
    return end.how == profile::k_confined || end.how == profile::k_limited ? end.how : std::string();
  };
  Journals journals;
  add_journals_in(journals, path_);
  for (const auto& [label, files] : journals) {
    std::map<std::string, std::pair<unsigned long, std::string>> last;  // by process
    for (const auto& file : files) {
      const auto stem = fs::path(file).stem();  // LABEL.PROCESS.N
      const auto number = std::strtoul(stem.extension().c_str() + 1, nullptr, 10);
      std::string why;
      profile::visit_journal(file, [&](const JournalRecord& record) {
        if (auto one = how(record); !one.empty()) why = std::move(one);
      });
      auto& known = last[stem.stem().string()];
      if (number >= known.first) known = {number, why};
    }
    for (const auto& [process, one] : last)
      if (!one.second.empty()) return one.second;
  }
  return {};
}

void JournalFolder::merge(const LaunchOptions& options, const ProfileOutputs& outputs, const fs::path& job,
                          SummaryContext context, const std::vector<std::string>& notes) {
  // Ranks that have a launcher each (`mpirun -n 4 terrace run ./app`) write one profile, and the last one reports.
  const auto mpi = read_mpi_rank();
  const auto mpi_job = mpi && mpi->size > 1 ? mpi->job : std::string();
  Journals journals;
  add_journals_in(journals, path_);
  // Around an MPI launcher (`terrace run -- mpirun -n 4 ./app`) the profile has the name that it has inside.
  const auto rank_program = mpi ? std::string() : find_rank_program(journals);
  const auto name = rank_program.empty() ? job.filename().string() : rank_program;
  const auto usual = outputs.default_folder() / (name + "." + job_id(mpi) + ".terrace");
  context.quiet = options.quiet;
  context.json = options.json;
  context.out_of_core = options.subcommand == "run" && !options.configuration.memory.empty();
  try {
    for (const auto& [label, files] : journals) {
      context.requested = outputs.of(label, usual.string());
      context.label = label;
      const auto merged = profile::merge_journals(files, context.requested, notes, mpi_job);
      // Ranks that the MPI launcher ends by SIGTERM, because another one has failed, are not reported.
      const auto& signal = context.program.signal;
      if (merged.has_first_loss && !merged.completes_job && !signal.empty() && signal != "SIGTERM" &&
          !options.quiet && !options.json)
        print_lost_rank(*mpi, context.program, merged.path);
      context.quiet = options.quiet || !merged.completes_job;
      print_run_summary(merged, context);
    }
    // Warn that an existing file is not the profile of this run.
    if (journals.empty() && outputs.of("", usual.string()).has_earlier())
      fmt::print(stderr, "terrace: {} is of an earlier run: this one made no profile\n", options.output);
    if (journals.empty() && options.json && !options.quiet && !context.extra_json.empty())
      print_json_without_profile(context.extra_json);
  } catch (const Error& error) {
    // Keep the journals: the user may merge them to another disk.
    keep_ = true;
    throw Error(error.code(),
                fmt::format("{}; the journals stay in {}; merge them with `terrace merge {} -o FILE`",
                            error.what(), path_.string(), path_.string()));
  }
  if (options.keep_journals) print_location();
}

void JournalFolder::print_location() const { fmt::print(stderr, "terrace: journals are in {}\n", path_.string()); }

}  // namespace terrace::cli
