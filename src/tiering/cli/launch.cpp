// The life of a launch: folder, session, program, merge, summary. See launch.hpp.
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
#include <vector>

#include "cli/calibration.hpp"
#include "cli/dry_run.hpp"
#include "cli/gauges.hpp"
#include "cli/intent_summary.hpp"
#include "cli/job_ledgers.hpp"
#include "cli/journal_folder.hpp"
#include "cli/journals.hpp"
#include "cli/output_option.hpp"
#include "cli/session_builder.hpp"
#include "cli/spill_summary.hpp"
#include "cli/summary.hpp"
#include "cli/unobserved.hpp"
#include "core/error.hpp"
#include "observe/symbols/files/symbols_writer.hpp"
#include "observe/symbols/symbols.hpp"
#include "runtime/session/profile_source.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

// Where libraries that tell tools of the program's regions look for one. Who has named a tool keeps it; a Kokkos
// whose command line names one takes another one here for a mistake.
void add_tool(std::vector<std::string>& variables, const std::string& library,
              const std::vector<std::string>& command) {
  const auto is_free = [](const char* name) { return environment(name).empty(); };
  const auto names_tool = [](const std::string& word) { return word.starts_with("--kokkos-tools-lib"); };
  if (is_free("NVTX_INJECTION64_PATH")) variables.push_back("NVTX_INJECTION64_PATH=" + library);
  // The second name is that of Kokkos before 3.7.
  if (is_free("KOKKOS_TOOLS_LIBS") && is_free("KOKKOS_PROFILE_LIBRARY") &&
      std::none_of(command.begin(), command.end(), names_tool))
    for (const char* const name : {"KOKKOS_TOOLS_LIBS=", "KOKKOS_PROFILE_LIBRARY="})
      variables.push_back(name + library);
}

std::vector<std::string> program_environment(const fs::path& session, runtime::Backend backend,
                                             const std::vector<std::string>& command) {
  // Where a process may begin late nobody follows its accesses; one that was made for that changes the library.
  const auto library = library_path(session.extension().empty());
  const auto preload = environment("LD_PRELOAD");
  const auto checks = environment("ASAN_OPTIONS");
  std::vector<std::string> variables{
      fmt::format("{}={}", runtime::k_session_variable, session.string()),
      fmt::format("LD_PRELOAD={}{}{}", library, preload.empty() ? "" : ":", preload),
      // UCX's memory hooks replace mmap and would hide the program's mappings from an interposer.
      "UCX_MEM_MMAP_HOOK_MODE=none",
      // Else a program with the address sanitizer that this one starts ends at once: its library wants to be
      // first.
      fmt::format("ASAN_OPTIONS={}{}verify_asan_link_order=0", checks, checks.empty() ? "" : ":")};
  add_tool(variables, library, command);
  // In virtual time one thread runs at a time: idle workers that spin would take the core from it.
  if (backend == runtime::Backend::virtual_time && environment("OMP_WAIT_POLICY").empty())
    variables.emplace_back("OMP_WAIT_POLICY=passive");
  return variables;
}

// Where nothing was asked for, a process without anything to place need not begin: nobody misses what it would
// say.
bool may_begin_late(const LaunchOptions& options, const runtime::Session& session) {
  if (session.backend != runtime::Backend::real || options.has_requests || options.keep_journals) return false;
  if (options.subcommand != "run") return false;  // who records wants the profile, whatever there is to place
  // Made for Terrace: it has the library with hooks at once. One that another program starts begins again with it.
  observe::SymbolTable table;
  for (const auto& file : session.symbol_files) table.add_file(file.c_str());
  return !table.has_hooks() && !table.has_markers();
}

// What the session's name says of when processes begin.
const char* beginning(const LaunchOptions& options, const runtime::Session& session) {
  if (!may_begin_late(options, session)) return "";
  const auto has_choice = [](const runtime::SessionConfiguration& one) {
    return one.machine.fastest_first(one.domain).size() > 1;
  };
  return std::ranges::any_of(session.configurations, has_choice) ? runtime::k_late_session
                                                                 : runtime::k_called_session;
}

// In seconds; 0: never. Who looks at a terminal wants to know.
double report_period(const LaunchOptions& options) {
  constexpr double k_usual = 10;
  if (options.report_every) return *options.report_every;
  return !options.quiet && !options.json && isatty(STDERR_FILENO) == 1 ? k_usual : 0;
}

// Of what the largest process of the program had in memory.
Bytes peak_of_children() {
  struct rusage children {};
  getrusage(RUSAGE_CHILDREN, &children);
  return Bytes{static_cast<std::uint64_t>(children.ru_maxrss) << 10};
}

