// Tests `terrace run --memory`: whole programs with more data than memory behave as without Terrace.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

class Spilled : public ProgramTest {
 protected:
  Spilled() : ProgramTest("spilled") {}
  void SetUp() override {
    const auto probe = with("64MiB", TERRACE_LARGE_DATA " 8");
    if (probe.output.find("out-of-core memory needs") != std::string::npos) GTEST_SKIP() << probe.output;
  }
  [[nodiscard]] Outcome with(const std::string& memory, const std::string& command,
                             const std::string& options = "") const {
    std::filesystem::remove(root_ + "/profile.terrace");
    return run(TERRACE_LAUNCHER " run --memory " + memory + " --spill " + disk_ + " -o profile.terrace " +
               options + " -- " + command);
  }
  const DiskFolder folder_;
  const std::string& disk_ = folder_.path();
};

TEST_F(Spilled, Program_ThreeTimesItsMemory_ComputesTheSame) {
  const auto alone = run(TERRACE_LARGE_DATA " 192");
  const auto done = with("96MiB", TERRACE_LARGE_DATA " 192");
  EXPECT_EQ(done.status, 0) << done.output;
  ASSERT_FALSE(alone.output.empty());
  EXPECT_NE(done.output.find(alone.output), std::string::npos) << done.output << alone.output;
  EXPECT_NE(done.output.find("of data in 96MiB of memory: read "), std::string::npos) << done.output;
  EXPECT_TRUE(std::filesystem::is_empty(disk_));
}

// Same results as without Terrace, and a message that the data exceeded memory.
void expect_same(const Outcome& alone, const Outcome& done) {
  EXPECT_EQ(alone.status, 0) << alone.output;
  EXPECT_EQ(done.status, 0) << done.output;
  ASSERT_FALSE(alone.output.empty());
  EXPECT_NE(done.output.find(alone.output), std::string::npos) << done.output << alone.output;
  EXPECT_NE(done.output.find("of data in "), std::string::npos) << done.output;
}

// The program checks the effects of calls on mappings page by page, with and without Terrace.
class SpilledMappings : public Spilled, public testing::WithParamInterface<int> {};

TEST_P(SpilledMappings, RandomCalls_ComparedWithTheKernel_AreEqual) {
  const auto command = TERRACE_MAPPED_DATA " 200 300 " + std::to_string(GetParam());
  expect_same(run(command), with("128MiB", command));
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpilledMappings, testing::Range(1, 7));

// Irregular access to the pieces of a heap is recognised for all of them together: 136 chunks of 2 MiB are loaded,
// and 127 for one block. If each piece had to show it by itself, none of the 64 would have 128 loads in 1,000
// accesses, three of four of which fault: about 750 chunks would be loaded, 5.9 times as many as for one block. A
// block that the kernel has paged for two seconds is reclaimed: on a slow machine each of the 128 chunks may be
// loaded once more, which are 2.1 times as many.
TEST_F(Spilled, PiecesOfAHeap_TouchedInNoOrder_AreReadAsOneBlock) {
  std::array<double, 2> read{};
  for (std::size_t i = 0; i < read.size(); ++i) {
    const auto command = std::string(TERRACE_SCATTERED_DATA) + (i == 0 ? " 0" : " 64") + " 1000";
    const auto alone = run(command);
    const auto done = run(TERRACE_LAUNCHER " run --json --memory 64MiB --spill " + disk_ + " -- " + command);
    EXPECT_EQ(done.status, 0) << done.output;
    EXPECT_NE(done.output.find(alone.output), std::string::npos) << done.output;
    const std::string key = "\"read_bytes\":";
    const auto at = done.output.find(key);
    ASSERT_NE(at, std::string::npos) << done.output;
    read[i] = std::stod(done.output.substr(at + key.size()));
  }
  // Recognition takes 128 unexpected loads.
  EXPECT_GT(read[0], 120.0 * (2 << 20));
  EXPECT_GT(read[1], 120.0 * (2 << 20));
  EXPECT_LT(read[1], 3 * read[0]);
}

