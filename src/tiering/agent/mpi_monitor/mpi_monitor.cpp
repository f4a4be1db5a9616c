// SPDX-License-Identifier: Apache-2.0
// Feeds the loop finder of MPI programs with the calls of the main thread. See mpi_monitor.hpp.
#include "agent/mpi_monitor/mpi_monitor.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/modules.hpp"
#include "agent/mpi/call_events.hpp"
#include "agent/mpi_monitor/call_paths.hpp"
#include "agent/mpi_monitor/loop_requests.hpp"
#include "agent/mpi_monitor/python_paths.hpp"
#include "core/tick_clock.hpp"
#include "observe/perf/function_probes.hpp"
#include "observe/symbols/symbol_names.hpp"
#include "observe/threads/time_in_mpi.hpp"
#include "profile/records.hpp"
#include "runtime/mpi/mpi_loop_finder.hpp"
#include "runtime/regions/region_phases.hpp"
#include "runtime/runtime.hpp"

namespace terrace::agent {

namespace {

constexpr Seconds k_reply_poll{5e-3};             // between looks for the launcher's answer
constexpr std::size_t k_calls_without_loop = 64;  // in succession, after which the sequence of calls is used
constexpr double k_max_iteration_rate = 2000;     // hits a second: 1 % at 2 us for each, and 2 us for its phase
constexpr Seconds k_min_rated{0.5};               // to which the hits of a shorter time are compared
constexpr Seconds k_min_region{1e-6};             // between calls, in the sequence of calls
constexpr const char* k_mpi_calls = "MPI calls";

// Returns whether the call ends a phase and is one itself (runtime/mpi/mpi_calls.hpp).
bool ends_phase(MpiClass function_class) {
  switch (function_class) {
    case MpiClass::k_wait:
    case MpiClass::k_blocking:
    case MpiClass::k_collective:
    case MpiClass::k_onesided_sync:
    case MpiClass::k_io:
      return true;
    default:
      return false;
  }
}

// Returns whether the call says nothing of loops and phases. Programs make many such calls: they ask for their
// rank in inner loops, and test whether a message has come until one has.
bool is_irrelevant(MpiClass function_class) {
  return function_class == MpiClass::k_local || function_class == MpiClass::k_test;
}

// Returns "exchange:33"; without line information "exchange+28"; without a name "1a2b3c4d+0x4711".
std::string name_of_code(Process& process, std::uint64_t address) {
  auto function = function_name(process, address);
  const auto symbol = find_symbol(process, address);
  if (!function.empty()) return observe::name_of_loop(std::move(function), symbol.site).text();
  // The exported symbols of libraries without a symbol file.
  Dl_info known;
  const auto* const code = reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
  if (dladdr(code, &known) != 0 && known.dli_sname) {
    const auto offset = address - reinterpret_cast<std::uint64_t>(known.dli_saddr);
    return observe::LoopName{observe::readable_name(known.dli_sname), "", 0, offset}.text();
  }
  char buffer[k_name_capacity];
  return std::string(describe_symbol(process, symbol.site, address, buffer, sizeof buffer));
}

}  // namespace

struct MpiMonitor::State {
  State(Process& of, std::string directory, std::function<void()> first)
      : process(of), requests(of, std::move(directory)), on_first_call(std::move(first)) {}

  void begin(const MpiCall& call, std::uint64_t ticks) {
    if (on_first_call) std::exchange(on_first_call, nullptr)();
    call_begun = clock.time_of(ticks);
    if (is_irrelevant(call.function_class)) return;
    auto path = paths.find(call);
    if (!path) return;
    now = call_begun;
    if (*path == num_paths) add_path(*path);
    std::optional<runtime::LoopHead> ended_loop;
    if (interpreted.contains(*path)) path = find_python_path(*path, ended_loop);
    if (regions) return begin_in_sequence(*path, call);
    if (now - last_poll >= k_reply_poll) {
      last_poll = now;
      if (requests.exchange()) resolve();
    }
    read_probes();
    if (ended_loop) report_iteration(*ended_loop);
    if (!counting.empty()) count_by_call(*path);
    is_open = true;
    finder.on_call_begin(*path, ends_phase(call.function_class), now);
    set_probes();
    if (should_use_sequence(*path)) use_sequence();
    is_found = finder.in_loop();
  }