// A plan, or a choice of places, was asked for where there is one kind of memory, and the program has no hooks.
bool has_nothing_to_place(const LaunchOptions& options, const runtime::Session& session,
                          const JournalFolder& journals) {
  const auto& configuration = session.configurations.front();
  return options.subcommand == "run" && options.has_requests && options.output.empty() && !options.keep_journals &&
         !session.spill.is_wanted() && !session.intent.is_wanted() && !configuration.record_only &&
         configuration.machine.fastest_first(configuration.domain).size() < 2 && journals.has_no_accesses();
}

// Memory over a file, data by intent, and what there was to place: a line for each finding.
std::vector<std::string> found_of_memory(const LaunchOptions& options, const runtime::Session& session,
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
  // Then nobody need say that nothing was done. In JSON the figures have keys of their own.
  if (!options.json && (!is_confined || std::ranges::any_of(over_file, &SpilledProcess::had_too_little)))
    add(lines_of(over_file, session.spill, peak_of_children()));
  if (!options.json) add(lines_of(by_intent, session.configurations.front().machine));
  if (has_nothing_to_place(options, session, journals))
    lines.push_back(fmt::format("there is one kind of memory here: {}",
                                options.configuration.plan.empty() ? "there is nothing to choose for the program"
                                                                   : "the plan has nothing to move"));
  add(find_intent_problems(by_intent, is_confined ? std::string() : session.intent.name));
  return lines;
}

