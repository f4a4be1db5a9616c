// The runtime on the simulator, fed with quanta by hand: objects, phases, learning, moving, the journal.
#include "runtime/runtime.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "profile/exact_collector.hpp"
#include "profile/records.hpp"
#include "profile/sampling_collector.hpp"
#include "runtime/runtime_parts.hpp"
#include "sim/calibrate.hpp"
#include "sim/virtual_machine.hpp"

namespace terrace::runtime {
namespace {

using backend::Miss;
using backend::MissKind;

// 16 GB/s and 86 ns beside 4 GB/s and 344 ns.
machine::Machine two_places() {
  machine::MachineParts parts;
  parts.name = "two";
  parts.nodes = {{"machine", {}, {}}, {"fast", 0, 0}, {"slow", 0, 1}};
  parts.places = {{"fast", "dram", {1ULL << 30}, {4096}, 0, -1}, {"slow", "nvm", {16ULL << 30}, {4096}, 0, -1}};
  machine::Initiator core;
  core.name = "core";
  core.frequency_hz = 2.4e9;
  core.access_time = {0.25e-9};
  core.prefetch_mlp = 200;  // bandwidth decides
  core.caches = {{"l2", {256u << 10}, 8, false, {5e-9}}, {"l3", {1u << 20}, 16, true, {20e-9}}};
  parts.initiators = {core};
  parts.domains = {{"node", 0, {0, 1}}};
  parts.paths = {{0, 0, {16e9}, {16e9}, {86e-9}}, {0, 1, {4e9}, {4e9}, {344e-9}}};
  return machine::Machine(parts);
}

constexpr std::uint64_t k_mib = 1 << 20;

// A world whose journal can be read back, and a program that alternates between a hot and a cold object.
class RuntimeTest : public ::testing::Test {
 protected:
  void start(const std::string& planner, Bytes fast, bool keep_exact = false,
             std::optional<placement::Plan> plan = {}) {
    char name[] = "/tmp/terrace-runtime-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    journal_ = std::make_unique<Journal>(folder_ + "/journal");
    ledger_ = std::make_unique<memory::Ledger>(page_, machine::fast_budget(machine_, fast));
    vm_ = std::make_unique<sim::VirtualMachine>(machine_, 0, 1, chunks_, *ledger_);
    sampled_ = std::make_unique<profile::SamplingCollector>(machine_, 0, 1, chunks_, Seconds{416e-9});
    exact_ = std::make_unique<profile::ExactCollector>(machine_, 0, 1, chunks_);
    tee_.add(*sampled_);
    tee_.add(*exact_);
    tee_.add(*vm_);
    RuntimeParts parts;
    WorldParts world;
    world.machine = &machine_;
    world.budget = machine::fast_budget(machine_, fast);
    world.steering.planner = planner;
    world.steering.keep_exact = keep_exact;
    world.steering.plan = std::move(plan);
    world.calibration = sim::measure_calibration(machine_, 0, 1);
    world.sample_interval = sampled_->interval();
    world.chunks = &chunks_;
    world.clock = vm_.get();
    world.backing = vm_.get();
    world.mover = vm_.get();
    world.ledger = ledger_.get();
    world.sampled = sampled_.get();
    world.exact = exact_.get();
    world.journal = journal_.get();
    world.steering.record_only = every_ > 0;
    world.totals = [this] {
      const auto& account = vm_->account();
      return Totals{account.accesses,
                    account.misses,
                    account.core,
                    account.exposed,
                    account.bandwidth_bound,
                    account.waited,
                    account.charged,
                    0,
                    0};
    };
    if (every_ > 0) parts.follow_every = every_;
    parts.follow = [this](bool wanted) { followed_ = wanted; };
    parts.worlds.push_back(std::move(world));
    runtime_ = std::make_unique<Runtime>(std::move(parts));
    hot_ = runtime_->add_object("hot", profile::ObjectKind::heap, address(1), Bytes{4 * k_mib});
    cold_ = runtime_->add_object("cold", profile::ObjectKind::heap, address(2), Bytes{16 * k_mib});
  }
  void TearDown() override {
    runtime_.reset();
    journal_.reset();
    if (!folder_.empty()) {
      unlink((folder_ + "/journal").c_str());
      rmdir(folder_.c_str());
    }
  }
  static const void* address(std::uint64_t n) { return reinterpret_cast<const void*>(n << 32); }

