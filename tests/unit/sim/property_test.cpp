// Tests properties of any program and any transfers: the rows of the placement problem, the budget at every
// instant, conservation of bytes, determinism, and the rule by which program and copy share the memories.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "machine/example.hpp"
#include "random_run.hpp"

namespace terrace::sim {
namespace {

MachineChoice random_choice(std::mt19937& random) {
  const auto one_of = [&](std::initializer_list<double> values) {
    return values.begin()[random() % values.size()];
  };
  MachineChoice choice;
  choice.bandwidth = one_of({0.125, 0.25, 0.5, 1});
  choice.latency = one_of({1, 2, 4});
  choice.instruction_ns = one_of({0, 0.05, 0.25, 1});
  choice.mlp = one_of({1, 4, 10});
  choice.prefetch_mlp = one_of({8, 20, 60});
  choice.copy = one_of({0, 0.5e9, 2e9, 50e9});
  choice.write = one_of({0.3, 0.5, 1});
  choice.third = random() % 2 == 0;
  if (random() % 2 == 0) {
    choice.copier = {"priced",
                     {32768},
                     {one_of({0, 1e-6, 25e-6})},
                     {{{4096}, {one_of({0, 0.2e-6})}}},
                     {one_of({0, 5e-6, 20e-6})}};
    if (random() % 2 == 0) choice.copier.trap = Seconds{one_of({0, 4e-6})};
    choice.copier.threads = random() % 4;
    if (choice.copier.threads > 0) choice.copier.lines = one_of({0, 4, 15});
    choice.cores = 1 + random() % 8;
  }
  return choice;
}

// Computes the rows by their definition: each chunk is served by that one of its places during a quantum which
// makes the row smallest. Independent of the simulator's arithmetic.
struct Rows {
  double core_and_exposed = 0;
  std::vector<double> busy;
  double copies = 0;

