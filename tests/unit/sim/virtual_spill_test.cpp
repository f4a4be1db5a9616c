// Tests out-of-core memory in virtual time against the bounds of any schedule, and its own determinism.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "core/error.hpp"
#include "file_memory.hpp"

namespace terrace::sim {
namespace {

constexpr std::uint64_t k_chunk = k_spilled_chunk;

std::uint64_t chunks(Bytes bytes) { return bytes.value / k_chunk; }

// Resident but unmapped chunks during a sweep: an eighth of all is being evicted, eight have been prefetched
// (BeladyPolicy), two are reserved for faults (spill_limits.hpp). A sweep may read so many chunks more than any
// schedule must.
constexpr std::uint64_t beside(std::uint64_t memory) { return memory / 8 + 8 + 2; }

// Reads are what was requested; nothing unaccessed is read.
void expect_conserved(const FileIoTotals& account) {
  EXPECT_EQ(account.kernel_paged.value, 0u);
  EXPECT_LE(chunks(account.read), account.prefetched + account.demanded);
  // At most the reads that the limits allow are still in flight.
  EXPECT_LE(account.prefetched + account.demanded - chunks(account.read), 5u);
  EXPECT_EQ(account.read.value % k_chunk, 0u);
  EXPECT_EQ(account.written.value % k_chunk, 0u);
}

TEST(VirtualSpill, DataThatFits_CausesNoIo) {
  FileWorld with(40);
  FileWorld without(0);
  for (auto* world : {&with, &without}) {
    const auto array = world->add(32);
    for (int round = 0; round < 4; ++round) world->write(array);
  }
  const auto account = with.account();
  EXPECT_EQ(account.read.value, 0u);
  EXPECT_EQ(account.written.value, 0u);
  EXPECT_EQ(account.touches, 32u);  // first access to each chunk
  EXPECT_EQ(account.max_content.value, 32 * k_chunk);
  EXPECT_EQ(account.min_read.value, 0u);
  const auto& time = with.world.virtual_machine.account();
  EXPECT_GT(time.waited.value, 32 * 4e-6);
  EXPECT_NEAR(with.now() - time.waited.value - time.stalled.value, without.now(), 1e-9);
}

TEST(VirtualSpill, CyclicSweep_ReadsLittleMoreThanTheOverflow) {
  constexpr std::uint64_t k_all = 96;
  constexpr std::uint64_t k_memory = 48;
  FileWorld world(k_memory);
  const auto array = world.add(k_all);
  world.read(array);
  auto before = world.account();
  std::uint64_t late = 0;  // in the last six rounds
  for (int round = 0; round < 10; ++round) {
    world.read(array);
    const auto after = world.account();
    // Exactly the minimum of any schedule: the sweep accesses all, and so much was resident at its begin.
    EXPECT_EQ(chunks(after.min_read - before.min_read), k_all - k_memory);
    const auto read = chunks(after.read - before.read);
    EXPECT_GE(read + 4, k_all - k_memory) << "round " << round;
    if (round >= 4) late += read;
    before = after;
  }
  EXPECT_LE(late, 6 * (k_all - k_memory + beside(k_memory)));
  expect_conserved(before);
  // All chunks are written once, because the file had no copy; then they equal the file's copy.
  EXPECT_LE(chunks(before.written), k_all + 4);
  EXPECT_GT(before.clean, 5 * (k_all - k_memory));
  // Most chunks are prefetched once the sweep is known.
  EXPECT_GT(before.prefetched, 4 * before.demanded);
}

TEST(VirtualSpill, StoredData_IsWrittenBackEachRound) {
  constexpr std::uint64_t k_all = 96;
  constexpr std::uint64_t k_memory = 48;
  FileWorld world(k_memory);
  const auto array = world.add(k_all);
  for (int round = 0; round < 5; ++round) world.write(array);
  const auto before = world.account();
  for (int round = 0; round < 4; ++round) world.write(array);
  const auto after = world.account();
  EXPECT_GE(chunks(after.written - before.written) + 4, 4 * (k_all - k_memory));
  EXPECT_LE(chunks(after.written - before.written), 4 * (k_all - k_memory + beside(k_memory)));
  EXPECT_GE(after.written, after.min_written);
  EXPECT_GE(after.read, after.min_read);
  expect_conserved(after);
}

// Repeats it where caches hold stored lines longer than the chunk is in memory.
TEST(VirtualSpill, LateWriteBacks_AreWrittenAllTheSame) {
  constexpr std::uint64_t k_all = 96;
  constexpr std::uint64_t k_memory = 48;
  FileWorld world(k_memory);
  const auto array = world.add(k_all);
  constexpr std::uint32_t k_lag = 8 * 32768;  // eight chunks
  for (int round = 0; round < 5; ++round) world.write_behind(array, k_lag);
  const auto before = world.account();
  for (int round = 0; round < 4; ++round) world.write_behind(array, k_lag);
  const auto after = world.account();
  EXPECT_GE(chunks(after.written - before.written) + 8, 4 * (k_all - k_memory));
  EXPECT_LE(chunks(after.written - before.written), 4 * (k_all - k_memory + beside(k_memory) + 8));
  EXPECT_GE(after.written, after.min_written);
}

TEST(VirtualSpill, ReadOnlySweeps_OverlapDeviceAndProgram) {
  FileChoice fast;
  fast.read = fast.write = 8e9;
  fast.instruction_ns = 1;
  FileWorld world(64, fast);
  FileWorld in_memory(0, fast);
  double steady = 0;
  double alone = 0;
  for (auto* one : {&world, &in_memory}) {
    const auto array = one->add(96);
    for (int round = 0; round < 8; ++round) one->read(array);
    const auto before = one->now();
    for (int round = 0; round < 4; ++round) one->read(array);
    (one == &world ? steady : alone) = one->now() - before;
  }
  // A third of the data does not fit; computing takes longer than reading it, so there is little to wait for.
  const auto device = 4 * 32 * static_cast<double>(k_chunk) / 8e9;
  ASSERT_GT(alone, 2 * device);
  EXPECT_GT(steady, alone);
  EXPECT_LT(steady, 1.15 * alone);
}

TEST(VirtualSpill, RandomAccesses_AreHandedOverToKernelPaging) {
  FileWorld world(64);
  const auto array = world.add(256);
  world.write(array);
  const auto before = world.account();
  world.chase(array, 1500);
  const auto after = world.account();
  EXPECT_EQ(chunks(after.kernel_paged), 256u);
  EXPECT_GE(after.read, after.min_read);
  EXPECT_GE(after.written, after.min_written);
  EXPECT_GT(after.waited, before.waited);
  // From now on single pages are read: one for nearly each hop, because few were accessed before.
  world.chase(array, 3000);
  const auto paged = world.account();
  EXPECT_EQ(chunks(paged.kernel_paged), 256u);
  EXPECT_NEAR(static_cast<double>((paged.read - after.read).value) / 4096, 3000, 150);
  // A later sweep uses chunks again.
  for (int round = 0; round < 3; ++round) world.read(array);
  EXPECT_EQ(world.account().kernel_paged.value, 0u);
}

TEST(VirtualSpill, SparseAccesses_AreHandedOverToKernelPaging) {
  FileWorld world(64, {.memory = 200e9});
  const auto array = world.add(256);
  world.write(array);
  for (int round = 0; round < 10; ++round) world.stride(array, 640);
  EXPECT_EQ(chunks(world.account().kernel_paged), 256u);
  // All used pages fit: nothing is read any more.
  const auto before = world.account();
  for (int round = 0; round < 1000; ++round) world.stride(array, 640);
  EXPECT_EQ(chunks(world.account().kernel_paged), 256u);
  EXPECT_EQ(world.account().read, before.read);
}

// Other lines each time, and more than the memory: kernel paging does not help, which is detected and remembered.
TEST(VirtualSpill, KernelPagingDoesNotHelp_BlockIsReclaimed) {
  FileWorld world(64, {.memory = 200e9});
  const auto array = world.add(256);
  world.write(array);
  int given = 0;
  constexpr int k_rounds = 400;
  for (int round = 0; round < k_rounds; ++round) {
    world.stride(array, 128);
    given += world.account().kernel_paged.value > 0 ? 1 : 0;
  }
  EXPECT_GT(given, 0);
  EXPECT_LT(given, k_rounds / 2);
}

TEST(VirtualSpill, RepeatedRun_TakesTheSameTimeToTheLastDigit) {
  const auto run = [](FileWorld& world) {
    const auto one = world.add(40);
    const auto other = world.add(30);
    for (int round = 0; round < 6; ++round) {
      world.write(one);
      world.read(other);
      world.chase(one, 500);
    }
    world.remove(other);
    world.read(world.add(30));
  };
  FileWorld one(32);
  FileWorld again(32);
  run(one);
  run(again);
  EXPECT_EQ(one.now(), again.now());
  EXPECT_EQ(one.account().read, again.account().read);
  EXPECT_EQ(one.account().written, again.account().written);
  EXPECT_EQ(one.account().waited, again.account().waited);
  EXPECT_GT(one.account().read.value, 0u);
}

TEST(VirtualSpill, FreedMemory_CausesNoIo) {
  FileWorld world(32);
  for (int i = 0; i < 20; ++i) {
    const auto array = world.add(24);
    world.write(array);
    world.remove(array);
  }
  const auto account = world.account();
  EXPECT_EQ(account.read.value, 0u);
  EXPECT_EQ(account.written.value, 0u);
  EXPECT_EQ(account.content.value, 0u);
  EXPECT_EQ(account.max_content.value, 24 * k_chunk);
}

TEST(VirtualSpill, NoFreeCore_BackgroundThreadSlowsTheProgram) {
  FileChoice one_core;
  one_core.cores = 1;
  FileWorld alone(32, one_core);
  FileWorld beside(32);
  for (auto* world : {&alone, &beside}) {
    const auto array = world->add(64);
    for (int round = 0; round < 6; ++round) world->read(array);
  }
  EXPECT_GT(alone.now(), beside.now());
  EXPECT_GT(alone.world.virtual_machine.account().stalled, beside.world.virtual_machine.account().stalled);
}

TEST(VirtualSpill, SmallObjects_StayInMemory) {
  FileWorld world(32);
  const auto first = world.world.add_chunks(1, 512 << 10, k_no_place);
  world.world.chunks[first].object = world.objects++;
  const SyntheticArray small{first, 8192, 8192};
  world.read(small);
  const auto array = world.add(16);
  world.read(array);
  const auto account = world.account();
  EXPECT_EQ(account.max_content.value, 16 * k_chunk);
  EXPECT_EQ(account.limit.value, 31 * k_chunk);
}

TEST(VirtualSpill, UnsuitableMachines_AreRejected) {
  TestWorld two;  // kinds of memory, and no file
  EXPECT_THROW(
      two.virtual_machine.enable_backing_file(0, Bytes{1 << 30}, std::make_unique<strategy::BeladyPolicy>()),
      Error);
  auto parts = test_machine().parts();
  parts.files = {{"disk", 1, {1e9}, {1e9}, {1e-4}, 1}};
  TestWorld beside{machine::Machine(parts)};
  EXPECT_THROW(
      beside.virtual_machine.enable_backing_file(0, Bytes{1 << 30}, std::make_unique<strategy::BeladyPolicy>()),
      Error);
}

// Two threads over an array each: no schedule moves less, and both wait for one device.
TEST(VirtualSpill, TwoThreads_ShareMemoryAndDevice) {
  const auto run = [](FileWorld& world) {
    auto& machine = world.world.virtual_machine;
    const auto one = world.add(40);
    const auto other = world.add(40);
    machine.set_num_alive(2);
    for (int round = 0; round < 5; ++round) {
      for (std::uint32_t from = 0; from < one.lines; from += 4096) {
        for (std::uint32_t thread = 0; thread < 2; ++thread) {
          std::vector<observe::Miss> misses;
          for (auto line = from; line < from + 4096; ++line)
            misses.push_back({(thread == 0 ? one : other).first + line / one.chunk_lines,
                              static_cast<std::uint16_t>(line % one.chunk_lines), 0,
                              observe::MissKind::prefetched});
          observe::Quantum quantum;
          quantum.thread = thread;
          quantum.accesses = 8 * misses.size();
          quantum.instructions = observe::k_instructions_per_access * quantum.accesses;
          quantum.misses = misses;
          machine.quantum(quantum);
        }
      }
      machine.synchronize(std::vector<std::uint32_t>{0, 1});
    }
    return world.now();
  };
  FileWorld world(48);
  FileWorld again(48);
  FileWorld in_memory(0);
  const auto seconds = run(world);
  EXPECT_EQ(seconds, run(again));
  EXPECT_GT(seconds, run(in_memory));
  const auto account = world.account();
  EXPECT_GE(chunks(account.min_read), 4 * (80 - 48) - 48);
  EXPECT_GE(account.read, account.min_read);
  EXPECT_LE(chunks(account.read), 4 * 80);
  EXPECT_GE(seconds, account.min_time.value);
  EXPECT_GT(account.waited.value, 0);
}

// Random programs never move less than any schedule must, and are never faster than the device, or than with all
// data in memory.
// `make soak` has all programs.
TEST(VirtualSpill, RandomPrograms_NeverBeatTheBound) {
  const int programs = std::getenv("TERRACE_ALL_PROGRAMS") ? 60 : 20;
  std::mt19937 random(7);
  const auto pick = [&](std::uint32_t least, std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(least, most)(random);
  };
  for (int program = 0; program < programs; ++program) {
    FileChoice choice;
    choice.read = 1e9 * pick(1, 10);
    choice.write = 1e9 * pick(1, 10);
    choice.latency = 1e-6 * pick(10, 1000);
    choice.requests = pick(1, 64);
    choice.cores = pick(1, 3);
    choice.instruction_ns = 0.1 * pick(1, 20);
    FileWorld over(pick(8, 40), choice);
    FileWorld in_memory(0, choice);
    std::vector<SyntheticArray> arrays;
    for (auto count = pick(1, 3); count > 0; --count) {
      const auto size = pick(1, 30);
      arrays.push_back(over.add(size));
      in_memory.add(size);
    }
    for (auto steps = pick(1, 12); steps > 0; --steps) {
      const auto which = pick(0, static_cast<std::uint32_t>(arrays.size()) - 1);
      const auto what = pick(0, 7);
      const auto hops = pick(1, 3000);
      const auto lag = pick(1, 400000);
      for (auto* world : {&over, &in_memory}) {
        if (what < 3) world->read(arrays[which]);
        if (what == 3) world->write(arrays[which]);
        if (what == 4 || what == 5) world->write_behind(arrays[which], lag);
        if (what == 6) world->chase(arrays[which], hops);
      }
      if (what == 7) {
        over.remove(arrays[which]);
        in_memory.remove(arrays[which]);
        const auto size = pick(1, 30);
        arrays[which] = over.add(size);
        in_memory.add(size);
      }
      if (pick(0, 1) == 0) continue;
      const auto account = over.account();
      ASSERT_GE(account.read, account.min_read) << "program " << program;
      ASSERT_GE(account.written, account.min_written) << "program " << program;
      ASSERT_GE(over.now(), account.min_time.value * (1 - 1e-12)) << "program " << program;
      ASSERT_GE(over.now(), in_memory.now() * (1 - 1e-12)) << "program " << program;
    }
  }
}

}  // namespace
}  // namespace terrace::sim
