#include "observe/pipeline/loop_events.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "observe/pipeline/pipeline.hpp"

namespace terrace::observe {

constinit std::atomic<bool> g_loops_are_shared{false};

namespace {

// The flags of floating-point exceptions, without <cfenv>: that is in the mathematical library.
#if defined(__x86_64__)
unsigned floating_state() { return __builtin_ia32_stmxcsr(); }
void set_floating_state(unsigned state) { __builtin_ia32_ldmxcsr(state); }
#elif defined(__aarch64__)
unsigned floating_state() { return __builtin_aarch64_get_fpsr(); }
void set_floating_state(unsigned state) { __builtin_aarch64_set_fpsr(state); }
#else
#error "floating_state() is not written for this processor"
#endif

// Ticks of a clock that each processor can read by itself.
#if defined(__x86_64__)
Work ticks() { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
Work ticks() {
  Work value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
#endif

std::uint64_t nanoseconds(clockid_t clock) {
  // The kernel itself: the program's own calls may be Terrace's.
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Ticks for which the thread that is heard waited for a processor, or for anything else. On a busy machine that is
// milliseconds at a time, which would look like work of whatever comes next. The kernel is asked after gaps
// between events that are long enough for that, so rarely that it costs next to nothing.
class Waits {
 public:
  // Returns those until `now`. `begins_anew`: another thread is heard than before, or the clock stood.
  Work until(Work now, bool begins_anew) {
    if (begins_anew || asked_at_ == 0)
      ask(now);
    else if (now - read_at_ >= k_gap)
      add_since_asked(now);
    read_at_ = now;
    return waited_;
  }
  // Skips a wait within an event, which is Terrace's and not the program's.
  void skip_to(Work now) {
    if (now - read_at_ >= k_gap) ask(now);
    read_at_ = now;
  }
  // Restarts the measurement at `now`; what came before counts neither as wait nor as work.
  void begin(Work now) {
    ask(now);
    read_at_ = now;
  }
  [[nodiscard]] Work so_far() const { return waited_; }

 private:
  static constexpr Work k_gap = 1 << 18;  // the least iteration of a main loop; schedulers take more at a time

  void ask(Work now) {
    asked_at_ = now;
    had_ = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    passed_ = nanoseconds(CLOCK_MONOTONIC);
  }
  void add_since_asked(Work now) {
    const auto had = had_, passed = passed_, since = now - asked_at_;
    ask(now);
    const auto all = passed_ - passed, own = had_ - had;
    if (own >= all) return;
    const auto share = static_cast<double>(all - own) / static_cast<double>(all);
    waited_ += std::min(static_cast<Work>(share * static_cast<double>(since)), now - read_at_);
  }

  Work asked_at_ = 0, read_at_ = 0;
  std::uint64_t had_ = 0, passed_ = 0;  // by the thread's clock and by everybody's, in ns
  Work waited_ = 0;
};

// Work that the heard thread's pipeline counts while the clock stands.
class Counted {
 public:
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

// The program's floating-point exceptions are its own: what is computed in this scope raises none for it.
class QuietArithmetic {
 public:
  QuietArithmetic() : before_(floating_state()) {}
  ~QuietArithmetic() {
    if (floating_state() != before_) set_floating_state(before_);
  }
  QuietArithmetic(const QuietArithmetic&) = delete;
  QuietArithmetic& operator=(const QuietArithmetic&) = delete;

 private:
  unsigned before_;
};

// Of whom the tree hears. Threads take turns in virtual time and do not on a real machine: there an event that
// comes while another thread's is under way is left out, which the tree takes for a jump.
struct Shared {
  std::atomic<LoopTree*> tree{nullptr};
  std::atomic<Thread*> owner{nullptr};  // the thread that was given the tree
  std::atomic<Thread*> heir{nullptr};   // goes on while that waits
  std::atomic<bool> waits{false};       // the owner
  std::atomic<bool> is_busy{false};     // an event is under way
  std::uint32_t depth = 0;              // of the owner's calls, where it waits
  // Of the event that is under way, or the last one.
  Thread* heard = nullptr;
  Work now = 0;  // work so far, of all that were heard
  WorkBy by = WorkBy::pipeline;
  Waits waits_of_heard;
  Counted counted;
  Work own = 0;                     // ticks that events took, which are no work of the program's
  std::atomic<bool> stood{false};   // the work clock was stopped and resumed since the last event
  std::atomic<Work> stopped_at{0};  // ticks; 0: the clock runs
  std::atomic<Work> stopped_for{0};
  std::atomic<Work> resumed_at{0};  // ticks; of the last resumption
};
constinit Shared g_shared;

// The calling thread has the tree for the length of an event, if it is the one to be heard.
class Turn {
 public:
  explicit Turn(Thread& thread) : thread_(thread) {
    const bool waits = g_shared.waits.load(std::memory_order_acquire);
    const auto& heard = waits ? g_shared.heir : g_shared.owner;
    if (heard.load(std::memory_order_relaxed) != &thread) return;
    // Before there is an heir nobody else is heard, and one is only while the owner is in no event.
    is_shared_ = g_loops_are_shared.load(std::memory_order_relaxed);
    if (is_shared_ && g_shared.is_busy.exchange(true, std::memory_order_acquire)) return;
    is_taken_ = true;
    base_ = waits ? g_shared.depth : 0;
    const auto work = own_work();
    if (g_shared.heard != &thread) thread.loop_work_before = g_shared.now - work;
    g_shared.heard = &thread;
    g_shared.now = thread.loop_work_before + work;
  }
  ~Turn() {
    if (!is_taken_) return;
    if (g_shared.by == WorkBy::clock) leave_out_event();
    const auto followed = tree().followed_depth();
    const auto left = followed > base_ ? followed - base_ : 0;
    thread_.followed_depth = followed == LoopTree::k_every_depth ? followed : left;
    if (is_shared_) g_shared.is_busy.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  [[nodiscard]] explicit operator bool() const { return is_taken_; }
  [[nodiscard]] LoopTree& tree() const { return *thread_.loops; }
  [[nodiscard]] std::uint32_t depth() const { return base_ + thread_.depth; }
  [[nodiscard]] Work now() const { return g_shared.now; }

 private:
  // Excludes the listener's own time from the program's work: the ticks from the event's begin, or from the
  // resumption of the work clock within the event, to its end.
  void leave_out_event() const {
    const auto stopped = g_shared.stopped_at.load(std::memory_order_relaxed);
    if (entered_at_ != 0) {
      const auto left_at = stopped != 0 ? stopped : ticks();
      g_shared.own += left_at - entered_at_;
      g_shared.waits_of_heard.skip_to(left_at);
    } else if (stopped == 0 && g_shared.stood.exchange(false, std::memory_order_relaxed)) {
      g_shared.counted.settle();
      const auto left_at = ticks();
      g_shared.own += left_at - g_shared.resumed_at.load(std::memory_order_relaxed);
      g_shared.waits_of_heard.begin(left_at);
    }
  }
  [[nodiscard]] Work own_work() {
    if (g_shared.by == WorkBy::pipeline) return thread_.pipeline ? thread_.pipeline->work() : 0;
    const auto stopped = g_shared.stopped_at.load(std::memory_order_relaxed);
    const auto stopped_for = g_shared.stopped_for.load(std::memory_order_relaxed);
    const bool stood = g_shared.stood.exchange(false, std::memory_order_relaxed);
    if (stood) g_shared.counted.settle();
    const auto counted = g_shared.counted.so_far(stopped != 0 ? thread_.pipeline : nullptr);
    const auto apart = stopped_for + g_shared.own - counted;
    if (stopped != 0) return stopped - g_shared.waits_of_heard.so_far() - apart;
    entered_at_ = ticks();
    return entered_at_ - g_shared.waits_of_heard.until(entered_at_, stood || g_shared.heard != &thread_) - apart;
  }

  Thread& thread_;
  std::uint32_t base_ = 0;
  bool is_taken_ = false;
  bool is_shared_ = false;
  Work entered_at_ = 0;  // ticks at the event's begin; 0: the work clock was stopped then
};

// Whatever the listener does is Terrace's own doing.
template <class Event>
void report(Event event) {
  const Inside inside;
  const QuietArithmetic quiet;
  if (const Turn turn(t_thread); turn) event(turn);
}

}  // namespace

void set_loop_tree(LoopTree* tree, WorkBy by) noexcept {
  g_shared.by = by;
  g_shared.tree = t_thread.loops = tree;
  g_shared.owner = tree ? &t_thread : nullptr;
  g_shared.heir = nullptr;
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
  g_shared.stood = true;
}

LoopsWait::LoopsWait() noexcept {
  if (g_shared.owner.load(std::memory_order_relaxed) != &t_thread) return;
  g_shared.depth = t_thread.depth;
  g_shared.waits.store(true, std::memory_order_release);
}

LoopsWait::~LoopsWait() {
  if (g_shared.owner.load(std::memory_order_relaxed) == &t_thread)
    g_shared.waits.store(false, std::memory_order_release);
}

void begin_loops_of_thread() noexcept {
  auto* const tree = g_shared.tree.load();
  Thread* nobody = nullptr;
  if (!tree || t_thread.loops || !g_shared.heir.compare_exchange_strong(nobody, &t_thread)) return;
  g_loops_are_shared = true;
  t_thread.loops = tree;
  t_thread.followed_depth = LoopTree::k_every_depth;
}

void end_loops_of_thread() noexcept {
  auto* self = &t_thread;
  if (g_shared.heir.compare_exchange_strong(self, nullptr)) t_thread.loops = nullptr;
}

void report_call(std::uint64_t function, std::uint64_t call_site) {
  report([=](const Turn& turn) { turn.tree().enter(function, call_site, turn.depth(), turn.now()); });
}

void report_return() {
  report([](const Turn& turn) { turn.tree().leave(turn.depth(), turn.now()); });
}

void report_sample(std::uint64_t site) {
  report([=](const Turn& turn) { turn.tree().sample(site, turn.depth(), turn.now()); });
}

void report_block(std::uint64_t site) {
  const Thread& thread = t_thread;
  const bool is_alone = !g_loops_are_shared.load(std::memory_order_relaxed);
  if (is_alone && !thread.loops->affects(site, thread.depth)) return;
  report([=](const Turn& turn) { turn.tree().block(site, turn.depth(), turn.now()); });
}

void report_miss(std::uint64_t region) {
  report([=](const Turn& turn) { turn.tree().record_miss(region); });
}

}  // namespace terrace::observe