  // `passes` sweeps over the object's chunks, every line once; unseen where accesses are not followed.
  void sweep(memory::ObjectId object, int passes) {
    if (!followed_) return;
    for (int pass = 0; pass < passes; ++pass)
      for (memory::ChunkId chunk = 0; chunk < chunks_.size(); ++chunk) {
        if (chunks_[chunk].object != object) continue;
        std::vector<Miss> misses;
        for (std::uint32_t line = 0; line < chunks_[chunk].size / 64; ++line)
          misses.push_back({chunk, static_cast<std::uint16_t>(line), 0, MissKind::prefetched});
        backend::Quantum quantum;
        quantum.accesses = misses.size() * 8;
        quantum.misses = misses;
        tee_.quantum(quantum);
      }
  }
  void iterate(int iterations) {
    runtime_->loop_begin("main");
    for (int i = 0; i < iterations; ++i) {
      runtime_->phase("solve");
      sweep(hot_, 8);
      runtime_->phase("output");
      sweep(cold_, 1);
    }
    runtime_->loop_end();
    runtime_->finish("exit");
  }
  template <class Record>
  std::vector<Record> records() {
    const int file = open((folder_ + "/journal").c_str(), O_RDONLY);
    struct stat status {};
    fstat(file, &status);
    const auto size = static_cast<std::size_t>(status.st_size);
    void* map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    std::vector<Record> found;
    const auto end = read_journal({static_cast<const std::byte*>(map), size}, [&](const JournalRecord& record) {
      if (record.type != static_cast<std::uint16_t>(profile::k_record_type<Record>)) return;
      BlobReader in(record.payload);
      profile::decode(in, found.emplace_back());
    });
    EXPECT_TRUE(end.whole);
    munmap(map, size);
    return found;
  }

  std::uint32_t every_ = 0;  // above 0: a recording that follows each so many iterations
  bool followed_ = true;     // what the runtime asks for
  machine::Machine machine_ = two_places();
  memory::LedgerPage page_{};
  memory::ChunkTable chunks_;
  std::string folder_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<memory::Ledger> ledger_;
  std::unique_ptr<sim::VirtualMachine> vm_;
  std::unique_ptr<profile::SamplingCollector> sampled_;
  std::unique_ptr<profile::ExactCollector> exact_;
  profile::Tee tee_;
  std::unique_ptr<Runtime> runtime_;
  memory::ObjectId hot_ = 0;
  memory::ObjectId cold_ = 0;
};

TEST_F(RuntimeTest, LearnsInTheFirstIterationAndMovesTheHotObject) {
  start("global", Bytes{5 * k_mib});  // the planner that moves nothing in later iterations
  iterate(40);                        // planning goes on beside the first of them
  for (memory::ChunkId chunk = 0; chunk < chunks_.size(); ++chunk)
    if (chunks_[chunk].object == hot_) {
      EXPECT_EQ(chunks_[chunk].place.load(), 0) << chunk;
    }
  std::map<std::uint32_t, double> time;
  for (const auto& phase : records<profile::PhaseRecord>())
    time[phase.iteration] += (phase.ended - phase.begun).value;
  ASSERT_EQ(time.size(), 40U);
  // 32 MiB at 16 GB/s instead of 4, and 16 MiB as before (the last chunks of the budget aside).
  const double slow = (32 + 16) * static_cast<double>(k_mib) / 4e9;
  EXPECT_NEAR(time[0], slow, 0.01 * slow);
  EXPECT_LE(time[39], 1.02 * (32 * static_cast<double>(k_mib) / 16e9 + 16 * static_cast<double>(k_mib) / 4e9));
}

TEST_F(RuntimeTest, CutsObjectsIntoAbout64ChunksOfWholeSteps) {
  start("slow-only", Bytes{k_mib});
  const auto chunks_of = [&](std::uint64_t n, std::uint64_t size) {
    const auto id =
        runtime_->add_object("o" + std::to_string(n), profile::ObjectKind::heap, address(n), Bytes{size});
    std::vector<std::uint64_t> sizes;
    for (memory::ChunkId chunk = 0; chunk < chunks_.size(); ++chunk)
      if (chunks_[chunk].object == id) sizes.push_back(chunks_[chunk].size);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}), size);
    return sizes;
  };
  EXPECT_EQ(chunks_of(3, 4096).size(), 1U);
  EXPECT_EQ(chunks_of(4, 64 * 16384), std::vector<std::uint64_t>(64, 16384));
  const auto odd = chunks_of(5, 17'801'216);  // 278,144 bytes would be 64 of them
  EXPECT_EQ(odd.front(), 17U * 16384);
  EXPECT_EQ(odd.size(), 64U);
  EXPECT_EQ(chunks_of(6, 200 * k_mib).front(), 4 * k_mib);  // whole huge pages
}

