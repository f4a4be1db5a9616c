// SPDX-License-Identifier: Apache-2.0
// Reports the program's calls, blocks and misses to the loop tree, and keeps the clock of work on real memory;
// called by the hooks. See loop_events.hpp.
#include "observe/pipeline/loop_events.hpp"

#include <algorithm>

#include "core/system_time.hpp"
#include "observe/pipeline/pipeline.hpp"

namespace terrace::observe {

constinit std::atomic<bool> g_loops_are_shared{false};

namespace {

// Access the floating-point exception flags without <cfenv>, which is part of libm.
#if defined(__x86_64__)
unsigned floating_state() { return __builtin_ia32_stmxcsr(); }
void set_floating_state(unsigned state) { __builtin_ia32_ldmxcsr(state); }
#elif defined(__aarch64__)
unsigned floating_state() { return __builtin_aarch64_get_fpsr(); }
void set_floating_state(unsigned state) { __builtin_aarch64_set_fpsr(state); }
#else
#error "floating_state() is not written for this processor"
#endif

// Returns the ticks of the processor's clock, read without a system call.
#if defined(__x86_64__)
Work ticks() { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
Work ticks() {
  Work value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
#endif

std::uint64_t nanoseconds(clockid_t clock) { return to_ns(read_kernel_clock(clock)); }

// Estimates the ticks for which the current thread waited for a processor, or for anything else. On a busy machine
// that is milliseconds at a time, which would count as work of the next event. The thread's clocks are read after
// gaps between events that are long enough for a wait, so rarely that the cost is negligible.
class WaitTime {
 public:
  // Returns the ticks waited until `now`. `begins_anew`: the current thread changed, or the work clock was
  // stopped.
  Work until(Work now, bool begins_anew) {
    if (begins_anew || clocks_read_at_ == 0)
      read_clocks(now);
    else if (now - read_at_ >= k_gap)
      add_wait_since_read(now);
    read_at_ = now;
    return waited_;
  }
  // Skips a wait within an event, which is the runtime's and not the program's.
  void skip_to(Work now) {
    if (now - read_at_ >= k_gap) read_clocks(now);
    read_at_ = now;
  }
  // Restarts the measurement at `now`; what came before counts neither as wait nor as work.
  void begin(Work now) {
    read_clocks(now);
    read_at_ = now;
  }
  [[nodiscard]] Work so_far() const { return waited_; }

 private:
  static constexpr Work k_gap =
      1 << 18;  // the shortest iteration of a main loop; time slices of schedulers are longer

  void read_clocks(Work now) {
    clocks_read_at_ = now;
    cpu_ns_ = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    wall_ns_ = nanoseconds(CLOCK_MONOTONIC);
  }
  void add_wait_since_read(Work now) {
    const auto cpu_ns = cpu_ns_, wall_ns = wall_ns_, since = now - clocks_read_at_;
    read_clocks(now);
    const auto all = wall_ns_ - wall_ns, own = cpu_ns_ - cpu_ns;
    if (own >= all) return;
    const auto share = static_cast<double>(all - own) / static_cast<double>(all);
    waited_ += std::min(static_cast<Work>(share * static_cast<double>(since)), now - read_at_);
  }

  Work clocks_read_at_ = 0, read_at_ = 0;
  std::uint64_t cpu_ns_ = 0, wall_ns_ = 0;  // CLOCK_THREAD_CPUTIME_ID and CLOCK_MONOTONIC
  Work waited_ = 0;
};

// Accumulates the work that the current thread's pipeline counts while the work clock is stopped.
class HookWork {
 public:
  // Returns the work counted so far, and counts on by this pipeline (null: by none).
  Work so_far(const Pipeline* pipeline) {
    if (pipeline != of_) settle();
    if (pipeline != nullptr) {
      last_ = pipeline->work();
      if (of_ == nullptr) begun_ = last_;
    }
    of_ = pipeline;
    return before_ + last_ - begun_;
  }
  // Adds the current pipeline's count to the total and detaches from it, before another pipeline is read.
  void settle() {
    before_ += last_ - begun_;
    begun_ = last_ = 0;
    of_ = nullptr;
  }

 private:
  const Pipeline* of_ = nullptr;
  Work begun_ = 0, last_ = 0, before_ = 0;
};

// Restores the floating-point exception flags: computations in this scope raise none that the program could see.
class FloatingPointFlagsGuard {
 public:
  FloatingPointFlagsGuard() : before_(floating_state()) {}
  ~FloatingPointFlagsGuard() {
    if (floating_state() != before_) set_floating_state(before_);
  }
  FloatingPointFlagsGuard(const FloatingPointFlagsGuard&) = delete;
  FloatingPointFlagsGuard& operator=(const FloatingPointFlagsGuard&) = delete;

 private:
  unsigned before_;
};

// The tree and the threads that may report to it. In virtual time one thread runs at a time. On a real machine an
// event that arrives while another thread's is in progress is dropped; to the tree that looks like a jump.
struct SharedTree {
  std::atomic<LoopTree*> tree{nullptr};
  std::atomic<Thread*> owner{nullptr};      // the thread that called set_loop_tree
  std::atomic<Thread*> successor{nullptr};  // reports while the owner waits
  std::atomic<bool> owner_waits{false};
  std::atomic<bool> is_busy{false};  // an event is in progress
  std::uint32_t depth = 0;           // of the owner's calls while it waits
  // Belong to the event in progress, or to the last one.
  Thread* current = nullptr;
  Work now = 0;  // work so far, of all threads that reported
  WorkSource source = WorkSource::pipeline;
  WaitTime wait_time;
  HookWork hook_work;
  Work event_ticks = 0;                  // spent in events, which are no work of the program
  std::atomic<bool> was_stopped{false};  // the work clock was stopped and restarted since the last event
  std::atomic<Work> stopped_at{0};       // ticks; 0: the clock runs
  std::atomic<Work> stopped_for{0};
  std::atomic<Work> resumed_at{0};  // ticks; of the last resumption
};
constinit SharedTree g_shared;

// Gives the calling thread access to the tree for the length of an event, if it is the one that may report.
class TreeAccess {
 public:
  explicit TreeAccess(Thread& thread) : thread_(thread) {
    const bool waits = g_shared.owner_waits.load(std::memory_order_acquire);
    const auto& current = waits ? g_shared.successor : g_shared.owner;
    if (current.load(std::memory_order_relaxed) != &thread) return;
    // Before the first successor no other thread reports, and a successor is set only while the owner is in no
    // event.
    is_shared_ = g_loops_are_shared.load(std::memory_order_relaxed);
    if (is_shared_ && g_shared.is_busy.exchange(true, std::memory_order_acquire)) return;
    has_tree_ = true;
    base_ = waits ? g_shared.depth : 0;
    const auto work = thread_work();
    if (g_shared.current != &thread) thread.loop_work_offset = g_shared.now - work;
    g_shared.current = &thread;
    g_shared.now = thread.loop_work_offset + work;
  }
  ~TreeAccess() {
    if (!has_tree_) return;
    if (g_shared.source == WorkSource::clock) exclude_event();
    const auto followed = tree().followed_depth();
    const auto left = followed > base_ ? followed - base_ : 0;
    thread_.followed_depth = followed == LoopTree::k_every_depth ? followed : left;
    if (is_shared_) g_shared.is_busy.store(false, std::memory_order_release);
  }
  TreeAccess(const TreeAccess&) = delete;
  TreeAccess& operator=(const TreeAccess&) = delete;
  [[nodiscard]] explicit operator bool() const { return has_tree_; }
  [[nodiscard]] LoopTree& tree() const { return *thread_.loop_tree; }
  [[nodiscard]] std::uint32_t depth() const { return base_ + thread_.depth; }
  [[nodiscard]] Work now() const { return g_shared.now; }

 private:
  // Excludes the listener's own time from the program's work: the ticks from the event's begin, or from the
  // resumption of the work clock within the event, to its end.
  void exclude_event() const {
    const auto stopped = g_shared.stopped_at.load(std::memory_order_relaxed);
    if (entered_at_ != 0) {
      const auto left_at = stopped != 0 ? stopped : ticks();
      g_shared.event_ticks += left_at - entered_at_;
      g_shared.wait_time.skip_to(left_at);
    } else if (stopped == 0 && g_shared.was_stopped.exchange(false, std::memory_order_relaxed)) {
      g_shared.hook_work.settle();
      const auto left_at = ticks();
      g_shared.event_ticks += left_at - g_shared.resumed_at.load(std::memory_order_relaxed);
      g_shared.wait_time.begin(left_at);
    }
  }
  // Returns the calling thread's work so far: instructions, or the clock's ticks less waits and the runtime's
  // time.
  [[nodiscard]] Work thread_work() {
    if (g_shared.source == WorkSource::pipeline) return thread_.pipeline ? thread_.pipeline->work() : 0;
    const auto stopped = g_shared.stopped_at.load(std::memory_order_relaxed);
    const auto stopped_for = g_shared.stopped_for.load(std::memory_order_relaxed);
    const bool was_stopped = g_shared.was_stopped.exchange(false, std::memory_order_relaxed);
    if (was_stopped) g_shared.hook_work.settle();
    const auto counted = g_shared.hook_work.so_far(stopped != 0 ? thread_.pipeline : nullptr);
    const auto excluded = stopped_for + g_shared.event_ticks - counted;
    if (stopped != 0) return stopped - g_shared.wait_time.so_far() - excluded;
    entered_at_ = ticks();
    return entered_at_ - g_shared.wait_time.until(entered_at_, was_stopped || g_shared.current != &thread_) -
           excluded;
  }

  Thread& thread_;
  std::uint32_t base_ = 0;
  bool has_tree_ = false;
  bool is_shared_ = false;
  Work entered_at_ = 0;  // ticks at the event's begin; 0: the work clock was stopped then
};

// Runs the event inside the runtime, because the tree's listener runs in it.
template <class Event>
void report(Event event) {
  const RuntimeScope inside;
  const FloatingPointFlagsGuard guard;
  if (const TreeAccess access(t_thread); access) event(access);
}

}  // namespace

void set_loop_tree(LoopTree* tree, WorkSource source) noexcept {
  g_shared.source = source;
  g_shared.tree = t_thread.loop_tree = tree;
  g_shared.owner = tree ? &t_thread : nullptr;
  g_shared.successor = nullptr;
  t_thread.followed_depth = tree ? tree->followed_depth() : 0;
}

void stop_work_clock(bool stopped) noexcept {
  if (stopped == (g_shared.stopped_at.load() != 0)) return;
  const auto now = ticks();
  if (stopped) {
    g_shared.stopped_at = now;
    return;
  }
  g_shared.resumed_at = now;
  g_shared.stopped_for += now - g_shared.stopped_at.exchange(0);
  g_shared.was_stopped = true;
}

ScopedLoopWait::ScopedLoopWait() noexcept {
  if (g_shared.owner.load(std::memory_order_relaxed) != &t_thread) return;
  g_shared.depth = t_thread.depth;
  g_shared.owner_waits.store(true, std::memory_order_release);
}

ScopedLoopWait::~ScopedLoopWait() {
  if (g_shared.owner.load(std::memory_order_relaxed) == &t_thread)
    g_shared.owner_waits.store(false, std::memory_order_release);
}

void begin_thread_loops() noexcept {
  auto* const tree = g_shared.tree.load();
  Thread* none = nullptr;
  if (!tree || t_thread.loop_tree || !g_shared.successor.compare_exchange_strong(none, &t_thread)) return;
  g_loops_are_shared = true;
  t_thread.loop_tree = tree;
  t_thread.followed_depth = LoopTree::k_every_depth;
}

void end_thread_loops() noexcept {
  auto* self = &t_thread;
  if (g_shared.successor.compare_exchange_strong(self, nullptr)) t_thread.loop_tree = nullptr;
}

void report_call(std::uint64_t function, std::uint64_t call_site) {
  report(
      [=](const TreeAccess& access) { access.tree().enter(function, call_site, access.depth(), access.now()); });
}

void report_return() {
  report([](const TreeAccess& access) { access.tree().leave(access.depth(), access.now()); });
}

void report_sample(std::uint64_t site) {
  report([=](const TreeAccess& access) { access.tree().sample(site, access.depth(), access.now()); });
}

void report_block(std::uint64_t site) {
  const Thread& thread = t_thread;
  const bool is_alone = !g_loops_are_shared.load(std::memory_order_relaxed);
  if (is_alone && !thread.loop_tree->affects(site, thread.depth)) return;
  report([=](const TreeAccess& access) { access.tree().block(site, access.depth(), access.now()); });
}

void report_miss(std::uint64_t region) {
  report([=](const TreeAccess& access) { access.tree().record_miss(region); });
}

}  // namespace terrace::observe
