// Policies in a running world on the simulator: they begin as the kernel does, stay within the budget, find the
// hot object, are paid for, and do the same every time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime_fixture.hpp"

namespace terrace::runtime {
namespace {

// `cold` and `hot` come first and fill fast memory; `late` is what the program works on.
struct LateRun {
  explicit LateRun(const std::string& planner) : run({.planner = planner, .fast = Bytes{5 * k_mib}}) {
    late = run.runtime.add_object("late", profile::ObjectKind::heap, TestRun::address(3), Bytes{4 * k_mib});
    run.runtime.loop_begin("main");
    for (int i = 0; i < 20; ++i) {
      run.runtime.phase("solve");
      run.sweep(late, 8);
      run.runtime.phase("output");
      run.sweep(run.hot, 1);
    }
    run.runtime.loop_end();
    run.runtime.finish("exit");
  }
  std::uint64_t fast_bytes(memory::ObjectId object) {
    std::uint64_t bytes = 0;
    for (memory::ChunkId chunk = 0; chunk < run.chunks.size(); ++chunk)
      if (run.chunks[chunk].object == object && run.chunks[chunk].place.load() == 0)
        bytes += run.chunks[chunk].size;
    return bytes;
  }
  // Of the journal: what fast memory held at most, from what lay there at first and every transfer, whose room is
  // taken when it begins and given when it is done.
  std::uint64_t most_held() {
    std::multimap<double, std::int64_t> changes;
    for (const auto& object : run.records<profile::ObjectRecord>())
      for (const auto place : object.places)
        if (place == 0) changes.emplace(0, static_cast<std::int64_t>(object.object.chunk_size.value));
    std::vector<profile::Move> moves;
    for (const auto& record : run.records<profile::MovesRecord>())
      moves.insert(moves.end(), record.moves.begin(), record.moves.end());
    for (const auto& record : run.records<profile::TransfersRecord>())
      for (const auto& transfer : record.transfers) {
        const auto size = static_cast<std::int64_t>(transfer.size.value);
        if (transfer.from == 0) changes.emplace(transfer.done.value, -size);
        if (moves.at(transfer.move).to == 0) changes.emplace(transfer.begun.value, size);
      }
    std::int64_t held = 0, most = 0;
    for (auto at = changes.begin(); at != changes.end();) {
      const auto time = at->first;
      std::vector<std::int64_t> now;
      for (; at != changes.end() && at->first == time; ++at) now.push_back(at->second);
      std::sort(now.begin(), now.end());  // what is done gives its room to what begins then
      for (const auto change : now) most = std::max(most, held += change);
    }
    return static_cast<std::uint64_t>(most);
  }

  std::size_t transfers() {
    std::size_t count = 0;
    for (const auto& record : run.records<profile::TransfersRecord>()) count += record.transfers.size();
    return count;
  }

  TestRun run;
  memory::ObjectId late = 0;
};

class PolicyInAWorld : public testing::TestWithParam<std::string> {};

TEST_P(PolicyInAWorld, KeepsTheBudgetAndRepeats) {
  LateRun once(GetParam()), again(GetParam());
  EXPECT_LE(once.most_held(), 5 * k_mib);
  EXPECT_EQ(once.run.vm.now().value, again.run.vm.now().value);
  once.run.vm.charge(Seconds{1});  // a chunk that is on its way has room on both sides until it is there
  EXPECT_EQ(once.run.ledger.held(0).value + once.run.ledger.held(1).value, 24 * k_mib);
  EXPECT_EQ(again.most_held(), once.most_held());
  EXPECT_EQ(again.transfers(), once.transfers());
  EXPECT_TRUE(once.run.records<profile::PlanRecord>().empty());
  EXPECT_TRUE(once.run.records<profile::NoteRecord>().empty());
}

INSTANTIATE_TEST_SUITE_P(All, PolicyInAWorld, testing::Values("kernel-tiering", "memtis", "colloid", "alto"),
                         [](const auto& policy) {
                           auto name = policy.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PolicyInAWorld, BeginsAsFirstTouchDoes) {
  TestRun run({.planner = "memtis", .fast = Bytes{5 * k_mib}});
  EXPECT_EQ(run.ledger.held(0).value, 5 * k_mib);
}

TEST(PolicyInAWorld, MemtisBringsTheHotObjectIn) {
  LateRun run("memtis");
  EXPECT_EQ(run.fast_bytes(run.late), 4 * k_mib);
}

TEST(PolicyInAWorld, TheKernelBringsTheHotObjectInAndIsPaidFor) {
  LateRun run("kernel-tiering");
  EXPECT_GE(run.fast_bytes(run.late), 3 * k_mib);
  // Chunks fault before they come in, at 1.5 us each.
  EXPECT_GE(run.run.vm.account().charged.value, 48 * 1.5e-6);
}

// Streams hide their latency here (prefetch_mlp = 200): nothing is worth a move.
TEST(PolicyInAWorld, AltoLeavesStreamsAlone) {
  LateRun run("alto");
  EXPECT_EQ(run.fast_bytes(run.late), 0U);
}

TEST(InterleaveInAWorld, ChunksTakeTurnsAsTheyAreMade) {
  TestRun run({.planner = "interleave", .fast = Bytes{64 * k_mib}});
  for (memory::ChunkId chunk = 0; chunk < run.chunks.size(); ++chunk)
    EXPECT_EQ(run.chunks[chunk].place.load(), chunk % 2) << chunk;
}

}  // namespace
}  // namespace terrace::runtime
