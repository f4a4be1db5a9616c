// Memory over a file between the program and the kernel: what the kernel pages, what children have, and what the
// program does to parts of it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "spill_fixture.hpp"

namespace terrace::transfer {
namespace {

constexpr unsigned k_most = 30;  // seconds that a check by a child may take

// In a child: it ends when its parent does, and in any case.
void end_with(pid_t parent) {
  signal(SIGALRM, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(2);
  alarm(k_most);
}

// While it lives this process ends, as a test that fails, when that takes too long: who waits for a page in vain
// is woken by nothing else.
class TimeLimit {
 public:
  TimeLimit() : before_(signal(SIGALRM, SIG_DFL)) { alarm(2 * k_most); }
  ~TimeLimit() {
    alarm(0);
    signal(SIGALRM, before_);
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  void (*before_)(int);
};

// What is touched in no order goes to the kernel's own paging, while threads use it; another block does not; and
// when it is freed its addresses are as new.
TEST_P(SpillTest, TheKernelPagesWhatIsTouchedInNoOrder) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  auto* const other = memory.allocate(8);
  std::vector<std::vector<std::uint64_t>> own(2, std::vector<std::uint64_t>(k_chunks));
  const auto work = [&](std::size_t thread) {
    std::mt19937 random(static_cast<unsigned>(thread) + 1);
    for (int step = 0; step < 1500; ++step) {
      const auto c = random() % k_chunks;
      data[c * k_words + thread]++;
      own[thread][c]++;
      other[(step % 8) * k_words + thread]++;
    }
  };
  std::thread second(work, 1);
  work(0);
  second.join();
  for (std::size_t c = 0; c < k_chunks; ++c)
    for (std::size_t thread = 0; thread < 2; ++thread) EXPECT_EQ(data[c * k_words + thread], own[thread][c]) << c;
  EXPECT_EQ(memory.counts().most_given, k_chunks * k_chunk);
  memory.release(data);
  auto* const again = memory.allocate(k_chunks);
  EXPECT_EQ(again, data);
  for (std::size_t c = 0; c < k_chunks; ++c) {
    EXPECT_EQ(again[c * k_words], 0U);
    again[c * k_words] = c + 1;
  }
  EXPECT_EQ(memory.counts().given, 0U);
  EXPECT_EQ(memory.counts().most_given, k_chunks * k_chunk);
  for (std::size_t c = 0; c < k_chunks; ++c) EXPECT_EQ(again[c * k_words], c + 1);
}

// Of each chunk some words, time and again in the same order: as the columns of an array that has rows are read.
TEST_P(SpillTest, TheKernelPagesWhatIsUsedInSmallParts) {
  constexpr std::size_t k_chunks = 60;
  constexpr std::size_t k_row = 5000;
  constexpr std::size_t k_rows = k_chunks * k_words / k_row;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t row = 0; row < k_rows; ++row)
    for (std::size_t i = 0; i < k_row; ++i) data[row * k_row + i] = value(row, i);
  for (std::size_t column = 0; column < 200; ++column) {
    std::uint64_t wrong = 0;
    for (std::size_t row = 0; row < k_rows; ++row)
      wrong += data[row * k_row + column] != value(row, column) ? 1 : 0;
    ASSERT_EQ(wrong, 0U) << column;
  }
  EXPECT_EQ(memory.counts().most_given, k_chunks * k_chunk);
  // By chunks each column would have read two thirds of it.
  EXPECT_LT(memory.counts().read, 60 * k_chunks * k_chunk);
}

// What left as zeros, or was discarded, is zero for the kernel's paging, too, whatever the file had there before.
TEST_P(SpillTest, TheKernelFindsZerosWhereThereAreSome) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(3 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  auto* const other = memory.allocate(k_chunks);
  const auto sweep_other = [&] {
    for (std::size_t c = 0; c < k_chunks; ++c) other[c * k_words] += 1;
  };
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, 0);
  sweep_other();  // all of it has been in the file
  std::memset(data, 0, k_chunks / 3 * k_chunk);
  sweep_other();
  memory.spill().discard(reinterpret_cast<std::uint64_t>(data + k_chunks / 3 * k_words), k_chunks / 3 * k_chunk);
  const auto right = [&](std::size_t c) {
    for (std::size_t i = c * k_words; i < (c + 1) * k_words; i += 512)
      if (data[i] != (c < k_chunks / 3 * 2 ? 0 : value(i, 0))) return false;
    return true;
  };
  std::mt19937 random(5);
  for (int step = 0; step < 4000 && memory.counts().given == 0; ++step) {
    const auto c = k_chunks / 3 * 2 + random() % (k_chunks / 3);
    ASSERT_EQ(data[c * k_words], value(c * k_words, 0));
    if (step % 2 == 0) other[random() % k_chunks * k_words] += 1;
  }
  EXPECT_GT(memory.counts().given, 0U);
  for (std::size_t c = 0; c < k_chunks; ++c) EXPECT_TRUE(right(c)) << c;
}

// A child has the content as it was when it began, whatever its parent writes, frees and allocates since; and what
// the child writes is its own. Of a block that the kernel paged, too.
TEST_P(SpillTest, ChildrenHaveTheContentOfTheirTime) {
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
  for (int step = 0; step < 6000 && memory.counts().given == 0; ++step) {
    const auto c = order() % k_chunks;
    ASSERT_EQ(random[c * k_words], value(c * k_words, 7));
  }
  EXPECT_GT(memory.counts().given, 0U);
  for (std::uint64_t round = 0; round < 3; ++round) {
    write(data, k_chunks, round);
    write(block, k_chunks / 5, round);
    auto* const fresh = memory.allocate(2);
    const auto child = child_of(round, fresh);
    ASSERT_GT(child, 0);
    // Over everything that the child has.
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

// How a child ended that checks whether all has its content, after the parent has written something else.
int check_by_child(Spilled& memory, std::uint64_t* data, std::size_t chunks) {
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
    bool right = read(begin[0], &byte, 1) == 1 && mprotect(data, chunks * k_chunk, PROT_READ | PROT_WRITE) == 0;
    for (std::size_t i = 0; i < chunks * k_words; i += 512) right = right && data[i] == value(i, 0);
    _exit(right ? 0 : 1);
  }
  memory.spill().after_fork();
  mprotect(data, chunks * k_chunk, PROT_READ | PROT_WRITE);
  for (std::size_t i = 0; i < chunks * k_words; i += 512) {
    EXPECT_EQ(data[i], value(i, 0));
    data[i] = value(i, 1);
  }
  EXPECT_EQ(write(begin[1], "x", 1), 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  for (std::size_t i = 0; i < chunks * k_words; i += 512)
    EXPECT_EQ(std::exchange(data[i], value(i, 0)), value(i, 1));
  close(begin[0]);
  close(begin[1]);
  return status;
}

TEST_P(SpillTest, ChildrenHaveItAllWhereTheirParentCanOpenNoFile) {
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

TEST_P(SpillTest, ChildrenHaveWhatMayNotBeReadNow) {
  constexpr std::size_t k_chunks = 50;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, 0);
  for (const std::size_t c : {3UL, k_chunks - 1}) {  // the one is away, the other at its place
    memory.spill().change_rights(reinterpret_cast<std::uint64_t>(data + c * k_words), k_chunk, false);
    ASSERT_EQ(mprotect(data + c * k_words, k_chunk / 2, PROT_NONE), 0);
    EXPECT_EQ(data[c * k_words + k_words / 2], value(c * k_words + k_words / 2, 0));
  }
  EXPECT_EQ(check_by_child(memory, data, k_chunks), 0);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(check_by_child(memory, data, k_chunks), 0);
}

TEST_P(SpillTest, ChildrenHaveWhatTheDiskDoesNotTake) {
  constexpr std::size_t k_chunks = 40;
  const SmallFiles small(16);
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, 0);
  for (int again = 0; again < 3; ++again) ASSERT_EQ(check_by_child(memory, data, k_chunks), 0);
}

// Where all is in memory nothing is written for a child; what is more later leaves as always.
TEST_P(SpillTest, AChildSharesWhatIsInMemory) {
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
    EXPECT_EQ(memory.counts().over, 0U);
  }
}

TEST_P(SpillTest, PagesThatTheProgramGivesBackAreZero) {
  Spilled memory(8, GetParam());
  auto* const data = memory.allocate(2);
  for (std::size_t i = 0; i < 2 * k_words; ++i) data[i] = i + 1;
  constexpr std::size_t k_words_of_a_page = k_page / sizeof(std::uint64_t);
  ASSERT_EQ(madvise(data + 7 * k_words_of_a_page, k_page, MADV_DONTNEED), 0);
  for (std::size_t i = 0; i < 2 * k_words; ++i)
    ASSERT_EQ(data[i], i / k_words_of_a_page == 7 ? 0 : i + 1) << "word " << i;
}

// The kernel moves no pages from or to a range whose rights differ; they are copied, or stay.
TEST_P(SpillTest, RightsOfAPartMayChange) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  const auto sweep = [&](bool write) {
    for (std::size_t c = 0; c < k_chunks; ++c)
      for (std::size_t i = 0; i < k_words; i += 512) {
        if (write) data[c * k_words + i] = value(c * k_words + i, 5);
        ASSERT_EQ(data[c * k_words + i], value(c * k_words + i, 5));
      }
  };
  sweep(true);
  auto* const half = data + 3 * k_words + k_words / 2;  // it is away by now
  ASSERT_EQ(mprotect(half, k_chunk / 2, PROT_READ), 0);
  sweep(false);
  sweep(false);
  ASSERT_EQ(mprotect(half, k_chunk / 2, PROT_READ | PROT_WRITE), 0);
  sweep(true);
  sweep(false);
}