// Fork handlers can access all data, whenever they were registered.
TEST_F(Spilled, ForkHandlers_SpilledData_CanUseIt) {
  expect_same(run(TERRACE_HANDLED_DATA " 160"), with("96MiB", TERRACE_HANDLED_DATA " 160"));
}

// Streams and the stack may be spilled: the C library accesses them in a child before any other code.
TEST_F(Spilled, ForkedChild_SpilledStreamsAndStack_AreAccessibleAtOnce) {
  expect_same(run(TERRACE_EARLY_CHILD " 160"), with("96MiB", TERRACE_EARLY_CHILD " 160"));
}

// The allocator makes the first request for spilled memory while it holds its lock, and Terrace's threads may
// need that allocator.
TEST_F(Spilled, ProgramAllocator_MappingUnderItsLock_DoesNotDeadlock) {
  const std::string program = "timeout -s KILL 60 " TERRACE_LOCKED_ALLOCATOR " 160";
  expect_same(run(program), with("96MiB", program));
}

TEST_F(Spilled, LibraryAllocator_MappingUnderItsLock_DoesNotDeadlock) {
  const std::string preload = "env LD_PRELOAD=" TERRACE_LOCKED_ALLOCATOR_LIBRARY " ";
  const std::string program = TERRACE_LOCKED_ALLOCATOR_USER " 160";
  const auto alone = run(preload + program);
  const auto done = run(preload + "timeout -s KILL 60 " TERRACE_LAUNCHER " run --memory 96MiB --spill " + disk_ +
                        " -o profile.terrace -- " + program);
  expect_same(alone, done);
}

TEST_F(Spilled, NumPy_ArraysLargerThanMemory_Work) {
  if (run(TERRACE_ARRAYS_IN_PYTHON " 8").status != 0) GTEST_SKIP() << "Python without NumPy";
  const std::string command = TERRACE_ARRAYS_IN_PYTHON " 400";
  expect_same(run(command), with("128MiB", command));
}

#ifdef TERRACE_ARRAYS_IN_FORTRAN
TEST_F(Spilled, Fortran_ArraysLargerThanMemory_Work) {
  const std::string command = TERRACE_ARRAYS_IN_FORTRAN " 300";
  expect_same(run(command), with("96MiB", command));
}
#endif

TEST_F(Spilled, Data_FittingInMemory_IsNotWritten) {
  const auto done = with("512MiB", TERRACE_LARGE_DATA " 64");
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.output.find("of data in"), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("terrace: all of its data fitted: 2 processes, 512MiB of memory each, 64MiB of data"),
            std::string::npos)
      << done.output;
}

TEST_F(Spilled, Progress_DuringARun_IsReported) {
  const auto done = with("96MiB", TERRACE_LARGE_DATA " 192", "--report-every 0.2");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("of data in 96MiB of memory; reading "), std::string::npos) << done.output;
}

// As Python maps the arenas of its small objects.
TEST_F(Spilled, SmallMappings_BeyondTheLimit_AreReported) {
  const auto done = with("64MiB",
                         "python3 -c 'import mmap, time\n"
                         "kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS\n"
                         "x = [mmap.mmap(-1, 1 << 20, flags=kind) for _ in range(200)]\n"
                         "for one in x: one.write(b\"x\" * (1 << 20))\n"
                         "time.sleep(1)'");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("its data are in mappings below 4MiB, which stay in memory"), std::string::npos)
      << done.output;
}

