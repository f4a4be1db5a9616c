// Tests the work clock, which measures work while no access is observed: it excludes waits of the thread and the
// time of the loop finder.
#include <gtest/gtest.h>

#include <thread>

#include "core/system_time.hpp"
#include "observe/pipeline/loop_events.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::observe {
namespace {

class NoCode final : public LoopCode {
 public:
  [[nodiscard]] Mark mark(std::uint64_t) const override { return {}; }
  [[nodiscard]] Loop loop(LoopId) const override { return {}; }
  [[nodiscard]] Place place(std::uint64_t) const override { return {}; }
};

void compute(double how_long);

class Listener final : public LoopTree::Listener {
 public:
  double takes = 0;      // seconds, of each call
  bool resumes = false;  // the clock, before that
  void on_enter(LoopTree::Index) override {
    if (resumes) stop_work_clock(false);
    compute(takes);
  }
  void on_iteration(LoopTree::Index) override {}
  void on_exit(LoopTree::Index) override {}
};

double seconds(clockid_t clock) { return to_seconds(read_clock(clock)); }

void compute(double how_long) {
  const auto until = seconds(CLOCK_THREAD_CPUTIME_ID) + how_long;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

// Waits for a thread that computes for the given time.
void wait(double how_long) { std::thread(compute, how_long).join(); }

TEST(WorkClock, WaitsAndEvents_BesideComputing_AreNoWork) {
  const NoCode code;
  Listener listener;
  LoopTree tree(code, listener);
  register_thread();
  set_loop_tree(&tree, WorkSource::clock);
  const auto work_of = [&](void (*what)(double)) {
    t_thread.depth = 1;
    const auto before = tree.now();
    report_call(1, 0);
    what(0.02);
    t_thread.depth = 0;
    report_return();
    return static_cast<double>(tree.now() - before);
  };
  t_thread.depth = 0;
  report_return();  // the clock begins
  const auto computed = work_of(compute), waited = work_of(wait), stood = work_of([](double how_long) {
                                                                    stop_work_clock(true);
                                                                    compute(how_long);
                                                                    stop_work_clock(false);
                                                                  });
  listener.takes = 0.02;
  const auto listened = work_of([](double) {});
  // An observed loop has ended: the listener ends the observation.
  listener.resumes = true;
  const auto in_event = [&](void (*what)(double)) {
    stop_work_clock(true);
    return work_of(what);
  };
  const auto listened_and_resumed = in_event([](double) {});
  listener.takes = 0;
  const auto waited_after = in_event(wait), computed_after = in_event(compute);
  set_loop_tree(nullptr);
  EXPECT_LT(listened_and_resumed, computed / 2);
  EXPECT_LT(waited_after, computed / 2);
  EXPECT_GT(computed_after, computed / 2);
  EXPECT_GT(computed, 0);
  EXPECT_LT(waited, computed / 2);
  EXPECT_LT(stood, computed / 2);
  EXPECT_LT(listened, computed / 2) << "what the finder does is no work of the program's";
}

}  // namespace
}  // namespace terrace::observe