  void end(const MpiCall& call, std::uint64_t ticks) {
    now = clock.time_of(ticks);
    if (call_begun.value > 0) observe::g_time_in_mpi += now - std::exchange(call_begun, {});
    if (is_irrelevant(call.function_class)) return;
    if (regions && ends_phase(call.function_class)) end_in_sequence();
    if (!regions && std::exchange(is_open, false)) finder.on_call_end(now);
  }

  void finish() {
    finder.finish();
    probes.reset();
    regions.reset();
    is_found = false;
  }

  void add_path(runtime::CallPath path) {
    ++num_paths;
    unresolved.push_back(path);
    for (const auto address : paths.addresses(path)) {
      requests.add(address);
      if (requests.is_interpreter(address)) interpreted.insert(path);
    }
  }

  // Returns the path with its Python functions, or the native one where they are unavailable.
  runtime::CallPath find_python_path(runtime::CallPath native, std::optional<runtime::LoopHead>& ended_loop) {
    if (!python) python.emplace();
    const auto call = python->find(native);
    if (!call) return native;
    ended_loop = call->ended_loop;
    if (call->is_new) {
      auto heads = python->loops(call->path);
      if (heads.empty()) without_loops.insert(call->path);
      finder.set_loops(call->path, std::move(heads));
    }
    return call->path;
  }

  // Tells the finder the loops of paths whose call sites have all been answered.
  void resolve() {
    std::erase_if(unresolved, [this](runtime::CallPath path) {
      std::vector<runtime::LoopHead> heads;
      const auto addresses = paths.addresses(path);
      for (auto address = addresses.rbegin(); address != addresses.rend(); ++address) {
        const auto* const loops = requests.find(*address);
        if (!loops) return false;
        for (const auto& one : *loops) {
          heads.push_back(identify(one));
          // Where a breakpoint would slow the program, a call of MPI in each iteration counts them.
          const bool needs_call = (heads.back() & runtime::k_called_head) != 0;
          if (needs_call && one.is_counted_by_call && *address == addresses.front())
            counting.try_emplace(heads.back(), path);
        }
      }
      if (interpreted.contains(path)) heads.clear();  // the loops of an interpreter are not the program's
      if (heads.empty()) without_loops.insert(path);
      finder.set_loops(path, heads);
      return true;
    });
  }

  // Returns what identifies the loop. Without an address for a breakpoint, calls report its iterations, if any do.
  runtime::LoopHead identify(const LoopRequests::Loop& loop) {
    const bool can_be_probed = loop.iteration != 0 || !observe::FunctionProbes::slows_nearby_code();
    const auto head = can_be_probed ? loop.head : loop.head | runtime::k_called_head;
    auto& known = code[head] = loop;
    if (known.iteration == 0) known.iteration = loop.head;
    return head;
  }

  // Reports iterations of the loops that this call counts.
  void count_by_call(runtime::CallPath path) {
    for (const auto& [head, counting_path] : counting)
      if (counting_path == path) report_iteration(head);
  }

  // Reports iterations of the probed loops since the last call.
  void read_probes() {
    if (!probes) return;
    std::map<std::uint32_t, std::uint32_t> hits;
    for (const auto& event : probes->read_events()) ++hits[event.function];
    for (const auto& [number, times] : hits) {
      auto& loop = probed_loops[number];
      loop.hits += times;
      if (is_too_frequent(loop)) {
        probes->remove(number);
        loop.is_probed = false;
        finder.reject(loop.head);
      } else {
        finder.on_iterations(loop.head, times);
      }
    }
  }

