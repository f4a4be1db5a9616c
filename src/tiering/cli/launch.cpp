// SPDX-License-Identifier: Apache-2.0
// Runs the steps of `terrace run`, `record` and `simulate`: journal folder, session, program, merge, summary. See
// launch.hpp.
#include "cli/launch.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/calibration.hpp"
#include "cli/dry_run.hpp"
#include "cli/gauges.hpp"
#include "cli/intent.hpp"
#include "cli/job_ledgers.hpp"
#include "cli/journal_folder.hpp"
#include "cli/loop_service.hpp"
#include "cli/mpi_programs.hpp"
#include "cli/output_option.hpp"
#include "cli/program_environment.hpp"
#include "cli/session_builder.hpp"
#include "cli/slurm_record.hpp"
#include "cli/spill_summary.hpp"
#include "cli/summary.hpp"
#include "cli/unobserved.hpp"
#include "core/error.hpp"
#include "core/mpi_rank.hpp"
#include "observe/symbols/files/symbols_writer.hpp"
#include "observe/symbols/symbols.hpp"
#include "runtime/session/profile_source.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

// Returns whether a program of the command calls hooks or markers.
bool is_made_for_terrace(const runtime::Session& session) {
  observe::SymbolTable table;
  for (const auto& file : session.symbol_files) table.add_file(file.c_str());
  return table.has_hooks() || table.has_markers();
}

// Returns whether processes need the library with hooks and scheduling from the start. Plain MPI programs do not:
// each interposed function costs its callers an indirection, those of libm a few nanoseconds a call. Interpreters
// may load instrumented modules later.
bool needs_hooks(const LaunchOptions& options, const runtime::Session& session) {
  const auto is_interpreter = [](const std::string& word) {
    return fs::path(word).filename().string().starts_with("python");
  };
  return session.backend != runtime::Backend::real || !uses_mpi(options.command) || is_made_for_terrace(session) ||
         std::ranges::any_of(options.command, is_interpreter);
}

// Returns whether processes may start Terrace lazily, at their first large allocation: not if the user requested
// anything that needs every process, and not for instrumented programs and those with markers.
bool may_start_late(const LaunchOptions& options, const runtime::Session& session) {
  if (session.backend != runtime::Backend::real || options.has_requests || options.keep_journals) return false;
  if (options.subcommand != "run") return false;  // record needs a profile of every process
  // Programs made for Terrace need the library with collectors from the start; those that another program starts
  // execute themselves again with it.
  return !is_made_for_terrace(session);
}

// Returns the extension of the session's name, which tells processes when to start Terrace.
const char* session_extension(const LaunchOptions& options, const runtime::Session& session) {
  if (!may_start_late(options, session)) return "";
  const auto has_choice = [](const runtime::SessionConfiguration& one) {
    return one.machine.fastest_first(one.domain).size() > 1;
  };
  return std::ranges::any_of(session.configurations, has_choice) ? runtime::k_late_session
                                                                 : runtime::k_called_session;
}

// Returns the seconds between two reports; 0: never. The default reports on a terminal only.
double report_period(const LaunchOptions& options) {
  constexpr double k_default = 10;
  if (options.report_every) return *options.report_every;
  return !options.quiet && !options.json && isatty(STDERR_FILENO) == 1 ? k_default : 0;
}

// Returns the peak resident memory of the program's largest process.
Bytes peak_of_children() {
  struct rusage children {};
  getrusage(RUSAGE_CHILDREN, &children);
  return Bytes{static_cast<std::uint64_t>(children.ru_maxrss) << 10};
}

// Returns whether placement was requested on a machine with one kind of memory, and no process of the program is
// instrumented.
bool has_nothing_to_place(const LaunchOptions& options, const runtime::Session& session,
                          const JournalFolder& journals) {
  const auto& configuration = session.configurations.front();
  return options.subcommand == "run" && options.has_requests && options.output.empty() && !options.keep_journals &&
         !session.spill.is_wanted() && !session.intent.is_wanted() && !configuration.record_only &&
         configuration.machine.fastest_first(configuration.domain).size() < 2 && journals.has_no_accesses();
}

