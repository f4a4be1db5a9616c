// Tests that ranks of an MPI job plan within their shares of a node's fast memory. Each rank is a process that
// learns and follows plans of its own; they begin each iteration at a barrier.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "idle_requests.hpp"
#include "rank_processes.hpp"
#include "strategy/hints/hints.hpp"
#include "strategy/learning/learning_strategy.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {
namespace {

constexpr std::uint32_t k_chunks = 16;  // of each rank
constexpr double k_exposures = 1e4;     // of a chunk: 4 ms in slow memory, 1 ms in fast memory
const std::string k_phase = "all";

// Performs moves at once, as far as the ledger allows.
class LedgerRequests final : public IdleRequests {
 public:
  LedgerRequests(memory::ChunkTable& chunks, memory::Ledger& ledger) : chunks_(chunks), ledger_(ledger) {}
  using IdleRequests::request_moves;
  void request_moves(std::span<ActiveMove* const> moves, std::uint32_t, const transfer::TransferStart&) override {
    for (const auto* move : moves) this->move(move->chunk, move->planned.to);
  }
  void request_moves(std::span<const transfer::TransferRequest> moves, PhaseIndex, std::uint32_t) override {
    for (const auto& move : moves) this->move(move.chunk, move.to);
  }
  void note(std::string_view, std::string_view text) override { notes.emplace_back(text); }
  void on_plan_adopted(const Plan&, std::string_view) override { ++plans; }

  std::vector<std::string> notes;
  int plans = 0;
  int refused = 0;

 private:
  void move(ChunkId id, PlaceId to) {
    auto& chunk = chunks_[id];
    const auto from = chunk.place.load();
    if (from == to) return;
    if (!ledger_.take(to, Bytes{chunk.size})) {
      ++refused;
      return;
    }
    ledger_.give(from, Bytes{chunk.size});
    chunks_.put(chunk, to);
  }
  memory::ChunkTable& chunks_;
  memory::Ledger& ledger_;
};

// A rank with one object, of which it reads every chunk `work` times as much as a rank of work 1.
struct LearningRank {
  LearningRank(RankProcess& rank, double work_of_rank, PlaceId place, bool is_detected = false)
      : process(rank), work(work_of_rank) {
    for (std::uint32_t i = 0; i < k_chunks; ++i) {
      EXPECT_TRUE(rank.ledger.take(place, Bytes{k_unit}));
      chunks.add(std::uint64_t{i} * k_unit, k_unit, 0, 0, place);
    }
    objects.push_back({.id = 0,
                       .name = "data",
                       .size = Bytes{k_chunks * k_unit},
                       .chunk_size = Bytes{k_unit},
                       .first_chunk = 0,
                       .chunks = k_chunks});
    context.machine = &machine;
    context.budget = k_budget;
    context.chunks = &chunks;
    context.ledger = &rank.ledger;
    context.clock = &rank.clock;
    context.objects = &objects;
    context.hints = &hints;
    context.profiles = true;
    context.sample_interval = Seconds{1e-6};
    context.ranks = &rank.group;
    strategy.emplace(context, &find_planner("global"), std::nullopt);
    strategy->on_event(LoopBegun{.name = "main", .is_detected = is_detected}, requests);
  }
  // Runs an iteration; the rank waits in MPI for so long as it is faster than the slowest one.
  void iterate(std::uint32_t number, double slowest) {
    if (profiled) strategy->on_event(IterationProfiled{*profiled, places}, requests);
    process.clock.time += Seconds{0.01};
    strategy->on_event(IterationBegins{"main", number}, requests);
    profiled.reset();
    places.clear();
    for (const auto& chunk : chunks) places.push_back(chunk.place.load());
    strategy->on_event(PhaseBegins{0, k_phase, number}, requests);
    strategy->on_event(PhaseBegun{0, k_phase, number}, requests);
    if (strategy->wants_profile()) profiled = profile(number, slowest);
    const auto time = computation();
    strategy->on_event(PhaseEnded{.phase = 0,
                                  .name = k_phase,
                                  .iteration = number,
                                  .time = Seconds{slowest},
                                  .work = Seconds{time},
                                  .in_mpi = Seconds{slowest - time}},
                       requests);
  }
  [[nodiscard]] double computation() const {
    double latencies = 0;
    for (const auto& chunk : chunks) latencies += chunk.place.load() == k_fast ? 100e-9 : 400e-9;
    return work * k_exposures * latencies;
  }
  [[nodiscard]] observe::Iteration profile(std::uint32_t number, double slowest) const {
    observe::Phase phase;
    phase.name = k_phase;
    phase.time = Seconds{slowest};
    phase.core = Seconds{slowest - computation()};
    phase.samples = slowest / 1e-6;
    for (std::uint32_t i = 0; i < k_chunks; ++i)
      phase.cells.push_back({.chunk = i, .read_lines = 10, .exposure = work * k_exposures, .samples = 1});
    return {.number = number, .phases = {phase}};
  }
  [[nodiscard]] std::uint64_t fast_chunks() const {
    std::uint64_t count = 0;
    for (const auto& chunk : chunks) count += chunk.place.load() == k_fast;
    return count;
  }
  [[nodiscard]] bool has_note(std::string_view text) const {
    return std::ranges::any_of(requests.notes, [&](const std::string& one) { return one.find(text) != one.npos; });
  }

