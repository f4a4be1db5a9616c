// SPDX-License-Identifier: Apache-2.0
// Measures which pages an uninstrumented program uses, in short windows on a background thread, and divides the
// run into intervals. See page_use_monitor.hpp.
#include "agent/page_use_monitor.hpp"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "agent/helper_thread.hpp"
#include "agent/lifecycle/module_code.hpp"
#include "core/address_space.hpp"
#include "core/big_block.hpp"
#include "core/rounding.hpp"
#include "core/system_time.hpp"
#include "observe/collecting/sampling_overhead.hpp"
#include "observe/collecting/watched_pages_collector.hpp"
#include "observe/page_watch.hpp"
#include "observe/perf/sampled_use.hpp"
#include "runtime/interval_phases.hpp"
#include "runtime/runtime.hpp"
#include "runtime/session/session.hpp"

namespace terrace::agent {

namespace {

using TrackedMapping = observe::WatchedPagesCollector::LiveRange;

// Returns the processor time of the calling thread.
double processor_seconds() { return to_seconds(read_clock(CLOCK_THREAD_CPUTIME_ID)); }

// Splits adjacent objects into separate kernel mappings (VMAs), because the kernel counts page use by mapping.
// Marks one of two neighbours MADV_RANDOM, which has no other effect on anonymous memory. Limited in number: a
// process may have 65,530 mappings (vm.max_map_count).
class VmaSplitter {
 public:
  VmaSplitter() = default;
  VmaSplitter(const VmaSplitter&) = delete;
  VmaSplitter& operator=(const VmaSplitter&) = delete;

  // Requires: the program's lock is held, so that the mappings persist.
  void split_adjacent(const std::vector<TrackedMapping>& mappings) {
    const auto is_same = [](const TrackedMapping& one, const TrackedMapping& other) {
      return one.range.low == other.range.low && one.range.high == other.range.high;
    };
    if (std::ranges::equal(mappings, before_, is_same)) return;
    // Undo marks only on unchanged ranges: others may belong to other objects by now.
    for (const auto& range : marked_) {
      const auto is_of = [&](const TrackedMapping& one) {
        return one.range.low == range.low && one.range.high == range.high;
      };
      if (std::ranges::any_of(mappings, is_of)) madvise(pointer(range), range.high - range.low, MADV_NORMAL);
    }
    marked_.clear();
    before_ = mappings;
    std::uint64_t end = 0;
    bool is_odd_before = false;
    for (const auto& one : mappings) {
      const auto& range = one.range;
      const bool odd = range.low == end && !is_odd_before && one.may_change_flags;
      end = range.high;
      is_odd_before = odd;
      if (!odd || !is_worth_it(range) || marked_.size() >= k_max) continue;
      if (madvise(pointer(range), range.high - range.low, MADV_RANDOM) == 0) marked_.push_back(range);
    }
  }

 private:
  static constexpr std::size_t k_max = 2048;
  static constexpr std::uint64_t k_min = 64 << 10;  // bytes
  static bool is_worth_it(const observe::WatchedRange& range) { return range.high - range.low >= k_min; }
  static void* pointer(const observe::WatchedRange& range) {
    return reinterpret_cast<void*>(range.low);  // NOLINT(performance-no-int-to-ptr)
  }

  std::vector<observe::WatchedRange> marked_;
  std::vector<TrackedMapping> before_;
};

}  // namespace

// Decides at start-up how the program is observed, and adapts the session if its pages are watched.
runtime::ProfileSource choose_observation(runtime::Session& session) {
  const auto observed = runtime::profile_source(session, has_hooked_code());
  if (observed != runtime::ProfileSource::pages) return observed;
  session.hooks = false;
  // With a plan small objects count, too.
  if (!session.configurations.front().plan)
    session.big_block = Bytes{std::max(session.big_block.value, k_big_block)};
  return observed;
}

struct PageUseMonitor::State {
  State(observe::WatchedPagesCollector& of, std::mutex& programs, Clock& runs, const runtime::Session& session)
      : collector(of),
        mutex(programs),
        clock(runs),
        events(session.events),
        purpose(runtime::watch_purpose(session)) {}