  // Reports an iteration of a loop that has no breakpoint.
  void report_iteration(runtime::LoopHead head) {
    auto& loop = reported_loops.try_emplace(head, ProbedLoop{.head = head, .since = now}).first->second;
    ++loop.hits;
    if (is_too_frequent(loop))
      finder.reject(head);
    else
      finder.on_iterations(head, 1);
  }

  // Sets breakpoints for the loops that the finder wants to be probed.
  void set_probes() {
    if (finder.probes_version() == probed_version || !can_probe) return;
    probed_version = finder.probes_version();
    const auto& wanted = finder.probes();
    if (wanted == probed) return;
    probed = wanted;
    if (!probes) {
      if (!observe::FunctionProbes::unavailable_reason().empty()) {
        can_probe = false;
        return;
      }
      probes.emplace(gettid());
    }
    // A loop in a function that the main loop calls comes and goes, so its breakpoint stays while others are left.
    if (finder.in_loop()) remove_probes();
    for (const auto head : wanted) {
      auto known = std::ranges::find(probed_loops, head, &ProbedLoop::head);
      if (known == probed_loops.end()) known = probed_loops.insert(probed_loops.end(), ProbedLoop{.head = head});
      if (known->is_probed) continue;
      const auto number = static_cast<std::uint32_t>(known - probed_loops.begin());
      known->is_probed = probes->add(number, code[head].iteration);
      if (!known->is_probed) {
        remove_probes();
        known->is_probed = probes->add(number, code[head].iteration);
      }
      known->since = now;
      known->hits = 0;
      if (!known->is_probed) finder.reject(head);  // debuggers may use breakpoints, too
    }
  }

  // Removes the breakpoints that the finder does not want.
  void remove_probes() {
    for (std::uint32_t i = 0; i < probed_loops.size(); ++i)
      if (probed_loops[i].is_probed && std::ranges::find(probed, probed_loops[i].head) == probed.end())
        probed_loops[i].is_probed = !probes->remove(i);
  }

  [[nodiscard]] bool should_use_sequence(runtime::CallPath path) {
    if (!can_probe) return true;
    calls_without_loop = !finder.in_loop() && without_loops.contains(path) ? calls_without_loop + 1 : 0;
    return calls_without_loop >= k_calls_without_loop;
  }

  // --- iterations from the sequence of calls ---

  void use_sequence() {
    finder.finish();
    is_open = false;
    regions.emplace([this] { return now; }, [this](const runtime::PhaseBoundary& boundary) { submit(boundary); },
                    k_min_region);
    process.runtime->note("note",
                          std::string(profile::k_phases_from) +
                              (can_probe ? "the sequence of MPI calls, because they are in no loop of the "
                                           "program's code"
                                         : "the sequence of MPI calls, because no breakpoint can be set on "
                                           "the program's loops: " +
                                               observe::FunctionProbes::unavailable_reason()));
  }
  void begin_in_sequence(runtime::CallPath path, const MpiCall& call) {
    if (ends_phase(call.function_class)) last_path = path;
  }
  void end_in_sequence() {
    if (open_region) regions->end(*open_region);
    open_region = last_path;
    regions->begin(last_path, regions->intern_name(k_mpi_calls, call_name(last_path)));
    is_found = regions->in_loop();
  }

  void submit(const runtime::PhaseBoundary& boundary) {
    if (!boundary.begins_loop.empty() && !regions)
      process.runtime->note("note", std::string(profile::k_phases_from) + k_mpi_calls);
    process.runtime->on_phase_boundary(boundary);
    if (call_begun.value > 0)
      call_begun = clock.time_of(read_ticks());  // what a boundary takes is not the call's time
  }