  RankProcess& process;
  double work;
  machine::Machine machine = two_latencies();
  memory::ChunkTable chunks;
  std::vector<observe::Object> objects;
  HintRegistry hints{Hints{}};
  Context context;
  LedgerRequests requests{chunks, process.ledger};
  std::optional<LearningStrategy> strategy;
  std::optional<observe::Iteration> profiled;
  std::vector<PlaceId> places;
};

constexpr double k_slowest = 4 * k_chunks * k_exposures * 400e-9;

// Rank 3 works twice as much as the others: it gets what makes it as fast as they are, then all get equal parts.
TEST(LearningRanks, SlowestRank_GetsMostFastMemory) {
  SharedByRanks shared(4);
  run_ranks(shared, [](RankProcess& rank) {
    LearningRank learning(rank, rank.rank == 3 ? 2 : 1, k_slow);
    for (std::uint32_t i = 0; i < 12; ++i) {
      learning.iterate(i, k_slowest);
      rank.meet();
    }
    rank.content.shares[rank.rank] = learning.fast_chunks();
    EXPECT_EQ(learning.requests.plans, 1);
    EXPECT_TRUE(learning.has_note("fast memory of this node is divided among 4 ranks"));
    rank.meet();
  });
  const auto& chunks = shared.content->shares;
  // With f chunks in fast memory, rank 3 computes 128 - 6 f ms, the others 64 - 3 f: equal at 11.4 and 1.5 chunks.
  EXPECT_GE(chunks[3], 11U);
  EXPECT_LE(chunks[3], 13U);
  EXPECT_LE(chunks[0] + chunks[1] + chunks[2] + chunks[3], 16U);
  EXPECT_GE(chunks[0] + chunks[1] + chunks[2] + chunks[3], 15U);
}

// Rank 0 begins with all of the fast memory. The moves of the others are refused until it has moved its data out.
TEST(LearningRanks, FastMemoryIsOccupied_RefusedMovesAreRequestedAgain) {
  SharedByRanks shared(4);
  run_ranks(shared, [](RankProcess& rank) {
    LearningRank learning(rank, 1, rank.rank == 0 ? k_fast : k_slow);
    rank.meet();
    for (std::uint32_t i = 0; i < 40; ++i) {
      if (rank.rank != 0 || i != 4) learning.iterate(i, k_slowest);  // rank 0 is late for its plan
      rank.meet();
    }
    rank.content.shares[rank.rank] = learning.fast_chunks();
    rank.meet();
  });
  for (const auto chunks : shared.content->shares) EXPECT_EQ(chunks, 4U);
}

// In a detected loop moves have to pay: the memory that rank 0 gives up never pays for itself.
TEST(LearningRanks, DetectedLoop_RankWithMoreThanItsShareReleasesIt) {
  SharedByRanks shared(4);
  run_ranks(shared, [](RankProcess& rank) {
    LearningRank learning(rank, 1, rank.rank == 0 ? k_fast : k_slow, true);
    rank.meet();
    for (std::uint32_t i = 0; i < 400; ++i) {
      learning.iterate(i, k_slowest);
      rank.meet();
    }
    rank.content.shares[rank.rank] = learning.fast_chunks();
    rank.meet();
  });
  for (const auto chunks : shared.content->shares) EXPECT_EQ(chunks, 4U);
}

TEST(LearningRanks, OneRankProfilesAgain_AllDo) {
  SharedByRanks shared(4);
  run_ranks(shared, [](RankProcess& rank) {
    LearningRank learning(rank, 1, k_slow);
    for (std::uint32_t i = 0; i < 30; ++i) {
      if (i == 15 && rank.rank == 2) learning.work = 3;  // its phase changes
      learning.iterate(i, k_slowest);
      rank.meet();
    }
    EXPECT_TRUE(learning.has_note(rank.rank == 2 ? "took" : "another rank does")) << rank.rank;
    rank.content.shares[rank.rank] = learning.fast_chunks();
    rank.meet();
  });
  EXPECT_GE(shared.content->shares[2], 13U) << "divided anew";
}

}  // namespace
}  // namespace terrace::strategy