  void add_quantum(const TestWorld& world, const MachineChoice& choice, const RandomRun::ObservedQuantum& seen,
                   double cores) {
    double core = static_cast<double>(seen.instructions) * choice.instruction_ns * 1e-9;
    core += static_cast<double>(seen.hits[1]) * 4e-9 / choice.mlp +
            static_cast<double>(seen.hits[2]) * 20e-9 / choice.mlp;
    core_and_exposed += core / cores;
    for (const auto& miss : seen.misses) {
      const auto was = seen.before[miss.chunk], is = seen.after[miss.chunk];
      const auto& machine = world.machine;
      const auto latency = std::min(machine.path(0, was).latency.value, machine.path(0, is).latency.value);
      switch (miss.kind) {
        case observe::MissKind::prefetched:
          core_and_exposed += latency / choice.prefetch_mlp / cores;
          break;
        case observe::MissKind::independent:
          core_and_exposed += latency * (1 / choice.mlp + miss.weight / 255.0) / cores;
          break;
        case observe::MissKind::dependent:
          core_and_exposed += latency * miss.weight / 255 / cores;
          break;
        case observe::MissKind::writeback:
          break;
      }
      if (was != is) continue;  // either place may have served it
      const auto& path = machine.path(0, was);
      busy[was] += 64 / (miss.kind == observe::MissKind::writeback ? path.write.value : path.read.value);
    }
  }
  void add_transfer(const TestWorld& world, const MachineChoice& choice, const transfer::TransferResult& result) {
    if (result.refused) return;
    const auto size = static_cast<double>(result.size.value);
    const auto& copier = world.machine.copier();
    const auto calls = copier.piece.value == 0 ? 1 : std::ceil(size / static_cast<double>(copier.piece.value));
    double rate = world.machine.copy_bandwidth(result.from, result.to).value;
    const auto lines = copier.lines > 0 ? copier.lines : choice.prefetch_mlp;
    for (const auto place : {result.from, result.to})
      if (copier.threads > 0)
        rate = std::min(rate, copier.threads * lines * 64 / world.machine.path(0, place).latency.value);
    copies += calls * copier.call.value + size / rate;
    for (const auto& page : copier.pages) copies += size / static_cast<double>(page.page.value) * page.remap.value;
    core_and_exposed += calls * copier.stall.value;
    busy[result.from] += size / world.machine.path(0, result.from).read.value;
    busy[result.to] += size / world.machine.path(0, result.to).write.value;
  }
};

TEST(Property, AnySegment_TakesAtLeastEveryRow) {
  std::mt19937 random(1);
  int tight = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const auto choice = random_choice(random);
    const double cores = 1 + static_cast<double>(random() % 4);
    TestWorld world(test_machine(choice), {}, cores);
    RandomRun run(seed, world, 12);
    Rows rows;
    rows.busy.assign(world.machine.places().size(), 0);
    for (int i = 0; i < 40; ++i) run.step();
    run.finish();
    world.virtual_machine.quantum({0, 0, 0, {}, {}});  // charges outstanding stalls to the running thread
    for (const auto& seen : run.quanta) rows.add_quantum(world, choice, seen, cores);
    for (const auto& result : world.virtual_machine.completions()) rows.add_transfer(world, choice, result);
    const double time = world.now();
    const double slack = time * 1e-9;
    ASSERT_GE(time + slack, rows.core_and_exposed) << seed;
    ASSERT_GE(time + slack, rows.copies) << seed;
    double most = std::max(rows.core_and_exposed, rows.copies);
    for (const auto busy : rows.busy) {
      ASSERT_GE(time + slack, busy) << seed;
      most = std::max(most, busy);
    }
    if (most > 0.7 * time) ++tight;
    ASSERT_NEAR(world.virtual_machine.account().total().value, time, slack);
  }
  EXPECT_GT(tight, 100) << "rows far below the time would not test anything";
}

TEST(Property, RandomTransfers_AtEveryInstant_StayWithinTheBudget) {
  std::mt19937 random(2);
  std::size_t moved = 0, refused = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const auto choice = random_choice(random);
    auto machine = test_machine(choice);
    auto budget = TestWorld::whole(machine);
    budget[0] = {65536 + (random() % 8) * 32768};
    if (budget.size() > 2) budget[2] = {131072 + (random() % 8) * 16384};
    TestWorld world(machine, budget);
    RandomRun run(seed, world, 16);
    const auto first = run.places();
    for (int i = 0; i < 60; ++i) {
      run.step();
      for (std::size_t p = 0; p < budget.size(); ++p)
        ASSERT_LE(world.ledger.held(static_cast<PlaceId>(p)), budget[p]);
    }
    run.finish();

    // Repeats it from the transfers' own times: a chunk occupies both places from its begin until it is done. Of
    // events at one instant the release comes first, as when a transfer begins where another ended.
    struct Event {
      double at;
      std::size_t order;
      PlaceId place;
      std::int64_t change;
    };
    std::vector<Event> events;
    const auto results = world.virtual_machine.completions();
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto& result = results[i];
      if (result.refused) ++refused;
      if (result.refused || result.size.value == 0) continue;
      ++moved;
      const auto size = static_cast<std::int64_t>(result.size.value);
      ASSERT_EQ(result.size.value, world.chunks[result.chunk].size);
      ASSERT_GE(result.begun, result.asked);
      ASSERT_GT(result.done, result.begun);
      events.push_back({result.begun.value, 2 * i, result.to, size});
      events.push_back({result.done.value, 2 * i + 1, result.from, -size});
    }
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.at != b.at ? a.at < b.at : a.order < b.order;
    });
    std::vector<std::int64_t> held(budget.size(), 0);
    for (ChunkId c = 0; c < first.size(); ++c) held[first[c]] += world.chunks[c].size;
    for (const auto& event : events) {
      held[event.place] += event.change;
      ASSERT_LE(static_cast<std::uint64_t>(held[event.place]), budget[event.place].value) << seed;
    }
    // Conservation: transfers, places of the chunks and the ledger agree.
    std::vector<std::int64_t> lies(budget.size(), 0);
    const auto last = run.places();
    for (ChunkId c = 0; c < last.size(); ++c) lies[last[c]] += world.chunks[c].size;
    for (std::size_t p = 0; p < budget.size(); ++p) {
      ASSERT_EQ(held[p], lies[p]);
      ASSERT_EQ(world.ledger.held(static_cast<PlaceId>(p)).value, static_cast<std::uint64_t>(lies[p]));
    }
  }
  EXPECT_GT(moved, 1000u);
  EXPECT_GT(refused, 100u);
}

TEST(Property, TransfersOfOneMover_NeverOverlap) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    TestWorld world(test_machine({.copy = 2e9}));
    RandomRun run(seed, world, 12);
    for (int i = 0; i < 60; ++i) run.step();
    run.finish();
    const auto results = world.virtual_machine.completions();
    for (std::size_t i = 1; i < results.size(); ++i) {
      ASSERT_GE(results[i].begun, results[i - 1].done);
      ASSERT_GT(results[i].ticket, results[i - 1].ticket);
    }
  }
}

TEST(Property, RepeatedRun_IsTheSameToTheLastDigit) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto machine = test_machine(random_choice(random));
    const auto play = [&](std::size_t unrelated) {
      // Host addresses differ from run to run, and nothing may depend on them.
      const std::vector<char> elsewhere(1 + unrelated * 12345);
      auto world = std::make_unique<TestWorld>(machine);
      RandomRun run(seed, *world, 12);
      for (int i = 0; i < 60; ++i) run.step();
      run.finish();
      std::vector<double> digits{world->now(), world->virtual_machine.account().exposed.value,
                                 world->virtual_machine.account().bandwidth_bound.value,
                                 world->virtual_machine.account().waited.value};
      for (const auto& result : world->virtual_machine.completions())
        digits.insert(digits.end(), {result.asked.value, result.begun.value, result.done.value});
      return digits;
    };
    ASSERT_EQ(play(0), play(seed + 1)) << seed;
  }
}

