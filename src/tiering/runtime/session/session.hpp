// SPDX-License-Identifier: Apache-2.0
// Defines the session file, by which the launcher configures the library inside the program: one flat read-only
// file of options that are already parsed, checked and resolved. The library reads no other configuration.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob.hpp"
#include "core/plan.hpp"
#include "machine/machine.hpp"
#include "memory/ordered/ordered_fill.hpp"
#include "model/calibration.hpp"
#include "observe/collector_variant.hpp"
#include "observe/core_times.hpp"
#include "observe/perf/perf_event.hpp"
#include "observe/progress_variant.hpp"
#include "runtime/runtime_parts.hpp"
#include "runtime/session/mpi_objects_spec.hpp"

namespace terrace::runtime {

inline constexpr std::uint32_t k_session_version = 15;
inline constexpr const char* k_session_variable = "TERRACE_SESSION";  // path of the session file
// Suffix of the session's name under which a process defers start-up until it could place something.
inline constexpr const char* k_late_session = ".late";
// Suffix if there is nothing to choose: a process defers start-up until the program itself calls Terrace.
inline constexpr const char* k_called_session = ".called";

enum class Backend : std::uint8_t { real, virtual_time };

// One configuration of the run (runtime_parts.hpp).
struct SessionConfiguration {
  std::string label;  // distinguishes journals; "" when there is one configuration
  machine::Machine machine;
  DomainId domain = 0;
  double cores = 1;
  machine::Budget budget{};
  std::string budget_text{};
  std::string ledger{};  // file shared by the processes of the job; "": memory of the process's own
  std::string planner{strategy::k_default_variant};  // the variant's name; "plan" if the plan alone decides
  std::optional<Plan> plan{};
  std::map<std::uint32_t, Plan> rank_plans{};  // of the ranks of an MPI job; `plan` is that of the other processes
  bool refine_plan = false;                    // the planner refines the plan after the first iteration
  strategy::Hints hints{};
  model::Calibration calibration{};
  bool core_time_fitted = false;  // core time was fitted to the program: instruction_time, or that of some phases
  std::string core_time_from{};   // source of the fit, or why there is none although it was requested
  observe::CoreTimes core_times{};
  std::uint32_t learn_iterations = 1;
  bool record_only = false;
  bool undoes_losing_plans = false;  // plans that make the program slower are undone
  bool keep_exact = false;
  Bytes memory{};           // limit for all data; the rest is in the machine's file; 0: none; virtual time only
  bool free_moves = false;  // transfers take no time and no bandwidth; in virtual time only
};

// Out-of-core memory over a backing file (transfer/spill/spill.hpp).
struct SpillSpec {
  std::string folder;  // of the backing file; "": none
  Bytes memory{};      // for each process
  struct Rule {
    std::string object;  // name or pattern
    bool stays = false;  // pinned in memory; else evicted before others
  };
  std::vector<Rule> plan;  // the first matching rule applies

  [[nodiscard]] bool is_wanted() const { return !folder.empty(); }
};
// Prefix of the files in the session's directory in which each process that spills keeps its counts.
inline constexpr const char* k_spill_counts = "spill.";
inline constexpr const char* k_spill_said = "said-of-spill";
inline constexpr const char* k_limit_said = "said-of-limit";

// Allocation by intent (memory/ordered/ordered_fill.hpp).
struct IntentSpec {
  std::string name;  // default intent of the process; "": only where the program asks for one
  double mark = memory::k_free_watermark;  // free watermark: share of each place that is left free
  bool eager = false;                      // populate pages at allocation, not at first touch

  [[nodiscard]] bool is_wanted() const { return !name.empty(); }
};
// Prefix of the files in the session's directory in which each process with placement by intent keeps its counts.
inline constexpr const char* k_ordered_counts = "ordered.";

// Prefix of the empty file, named by process, that a process leaves if start-up failed and the reason was printed.
inline constexpr const char* k_unmanaged = "unmanaged.";
// Names the first program of the job that cannot load the library: its path, a line break, the reason.
inline constexpr char k_unobserved[] = "unobserved";

struct Session {
  std::string mode;  // "record", "run", "simulate"
  Backend backend = Backend::real;
  std::string directory;  // journals; node-local
  std::vector<SessionConfiguration> configurations;
  std::vector<std::string> symbol_files;
  PhaseSpec phases;
  std::uint32_t sample_every = 1;  // of the loop's iterations; more in virtual time only
  ChunkRule chunk_rule;
  Bytes big_block{16384};  // blocks from this size on are objects of their own
  std::uint64_t quantum_accesses = 16384;
  Seconds sample_interval;                              // 0: 1,000 cycles of the initiator
  Seconds page_window{};                                // where pages are watched
  std::vector<observe::PerfEvent> events{};             // that sample accesses here, for programs without hooks
  std::string collector{observe::k_default_collector};  // that fills the profile
  std::string progress{observe::k_default_progress};    // measure by which phases are cut into segments
  std::string recording;                                // path of the recording to write; "": none
  std::string functions;                                // folder for counts by function; "": none
  std::vector<std::string> notes;                       // for the journal
  SpillSpec spill{};
  IntentSpec intent{};
  MpiObjectsSpec mpi_objects{};
  bool hooks = true;  // observe accesses of programs that were built with the wrappers

  void to_blob(BlobWriter& out) const;
  static Session from_blob(BlobReader& in);
};

// Writes magic, version, CRC-32C and blob, with mode 0600. Throws Error{failed}.
void write_session(const Session& session, const std::string& path);
// Throws Error{corrupt} if the file is not a complete session of this version.
Session read_session(const std::string& path);
// Returns whether the session's file or folder is gone: the launcher has ended, and nothing reads further output.
[[nodiscard]] bool is_session_gone(const std::string& path) noexcept;

}  // namespace terrace::runtime