TEST_F(RuntimeTest, JournalSaysForEachMoveWhatAndWhen) {
  start("auto", Bytes{5 * k_mib});
  iterate(40);
  std::vector<profile::Move> moves;
  for (const auto& record : records<profile::MovesRecord>())
    moves.insert(moves.end(), record.moves.begin(), record.moves.end());
  std::uint64_t into_fast = 0;
  std::size_t transfers = 0;
  for (const auto& record : records<profile::TransfersRecord>())
    for (const auto& transfer : record.transfers) {
      ++transfers;
      EXPECT_FALSE(transfer.refused);
      EXPECT_LE(transfer.asked, transfer.begun);
      EXPECT_LT(transfer.begun, transfer.done);
      // Never faster than the slower of the two places can read or write.
      EXPECT_GE((transfer.done - transfer.begun).value, 0.999 * static_cast<double>(transfer.size.value) / 4e9);
      ASSERT_LT(transfer.move, moves.size());
      EXPECT_EQ(transfer.size, moves[transfer.move].size);
      into_fast += moves[transfer.move].to == 0 ? transfer.size.value : 0;
      into_fast -= transfer.from == 0 ? transfer.size.value : 0;
    }
  // Each is named once, however often it is made.
  EXPECT_GT(transfers, 0U);
  EXPECT_LE(moves.size(), transfers);
  EXPECT_EQ(into_fast, ledger_->held(0).value);
  EXPECT_LE(ledger_->held(0).value, 5 * k_mib);
  EXPECT_EQ(records<profile::PlanRecord>().size(), 1U);
  EXPECT_EQ(records<profile::IterationRecord>().size(), 1U);
  EXPECT_EQ(records<profile::LoopEndRecord>().at(0).iterations, 40U);
}

TEST_F(RuntimeTest, ObeysAPlanThatItIsGivenAndWritesItDown) {
  placement::Plan plan;
  plan.planner = "hand";
  plan.budget = {"dram=5MiB"};
  plan.objects.push_back({"hot", Bytes{4 * k_mib}, 4, false, {{{0, 4}, "fast"}}});
  start("auto", Bytes{5 * k_mib}, false, plan);
  iterate(2);
  EXPECT_EQ(ledger_->held(0).value, 4 * k_mib);
  const auto plans = records<profile::PlanRecord>();
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans.front().why, "given by --plan");
  EXPECT_EQ(plans.front().at.value, 0);
  EXPECT_EQ(plans.front().plan.planner, "hand");
  EXPECT_EQ(plans.front().plan.objects.at(0).name, "hot");
}

TEST_F(RuntimeTest, FirstTouchFillsTheFastPlaceInOrder) {
  start("first-touch", Bytes{6 * k_mib});
  std::uint64_t fast_hot = 0;
  std::uint64_t fast_cold = 0;
  for (memory::ChunkId chunk = 0; chunk < chunks_.size(); ++chunk)
    if (chunks_[chunk].place.load() == 0)
      (chunks_[chunk].object == hot_ ? fast_hot : fast_cold) += chunks_[chunk].size;
  EXPECT_EQ(fast_hot, 4 * k_mib);
  EXPECT_EQ(fast_cold, 2 * k_mib);
}

