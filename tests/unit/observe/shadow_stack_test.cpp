// Tests the shadow stack of calls, also after longjmp, and its observer.
#include "observe/pipeline/shadow_stack.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace terrace::observe {
namespace {

class Calls : public testing::Test {
 protected:
  // A simulated stack: a call at `height` words has its return address in the word above.
  static constexpr std::uint64_t k_heights = 2 * k_shadow_stack_depth + 10000;
  std::uint64_t at(std::uint64_t height) const { return reinterpret_cast<std::uint64_t>(&stack_[height]); }
  void enter(std::uint64_t function, std::uint64_t site, std::uint64_t height) {
    stack_[height] = 0;
    stack_[height + 1] = site;
    enter_function(function, site, at(height));
  }
  void overwrite(std::uint64_t height, std::uint64_t word) { stack_[height] = word; }
  void leave(std::uint64_t height) const { leave_function(at(height), 0); }
  // Returns by a tail call of the exit hook: the function's frame is released, its return address was just above
  // it.
  void jump_out(std::uint64_t height, std::uint64_t site) const { leave_function(at(height + 2), site); }

  void SetUp() override { register_thread(); }
  void TearDown() override {
    set_function_observer(nullptr);
    t_thread.reports_entries = false;
    unregister_thread();
  }
  static std::vector<std::uint64_t> frames(std::size_t n = 64) {
    std::vector<std::uint64_t> sites(n);
    sites.resize(capture_calls(sites.data(), n, 0));
    return sites;
  }

 private:
  std::array<std::uint64_t, k_heights> stack_{};
};

TEST_F(Calls, Capture_InnermostCallFirst) {
  enter(1, 101, 9000);
  enter(2, 102, 8000);
  enter(3, 103, 7000);
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{103, 102, 101}));
  EXPECT_EQ(frames(2), (std::vector<std::uint64_t>{103, 102}));
  leave(7000);
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{102, 101}));
  leave(7900);  // it allocated on the stack since
  leave(9000);
  leave(9000);  // one too many
  EXPECT_TRUE(frames().empty());
}

// Half of the functions that gcc compiles end like this.
TEST_F(Calls, TailCallToExitHook_PopsOneCall) {
  enter(1, 101, 9000);
  enter(2, 102, 8000);
  enter(3, 103, 7000);
  jump_out(7000, 103);
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{102, 101}));
  enter(3, 103, 7000);
  enter(4, 104, 6000);
  jump_out(7000, 103);  // the innermost was left by a jump of its own
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{102, 101}));
  enter(2, 102, 7000);  // a recursion: the same call site twice
  enter(2, 102, 6000);
  jump_out(6000, 102);
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{102, 102, 101}));
  jump_out(7000, 102);
  jump_out(8000, 102);
  jump_out(9000, 101);
  EXPECT_TRUE(frames().empty());
}

TEST_F(Calls, Longjmp_StaleCallsPoppedAtNextEntry) {
  enter(1, 101, 9000);
  enter(2, 102, 8000);
  enter(3, 103, 7000);
  enter(4, 104, 6000);
  enter(5, 105, 8000);  // called by 1, which 4 jumped back to
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{105, 101}));
}

TEST_F(Calls, Longjmp_StaleCallsPoppedAtNextExit) {
  enter(1, 101, 9000);
  enter(2, 102, 8000);
  enter(3, 103, 7000);
  leave(8000);
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{101}));
}

TEST_F(Calls, Capture_StaleCallInLargerFrame_IsSkipped) {
  enter(1, 101, 9000);
  enter(2, 102, 8000);
  enter(3, 103, 7995);  // called by 1 as well, after 2 jumped; its frame reaches further down than that of 2
  overwrite(7996, 0);   // its return address lies where that of 2 lay
  overwrite(8001, 103);
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{103, 101}));
  leave(9000);
  EXPECT_TRUE(frames().empty());
}

TEST_F(Calls, RecursionBeyondDepth_Return_RestoresStack) {
  constexpr std::uint64_t k_deep = k_shadow_stack_depth + 100;
  for (std::uint64_t i = 0; i < k_deep; ++i) enter(i, i, k_heights - 2 - 2 * i);
  EXPECT_EQ(t_thread.depth, k_deep);
  EXPECT_EQ(frames(1), (std::vector<std::uint64_t>{k_shadow_stack_depth - 1}));
  for (std::uint64_t i = k_deep; i > 3; --i) leave(k_heights - 2 - 2 * (i - 1));
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{2, 1, 0}));
}

TEST_F(Calls, LongjmpFromBeyondDepth_RestoresStack) {
  constexpr std::uint64_t k_deep = k_shadow_stack_depth + 100;
  for (std::uint64_t i = 0; i < k_deep; ++i) enter(i, i, k_heights - 2 - 2 * i);
  enter(7, 777, k_heights - 2 - 2 * 2);
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{777, 1, 0}));
}

TEST_F(Calls, InsideRuntime_NoCallsRecorded) {
  enter(1, 101, 9000);
  {
    const RuntimeScope inside;
    enter(2, 102, 8000);
    leave(8000);
  }
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{101}));
}

TEST_F(Calls, Observer_ReceivesWantedEntriesOnly) {
  struct Log {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> entered;
    int asked = 0;
  } log;
  const FunctionObserver observer{[](void* context, std::uint64_t function) {
                                    ++static_cast<Log*>(context)->asked;
                                    return function == 2;
                                  },
                                  [](void* context, std::uint64_t function, std::uint64_t site) {
                                    EXPECT_GT(t_thread.inside, 0u);
                                    static_cast<Log*>(context)->entered.emplace_back(function, site);
                                  },
                                  &log};
  set_function_observer(&observer);
  enter(2, 100, 9000);
  EXPECT_TRUE(log.entered.empty()) << "this thread was not watching";
  leave(9000);
  t_thread.reports_entries = true;
  for (std::uint64_t i = 0; i < 10; ++i) {
    enter(1, 101, 9000);
    enter(2, 102 + i, 8000);
    leave(8000);
    leave(9000);
  }
  ASSERT_EQ(log.entered.size(), 10u);
  EXPECT_EQ(log.entered[9], (std::pair<std::uint64_t, std::uint64_t>{2, 111}));
  EXPECT_EQ(log.asked, 2);
}

TEST_F(Calls, Threads_HaveOwnStackAndNumber) {
  enter(1, 101, 9000);
  const std::uint32_t mine = t_thread.number;
  const std::uint32_t theirs = next_thread_number();
  std::thread([&] {
    EXPECT_TRUE(frames().empty());
    Thread& thread = register_thread(theirs);
    EXPECT_EQ(&thread, &t_thread);
    EXPECT_NE(thread.number, mine);
    EXPECT_TRUE(frames().empty());
    enter(2, 202, 500);
    EXPECT_EQ(frames(), (std::vector<std::uint64_t>{202}));
    unregister_thread();
  }).join();
  EXPECT_EQ(frames(), (std::vector<std::uint64_t>{101}));
}

}  // namespace
}  // namespace terrace::observe