// Sizes of all classes, of blocks with their own pages, and of blocks with their own chunks.
TEST_F(Spilled, SmallBlocks_OfALargeProcess_AreSpilled) {
  const std::string program =
      "python3 -c '\n"
      "import random\n"
      "random.seed(7)\n"
      "def block(i, size): return bytes([i % 251]) * size\n"
      "sizes = [random.choice((600, 5000, 40000, 300000, 1500000)) for _ in range(500)]\n"
      "x = [block(i, size) for i, size in enumerate(sizes)]\n"
      "for _ in range(2):\n"
      "    for i in range(0, len(x), 3): sizes[i] = random.randrange(600, 900000); x[i] = block(i, sizes[i])\n"
      "    assert all(one == block(i, sizes[i]) for i, one in enumerate(x))\n"
      "print(next(l for l in open(\"/proc/self/status\") if \"VmHWM\" in l).split()[1])'";
  const auto alone = run(program);
  ASSERT_EQ(alone.status, 0) << alone.output;
  ASSERT_GT(std::stol(alone.output), 150 * 1024) << "KiB";
  const auto done = with("64MiB", program);
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("of data in 64MiB of memory"), std::string::npos) << done.output;
  EXPECT_LT(std::stol(done.output), 96 * 1024) << "KiB";
}

// Threads, and children that see the state at the fork while the parent continues.
TEST_F(Spilled, ForkedChild_SmallBlocks_AreAccessible) {
  const std::string program =
      "python3 -c '\n"
      "import os, threading\n"
      "def block(i, size): return bytes([i % 251]) * size\n"
      "sizes = [500 + (i * 7919) % 400000 for i in range(700)]\n"
      "x = [None] * len(sizes)\n"
      "def fill(part):\n"
      "    for i in range(part, len(x), 3): x[i] = block(i, sizes[i])\n"
      "threads = [threading.Thread(target=fill, args=(part,)) for part in range(3)]\n"
      "[one.start() for one in threads]; [one.join() for one in threads]\n"
      "children = []\n"
      "for n in range(3):\n"
      "    child = os.fork()\n"
      "    if child == 0:\n"
      "        good = all(one == block(i, sizes[i]) for i, one in enumerate(x))\n"
      "        y = [block(i, 3000) for i in range(3000)]\n"
      "        x.clear()\n"
      "        os._exit(0 if good and y[77] == block(77, 3000) else 1)\n"
      "    children.append(child)\n"
      "    for i in range(n, len(x), 2): sizes[i] = 700 + (sizes[i] * 3) % 300000; x[i] = block(i, sizes[i])\n"
      "print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])\n"
      "print(all(one == block(i, sizes[i]) for i, one in enumerate(x)))'";
  const auto alone = run(program);
  ASSERT_EQ(alone.output, "[0, 0, 0]\nTrue\n");
  const auto done = with("64MiB", program, "-q");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find(alone.output), std::string::npos) << done.output;
}

// Python's arenas of 1 MiB are not spilled, because each would take a chunk. Requests beyond all memory and disk
// are refused, as without Terrace.
TEST_F(Spilled, PeakMemory_OfASmallProgram_IsAsWithoutTerrace) {
  const std::string peak =
      "python3 -c 'x = [i for i in range(4000000)]\n"
      "print(next(l for l in open(\"/proc/self/status\") if \"VmHWM\" in l).split()[1])'";
  const auto alone = run(peak);
  const auto done = with("2GiB", peak, "-q");
  ASSERT_EQ(done.status, 0) << done.output;
  EXPECT_LT(std::stol(done.output), std::stol(alone.output) + 60 * 1024) << "KiB; Terrace's own included";
}

TEST_F(Spilled, Allocation_TheKernelWouldRefuse_IsRefused) {
  const std::string ask = "python3 -c 'x = bytearray(1 << 38)'";
  if (run(ask).output.find("MemoryError") == std::string::npos) GTEST_SKIP() << "the kernel refuses nothing";
  EXPECT_NE(with("2GiB", ask).output.find("MemoryError"), std::string::npos);
  EXPECT_NE(run(TERRACE_LAUNCHER " run --intent bandwidth -- " + ask).output.find("MemoryError"),
            std::string::npos);
}