  void run() noexcept {
    try {
      watch_program();
    } catch (const std::exception& error) {
      try {
        runtime->note("warning", std::string("the program is no longer monitored: ") + error.what());
      } catch (const std::exception&) {  // no memory to say it with
      }
    }
  }

  // Takes windows and ends intervals until the monitor ends.
  void watch_program() {
    if (!wait_for_need()) return;
    begin_watch();
    last_window = now();
    while (watch && thread.sleep(pause())) {
      if (is_unneeded()) {
        if (!wait_for_need()) break;
        continue;
      }
      if (has_objects && pause() > k_soon) continue;  // the program has grown, so the next window is later
      if (const auto window = take_window()) {
        const std::lock_guard lock(mutex);
        collector.add(*window);
        ++windows;
        for (const auto& [object, bytes] : window->bytes)
          interval.used[base_name(runtime->object_name(object))] += bytes;
      }
      end_interval();
    }
    note_lost_samples();
  }

  // Returns whether windows serve nothing at present, because another source has the phases of a followed plan.
  [[nodiscard]] bool is_unneeded() const {
    return purpose == runtime::WatchPurpose::other_phases && has_loop && has_loop();
  }
  // Waits until the other source has had no loop for a while. Returns false at the end.
  bool wait_for_need() {
    if (purpose != runtime::WatchPurpose::other_phases) return true;
    phases = {};
    for (double since = now(); now() - since < k_patience.value;) {
      if (!thread.sleep(k_patience.value / 5)) return false;
      if (is_unneeded()) since = now();
    }
    interval = {};
    interval_begun = last_window = now();
    windows = 0;
    return true;
  }

  static constexpr double k_idle = 0.05;  // seconds between checks without objects
  static constexpr double k_soon = 1e-3;

  // Returns the time until the next window, so that windows cost at most their share of a processor, in Terrace's
  // thread and in the program.
  [[nodiscard]] double pause() const {
    if (!has_objects) return k_idle;
    const auto share = is_learning ? k_share_learning : k_share_later;
    return std::max(last_window + expected_cost() / share - now(), 0.0);
  }

  // Returns the cost of the last window; before the first one an estimate from the resident memory.
  [[nodiscard]] double expected_cost() const {
    if (cost > 0) return cost;
    const auto memory = process_memory();
    return memory ? observe::window_cost(memory->resident.value / k_page).value : 0;
  }

  // Adds the cost of the program's faults on cleared pages.
  [[nodiscard]] double cost_of_window(double own) const {
    constexpr double k_again = observe::k_page_reuse_cost / observe::k_smaps_page_cost;
    const auto pages = watch->num_cleared();
    return own + (pages > 0 ? static_cast<double>(pages) * observe::k_page_reuse_cost.value : own * k_again);
  }

  // Returns the address ranges of the present objects, split so that the kernel counts each alone.
  [[nodiscard]] std::vector<TrackedMapping> tracked_mappings() {
    const std::lock_guard lock(mutex);
    is_learning = collector.active() || !phases.in_loop();
    auto all = collector.live_ranges();
    // The program may mremap(2) its own mappings, which must be a single VMA.
    for (auto& one : all) one.may_change_flags = !runtime->is_own_mapping(one.object);
    apart.split_adjacent(all);
    return all;
  }