TEST(Property, ConcurrentSpeeds_AreFeasibleWorkConservingAndFair) {
  std::mt19937 random(3);
  const auto value = [&](double most) { return static_cast<double>(random() % 10001) / 10000 * most; };
  for (int i = 0; i < 20000; ++i) {
    Demand demand{value(1), value(1), {value(2), value(2), value(2)}};
    if (random() % 4 == 0) demand.busy[random() % 3] = 0;
    CopyDemand copy{static_cast<PlaceId>(random() % 2), 2, 0, 0.1 + value(1), 0.1 + value(1)};
    copy.rate = std::min(1 / std::max(copy.from_byte, copy.to_byte), 0.2 + value(10));
    const auto speeds = share(demand, copy);
    const auto use = [&](double program, double rate, std::size_t place) {
      return program * demand.busy[place] + rate * (place == copy.from ? copy.from_byte : 0) +
             rate * (place == copy.to ? copy.to_byte : 0);
    };
    const auto feasible = [&](double program, double rate) {
      if (program * (demand.core + demand.exposed) > 1 + 1e-11 || rate > copy.rate * (1 + 1e-11)) return false;
      for (std::size_t place = 0; place < 3; ++place)
        if (use(program, rate, place) > 1 + 1e-11) return false;
      return true;
    };
    if (demand.longest() <= 0) continue;
    ASSERT_TRUE(feasible(speeds.program, speeds.copy));
    ASSERT_FALSE(feasible(speeds.program * (1 + 1e-4), speeds.copy)) << "the program could go faster";
    ASSERT_FALSE(feasible(speeds.program, speeds.copy * (1 + 1e-4))) << "the copy could go faster";
    // Whichever is slower than alone is limited by a saturated place, of which it has at least half.
    bool program_has_its_half = speeds.program >= (1 - 1e-9) / demand.longest();
    bool copy_has_its_half = speeds.copy >= copy.rate * (1 - 1e-9);
    for (const auto place : {copy.from, copy.to}) {
      const bool full = use(speeds.program, speeds.copy, place) > 1 - 1e-9;
      const double of_program = use(speeds.program, 0, place);
      const double of_copy = use(0, speeds.copy, place);
      if (full && of_program > 0.5 - 1e-6) program_has_its_half = true;
      if (full && of_program > 0 && of_copy > 0.5 - 1e-6) copy_has_its_half = true;
    }
    ASSERT_TRUE(program_has_its_half) << i;
    ASSERT_TRUE(copy_has_its_half) << i;
  }
}

// Two domains of three kinds with budgets of their own: every place keeps its budget, and chunks stay in their
// domain.
TEST(Property, TwoDomains_ChunksStayInTheirs) {
  std::size_t moved = 0, refused = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    auto parts = machine::example_parts();
    const machine::Machine machine(parts);
    const machine::Budget budget{{262144}, {524288}, {1u << 20}, {131072}, {2u << 20}};
    TestWorld world(machine, budget);
    RandomRun run(seed, world, 20);
    std::vector<DomainId> domain;
    for (const auto place : run.places()) domain.push_back(machine.place(place).domain);
    for (int i = 0; i < 80; ++i) {
      run.step();
      const auto places = run.places();
      for (std::size_t c = 0; c < places.size(); ++c) ASSERT_EQ(machine.place(places[c]).domain, domain[c]);
      for (std::size_t p = 0; p < budget.size(); ++p)
        ASSERT_LE(world.ledger.held(static_cast<PlaceId>(p)), budget[p]);
    }
    run.finish();
    for (const auto& result : world.virtual_machine.completions()) {
      const bool crosses = machine.place(result.to).domain != domain[result.chunk];
      ASSERT_TRUE(!crosses || result.refused);
      ++(result.refused ? refused : moved);
    }
  }
  EXPECT_GT(moved, 300u);
  EXPECT_GT(refused, 300u);
}

// Without transfers a quantum takes exactly the largest of its rows.
TEST(Property, NoTransfers_QuantumIsItsLargestRow) {
  std::mt19937 random(4);
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    auto choice = random_choice(random);
    choice.copier = {.name = machine::k_ideal_copier};
    TestWorld world(test_machine(choice));
    RandomRun run(seed, world, 8);
    double before = 0;
    for (int i = 0; i < 30; ++i) {
      const auto quanta = run.quanta.size();
      while (run.quanta.size() == quanta) {
        run.step();
        run.finish();
        if (run.quanta.size() == quanta) before = world.now();
      }
      Rows rows;
      rows.busy.assign(world.machine.places().size(), 0);
      const auto& seen = run.quanta.back();
      rows.add_quantum(world, choice, seen, 1);
      const double expected =
          std::max(rows.core_and_exposed, *std::max_element(rows.busy.begin(), rows.busy.end()));
      ASSERT_NEAR(world.now() - before, expected, expected * 1e-9 + world.now() * 1e-12);
      before = world.now();
    }
  }
}

}  // namespace
}  // namespace terrace::sim
