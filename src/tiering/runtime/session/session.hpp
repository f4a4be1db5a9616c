// What the launcher tells the library inside the program: everything it needs, already parsed, checked and
// resolved, as one flat read-only file. The library reads no other configuration.
#pragma once

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

namespace terrace::runtime {

inline constexpr std::uint32_t k_session_version = 13;
inline constexpr const char* k_session_variable = "TERRACE_SESSION";  // path of the session file
// How its name ends where processes may wait until there is something that could be placed.
inline constexpr const char* k_late_session = ".late";
// And where there is nothing to choose, so that they wait until the program itself calls for Terrace.
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
  std::string ledger{};  // file that the processes of the job share; "": memory of each one's own
  std::string planner{strategy::k_default_variant};  // the variant's name; "plan" where a plan alone decides
  std::optional<Plan> plan{};
  bool better_plan = false;  // the planner betters the plan after the first iteration
  strategy::Hints hints{};
  model::Calibration calibration{};
  bool core_time_fitted = false;  // core time is the program's own: the machine's instruction_time or some phases'
  std::string core_time_from{};   // what that rests on, or why it is the machine's, where it was asked for
  observe::CoreTimes core_times{};
  std::uint32_t learn_iterations = 1;
  bool record_only = false;
  bool proves = false;  // plans that lose are undone
  bool keep_exact = false;
  Bytes memory{};           // for all data, the rest is in the machine's file; 0: all of it; in virtual time only
  bool free_moves = false;  // transfers take no time and no bandwidth; in virtual time only
};

// Memory over a file (transfer/spill/spill.hpp).
struct SpillSpec {
  std::string folder;  // "": there is none
  Bytes memory{};      // for each process
  struct Rule {
    std::string object;  // name or pattern
    bool stays = false;  // in memory; else it leaves before others
  };
  std::vector<Rule> plan;  // the first that names an object holds

  [[nodiscard]] bool is_wanted() const { return !folder.empty(); }
};
// In the session's directory each process that spills keeps its counts in a file that begins so.
inline constexpr const char* k_spill_counts = "spill.";
inline constexpr const char* k_spill_said = "said-of-spill";
inline constexpr const char* k_limit_said = "said-of-limit";

// Data by intent (memory/ordered/ordered_fill.hpp).
struct IntentSpec {
  std::string name;              // of the whole process; "": only what the program asks for
  double mark = memory::k_free_watermark;  // the share of each place that is left free
  bool eager = false;            // pages come at once, not with the first touch

  [[nodiscard]] bool is_wanted() const { return !name.empty(); }
};
// In the session's directory each process that places data by intent keeps its counts in a file that begins so.
inline constexpr const char* k_ordered_counts = "ordered.";

// A process that could not begin, and has said why, leaves an empty file of its number there.
inline constexpr const char* k_unmanaged = "unmanaged.";
// The first program started by a process of the job that cannot load the library: its path, a line break, why.
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
  std::string collector{observe::k_default_collector};  // who fills the profile
  std::string progress{observe::k_default_progress};    // what phases are cut into segments by
  std::string recording;                                // where to write down what happens; "" for nowhere
  std::string functions;           // the folder for counts by function; "": no counts are kept
  std::vector<std::string> notes;  // for the journal
  SpillSpec spill{};
  IntentSpec intent{};
  bool hooks = true;  // follow accesses where the program was built with the wrappers

  void to_blob(BlobWriter& out) const;
  static Session from_blob(BlobReader& in);
};

// Writes the file with mode 0600: magic, version, CRC-32C, blob. Throws Error{failed}.
void write_session(const Session& session, const std::string& path);
// Throws Error{corrupt} when the file is not a whole session of this version.
Session read_session(const std::string& path);
// Whether the session's file or folder is gone: the launcher has ended, and nobody reads what is left there.
[[nodiscard]] bool is_over(const std::string& path) noexcept;

}  // namespace terrace::runtime