// Returns lines on out-of-core memory, allocation by intent, and processes without Terrace.
std::vector<std::string> find_memory_messages(const LaunchOptions& options, const runtime::Session& session,
                                              const JournalFolder& journals, const ChildExit& ending) {
  const auto& folder = journals.path();
  const auto& program = options.command.front();
  const char* const wanted = describe_missed_effect(options, session);
  auto lines = find_unobserved_programs(program, wanted, folder, ending);
  if (session.backend != runtime::Backend::real) return lines;
  if (wanted && !has_journal_of(folder, ending.process)) {
    Journals others;
    add_journals_in(others, folder);
    if (others.empty()) return lines;
  }
  const auto add = [&](std::vector<std::string> more) {
    lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  const auto by_intent = read_data_by_intent(folder);
  const auto over_file =
      session.spill.is_wanted() ? read_spilled_processes(folder) : std::vector<SpilledProcess>();
  const auto reason_terrace_stopped = wanted ? journals.reason_terrace_stopped() : std::string();
  const bool is_confined = !reason_terrace_stopped.empty();
  if (is_confined && !fs::exists(folder / runtime::k_spill_said))
    lines.push_back(fmt::format("{} {}, and ran without Terrace from then on", program,
                                reason_terrace_stopped == profile::k_limited
                                    ? "limited its address space (RLIMIT_AS)"
                                    : "filtered its system calls (seccomp)"));
  // Confined processes have a line already. In JSON the figures have keys of their own.
  if (!options.json && (!is_confined || std::ranges::any_of(over_file, &SpilledProcess::had_too_little)))
    add(format_spill_lines(over_file, session.spill, peak_of_children()));
  if (!options.json) add(format_intent_lines(by_intent, session.configurations.front().machine));
  if (has_nothing_to_place(options, session, journals))
    lines.push_back(fmt::format("there is one kind of memory here: {}",
                                options.configuration.plan.empty() ? "there is nothing to choose for the program"
                                                                   : "the plan has nothing to move"));
  if (session.mpi_objects.is_wanted() && ending.signal == 0 && !journals.has_mpi_calls())
    lines.push_back(
        fmt::format("--mpi-objects: {} has called no function of MPI, so there was nothing to place", program));
  add(find_intent_problems(by_intent, is_confined ? std::string() : session.intent.name));
  return lines;
}

// Returns the members that the launch adds to the JSON document, as an object; "" for none.
std::string make_extra_json(const runtime::Session& session, const fs::path& folder,
                            const std::vector<std::string>& sentences) {
  nlohmann::ordered_json account;
  if (session.spill.is_wanted())
    account["over_file"] =
        nlohmann::ordered_json::parse(spill_json(read_spilled_processes(folder), session.spill));
  const auto by_intent = read_data_by_intent(folder);
  if (session.intent.is_wanted() || !by_intent.intents.empty())
    account["by_intent"] =
        nlohmann::ordered_json::parse(json_of(by_intent, session.configurations.front().machine));
  if (!sentences.empty()) account["notes"] = sentences;
  return account.is_null() ? "" : account.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// Returns whether the options request a profile, whatever the program does.
bool requests_profile(const LaunchOptions& options) {
  return (options.subcommand != "run" || options.has_requests) && options.intent.empty() &&
         options.configuration.memory.empty();
}

// Returns whether a profile is to be written: it was requested, or the journals have findings.
bool has_profile(const LaunchOptions& options, const runtime::Session& session, const JournalFolder& folder) {
  if (session.intent.is_wanted()) return false;
  if (has_nothing_to_place(options, session, folder)) return false;
  if (session.spill.is_wanted()) return !options.output.empty() || folder.has_iterations_or_loops();
  return options.subcommand != "run" || options.has_requests || folder.has_findings();
}

// Returns what the user can do if no main loop was found.
std::string advise_on_loops(const runtime::Session& session) {
  if (!session.phases.detects_loops()) return "mark it, or try --phases auto";
  observe::SymbolTable table;
  for (const auto& file : session.symbol_files) table.add_file(file.c_str());
  if (session.backend == runtime::Backend::real && !table.has_hooks())
    return "not instrumented: nothing repeated in intervals of 0.5 s, or the run was too short; "
           "terrace run --intent and --memory need no loop";
  return "name it with --loop NAME, or with --phases f,g the functions that begin its phases";
}

// Returns "SIGINT", or the number of a signal without a name.
std::string name_of_signal(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : fmt::format("signal {}", signal);
}

// Returns what moves the program's data, for the summary.
SummaryContext::Mover mover_of(const runtime::Session& session) {
  if (session.configurations.front().record_only || !runtime::learns(session)) return SummaryContext::Mover::none;
  return runtime::has_choice(session) ? SummaryContext::Mover::planner : SummaryContext::Mover::one_kind;
}

// Merges the journals into a profile and prints its summary, if a profile is to be written.
void keep_profile(const LaunchOptions& options, const ProfileOutputs& outputs, const runtime::Session& session,
                  JournalFolder& folder, const ChildExit& ending, const std::string& extra_json) {
  if (!has_profile(options, session, folder)) {
    if (options.json && !options.quiet) print_json_without_profile(extra_json);
    if (options.keep_journals) folder.print_location();
    return;
  }
  SummaryContext context;
  context.program = {ending.process, fs::path(options.command.front()).filename().string(),
                     ending.signal == 0 ? std::string() : name_of_signal(ending.signal)};
  context.mover = mover_of(session);
  const auto& first = session.configurations.front();
  context.fastest = first.machine.place(first.machine.fastest_first(first.domain).front()).name;
  context.advice = advise_on_loops(session);
  context.extra_json = extra_json;
  folder.merge(options, outputs, options.command.front(), context,
               session.spill.is_wanted() ? format_spill_notes(read_spilled_processes(folder.path()), session.spill)
                                         : std::vector<std::string>());
}

void print(const std::vector<std::string>& sentences) {
  for (const auto& sentence : sentences) std::fputs(("terrace: " + sentence + "\n").c_str(), stderr);
}

// Returns why a program runs without Terrace: sanitizers and valgrind must own its memory. "" if it runs with
// Terrace.
std::string find_exclusive_tool(const LaunchOptions& options) {
  const auto& program = options.command.front();
  if (options.subcommand != "run") return {};
  if (observe::is_valgrind(program))
    return fmt::format("{} has the program to itself: it runs without Terrace", program);
  const auto library = observe::sanitizer_of(program);
  return library.empty()
             ? std::string()
             : fmt::format("{} is checked by a sanitizer ({}): it runs without Terrace", program, library);
}

// Owns everything that is set up for a program; removed by the destructor.
struct PreparedLaunch {
  explicit PreparedLaunch(const LaunchOptions& options)
      : folder(options.keep_journals),
        session(build_session(options, folder.path().string(), sentences, &allocation)),
        ledgers(session, folder.path(), sentences),
        session_file(folder.path() / (std::string("session") + session_extension(options, session))) {
    write_session();
    // A session of late start (its name has an extension) observes no accesses.
    const PreloadedParts parts{session_file.extension().empty() && needs_hooks(options, session),
                               uses_mpi(options.command) || session.mpi_objects.is_wanted()};
    environment = program_environment(session_file, session.backend, options.command, parts);
  }

  void write_session() const {
    try {
      runtime::write_session(session, session_file.string());
    } catch (const Error&) {
      struct statvfs space {};
      if (statvfs(folder.path().c_str(), &space) == 0 && space.f_bavail == 0)
        throw Error(Code::failed, describe_full_folder());
      throw;
    }
  }

  std::vector<std::string> sentences;
  JournalFolder folder;
  SlurmAllocation allocation;
  runtime::Session session;
  const JobLedgers ledgers;
  const fs::path session_file;
  std::vector<std::string> environment;
};

// Prepares the launch. If the system lacks what it needs, returns null so that the program runs without Terrace;
// unless a profile or a memory limit was requested: throws Error then.
std::unique_ptr<PreparedLaunch> prepare(const LaunchOptions& options) {
  const bool is_optional = options.subcommand == "run" && options.configuration.memory.empty() &&
                           options.output.empty() && !options.profile;
  const auto run_without = [&](const char* why) {
    if (!options.quiet) print({fmt::format("{}: the program runs without Terrace", why)});
    return nullptr;
  };
  try {
    return std::make_unique<PreparedLaunch>(options);
  } catch (const Error& error) {
    if (!is_optional || error.code() == Code::invalid) throw;
    return run_without(error.what());
  } catch (const std::exception& error) {
    if (!is_optional) throw;
    return run_without(error.what());
  }
}

// Prints what the run would do on standard output. Fails where the run would fail.
ChildExit print_dry_run(const LaunchOptions& options) {
  const auto would_run = fmt::format("would run: {}\n", fmt::join(options.command, " "));
  const bool is_off = environment("TERRACE") == "off";
  const ProfileOutputs outputs(is_off ? std::string() : options.output, labels_of(options));
  const auto exclusive = is_off ? "TERRACE=off: it runs without Terrace" : find_exclusive_tool(options);
  const auto prepared = exclusive.empty() ? prepare(options) : nullptr;
  if (prepared && !options.gauges.empty()) check_gauges(options.gauges);
  check_can_start(options.command.front());
  fmt::print("{}", would_run);
  if (!exclusive.empty()) fmt::print("{}\n", exclusive);
  if (!prepared) return {};
  for (const auto& line : describe_run(options, prepared->session)) fmt::print("{}\n", line);
  for (const auto& sentence : prepared->sentences) fmt::print("note: {}\n", sentence);
  return {};
}

// Runs the program. Everything of the launch is removed on return, however the program ended.
ChildExit run_program(const LaunchOptions& given) {
  if (given.dry_run) return print_dry_run(given);
  if (environment("TERRACE") == "off") return run_child(given.command, {});
  const ProfileOutputs outputs(given.output, labels_of(given));
  const auto options = given.calibrates() ? calibrate_core_times(given) : given;
  if (const auto exclusive = find_exclusive_tool(options); !exclusive.empty()) {
    if (!options.quiet) print({exclusive});
    return run_child(options.command, {});
  }
  defer_termination();
  const auto prepared = prepare(options);
  if (!prepared) return run_child(options.command, {});
  auto& sentences = prepared->sentences;
  auto& folder = prepared->folder;
  const auto& session = prepared->session;
  if (uses_mpi(options.command))
    if (auto sentence = describe_static_mpi(options.command, session.symbol_files); !sentence.empty())
      sentences.push_back(std::move(sentence));
  // With --json there is one document, at the end.
  const bool prints = !options.quiet && !options.json;
  // Without a request there may be no profile to name a folder for.
  if (!outputs.sentence().empty() && requests_profile(options)) sentences.push_back(outputs.sentence());
  // The ranks of an MPI job have the same sentences.
  if (const auto mpi = read_mpi_rank(); prints && (!mpi || mpi->rank == 0)) print(sentences);
  const auto ending = [&] {
    const LoopService loops(folder.path());
    const GaugeExporter gauges(options.gauges, [&] { return prepared->ledgers.views(); });
    const SpillReports reports(folder.path(), session.spill,
                               session.spill.is_wanted() ? report_period(options) : 0);
    const bool can_load = observe::why_not_loadable(options.command.front()).empty();
    return run_child(options.command, can_load ? prepared->environment : std::vector<std::string>());
  }();
  const auto messages = find_memory_messages(options, session, folder, ending);
  const auto result = exit_of_launch(options, folder.path(), ending);
  if (prints || (!options.json && result.status != ending.status)) print(messages);
  sentences.insert(sentences.end(), messages.begin(), messages.end());
  try {
    keep_profile(options, outputs, session, folder, ending,
                 options.json ? make_extra_json(session, folder.path(), sentences) : std::string());
  } catch (const Error& error) {
    // Without its profile, record or simulate has failed.
    if (options.subcommand != "run" && ending.status == 0) throw;
    print({error.what()});
  } catch (const std::system_error&) {
    // Standard error is full: no report is possible, and the program's exit status stays its own.
  }
  return result;
}

}  // namespace

int launch(const LaunchOptions& options) { return exit_like(run_program(options)); }

}  // namespace terrace::cli
