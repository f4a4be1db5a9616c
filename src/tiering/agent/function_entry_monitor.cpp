// SPDX-License-Identifier: Apache-2.0
// Samples, probes and follows the function entries of an uninstrumented program, in a background thread. Started
// by UninstrumentedMonitor on real memory. See function_entry_monitor.hpp.
#include "agent/function_entry_monitor.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/helper_thread.hpp"
#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/modules.hpp"
#include "agent/lifecycle/process.hpp"
#include "core/error.hpp"
#include "core/system_time.hpp"
#include "observe/perf/function_probes.hpp"
#include "observe/symbols/symbols.hpp"
#include "profile/records.hpp"
#include "runtime/probe_choice.hpp"
#include "runtime/regions/region_phases.hpp"
#include "runtime/runtime.hpp"

namespace terrace::agent {

namespace {

// Maps sampled code addresses to the entry of their function. Uses the symbol files, or else the exported symbols
// of a library: a distribution's program may keep all its code in a system library without a symbol file. Run-time
// libraries (libc and similar) are excluded, because their work counts as their caller's. Not thread-safe.
class FunctionStarts {
 public:
  explicit FunctionStarts(Process& process) : process_(process) {}

  // Returns the entry address, or 0 if unknown. May take the dynamic linker's lock. Throws std::bad_alloc.
  std::uint64_t find(std::uint64_t address);

 private:
  std::uint64_t find_exported(std::uint64_t address);

  Process& process_;
  std::map<std::uint64_t, std::uint64_t>
      exported_;  // begin -> end; a cache, because dladdr1(3) searches a library's whole table
};

std::uint64_t FunctionStarts::find(std::uint64_t address) {
  const auto found = find_symbol(process_, address);
  if (found.described) return find_place(process_, address).function;
  if (found.site.module < 0 || is_in_terrace(address) || is_runtime_library(found.path)) return 0;
  return find_exported(address);
}

// Finds the function by the exported symbols of its library.
std::uint64_t FunctionStarts::find_exported(std::uint64_t address) {
  if (const auto after = exported_.upper_bound(address); after != exported_.begin())
    if (const auto& [begin, end] = *std::prev(after); address < end) return begin;
  Dl_info known;
  void* entry = nullptr;
  const auto* const code = reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
  if (dladdr1(code, &known, &entry, RTLD_DL_SYMENT) == 0 || !known.dli_saddr || !entry) return 0;
  const auto& symbol = *static_cast<const ElfW(Sym)*>(entry);
  const auto begin = reinterpret_cast<std::uint64_t>(known.dli_saddr);
  // dladdr() may return the nearest preceding symbol, even if it does not contain the address.
  if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || address - begin >= symbol.st_size) return 0;
  exported_[begin] = begin + symbol.st_size;
  return begin;
}

constexpr double k_sampling = 0.5;       // seconds of sampling for hot functions
constexpr double k_sample_every = 1e-3;  // seconds of the thread's processor time
constexpr double k_trial = 0.3;          // seconds of counting calls
constexpr double k_patience = 5;         // seconds without a loop until hot functions are sampled again
constexpr double k_longest_pause = 60;   // seconds between unsuccessful attempts
constexpr double k_poll = 2e-3;          // seconds between reads of the probes
constexpr double k_recheck = 1;          // seconds over which the total call rate is measured
constexpr double k_watch_every = 1e-2;  // seconds of the thread's processor time, between samples of armed entries
constexpr std::uint64_t k_min_watched = 100;  // samples by which entries are judged
constexpr double k_max_entry_share = 0.05;    // of these, in the line of an entry
constexpr double k_late = 5e-3;               // seconds; entries read later than this have no valid time
constexpr Seconds k_min_phase{0.01};          // phases are reported up to k_poll late
constexpr const char* k_kind = "function entries";

// Watches the code at probed entries. An armed breakpoint slows the code in the same 64 bytes, up to 15 times on
// some processors, also where it is never hit: a loop right behind a function's entry must not pay for the probe.
class EntryLines {
 public:
  static std::uint64_t line_of(std::uint64_t address) { return address / 64; }

  EntryLines() {
    if (observe::FunctionProbes::slows_nearby_code()) sampler_.emplace(getpid(), k_watch_every);
  }

  // Reads the samples since the last call. Returns, once enough were taken, the positions of the entries in whose
  // lines the thread spends more time than rare calls need, and begins again.
  std::vector<std::uint32_t> find_busy(const std::vector<std::uint64_t>& begins) {
    if (!sampler_) return {};
    for (const auto address : sampler_->read_samples()) ++samples_[line_of(address)], ++all_;
    std::vector<std::uint32_t> busy;
    if (all_ < k_min_watched) return busy;
    for (std::uint32_t i = 0; i < begins.size(); ++i) {
      const auto found = samples_.find(line_of(begins[i]));
      if (found != samples_.end() &&
          static_cast<double>(found->second) > k_max_entry_share * static_cast<double>(all_))
        busy.push_back(i);
    }
    samples_.clear();
    all_ = 0;
    return busy;
  }