// A child has the content of its time also where the kernel pages a block to a part of which the program has other
// rights.
TEST_P(SpillTest, RightsOfAGivenBlockMayChange) {
  const TimeLimit limit;
  const pid_t parent = getpid();
  constexpr std::size_t k_chunks = 60;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, 0);
  std::mt19937 random(3);
  for (int step = 0; step < 6000 && memory.counts().given == 0; ++step) {
    const auto c = random() % k_chunks;
    data[c * k_words] = value(c * k_words, 0);
  }
  EXPECT_EQ(memory.counts().given, k_chunks * k_chunk);
  const auto first = reinterpret_cast<std::uint64_t>(data + 9 * k_words);
  memory.spill().change_rights(first, k_chunk, false);
  ASSERT_EQ(mprotect(data + 9 * k_words, k_chunk / 2, PROT_READ), 0);
  int begin[2];
  ASSERT_EQ(pipe(begin), 0);
  memory.spill().before_fork({});
  const pid_t child = fork();
  if (child == 0) {
    end_with(parent);
    memory.spill().in_child();
    char byte = 0;
    bool right = read(begin[0], &byte, 1) == 1;
    for (std::size_t i = 0; i < k_chunks * k_words; i += 512) right = right && data[i] == value(i, 0);
    _exit(right ? 0 : 1);
  }
  memory.spill().after_fork();
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512)
    if (i < 9 * k_words || i >= 9 * k_words + k_words / 2) data[i] = value(i, 1);
  ASSERT_EQ(write(begin[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(mprotect(data + 9 * k_words, k_chunk / 2, PROT_READ | PROT_WRITE), 0);
  memory.spill().change_rights(first, k_chunk, true);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512)
    ASSERT_EQ(data[i], value(i, i < 9 * k_words || i >= 9 * k_words + k_words / 2 ? 1 : 0));
  close(begin[0]);
  close(begin[1]);
}

// The kernel may page a block to which the rights were others for a while.
TEST_P(SpillTest, WhatHasItsRightsBackIsGivenToTheKernel) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (const bool usual : {false, true})
    memory.spill().change_rights(reinterpret_cast<std::uint64_t>(data), k_chunks * k_chunk, usual);
  std::mt19937 random(3);
  for (int step = 0; step < 6000 && memory.counts().given == 0; ++step) data[random() % k_chunks * k_words] += 1;
  EXPECT_EQ(memory.counts().given, k_chunks * k_chunk);
}