// Despite ranges registered with userfaultfd, which the kernel would touch, and wait for forever.
TEST_F(Spilled, Mlockall_WithSpilledData_Works) {
  const auto alone = run(TERRACE_LOCKED_DATA);
  if (alone.status != 0) GTEST_SKIP() << alone.output;
  const auto memory = " -q -o profile.terrace --memory 96MiB --spill " + disk_;
  for (const auto& options : {std::string(" -q -o profile.terrace"), std::string(" --intent bandwidth"), memory}) {
    std::filesystem::remove(root_ + "/profile.terrace");
    const auto done = run("timeout -s KILL 60 " TERRACE_LAUNCHER " run" + options + " -- " TERRACE_LOCKED_DATA);
    EXPECT_EQ(done.status, 0) << options << done.output;
    EXPECT_NE(done.output.find(alone.output), std::string::npos) << options << done.output;
  }
}

// A signal handler that reads spilled data would wait for the engine's thread, which waits for the fork.
TEST_F(Spilled, SignalHandler_ReadingDataDuringFork_Works) {
  const auto done = with("64MiB", "timeout -s KILL 60 " TERRACE_SPILLED_CORNERS " signal", "-q");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_EQ(done.output, "0 children wrong, a handler ran\n");
}

TEST_F(Spilled, MadvFree_OfLockedData_Fails) {
  const auto alone = run(TERRACE_SPILLED_CORNERS " free");
  if (alone.status == 3) GTEST_SKIP() << "nothing can be locked";
  const auto done = with("64MiB", TERRACE_SPILLED_CORNERS " free", "-q");
  EXPECT_EQ(done.output, alone.output);
  EXPECT_NE(alone.output.find("MADV_FREE of locked memory: -1\nthe child has all\n0 pages wrong"),
            std::string::npos);
}

// Without a copy through the disk.
TEST_F(Spilled, Realloc_ToASmallerSize_KeepsTheAddress) {
  const auto done = with("96MiB", TERRACE_SPILLED_CORNERS " shrink");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("where it was, 0 pages wrong\n0 pages wrong\n"), std::string::npos) << done.output;
}

// A driver that pins pages does not wait for faults: all pages are resident when it is called and stay so, even
// beyond the limit.
TEST_F(Spilled, DeviceRegistration_OfSpilledData_PinsIt) {
  for (const char* const limit : {"128MiB", "64MiB"}) {
    const auto done = with(limit, TERRACE_SPILLED_CORNERS " hold");
    EXPECT_EQ(done.status, 0) << done.output;
    EXPECT_NE(
        done.output.find("some absent before, 0 while they are held, 0 later; 0 pages wrong\n0 pages wrong\n"),
        std::string::npos)
        << done.output;
  }
}

TEST_F(Spilled, KilledProgram_BackingFile_IsRemoved) {
  const auto done = run("sh -c '" TERRACE_LAUNCHER " run --memory 96MiB --spill " + disk_ +
                        " -o profile.terrace -- " TERRACE_LARGE_DATA
                        " 192 wait > there & while ! test -s there; do sleep 0.1; done; "
                        "kill -KILL $(cat there); wait $!; echo status $?'");
  EXPECT_NE(done.output.find("status 137"), std::string::npos) << done.output;
  EXPECT_TRUE(std::filesystem::is_empty(disk_));
}

TEST_F(Spilled, Options_Unusable_AreRefused) {
  const auto refused = [&](const std::string& options, const std::string& why) {
    const auto done = run(TERRACE_LAUNCHER " run " + options + " -- true");
    EXPECT_EQ(done.status, 2) << options;
    EXPECT_NE(done.output.find(why), std::string::npos) << done.output;
    EXPECT_EQ(std::count(done.output.begin(), done.output.end(), '\n'), 1) << done.output;
  };
  refused("--spill " + disk_, "it needs --memory SIZE");
  refused("--memory 1MiB --spill " + disk_, "--memory 1MiB: at least 64MiB is needed");
  refused("--memory 1GiB --spill " + disk_ + "/none", "it is no folder that can be written to");
  refused("--memory 1GiB --spill /dev/shm", "is in memory itself");
  refused("--memory lots --spill " + disk_, "lots");
}

}  // namespace
}  // namespace terrace::test