 private:
  std::optional<observe::TimeSampler> sampler_;     // where breakpoints slow other code
  std::map<std::uint64_t, std::uint64_t> samples_;  // by line
  std::uint64_t all_ = 0;
};

// Returns the time of the clock that stamps perf events.
Seconds monotonic() { return Seconds{to_seconds(read_clock(CLOCK_MONOTONIC))}; }

}  // namespace

struct FunctionEntryMonitor::State {
  State(Process& of, const runtime::PhaseSpec& given, void (*resolve)(std::uint64_t))
      : process(of), spec(given), resolve_name(resolve) {}

  void run() noexcept {
    try {
      probe_program();
    } catch (const std::exception& error) {
      try {
        note(error.what());
      } catch (const std::exception&) {  // no memory to say it with
      }
    }
    is_found = false;
  }

  void note(const std::string& why) {
    process.runtime->note("note",
                          std::string(profile::k_phases_from) + "functions' entries cannot be seen: " + why);
  }

  void probe_program() {
    if (const auto why = observe::FunctionProbes::unavailable_reason(); !why.empty()) return note(why);
    if (spec.source == runtime::PhaseSource::functions)
      follow_named();
    else
      discover_and_follow();
  }

  // Probes the functions that the user named.
  void follow_named() {
    std::vector<std::uint64_t> begins;
    for (const auto& name : spec.functions)
      for (const auto address : process.symbols->entry_points(name)) begins.push_back(address);
    if (begins.empty()) return;
    for (const auto address : begins) resolve_name(address);
    observe::FunctionProbes probes(getpid());
    std::uint32_t taken = 0;
    while (taken < begins.size() && probes.add(taken, begins[taken])) ++taken;
    if (taken < begins.size())
      note("the processor has breakpoints for " + std::to_string(taken) + " of the " +
           std::to_string(begins.size()) + " named entries");
    CallRate rate;
    EntryLines lines;
    while (thread.sleep(k_poll)) {
      for (const auto& event : probes.read_events()) {
        process.runtime->function_entered(begins[event.function], 0);
        rate.called();
      }
      for (const auto i : lines.find_busy(begins))
        if (probes.remove(i))
          process.runtime->note(
              "warning", "--phases " + std::string(function_name(process, begins[i])) +
                             ": not followed any more: the breakpoint at its entry slows a loop in the same 64 "
                             "bytes; name another function");
      if (!is_affordable(rate, probes) || probes.size() == 0) return;
    }
  }

  // Probes the hot functions that sampling finds, and samples again after a while without a loop.
  void discover_and_follow() {
    double pause = k_sampling;
    while (thread.sleep(pause)) {
      pause = std::min(2 * pause, k_longest_pause);
      const auto hot = sample_hot_functions();
      if (hot.empty()) continue;
      observe::FunctionProbes probes(getpid());
      if (!count_trial_calls(probes, hot)) continue;
      if (follow(probes, hot)) pause = k_sampling;
    }
  }

  // Samples the main thread for k_sampling. Returns the functions that it spent most time in; empty at the end.
  std::vector<std::uint64_t> sample_hot_functions() {
    observe::TimeSampler sampler(getpid(), k_sample_every);
    std::map<std::uint64_t, std::uint64_t> samples;
    std::set<std::uint64_t> lines;
    const auto take = [&] {
      for (const auto address : sampler.read_samples()) {
        ++samples[starts.find(address)];
        lines.insert(EntryLines::line_of(address));
      }
    };
    for (int i = 0; i < 10; ++i) {
      if (!thread.sleep(k_sampling / 10)) return {};
      take();
    }
    auto hot = runtime::hot_functions(samples);
    // A function that is called seldom spends no time at its entry, unless a loop is there.
    if (observe::FunctionProbes::slows_nearby_code())
      std::erase_if(hot, [&](std::uint64_t entry) { return lines.contains(EntryLines::line_of(entry)); });
    return hot;
  }