// Any part of a block may go, or become zero, wherever it is, and what is counted comes to nothing in the end.
TEST_P(SpillTest, PartsOfBlocksAreReleasedAndDiscarded) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  const auto at = [&](std::size_t chunk) { return reinterpret_cast<std::uint64_t>(data + chunk * k_words); };
  for (std::size_t c = 0; c < k_chunks; ++c) data[c * k_words + 9] = c + 1;
  memory.spill().discard(at(5), 20 * k_chunk);
  EXPECT_EQ(memory.counts().content, 40 * k_chunk);
  for (std::size_t c = 0; c < k_chunks; ++c)
    ASSERT_EQ(data[c * k_words + 9], c >= 5 && c < 25 ? 0 : c + 1) << "chunk " << c;
  memory.spill().release(at(30), 30 * k_chunk);  // the end
  memory.spill().release(at(0), 10 * k_chunk);   // the beginning
  for (std::size_t c = 25; c < 30; ++c) ASSERT_EQ(data[c * k_words + 9], c + 1);
  memory.spill().release(at(10), 20 * k_chunk);
  EXPECT_EQ(memory.counts().content, 0U);
  memory.release(data);
}

// What is left to the program is in memory for good, whatever else wants to be there; a mapping over a part of it
// stays the program's.
TEST_P(SpillTest, ChunksAreLeftToTheProgram) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c)
    for (std::size_t i = 0; i < k_words; i += 512) data[c * k_words + i] = value(c * k_words + i, 3);
  auto* const left = data + 4 * k_words;
  memory.spill().leave(reinterpret_cast<std::uint64_t>(left), 3 * k_chunk);
  EXPECT_EQ(memory.counts().content, (k_chunks - 3) * k_chunk);
  auto* const own = mmap(left + k_words, k_chunk / 2, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_EQ(own, left + k_words);
  for (int round = 0; round < 3; ++round)
    for (std::size_t c = 0; c < k_chunks; ++c)
      for (std::size_t i = 0; i < k_words; i += 512)
        ASSERT_EQ(data[c * k_words + i], c == 5 && i < k_words / 2 ? 0 : value(c * k_words + i, 3)) << c;
  memory.release(data);
  EXPECT_EQ(memory.counts().content, 0U);
  auto* const again = memory.allocate(k_chunks);
  ASSERT_EQ(again, data);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) ASSERT_EQ(std::exchange(again[i], i), 0U);
}

}  // namespace
}  // namespace terrace::transfer