TEST_F(RuntimeTest, FreedObjectsGiveTheirRoomBack) {
  start("first-touch", Bytes{6 * k_mib});
  EXPECT_EQ(ledger_->held(0).value, 6 * k_mib);
  runtime_->remove_object(hot_);
  EXPECT_EQ(ledger_->held(0).value, 2 * k_mib);
  runtime_->remove_object(cold_);
  EXPECT_EQ(ledger_->held(0).value, 0U);
  EXPECT_EQ(ledger_->held(1).value, 0U);
}

TEST_F(RuntimeTest, ExactCountersCountEveryLine) {
  start("slow-only", Bytes{5 * k_mib}, true);
  iterate(2);
  const auto iterations = records<profile::IterationRecord>();
  ASSERT_EQ(iterations.size(), 2U);
  for (const auto& record : iterations) {
    EXPECT_TRUE(record.exact);
    ASSERT_EQ(record.iteration.phases.size(), 2U);
    double lines = 0;
    for (const auto& cell : record.iteration.phases[0].cells) lines += cell.read_lines;
    EXPECT_EQ(lines, 8.0 * 4 * k_mib / 64);
  }
}

// Recordings that leave iterations out, against those of the same program that leave out none.
class RuntimeEveryTest : public RuntimeTest {
 protected:
  struct Seen {
    Seconds time;
    profile::CountersRecord counters;
    std::vector<profile::PhaseRecord> phases;
    std::vector<std::uint32_t> profiled;  // iterations
    profile::LoopEndRecord loop;
  };
  // A process of its own.
  struct Run : RuntimeTest {
    using RuntimeTest::cold_;
    using RuntimeTest::every_;
    using RuntimeTest::followed_;
    using RuntimeTest::hot_;
    using RuntimeTest::iterate;
    using RuntimeTest::records;
    using RuntimeTest::runtime_;
    using RuntimeTest::start;
    using RuntimeTest::sweep;
    using RuntimeTest::TearDown;
    using RuntimeTest::vm_;
    void TestBody() override {}
  };
  template <class Program>
  static Seen record(std::uint32_t every, Program program) {
    Run run;
    run.every_ = every;
    run.start("auto", Bytes{5 * k_mib});
    program(run);
    Seen seen{run.vm_->now(),
              run.records<profile::CountersRecord>().back(),
              run.records<profile::PhaseRecord>(),
              {},
              run.records<profile::LoopEndRecord>().back()};
    for (const auto& iteration : run.records<profile::IterationRecord>())
      seen.profiled.push_back(iteration.iteration.number);
    run.TearDown();
    return seen;
  }
  // To the last digits: sums are taken in another order.
  static void expect_same(const Seen& seen, const Seen& whole) {
    EXPECT_NEAR(seen.time.value, whole.time.value, 1e-12 * whole.time.value);
    ASSERT_EQ(seen.phases.size(), whole.phases.size());
    for (std::size_t i = 0; i < seen.phases.size(); ++i) {
      EXPECT_EQ(seen.phases[i].name, whole.phases[i].name);
      const auto took = (whole.phases[i].ended - whole.phases[i].begun).value;
      EXPECT_NEAR((seen.phases[i].ended - seen.phases[i].begun).value, took, 1e-9 * took) << i;
    }
    EXPECT_EQ(seen.counters.accesses, whole.counters.accesses);
    EXPECT_EQ(seen.counters.misses, whole.counters.misses);
    for (const auto part : {&profile::CountersRecord::core, &profile::CountersRecord::exposed,
                            &profile::CountersRecord::bandwidth_bound, &profile::CountersRecord::charged})
      EXPECT_NEAR((seen.counters.*part).value, (whole.counters.*part).value, 1e-9 * (whole.counters.*part).value);
  }
};