  // Watches the objects' pages for one window. Returns what was used, or nothing at the end or without objects.
  std::optional<observe::UseWindow> take_window() {
    const auto begun = processor_seconds();
    const auto objects = tracked_mappings();
    std::vector<observe::WatchedRange> ranges;
    ranges.reserve(objects.size());
    for (const auto& one : objects) ranges.push_back(one.range);
    has_objects = !ranges.empty();
    if (!has_objects) return {};
    watch->begin(ranges);
    observe::UseWindow window;
    window.begin = now();
    if (!thread.sleep(collector.window().value)) return {};
    std::vector<std::uint64_t> used(ranges.size());
    watch->read(ranges, used);
    window.end = now();
    last_window = now();
    cost = cost_of_window(processor_seconds() - begun);
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i] == observe::PageWatch::k_unknown || used[i] == 0) continue;
      window.bytes[objects[i].object] += static_cast<double>(used[i]);
    }
    return window;
  }

  // Ends the interval if it is long enough, and passes it to the detection of the main loop.
  void end_interval() {
    const auto time = now();
    if (windows < k_windows || time - interval_begun < k_min_interval.value) return;
    interval.seconds = time - interval_begun;
    if (has_loop && has_loop()) {
      phases = {};
    } else if (const auto boundary = phases.on_interval_end(interval); boundary.any()) {
      runtime->on_phase_boundary(boundary);
    }
    interval = {};
    interval_begun = time;
    windows = 0;
  }

  [[nodiscard]] double now() const { return clock.now().value; }
  static std::string base_name(const std::string& name) { return name.substr(0, name.rfind('#')); }
  // Selects the best available method: the processor's samples, else the kernel's page flags.
  void begin_watch() {
    if (!events.empty() && observe::MemorySampler::unavailable_reason(events).empty()) {
      auto made = std::make_unique<observe::SampledUse>(events, static_cast<int>(gettid()));
      note("the processor's samples of accesses", made->blind_spots());
      sampled = made.get();
      watch = std::move(made);
    } else if (const auto* const variant = observe::best_page_watch()) {
      watch = variant->make();
      note(variant->name(), variant->blind_spots());
    } else {
      runtime->note("warning",
                    "not instrumented, and no way to watch pages can be had here; terrace run --dry-run says why");
    }
  }
  void note_lost_samples() const {
    const auto counts = sampled ? sampled->counts() : observe::SamplerCounts{};
    if (counts.lost + counts.throttled + counts.refused == 0) return;
    runtime->note("note", "access samples: " + std::to_string(counts.lost) + " lost, " +
                              std::to_string(counts.samples) + " recorded; the kernel throttled events " +
                              std::to_string(counts.throttled) + " times and refused them for " +
                              std::to_string(counts.refused) + " threads");
  }
  void note(std::string_view by, std::string_view misses) const {
    auto text = "no hooks: objects are watched by " + std::string(by);
    if (!misses.empty()) text += ", which does not see " + std::string(misses);
    runtime->note("note", text);
  }

  runtime::Runtime* runtime = nullptr;
  observe::WatchedPagesCollector& collector;
  std::mutex& mutex;
  Clock& clock;
  const std::vector<observe::PerfEvent>& events;
  runtime::WatchPurpose purpose;
  std::unique_ptr<observe::PageWatch> watch;
  const observe::SampledUse* sampled = nullptr;  // `watch`, if it uses samples
  VmaSplitter apart;
  runtime::IntervalPhases phases;
  runtime::IntervalPhases::Interval interval;
  double interval_begun = 0;
  std::uint32_t windows = 0;       // in this interval
  std::function<bool()> has_loop;  // whether another source has found a loop
  double cost = 0;                 // processor seconds of the last window
  double last_window = 0;          // end of the last window
  bool has_objects = true;         // there are objects to monitor
  bool is_learning = true;
  HelperThread thread;  // last member: its thread uses the others
};

PageUseMonitor::PageUseMonitor(observe::WatchedPagesCollector& collector, std::mutex& mutex, Clock& clock,
                               const runtime::Session& session)
    : state_(std::make_unique<State>(collector, mutex, clock, session)) {}
PageUseMonitor::~PageUseMonitor() { end(); }

void PageUseMonitor::report_to(runtime::Runtime& runtime) noexcept { state_->runtime = &runtime; }

void PageUseMonitor::yield_to(std::function<bool()> has_loop) { state_->has_loop = std::move(has_loop); }

void PageUseMonitor::begin() noexcept {
  if (state_->purpose == runtime::WatchPurpose::nothing) return;
  state_->thread.begin("terrace/pages", [state = state_.get()] { state->run(); });
}

void PageUseMonitor::end() noexcept { state_->thread.end(); }

}  // namespace terrace::agent