  // Counts calls of as many functions as the processor has breakpoints for. A function that is called too often is
  // replaced by the next one. Returns false if none remains.
  bool count_trial_calls(observe::FunctionProbes& probes, const std::vector<std::uint64_t>& begins) {
    const auto most = static_cast<std::uint64_t>(k_trial * runtime::k_max_call_rate);
    std::vector<std::uint64_t> calls(begins.size(), most + 1);  // most + 1: not counted
    std::uint32_t next = 0;
    const auto count_next = [&] {
      const bool added = next < begins.size() && probes.add(next, begins[next]);
      if (added) calls[next++] = 0;
      return added;
    };
    while (count_next()) {
    }
    for (CallRate trial; trial.passed() < k_trial && probes.size() > 0;) {
      if (!thread.sleep(k_poll)) return false;
      for (const auto& event : probes.read_events()) ++calls[event.function];
      bool anew = false;
      for (std::uint32_t i = 0; i < next; ++i)
        if (calls[i] > most && probes.remove(i)) anew = count_next() || anew;
      if (!anew) continue;
      for (auto& count : calls)
        if (count <= most) count = 0;
      trial.begin_again();
    }
    for (const auto function : runtime::called_too_often(calls, k_trial)) probes.remove(function);
    return probes.size() > 0;
  }

  // Measures the call rate of the probed functions.
  class CallRate {
   public:
    void called() { ++calls_; }
    // Returns the measured duration in seconds: sleeps last longer than requested.
    [[nodiscard]] double passed() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
    [[nodiscard]] double rate() const { return static_cast<double>(calls_) / passed(); }
    void begin_again() { *this = {}; }

   private:
    using Clock = std::chrono::steady_clock;
    std::uint64_t calls_ = 0;
    Clock::time_point begun_ = Clock::now();
  };

  // Returns whether the probes are still cheap enough. Reports it once if not.
  bool is_affordable(CallRate& calls, const observe::FunctionProbes& probes) {
    if (calls.passed() < k_recheck) return true;
    const bool is_often = probes.lost() > 0 || calls.rate() > runtime::k_max_total_rate;
    calls.begin_again();
    if (is_often && !std::exchange(is_often_said, true))
      note("they are entered more than " + std::to_string(static_cast<int>(runtime::k_max_total_rate)) +
           " times a second, and each entry costs the program some microseconds");
    return !is_often;
  }

  // Follows the probed functions until the program ends or has had no loop for k_patience. Returns whether it had
  // one.
  bool follow(observe::FunctionProbes& probes, const std::vector<std::uint64_t>& begins) {
    Seconds at;
    bool any = false;
    const auto pass = [&](const runtime::PhaseBoundary& boundary) {
      if (boundary.ends_loop) is_found = false;
      if (!boundary.begins_loop.empty()) is_found = any = true;
      auto passed = boundary;
      passed.is_late = (monotonic() - at).value > k_late;
      process.runtime->on_phase_boundary(passed);
    };
    runtime::RegionPhases regions([&] { return at; }, pass, k_min_phase);
    std::vector<runtime::RegionPhases::Name> names;
    for (const auto address : begins)
      names.push_back(regions.intern_name(k_kind, function_name(process, address)));
    double idle = 0;
    bool is_said = false;
    std::optional<std::uint32_t> open;
    CallRate rate;
    EntryLines lines;
    while (idle < k_patience && thread.sleep(k_poll)) {
      for (const auto& event : probes.read_events()) {
        at = Seconds{to_seconds(event.time_ns)};
        // The previous function's region lasts until now, because returns are not observed.
        if (open) regions.end(*open);
        regions.begin(event.function, names[event.function]);
        open = event.function;
        rate.called();
      }
      for (const auto i : lines.find_busy(begins)) probes.remove(i);
      if (!is_affordable(rate, probes) || probes.size() == 0) break;
      if (regions.in_loop() && !std::exchange(is_said, true))
        process.runtime->note("note", std::string(profile::k_phases_from) + regions.kinds());
      idle = regions.in_loop() ? 0 : idle + k_poll;
    }
    return any;
  }

  Process& process;
  const runtime::PhaseSpec& spec;
  void (*resolve_name)(std::uint64_t);
  FunctionStarts starts{process};
  std::atomic<bool> is_found{false};
  bool is_often_said = false;
  HelperThread thread;  // last member: its thread uses the others
};

FunctionEntryMonitor::FunctionEntryMonitor(Process& process, const runtime::PhaseSpec& phases,
                                           void (*resolve_name)(std::uint64_t))
    : state_(std::make_unique<State>(process, phases, resolve_name)) {}
FunctionEntryMonitor::~FunctionEntryMonitor() { end(); }

bool FunctionEntryMonitor::in_loop() const noexcept { return state_->is_found; }

void FunctionEntryMonitor::begin() noexcept {
  if (state_->spec.source == runtime::PhaseSource::markers) return;
  state_->thread.begin("terrace/entries", [state = state_.get()] { state->run(); });
}

void FunctionEntryMonitor::end() noexcept { state_->thread.end(); }

}  // namespace terrace::agent