TEST_F(RuntimeEveryTest, IterationsThatAreLeftOutCountAsTheLastOneFollowed) {
  const auto program = [](Run& run) {
    run.sweep(run.cold_, 1);
    run.iterate(11);
  };
  const auto seen = record(4, program);
  expect_same(seen, record(1, program));
  EXPECT_EQ(seen.profiled, (std::vector<std::uint32_t>{0, 1, 5, 9}));
  EXPECT_EQ(seen.loop.iterations, 11U);
  EXPECT_EQ(seen.loop.followed, 4U);
  for (const auto& phase : seen.phases)
    EXPECT_EQ(phase.followed, phase.iteration < 2 || phase.iteration == 5 || phase.iteration == 9);
}

TEST_F(RuntimeEveryTest, WhatComesAfterTheLoopIsFollowedAgain) {
  const auto program = [](Run& run) {
    run.runtime_->loop_begin("main");
    for (int i = 0; i < 5; ++i) {
      run.runtime_->phase("solve");
      run.sweep(run.hot_, 1);
    }
    EXPECT_EQ(run.followed_, run.every_ == 1);
    run.runtime_->loop_end();
    EXPECT_TRUE(run.followed_);
    run.sweep(run.cold_, 1);
    run.runtime_->finish("exit");
  };
  expect_same(record(100, program), record(1, program));
}

TEST_F(RuntimeEveryTest, APhaseThatIsNewIsFollowedAtOnce) {
  const auto program = [](Run& run) {
    run.runtime_->loop_begin("main");
    for (int i = 0; i < 12; ++i) {
      run.runtime_->phase("solve");
      run.sweep(run.hot_, 1);
      if (i >= 6) {
        run.runtime_->phase("refine");
        run.sweep(run.cold_, 1);
      }
    }
    run.runtime_->loop_end();
    run.runtime_->finish("exit");
  };
  const auto seen = record(100, program);
  expect_same(seen, record(1, program));
  // Of iteration 6 the profile would know the half: the next one stands for it.
  EXPECT_EQ(seen.profiled, (std::vector<std::uint32_t>{0, 1, 7}));
}

TEST_F(RuntimeEveryTest, SleepsPassWhereNothingIsFollowedToo) {
  const auto program = [](Run& run) {
    run.runtime_->loop_begin("main");
    for (int i = 0; i < 6; ++i) {
      run.runtime_->phase("solve");
      run.sweep(run.hot_, 1);
      run.vm_->charge(Seconds{0.25 * i});
    }
    run.runtime_->loop_end();
    run.runtime_->finish("exit");
  };
  expect_same(record(100, program), record(1, program));
}

TEST_F(RuntimeEveryTest, NothingIsLeftOutOnceThereAreThreads) {
  every_ = 100;
  start("auto", Bytes{5 * k_mib});
  runtime_->loop_begin("main");
  for (int i = 0; i < 6; ++i) {
    runtime_->phase("solve");
    if (i == 3) {
      EXPECT_FALSE(followed_);
      runtime_->several_threads();
    }
    EXPECT_EQ(followed_, i != 2) << i;
    sweep(hot_, 1);
  }
  runtime_->loop_end();
  EXPECT_EQ(records<profile::LoopEndRecord>().back().followed, 4U);
  std::vector<bool> followed;
  for (const auto& phase : records<profile::PhaseRecord>()) followed.push_back(phase.followed);
  EXPECT_EQ(followed, (std::vector<bool>{true, true, false, false, true, true}));
}

// A second program beside the first, at other addresses of the test's own memory.
class RuntimeRepeatTest : public RuntimeTest {
 protected:
  struct Again : RuntimeTest {
    using RuntimeTest::iterate;
    using RuntimeTest::start;
    using RuntimeTest::TearDown;
    using RuntimeTest::vm_;
    void TestBody() override {}
  };
};

TEST_F(RuntimeRepeatTest, SameEventsSameTimesToTheLastDigit) {
  start("auto", Bytes{5 * k_mib});
  iterate(5);
  const auto first = vm_->now();
  Again again;
  again.start("auto", Bytes{5 * k_mib});
  again.iterate(5);
  EXPECT_EQ(first.value, again.vm_->now().value);
  again.TearDown();
}

}  // namespace
}  // namespace terrace::runtime
