// SPDX-License-Identifier: Apache-2.0
// Formats the closing lines of run, record, simulate, replay and merge from the profile that was just written. See
// summary.hpp.
#include "cli/summary.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/job_summary.hpp"
#include "cli/loop_summary.hpp"
#include "cli/proof_summary.hpp"
#include "profile/records.hpp"
#include "profile/store/store_database.hpp"

namespace terrace::cli {

namespace {

// Prints warnings on phases of --phases and of the plan that no process of the job entered.
void print_phases_not_entered(const std::string& path) {
  profile::Database database(path, profile::Database::Mode::read);
  profile::Statement query(
      database,
      "SELECT text FROM note WHERE severity = 'warning' AND (text LIKE '--phases: %' OR text LIKE 'plan: %')"
      " GROUP BY text HAVING COUNT(DISTINCT run) = (SELECT COUNT(*) FROM run) ORDER BY MIN(rowid)");
  query.bind_all();
  while (query.step()) fmt::print(stderr, "terrace: warning: {}\n", query.text(0));
}

// Returns a note of the process that begins with `begins`; "" if there is none.
std::string find_note(const std::string& path, std::int64_t run, const std::string& begins) {
  profile::Database database(path, profile::Database::Mode::read);
  profile::Statement query(database, "SELECT text FROM note WHERE run = ? AND text LIKE ? || '%' LIMIT 1");
  query.bind_all(run, begins);
  return query.step() ? query.text(0) : std::string();
}

// Returns the loop that was selected but takes too small a share of the run to be the main loop; "" if there is
// none.
std::string find_small_loop(const std::string& path, std::int64_t run) {
  profile::Database database(path, profile::Database::Mode::read);
  profile::Statement query(
      database,
      "SELECT name FROM loop_time WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM main_loop WHERE"
      " main_loop.run = ?1) ORDER BY time DESC LIMIT 1");
  query.bind_all(run);
  return query.step() ? query.text(0) : std::string();
}

// Explains why there is no main loop. Adds the advice only for a program that exited; other lines report --phases
// that were not entered, and processes that did not end.
std::string explain_missing_loop(const LoopSummary& loop, const std::string& path, bool is_whole,
                                 const std::string& advice) {
  const std::string no_access(profile::k_no_access);
  if (auto hooks = find_note(path, loop.run, no_access); !hooks.empty()) return hooks;
  const std::string k_none = "no main loop was seen";
  const std::string k_found = "no main loop was found";
  if (const auto seen = find_note(path, loop.run, k_found); !seen.empty())
    return k_none + seen.substr(k_found.size());
  if (const auto small = find_small_loop(path, loop.run); !small.empty())
    return fmt::format("{}: {} took less than 40 % of the time since it began; --loop {} takes it", k_none, small,
                       small);
  if (!is_whole || advice.empty() || !find_note(path, loop.run, "--phases: ").empty()) return k_none;
  return fmt::format("{} ({})", k_none, advice);
}

// Warns if much time or heap belongs to uninstrumented code; thresholds and terms as in `terrace show`.
void print_coverage(const LoopSummary& loop, const std::string& path) {
  constexpr double k_much = 0.1;
  constexpr double k_little = 1 << 20;
  const auto warn = [&](double share, const char* of) {
    fmt::print(stderr, "terrace: warning: {:.0f} % of the {} uninstrumented code; terrace show {} says more\n",
               100 * share, of, path);
  };
  if (loop.time_at_least > k_much) warn(loop.time_share, "time was spent in");
  if (loop.heap_share > k_much && loop.heap_uncovered > k_little && loop.iterations > 0)
    warn(loop.heap_share, "heap was used only by");
}

// File traffic of a process in virtual time, with out-of-core memory.
struct FileTraffic {
  std::uint64_t max_data = 0, limit = 0, read = 0, written = 0, min_read = 0, min_written = 0, kernel_paged = 0;
  double waited = 0, min_device_time = 0, predicted = 0, measured = 0;
};

std::optional<FileTraffic> read_file_traffic(const std::string& path, std::int64_t run) {
  profile::Database database(path, profile::Database::Mode::read);
  profile::Statement query(
      database,
      "SELECT most, (SELECT MAX(room) FROM spill WHERE run = ?1), bytes_read, bytes_written, least_read,"
      " least_written, given, waited, least_time, predicted, measured FROM spill WHERE run = ?1 ORDER BY position "
      "DESC LIMIT 1");
  query.bind_all(run);
  if (!query.step()) return {};
  FileTraffic in;
  auto column = 0;
  for (auto* const value :
       {&in.max_data, &in.limit, &in.read, &in.written, &in.min_read, &in.min_written, &in.kernel_paged})
    *value = static_cast<std::uint64_t>(query.integer(column++));
  for (auto* const value : {&in.waited, &in.min_device_time, &in.predicted, &in.measured})
    *value = query.real(column++);
  return in;
}

// Prints the line on simulated out-of-core memory.
void print_file_traffic(const FileTraffic& in, const std::string& name) {
  const auto bytes = [](std::uint64_t value) { return format(Bytes{value}); };
  if (in.read == 0 && in.written == 0 && in.kernel_paged == 0) {
    fmt::print(stderr, "terrace: {}all of its data fitted into {} of memory: {}\n", name, bytes(in.limit),
               bytes(in.max_data));
    return;
  }
  auto line = fmt::format(
      "{} of data in {} of memory: read {} and wrote {} (any schedule: at least {} and {}, {} of the "
      "device); the program waited {} for it",
      bytes(in.max_data), bytes(in.limit), bytes(in.read), bytes(in.written), bytes(in.min_read),
      bytes(in.min_written), format(Seconds{in.min_device_time}), format(Seconds{in.waited}));
  if (in.measured > 0)
    line += fmt::format("; {} of its time were predicted to take {}", format(Seconds{in.measured}),
                        format(Seconds{in.predicted}));
  if (in.kernel_paged > 0)
    line += fmt::format("; blocks of {} were used in no order or in small parts, and handed over to kernel paging",
                        bytes(in.kernel_paged));
  fmt::print(stderr, "terrace: {}{}\n", name, line);
}

// Warns that a simulation used the machine's core time instead of one calibrated for the program.
void print_core_time(const LoopSummary& loop, const std::string& name) {
  if (loop.backend != "virtual" || loop.core_time_fitted) return;
  fmt::print(
      stderr,
      "terrace: {}compute uncalibrated: core time is the machine's {} an instruction, not the program's{}\n", name,
      format(Seconds{loop.instruction_time}),
      loop.core_time_from.empty() ? "; to calibrate it, record or simulate again with --native FILE, the "
                                    "uninstrumented build of the program"
                                  : "");
}

// Returns whether the process's loop consists of time intervals, because no phases were observed.
bool has_interval_loop(const std::string& path, std::int64_t run) {
  profile::Database database(path, profile::Database::Mode::read);
  profile::Statement query(database, "SELECT 1 FROM loop WHERE run = ? AND name = '(intervals)' LIMIT 1");
  query.bind_all(run);
  return query.step();
}

// Warns if nothing can be learned of the loop, or if iterations took longer than the plan predicts without it.
void print_warnings(const LoopSummary& loop, const std::string& path, bool is_proven) {
  if (loop.iterations == 0) return;
  const bool obeyed = loop.planner == "plan";
  if (const auto hooks = find_note(path, loop.run, std::string(profile::k_no_access));
      !hooks.empty() && hooks != profile::k_no_access_needed)
    fmt::print(stderr, "terrace: warning: {}\n", hooks);
  if (!obeyed || loop.backend != "real" || is_proven) return;
  profile::Database database(path, profile::Database::Mode::read);
  profile::Statement query(
      database, "SELECT predicted, predicted_slow FROM plan WHERE run = ? AND predicted > 0 ORDER BY id LIMIT 1");
  query.bind_all(loop.run);
  if (!query.step()) return;
  const auto took = loop.loop / static_cast<double>(loop.iterations);
  if (took > query.real(1))
    fmt::print(stderr,
               "terrace: warning: an iteration took {}; the plan predicts {}, and {} with nothing in fast memory: "
               "compare with a run without it\n",
               format(Seconds{took}), format(Seconds{query.real(0)}), format(Seconds{query.real(1)}));
}

// Formats the loop's iterations with their mean time. `counts_all`: first says how many the program had.
std::string format_iterations(const LoopSummary& loop, bool counts_all = false) {
  auto text = fmt::format("{} iteration{}", loop.iterations, loop.iterations == 1 ? "" : "s");
  if (counts_all && loop.before > 0)
    text = fmt::format("{}{} iterations, {} of them", loop.is_estimate ? "about " : "",
                       loop.before + loop.iterations, loop.iterations);
  text += fmt::format(" in {} of {} time", format(Seconds{loop.loop}), loop.backend);
  if (loop.iterations != 1)
    text += fmt::format(", {} each", format(Seconds{loop.loop / static_cast<double>(loop.iterations)}));
  return text + fmt::format(" ({})", loop.planner);
}

// Formats iterations and moves, or why there were no moves.
std::string format_work(const LoopSummary& loop, const std::string& path, const SummaryContext& context) {
  const auto text = format_iterations(loop);
  if (loop.moves == 0 && loop.backend == "real" && context.mover != SummaryContext::Mover::none)
    return text + "; nothing moved: " +
           (context.mover == SummaryContext::Mover::one_kind
                ? "there is one kind of memory here"
                : reason_for_no_moves(path, loop.run, context.fastest));
  return text + fmt::format(", {} moves of {}", loop.moves, format(Bytes{static_cast<std::uint64_t>(loop.moved)}));
}

// Returns a clause on the signal that killed the program; "" if it exited.
std::string format_kill(const SummaryContext::Program& program) {
  return program.signal.empty() ? std::string() : fmt::format("{} was ended by {}", program.name, program.signal);
}

// Prints the notes of the merge. Rewords the one on a missing end if a signal killed the program.
void print_notes(const profile::MergeSummary& merged, const SummaryContext& context) {
  const auto ended = format_kill(context.program);
  const auto own = fmt::format("process {} ", context.program.process);
  for (const auto& note : merged.notes) {
    const bool is_its_end =
        !ended.empty() && note.starts_with(own) && note.find(profile::k_no_end) != std::string::npos;
    fmt::print(stderr, "terrace: {}\n", is_its_end ? ended + "; the profile goes up to there" : note);
  }
}

// Prints one line for all processes of a real run.
void print_job(const JobSummary& job, const LoopSummary& loop, const profile::MergeSummary& merged,
               const SummaryContext& context, const std::string& name) {
  auto text = format_gain(job);
  if (loop.iterations > 0) {
    const bool tells_moves = job.moves > 0 || text.empty();
    if (!text.empty()) text += "; ";
    text += format_iterations(loop, job.ranks > 0);
    if (job.moves == 0 && job.proven == 0 && context.mover == SummaryContext::Mover::planner)
      text += "; nothing moved: " + reason_for_no_moves(merged.path, loop.run, context.fastest);
    else if (tells_moves)
      text += fmt::format(", {} moves of {}", job.moves, format(Bytes{static_cast<std::uint64_t>(job.moved)}));
    if (job.proven == 0 && job.moves > 0 && has_interval_loop(merged.path, loop.run))
      text += "; terrace compare measures whether that gained";
  } else {
    text += explain_missing_loop(loop, merged.path, format_kill(context.program).empty() && job.unfinished.empty(),
                                 context.advice);
  }
  for (const auto& end : {format_kill(context.program), format_unfinished(job, context.program.process)})
    if (!end.empty()) text += "; " + end;
  const auto of = job.ranks > 0 ? fmt::format("{} {}", job.ranks, job.ranks == 1 ? "rank" : "ranks")
                                : fmt::format("{} processes", job.processes);
  fmt::print(stderr, "terrace: {}{}: {}; profile in {}\n", name, of, text, merged.path);
}

// Prints where the profile is, unless the user named it. Out-of-core runs have printed their own line.
void print_profile(const profile::MergeSummary& merged, const SummaryContext& context) {
  if (!context.requested.is_requested()) fmt::print(stderr, "terrace: profile in {}\n", merged.path);
  if (merged.processes == 1) print_notes(merged, context);
}

// Prints the lines, or the JSON document, of one profile.
void print_summary(const profile::MergeSummary& merged, const SummaryContext& context) {
  const auto loop = read_longest_loop(merged.path);
  const auto spilled = read_file_traffic(merged.path, loop.run);
  const auto proof = read_proof(merged.path, loop.run);
  const auto job = read_job_summary(merged.path);
  if (context.json) {
    nlohmann::ordered_json line = {{"schema", 1},
                                   {"file", merged.path},
                                   {"label", context.label},
                                   {"planner", loop.planner},
                                   {"backend", loop.backend},
                                   {"processes", merged.processes},
                                   {"incomplete", merged.incomplete},
                                   {"loop_s", loop.loop},
                                   {"iterations", loop.iterations},
                                   {"iterations_before", loop.before},
                                   {"observed", loop.observed},
                                   {"moves", loop.moves},
                                   {"moved_bytes", loop.moved},
                                   {"time_share_without_hooks", loop.time_share},
                                   {"heap_share_uncovered", loop.heap_share}};
    if (merged.path != context.requested.path()) line["exists"] = context.requested.path();
    if (loop.backend == "virtual") {
      auto& core_time = line["core_time"];
      core_time = {{"instruction_s", loop.instruction_time}, {"calibrated", loop.core_time_fitted}};
      if (!loop.core_time_from.empty()) core_time["from"] = loop.core_time_from;
      for (const auto& [phase, time] : loop.core_times) core_time["phases"][phase] = time;
    }
    if (job) line["job"] = nlohmann::ordered_json::parse(json_of(*job));
    if (proof) line["proof"] = nlohmann::ordered_json::parse(json_of(*proof));
    if (spilled)
      line["over_file"] = {{"limited", true},
                           {"data_bytes", spilled->max_data},
                           {"memory_bytes", spilled->limit},
                           {"read_bytes", spilled->read},
                           {"written_bytes", spilled->written},
                           {"least_read_bytes", spilled->min_read},
                           {"least_written_bytes", spilled->min_written},
                           {"least_s", spilled->min_device_time},
                           {"threads_waited_s", spilled->waited},
                           {"predicted_s", spilled->predicted},
                           {"measured_s", spilled->measured},
                           {"given_bytes", spilled->kernel_paged}};
    if (!context.extra_json.empty()) line.update(nlohmann::ordered_json::parse(context.extra_json));
    fmt::print(stderr, "{}\n", line.dump());
    return;
  }
  const auto name = context.label.empty() ? std::string() : context.label + ": ";
  if (job || context.out_of_core) {
    if (job && !context.out_of_core)
      print_job(*job, loop, merged, context, name);
    else
      print_profile(merged, context);
    print_phases_not_entered(merged.path);
    return;
  }
  const bool proves = proof && loop.backend == "real";
  if (loop.iterations > 0)
    fmt::print(stderr, "terrace: {}{}{}; profile in {}\n", name, proves ? format_proof(*proof) + "; " : "",
               format_work(loop, merged.path, context), merged.path);
  else
    fmt::print(stderr, "terrace: {}{}; profile in {}\n", name,
               explain_missing_loop(loop, merged.path, merged.incomplete == 0, context.advice), merged.path);
  if (proof && !proves)
    fmt::print(stderr, "terrace: {}{}\n", name, format_proof(*proof));
  else if (!proof && loop.backend == "real" && loop.moves > 0 && has_interval_loop(merged.path, loop.run))
    fmt::print(stderr,
               "terrace: {}whether that gained is not known: its loop is intervals of time, as neither marks nor "
               "functions' entries were seen; terrace compare measures it\n",
               name);
  if (spilled) print_file_traffic(*spilled, name);
  print_warnings(loop, merged.path, proof && proof->gained().has_value());
  if (loop.observed < loop.iterations)
    fmt::print(stderr, "terrace: observed {} of {} iterations; the others count as the last one observed\n",
               loop.observed, loop.iterations);
  print_phases_not_entered(merged.path);
  print_coverage(loop, merged.path);
  print_core_time(loop, name);
  print_notes(merged, context);
}

}  // namespace

void print_json_without_profile(const std::string& extra_json) {
  nlohmann::ordered_json document = {{"schema", 1}, {"file", nullptr}};
  if (!extra_json.empty()) document.update(nlohmann::ordered_json::parse(extra_json));
  fmt::print(stderr, "{}\n", document.dump());
}

void print_run_summary(const profile::MergeSummary& merged, const SummaryContext& context) {
  if (!context.quiet) print_summary(merged, context);
  if (merged.path != context.requested.path() && (context.quiet || !context.json))
    fmt::print(stderr, "terrace: {} {}: wrote {}\n", context.requested.path(),
               context.requested.is_requested() ? "was written by another launch meanwhile" : "exists",
               merged.path);
}

}  // namespace terrace::cli