// What the document has beside the profile's: "" for nothing.
std::string account_of(const runtime::Session& session, const fs::path& folder,
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

// Whether one is made whatever the program does.
bool makes_profile(const LaunchOptions& options) {
  return (options.subcommand != "run" || options.has_requests) && options.intent.empty() &&
         options.configuration.memory.empty();
}

// Whether the journals have something for a file.
bool has_profile(const LaunchOptions& options, const runtime::Session& session, const JournalFolder& folder) {
  if (session.intent.is_wanted()) return false;
  if (has_nothing_to_place(options, session, folder)) return false;
  if (session.spill.is_wanted()) return !options.output.empty() || folder.has_iterations_or_loops();
  // Of a program of which nothing is seen nothing is said, unless something was asked for.
  return options.subcommand != "run" || options.has_requests || folder.has_findings();
}

// Where no main loop was seen.
std::string advice_on_loops(const runtime::Session& session) {
  if (!session.phases.detects_loops()) return "mark it, or try --phases auto";
  observe::SymbolTable table;
  for (const auto& file : session.symbol_files) table.add_file(file.c_str());
  if (session.backend == runtime::Backend::real && !table.has_hooks())
    return "without hooks: nothing repeated in intervals of 0.5 s, or the run was too short; terrace run --intent "
           "and --memory need no loop";
  return "name it with --loop NAME, or with --phases f,g the functions that begin its phases";
}

// "SIGINT"; the number where it has no name.
std::string name_of_signal(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : fmt::format("signal {}", signal);
}

SummaryContext::Mover mover_of(const runtime::Session& session) {
  if (session.configurations.front().record_only || !runtime::learns(session))
    return SummaryContext::Mover::nobody;
  return runtime::has_choice(session) ? SummaryContext::Mover::planner : SummaryContext::Mover::one_kind;
}

void keep_profile(const LaunchOptions& options, const ProfileOutputs& outputs, const runtime::Session& session,
                  JournalFolder& folder, const ChildExit& ending, const std::string& account) {
  if (!has_profile(options, session, folder)) {
    if (options.json && !options.quiet) print_json_without_profile(account);
    if (options.keep_journals) folder.print_location();
    return;
  }
  SummaryContext context;
  context.program = {ending.process, fs::path(options.command.front()).filename().string(),
                     ending.signal == 0 ? std::string() : name_of_signal(ending.signal)};
  context.mover = mover_of(session);
  const auto& first = session.configurations.front();
  context.fastest = first.machine.place(first.machine.fastest_first(first.domain).front()).name;
  context.advice = advice_on_loops(session);
  context.account = account;
  folder.merge(options, outputs, options.command.front(), context,
               session.spill.is_wanted() ? format_spill_notes(read_spilled_processes(folder.path()), session.spill)
                                         : std::vector<std::string>());
}

void print(const std::vector<std::string>& sentences) {
  for (const auto& sentence : sentences) std::fputs(("terrace: " + sentence + "\n").c_str(), stderr);
}

// Why a program runs without Terrace: neither a sanitizer nor valgrind can have its memory together with it. ""
// where it runs with it.
std::string why_alone(const LaunchOptions& options) {
  const auto& program = options.command.front();
  if (options.subcommand != "run") return {};
  if (observe::is_valgrind(program))
    return fmt::format("{} has the program to itself: it runs without Terrace", program);
  const auto library = observe::sanitizer_of(program);
  return library.empty()
             ? std::string()
             : fmt::format("{} is checked by a sanitizer ({}): it runs without Terrace", program, library);
}

// What is set up for a program, and removed when this is.
struct Prepared {
  explicit Prepared(const LaunchOptions& options)
      : folder(options.keep_journals),
        session(build_session(options, folder.path().string(), sentences)),
        ledgers(session, folder.path(), sentences),
        session_file(folder.path() / (std::string("session") + beginning(options, session))) {
    write_session();
    environment = program_environment(session_file, session.backend, options.command);
  }

  void write_session() const {
    try {
      runtime::write_session(session, session_file.string());
    } catch (const Error&) {
      struct statvfs room {};
      if (statvfs(folder.path().c_str(), &room) == 0 && room.f_bavail == 0)
        throw Error(Code::failed, describe_full_folder());
      throw;
    }
  }

  std::vector<std::string> sentences;
  JournalFolder folder;
  runtime::Session session;
  const JobLedgers ledgers;
  const fs::path session_file;
  std::vector<std::string> environment;
};

// Null where the system lacks what that takes: the program runs as without Terrace, but where a profile was asked
// for, or that it shall not fill more memory than it may.
std::unique_ptr<Prepared> prepare(const LaunchOptions& options) {
  const bool can_do_without = options.subcommand == "run" && options.configuration.memory.empty() &&
                              options.output.empty() && !options.profile;
  const auto do_without = [&](const char* why) {
    if (!options.quiet) print({fmt::format("{}: the program runs without Terrace", why)});
    return nullptr;
  };
  try {
    return std::make_unique<Prepared>(options);
  } catch (const Error& error) {
    if (!can_do_without || error.code() == Code::invalid) throw;
    return do_without(error.what());
  } catch (const std::exception& error) {
    if (!can_do_without) throw;
    return do_without(error.what());
  }
}

// What the run would do, on standard output: it is what was asked for. What refuses the run refuses this, too.
ChildExit print_dry_run(const LaunchOptions& options) {
  const auto would_run = fmt::format("would run: {}\n", fmt::join(options.command, " "));
  const bool is_off = environment("TERRACE") == "off";
  const ProfileOutputs outputs(is_off ? std::string() : options.output, labels_of(options));
  const auto alone = is_off ? "TERRACE=off: it runs without Terrace" : why_alone(options);
  const auto prepared = alone.empty() ? prepare(options) : nullptr;
  if (prepared && !options.gauges.empty()) check_gauges(options.gauges);
  check_can_start(options.command.front());
  fmt::print("{}", would_run);
  if (!alone.empty()) fmt::print("{}\n", alone);
  if (!prepared) return {};
  for (const auto& line : describe_run(options, prepared->session)) fmt::print("{}\n", line);
  for (const auto& sentence : prepared->sentences) fmt::print("note: {}\n", sentence);
  return {};
}

// What belongs to the launch is removed when this returns, however the program ended.
ChildExit run_program(const LaunchOptions& given) {
  if (given.dry_run) return print_dry_run(given);
  if (environment("TERRACE") == "off") return run_child(given.command, {});
  const ProfileOutputs outputs(given.output, labels_of(given));
  const auto options = given.calibrates() ? calibrated(given) : given;
  if (const auto alone = why_alone(options); !alone.empty()) {
    if (!options.quiet) print({alone});
    return run_child(options.command, {});
  }
  const auto prepared = prepare(options);
  if (!prepared) return run_child(options.command, {});
  auto& sentences = prepared->sentences;
  auto& folder = prepared->folder;
  const auto& session = prepared->session;
  // With --json all of it is one document, at the end.
  const bool tells = !options.quiet && !options.json;
  // Who asked for nothing may never get a profile.
  if (!outputs.sentence().empty() && makes_profile(options)) sentences.push_back(outputs.sentence());
  if (tells) print(sentences);
  const auto ending = [&] {
    const GaugeExporter gauges(options.gauges, [&] { return prepared->ledgers.views(); });
    const SpillReports reports(folder.path(), session.spill,
                               session.spill.is_wanted() ? report_period(options) : 0);
    const bool can_load = observe::why_not_loadable(options.command.front()).empty();
    return run_child(options.command, can_load ? prepared->environment : std::vector<std::string>());
  }();
  const auto found = found_of_memory(options, session, folder, ending);
  const auto result = exit_of_launch(options, folder.path(), ending);
  if (tells || (!options.json && result.status != ending.status)) print(found);
  sentences.insert(sentences.end(), found.begin(), found.end());
  try {
    keep_profile(options, outputs, session, folder, ending,
                 options.json ? account_of(session, folder.path(), sentences) : std::string());
  } catch (const Error& error) {
    // Where the profile is what the program was run for the launch has failed.
    if (options.subcommand != "run" && ending.status == 0) throw;
    print({error.what()});
  } catch (const std::system_error&) {
    // Standard error takes no more: nobody can be told, and the program's end is its own.
  }
  return result;
}

}  // namespace

int launch(const LaunchOptions& options) { return exit_like(run_program(options)); }

}  // namespace terrace::cli
