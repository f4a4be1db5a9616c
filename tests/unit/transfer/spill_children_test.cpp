// Tests of out-of-core memory with children of fork: each has the snapshot of its start.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "spill_fixture.hpp"

namespace terrace::transfer {
namespace {

constexpr unsigned k_max = k_deadline.count();  // time limit of a child's check in seconds

// In a child: terminates with its parent, and after the time limit.
void end_with(pid_t parent) {
  signal(SIGALRM, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(2);
  alarm(k_max);
}

// Fails the test process after the time limit: nothing else wakes a thread that waits for a lost page.
class TimeLimit {
 public:
  TimeLimit() : before_(signal(SIGALRM, SIG_DFL)) { alarm(2 * k_max); }
  ~TimeLimit() {
    alarm(0);
    signal(SIGALRM, before_);
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  void (*before_)(int);
};

// A child has the snapshot of its start, whatever its parent writes, frees and allocates later; its own writes are
// private. Includes a block that the kernel pages.
TEST_P(SpillTest, Fork_ChildrenHaveTheSnapshot) {
  constexpr std::size_t k_chunks = 50;
  Spilled memory(4 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  auto* const random = memory.allocate(k_chunks);
  auto* block = memory.allocate(k_chunks / 5);
  const auto write = [&](std::uint64_t* to, std::size_t chunks, std::uint64_t round) {
    for (std::size_t i = 0; i < chunks * k_words; i += 512) to[i] = value(i, round);
  };
  const auto is = [&](const std::uint64_t* from, std::size_t chunks, std::uint64_t round) {
    for (std::size_t i = 0; i < chunks * k_words; i += 512)
      if (from[i] != value(i, round)) return false;
    return true;
  };
  const TimeLimit limit;
  const pid_t parent = getpid();
  const auto child_of = [&](std::uint64_t round, const std::uint64_t* fresh) {
    memory.spill().before_fork({});
    const pid_t child = fork();
    if (child != 0) {
      memory.spill().after_fork();
      return child;
    }
    end_with(parent);
    memory.spill().in_child();
    int wrong = 0;
    for (int again = 0; again < 2; ++again) {
      if (!is(data, k_chunks, round)) wrong |= 1;
      if (!is(random, k_chunks, 7)) wrong |= 2;
      if (!is(block, k_chunks / 5, round)) wrong |= 4;
      if (fresh[0] != 0) wrong |= 8;
      usleep(20000);
    }
    write(data, k_chunks, 100 + round);
    if (!is(data, k_chunks, 100 + round)) wrong |= 16;
    _exit(wrong);
  };
  write(random, k_chunks, 7);
  std::mt19937 order(1);
  for (int step = 0; step < 6000 && memory.counts().kernel_paged == 0; ++step) {
    const auto c = order() % k_chunks;
    ASSERT_EQ(random[c * k_words], value(c * k_words, 7));
  }
  EXPECT_GT(memory.counts().kernel_paged, 0U);
  for (std::uint64_t round = 0; round < 3; ++round) {
    write(data, k_chunks, round);
    write(block, k_chunks / 5, round);
    auto* const fresh = memory.allocate(2);
    const auto child = child_of(round, fresh);
    ASSERT_GT(child, 0);
    // Applies to all memory of the child.
    fresh[0] = 1;
    memory.release(block);
    block = memory.allocate(k_chunks / 5);
    EXPECT_EQ(block[0], 0U);
    write(block, k_chunks / 5, 50 + round);
    for (int again = 0; again < 3; ++again) {
      EXPECT_TRUE(is(data, k_chunks, again == 0 ? round : 200));
      write(data, k_chunks, 200);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "round " << round;
    EXPECT_TRUE(is(data, k_chunks, 200));
    EXPECT_TRUE(is(block, k_chunks / 5, 50 + round));
    memory.release(fresh);
  }
  EXPECT_TRUE(is(random, k_chunks, 7));
}

// Returns the exit status of a child that checks all content after the parent has changed it. `begins`: first step
// of the child; returns success.
template <class Begins, class Change>
int check_by_child(Spilled& memory, const std::uint64_t* data, std::size_t chunks, Begins begins, Change change) {
  const TimeLimit limit;
  const pid_t parent = getpid();
  int begin[2];
  EXPECT_EQ(pipe(begin), 0);
  memory.spill().before_fork({});
  const pid_t child = fork();
  if (child == 0) {
    end_with(parent);
    memory.spill().in_child();
    char byte = 0;
    bool right = read(begin[0], &byte, 1) == 1 && begins();
    for (std::size_t i = 0; i < chunks * k_words; i += 512) right = right && data[i] == value(i, 0);
    _exit(right ? 0 : 1);
  }
  memory.spill().after_fork();
  change();
  EXPECT_EQ(write(begin[1], "x", 1), 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  close(begin[0]);
  close(begin[1]);
  return status;
}

// Does the same with a parent that writes everything, whatever the protection, and restores it.
int check_by_child(Spilled& memory, std::uint64_t* data, std::size_t chunks) {
  const auto open = [=] { return mprotect(data, chunks * k_chunk, PROT_READ | PROT_WRITE) == 0; };
  const int status = check_by_child(memory, data, chunks, open, [&] {
    open();
    for (std::size_t i = 0; i < chunks * k_words; i += 512)
      EXPECT_EQ(std::exchange(data[i], value(i, 1)), value(i, 0));
  });
  for (std::size_t i = 0; i < chunks * k_words; i += 512)
    EXPECT_EQ(std::exchange(data[i], value(i, 0)), value(i, 1));
  return status;
}

TEST_P(SpillTest, Fork_NoFreeDescriptor_ChildHasAllData) {
  constexpr std::size_t k_chunks = 50;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, 0);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit little{100, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &little);
  const int first = dup(0);
  int last = first;
  for (int file = first; file >= 0; file = dup(0)) last = file;
  close(last);
  close(last - 1);
  EXPECT_EQ(check_by_child(memory, data, k_chunks), 0);
  for (int file = first; file < last - 1; ++file) close(file);
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST_P(SpillTest, Fork_ProtectedData_ChildHasContent) {
  constexpr std::size_t k_chunks = 50;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, 0);
  for (const std::size_t c : {3UL, k_chunks - 1}) {  // one is swapped out, the other mapped
    memory.spill().change_protection(reinterpret_cast<std::uint64_t>(data + c * k_words), k_chunk, false);
    ASSERT_EQ(mprotect(data + c * k_words, k_chunk / 2, PROT_NONE), 0);
    EXPECT_EQ(data[c * k_words + k_words / 2], value(c * k_words + k_words / 2, 0));
  }
  EXPECT_EQ(check_by_child(memory, data, k_chunks), 0);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(check_by_child(memory, data, k_chunks), 0);
}

TEST_P(SpillTest, Fork_FileFull_ChildHasAllData) {
  constexpr std::size_t k_chunks = 40;
  const SmallFiles small(16);
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, 0);
  for (int again = 0; again < 3; ++again) ASSERT_EQ(check_by_child(memory, data, k_chunks), 0);
}

// With all chunks resident nothing is written for a child; later growth is evicted as usual.
TEST_P(SpillTest, Fork_AllResident_ChildSharesPages) {
  const TimeLimit limit;
  const pid_t parent = getpid();
  constexpr std::size_t k_chunks = 12;
  Spilled memory(8 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, 0);
  memory.spill().before_fork({});
  const pid_t child = fork();
  if (child == 0) {
    end_with(parent);
    memory.spill().in_child();
    usleep(100000);
    bool right = true;
    for (std::size_t i = 0; i < k_chunks * k_words; i += 512) right = right && data[i] == value(i, 0);
    _exit(right ? 0 : 1);
  }
  memory.spill().after_fork();
  EXPECT_EQ(memory.counts().written, 0U);
  auto* const more = memory.allocate(3 * k_chunks);
  for (std::size_t i = 0; i < 3 * k_chunks * k_words; i += 512) more[i] = value(i, 1);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] += 1;
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (std::size_t i = 0; i < 3 * k_chunks * k_words; i += 512) ASSERT_EQ(more[i], value(i, 1));
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) ASSERT_EQ(data[i], value(i, 0) + 1);
  EXPECT_GT(memory.counts().written, 0U);
  if (k_knows_memory) {
    EXPECT_EQ(memory.counts().max_over_limit, 0U);
  }
}

// A child also has the snapshot of a kernel-paged block with non-default protection in a part.
TEST_P(SpillTest, Fork_KernelPagedBlockWithOtherProtection_ChildHasSnapshot) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, 0);
  std::mt19937 random(3);
  for (int step = 0; step < 6000 && memory.counts().kernel_paged == 0; ++step) {
    const auto c = random() % k_chunks;
    data[c * k_words] = value(c * k_words, 0);
  }
  EXPECT_EQ(memory.counts().kernel_paged, k_chunks * k_chunk);
  const auto first = reinterpret_cast<std::uint64_t>(data + 9 * k_words);
  memory.spill().change_protection(first, k_chunk, false);
  ASSERT_EQ(mprotect(data + 9 * k_words, k_chunk / 2, PROT_READ), 0);
  const auto is_written = [](std::size_t i) { return i < 9 * k_words || i >= 9 * k_words + k_words / 2; };
  const auto write_rest = [&] {
    for (std::size_t i = 0; i < k_chunks * k_words; i += 512)
      if (is_written(i)) data[i] = value(i, 1);
  };
  EXPECT_EQ(check_by_child(
                memory, data, k_chunks, [] { return true; }, write_rest),
            0);
  ASSERT_EQ(mprotect(data + 9 * k_words, k_chunk / 2, PROT_READ | PROT_WRITE), 0);
  memory.spill().change_protection(first, k_chunk, true);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) ASSERT_EQ(data[i], value(i, is_written(i) ? 1 : 0));
}

}  // namespace
}  // namespace terrace::transfer