  std::string call_name(runtime::CallPath path) {
    const auto native = PythonPaths::contains(path) ? python->native_path(path) : path;
    const char* const function = terrace_mpi_function_name(paths.function(native));
    return std::string("MPI_").append(function ? function : "?").append(" ").append(site_name(path));
  }
  std::string site_name(runtime::CallPath path) {
    auto& name = site_names[path];
    if (name.empty() && PythonPaths::contains(path)) name = python->site_name(path);
    if (name.empty()) name = name_of_code(process, paths.addresses(path).front() - 1);
    return name;
  }
  std::string loop_name(runtime::LoopHead head) {
    const auto native = code.find(head);
    if (native == code.end()) return python->loop_name(head);
    const auto back = native->second.back;
    return name_of_code(process, back != 0 ? back : native->second.head);
  }

  struct ProbedLoop {
    runtime::LoopHead head = 0;
    bool is_probed = false;
    Seconds since{};
    std::uint64_t hits = 0;
  };
  [[nodiscard]] bool is_too_frequent(const ProbedLoop& loop) const {
    return static_cast<double>(loop.hits) > k_max_iteration_rate * std::max(now - loop.since, k_min_rated).value;
  }

  Process& process;
  CallPaths paths;
  LoopRequests requests;
  std::function<void()> on_first_call;
  runtime::MpiLoopFinder finder{{[this](runtime::LoopHead head) { return loop_name(head); },
                                 [this](runtime::CallPath path) { return call_name(path); },
                                 [this](runtime::CallPath path) { return site_name(path); }},
                                [this](const runtime::PhaseBoundary& boundary) { submit(boundary); }};
  std::optional<observe::FunctionProbes> probes;
  std::optional<runtime::RegionPhases> regions;  // of the sequence of calls, once that is used
  std::vector<ProbedLoop> probed_loops;          // by number of the probe
  std::vector<runtime::LoopHead> probed;
  std::uint64_t probed_version = 0;                         // finder.probes_version() of these
  std::map<runtime::LoopHead, LoopRequests::Loop> code;     // of native loops
  std::map<runtime::LoopHead, runtime::CallPath> counting;  // of those: the path whose calls count iterations
  std::map<runtime::CallPath, std::string> site_names;
  std::set<runtime::CallPath> without_loops;
  std::set<runtime::CallPath> interpreted;  // native paths of calls by an interpreter
  std::optional<PythonPaths> python;
  std::map<runtime::LoopHead, ProbedLoop> reported_loops;
  std::vector<runtime::CallPath> unresolved;  // paths whose loops are not known
  runtime::CallPath num_paths = 0;
  runtime::CallPath last_path = 0;
  std::optional<runtime::CallPath> open_region;
  std::size_t calls_without_loop = 0;
  TickClock clock;
  Seconds now;
  Seconds last_poll;
  Seconds call_begun;    // the call that has not ended; 0: unknown
  bool is_open = false;  // a call that the finder knows has not ended
  bool can_probe = true;
  std::atomic<bool> is_found{false};
};

MpiMonitor::MpiMonitor(Process& process, std::string directory, std::function<void()> on_first_call)
    : state_(std::make_unique<State>(process, std::move(directory), std::move(on_first_call))) {}
MpiMonitor::~MpiMonitor() = default;

bool MpiMonitor::in_loop() const noexcept { return state_ && state_->is_found; }

void MpiMonitor::on_begin(const MpiCall& call, std::uint64_t ticks) noexcept {
  if (!state_) return;
  try {
    if (call.function_class == MpiClass::k_finalize) return state_->finish();
    state_->begin(call, ticks);
  } catch (const std::exception&) {  // no memory: the call is not evaluated
  }
}

void MpiMonitor::on_end(const MpiCall& call, std::uint64_t ticks) noexcept {
  if (!state_) return;
  try {
    state_->end(call, ticks);
  } catch (const std::exception&) {  // no memory
  }
}

void MpiMonitor::end() noexcept {
  if (!state_) return;
  try {
    state_->finish();
  } catch (const std::exception&) {  // no memory
  }
}

}  // namespace terrace::agent
