// Compares the fetches of BeladyPolicy with those of Belady's rule with knowledge of the future; tests
// TouchHistory.
#include "strategy/spill/belady_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "strategy/spill/touch_history.hpp"

namespace terrace::strategy {
namespace {

using transfer::PageState;
using Sequence = std::vector<ChunkId>;

// A memory of limited capacity over a disk that fetches `speed` chunks during the work on one.
class Memory {
 public:
  Memory(std::size_t room, std::size_t chunks, double speed)
      : room_(room), speed_(speed), state_(chunks, PageState::empty) {}

  void use(ChunkId chunk, std::uint32_t thread = 0, double work = 1) {
    credit_ = std::min(credit_ + speed_, 4.0);
    worked_[thread] += work;
    if (state_[chunk] != PageState::mapped) {
      next_.on_access(chunk, thread, Seconds{1e-3 * std::exchange(worked_[thread], 0.0)});
      const auto was = state_[chunk];
      if (was == PageState::empty || was == PageState::swapped_out) bring(chunk, -1);
      if (was == PageState::swapped_out) ++demanded_, ++loads_;
      set(chunk, PageState::mapped);
    }
    while (credit_ >= 1) {
      const auto load = next_.next_prefetch();
      if (!load) break;
      if (!bring(load->chunk, load->when)) break;
      credit_ -= 1;
      ++loads_;
      set(load->chunk, PageState::unmapped_resident);
    }
    while (const auto mark = next_.next_sentinel())
      if (state_[*mark] == PageState::mapped) set(*mark, PageState::unmapped_resident);
    EXPECT_LE(in_memory_, room_);
  }
  std::size_t take_loads() { return std::exchange(loads_, 0); }
  std::size_t take_demanded() { return std::exchange(demanded_, 0); }

 private:
  void set(ChunkId chunk, PageState to) {
    state_[chunk] = to;
    next_.on_state_change(chunk, to);
  }
  // Frees space for a chunk. Returns false if all chunks in memory are used before it.
  bool bring(ChunkId chunk, double when) {
    if (in_memory_ == room_) {
      const auto victim = next_.next_victim();
      if (!victim) {
        EXPECT_GE(when, 0) << "nobody leaves for " << chunk;
        return false;
      }
      if (victim->when <= when) return false;
      EXPECT_TRUE(state_[victim->chunk] == PageState::mapped ||
                  state_[victim->chunk] == PageState::unmapped_resident);
      set(victim->chunk, PageState::swapped_out);
      --in_memory_;
    }
    ++in_memory_;
    return true;
  }
  std::size_t room_;
  double speed_, credit_ = 0;
  std::vector<PageState> state_;
  BeladyPolicy next_;
  double worked_[2] = {0, 0};  // in uses since the touch that was noticed
  std::size_t in_memory_ = 0, loads_ = 0, demanded_ = 0;
};

// Returns the fetches in the last `last` touches under Belady's rule.
std::size_t best_loads(const Sequence& uses, std::size_t room, std::size_t last) {
  std::vector<std::size_t> next(uses.size());
  std::vector<std::size_t> seen(*std::ranges::max_element(uses) + 1, uses.size());
  for (auto i = uses.size(); i-- > 0;) next[i] = std::exchange(seen[uses[i]], i);
  std::set<std::pair<std::size_t, ChunkId>> memory;
  std::size_t loads = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (memory.erase({i, uses[i]}) == 0) {
      loads += i + last >= uses.size() ? 1 : 0;
      if (memory.size() == room) memory.erase(std::prev(memory.end()));
    }
    memory.insert({next[i], uses[i]});
  }
  return loads;
}

Sequence repeated(const Sequence& one, std::size_t times) {
  Sequence all;
  for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), one.begin(), one.end());
  return all;
}

// Returns the fetches in the last of `rounds` rounds, and how many of them were late.
struct Loads {
  std::size_t all = 0, late = 0, best = 0;
};
Loads of_last_round(const Sequence& round, std::size_t rounds, std::size_t room, double speed) {
  Memory memory(room, *std::ranges::max_element(round) + 1, speed);
  for (std::size_t i = 0; i < rounds; ++i) {
    memory.take_loads();
    memory.take_demanded();
    for (const auto chunk : round) memory.use(chunk);
  }
  return {memory.take_loads(), memory.take_demanded(), best_loads(repeated(round, rounds), room, round.size())};
}

Sequence sweep(ChunkId first, ChunkId end) {
  Sequence uses;
  for (auto c = first; c < end; ++c) uses.push_back(c);
  return uses;
}

TEST(BeladyPolicy, RepeatedSweep_KeepsChunksUsedSoonest) {
  const auto loads = of_last_round(sweep(0, 400), 6, 200, 2);
  EXPECT_LE(loads.all, 1.1 * static_cast<double>(loads.best)) << loads.best;
  EXPECT_LE(loads.late, loads.all / 20);
}

TEST(BeladyPolicy, OverlappingPhasesAndHotObject_PredictsUses) {
  Sequence round;
  for (const auto& part : {sweep(0, 250), sweep(150, 400)})
    for (const auto chunk : part) {
      round.push_back(chunk);
      if (round.size() % 7 == 0) round.push_back(static_cast<ChunkId>(400 + round.size() % 5));
    }
  const auto loads = of_last_round(round, 8, 200, 2);
  EXPECT_LE(loads.all, 1.4 * static_cast<double>(loads.best)) << loads.best;
  EXPECT_LE(loads.late, loads.all / 10);
}

// A multigrid cycle: three arrays, swept one alone, two and all together. A mapped chunk is used several times a
// round, unnoticed, and the best victims depend on each of these uses.
Sequence multigrid_cycle() {
  constexpr ChunkId k_length = 120;
  const std::vector<std::vector<ChunkId>> sweeps = {{2}, {0}, {0, 1, 2}, {2, 0}, {0, 1, 2}};
  Sequence round;
  for (const auto& arrays : sweeps)
    for (ChunkId at = 0; at < k_length; ++at)
      for (const auto array : arrays) round.push_back(array * k_length + at);
  return round;
}

TEST(BeladyPolicy, MappedChunks_LearnsTheirUses) {
  for (const std::size_t room : {100, 180, 240}) {
    const auto loads = of_last_round(multigrid_cycle(), 5, room, 2);
    EXPECT_LE(loads.all, 1.15 * static_cast<double>(loads.best)) << loads.best << " with room for " << room;
    EXPECT_LE(loads.late, loads.all / 10) << room;
  }
}

// Chunks that are used together come in another order each time.
TEST(BeladyPolicy, AdjacentTouchesSwapped_StaysOnTrack) {
  std::mt19937 random(5);
  const auto round = multigrid_cycle();
  Memory memory(180, 360, 2);
  Sequence all;
  for (int times = 0; times < 6; ++times) {
    auto uses = round;
    for (std::size_t i = 0; i + 1 < uses.size(); ++i)
      if (random() % 3 == 0) std::swap(uses[i], uses[i + 1]);
    all.insert(all.end(), uses.begin(), uses.end());
    memory.take_loads();
    memory.take_demanded();
    for (const auto chunk : uses) memory.use(chunk);
  }
  const auto loads = memory.take_loads();
  const auto late = memory.take_demanded();
  const auto best = best_loads(all, 180, round.size());
  EXPECT_LE(loads, 1.2 * static_cast<double>(best)) << best;
  EXPECT_LE(late, loads / 5);
}

// Two concurrent threads, each with its own half; their order is random.
TEST(BeladyPolicy, SeveralThreads_FollowsEachHistory) {
  constexpr std::size_t k_rounds = 8;
  std::mt19937 random(3);
  Memory memory(200, 400, 2);
  for (std::size_t round = 0; round < k_rounds; ++round) {
    memory.take_loads();
    memory.take_demanded();
    for (ChunkId at = 0; at < 200; ++at) {
      const std::uint32_t first = random() % 2;
      memory.use(200 * first + at, first);
      memory.use(200 * (1 - first) + at, 1 - first);
    }
  }
  EXPECT_LE(memory.take_loads(), 240U) << "200 would be the least";
  EXPECT_LE(memory.take_demanded(), 30U);
}

// One of two threads that share a sweep has less work per chunk, and waits for the other: by its work it is
// behind, but its position is the same.
TEST(BeladyPolicy, WaitingThreads_KeepTheirPosition) {
  constexpr std::size_t k_rounds = 10;
  Memory memory(200, 400, 2);
  for (std::size_t round = 0; round < k_rounds; ++round) {
    memory.take_loads();
    memory.take_demanded();
    for (ChunkId at = 0; at < 200; ++at) {
      memory.use(at, 0);
      memory.use(200 + at, 1, 0.3);
    }
  }
  EXPECT_LE(memory.take_loads(), 240U) << "200 would be the least";
  EXPECT_LE(memory.take_demanded(), 20U);
}

// Chunks that one thread uses twice a round and another one once: the earlier use counts.
TEST(BeladyPolicy, SharedChunk_PredictsEarliestUse) {
  constexpr std::size_t k_rounds = 8;
  for (const std::size_t room : {120, 160, 200})
    for (const std::uint32_t often : {0U, 1U}) {
      Memory memory(room, 300, 2);
      Sequence all;
      const auto use = [&](ChunkId chunk, std::uint32_t thread) {
        memory.use(chunk, thread);
        all.push_back(chunk);
      };
      for (std::size_t round = 0; round < k_rounds; ++round) {
        memory.take_loads();
        memory.take_demanded();
        for (ChunkId at = 0; at < 200; ++at) {
          use(at % 100, often);
          use(100 + at, 1 - often);
          if (at % 2 == 0) use(at / 2, 1 - often);
        }
      }
      const auto best = best_loads(all, room, all.size() / k_rounds);
      EXPECT_LE(memory.take_loads(), 1.15 * static_cast<double>(best)) << best << " with room for " << room;
      EXPECT_LE(memory.take_demanded(), best / 20) << room;
    }
}

// Nothing repeats: recently used chunks stay, and nothing is prefetched.
TEST(BeladyPolicy, RandomTouches_HistoryIsNotTrusted) {
  std::mt19937 random(4);
  Memory memory(200, 400, 2);
  std::deque<ChunkId> queue;
  std::size_t first_in_first_out = 0;
  for (int step = 0; step < 20000; ++step) {
    // Three of four uses are of a quarter of the chunks.
    const auto chunk = static_cast<ChunkId>(random() % 4 == 0 ? random() % 400 : random() % 100);
    memory.use(chunk);
    if (std::ranges::count(queue, chunk) > 0) continue;
    first_in_first_out += queue.size() == 200 ? 1 : 0;
    if (queue.size() == 200) queue.pop_front();
    queue.push_back(chunk);
  }
  const auto loads = memory.take_loads();
  const auto needed = memory.take_demanded();
  EXPECT_LE(loads - needed, needed / 20) << "on suspicion";
  EXPECT_LE(needed, first_in_first_out);
}

// With few chunks, of which many are mapped, nearly any touch is found shortly ahead. Pinned chunks are never
// victims, however late they are used, and histories continue across them.
TEST(BeladyPolicy, PinnedChunks_AreNoVictims) {
  constexpr ChunkId k_all = 1000;
  BeladyPolicy next;
  const auto round = [&] {
    for (ChunkId c = 0; c < k_all; ++c) {
      const bool stays = c >= 300;
      if (!stays) next.on_access(c, 1, Seconds{1e-3});
      next.on_state_change(c, stays ? PageState::pinned : PageState::unmapped_resident);
    }
  };
  for (int i = 0; i < 4; ++i) round();
  std::set<ChunkId> named;
  for (int i = 0; i < 200; ++i) {
    const auto victim = next.next_victim();
    ASSERT_TRUE(victim.has_value()) << i;
    EXPECT_LT(victim->chunk, 300U);
    named.insert(victim->chunk);
  }
  EXPECT_EQ(named.size(), 200U);
}

// There is a victim even if all chunks on disk are used later than those in memory, and all of those are in use.
// Else the memory limit would be exceeded by a chunk for each touch.
TEST(BeladyPolicy, AnyState_ReturnsAVictim) {
  constexpr ChunkId k_all = 600;
  std::mt19937 random(7);
  Memory memory(100, k_all, 1);
  for (int round = 0; round < 4; ++round) {
    for (ChunkId c = k_all / 4; c < k_all; ++c) memory.use(c);
    for (int step = 0; step < 1000; ++step) memory.use(static_cast<ChunkId>(random() % (k_all / 4)));
  }
}

// However long a program runs, a history keeps a few periods only.
TEST(TouchHistory, ManyTouches_LengthIsBounded) {
  TouchHistory history;
  std::vector<ChunkId> passed;
  for (int i = 0; i < 200'000; ++i) {
    passed.clear();
    history.add(
        static_cast<ChunkId>(i % 100), Seconds{1e-3}, [](ChunkId) { return false; }, passed);
    ASSERT_LE(history.size(), 6400U);
  }
  EXPECT_EQ(history.period(), 100U);
  EXPECT_GT(history.hit_share(), 0.9);
}

TEST(TouchHistory, RandomTouches_HitShareIsNearZero) {
  std::mt19937 random(6);
  std::vector<ChunkId> passed;
  for (const ChunkId chunks : {40U, 200U, 1000U}) {
    TouchHistory sweeping;
    TouchHistory jumping;
    const auto quiet = [&](ChunkId chunk) { return chunk % 8 < 3; };
    for (ChunkId step = 0; step < 20 * chunks; ++step) {
      const auto chunk = step % chunks;
      if (!quiet(chunk)) sweeping.add(chunk, Seconds{1e-3}, quiet, passed);
      const auto any = static_cast<ChunkId>(random() % chunks);
      if (!quiet(any)) jumping.add(any, Seconds{1e-3}, quiet, passed);
      if (step > 2 * chunks) {
        ASSERT_LT(jumping.hit_share(), 0.4) << chunks;
      }
    }
    EXPECT_GT(sweeping.hit_share(), 0.9) << chunks;
  }
}

// A round of 40 chunks, 1 ms each, counts as 40 ms of work, however long it takes later, whichever of its touches
// are noticed, and whatever other chunks are touched.
TEST(TouchHistory, RepeatedTouches_CountTheSameWork) {
  constexpr ChunkId k_chunks = 40;
  std::mt19937 random(7);
  TouchHistory history;
  std::vector<bool> quiet(k_chunks + 8, false);
  std::vector<ChunkId> passed;
  double since = 0;
  const auto round = [&](double pace, bool extras) {
    const auto before = history.done();
    for (ChunkId chunk = 0; chunk < k_chunks; ++chunk) {
      since += 1e-3 * pace;
      if (quiet[chunk]) continue;
      const auto is_quiet = [&](ChunkId other) { return static_cast<bool>(quiet[other]); };
      passed.clear();
      history.add(chunk, Seconds{std::exchange(since, 0.0)}, is_quiet, passed);
      if (extras && random() % 8 == 0) history.add(k_chunks + random() % 8, Seconds{1e-4}, is_quiet, passed);
    }
    return history.done() - before;
  };
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(round(1, false), 0.040, 1e-6);
  for (int i = 0; i < 50; ++i) {
    for (ChunkId chunk = 0; chunk + 1 < k_chunks; ++chunk) quiet[chunk] = random() % 2 == 0;
    EXPECT_NEAR(round(1 + 0.1 * i, i % 2 == 0), 0.040, 0.004) << "round " << i;
  }
}

// A program that starts a thread for each piece of work.
TEST(BeladyPolicy, ManyThreads_ForgetsTheLeastRecent) {
  BeladyPolicy next;
  for (std::uint32_t thread = 0; thread < 1000; ++thread)
    for (ChunkId c = 0; c < 10; ++c) {
      next.on_access(c, thread, Seconds{1e-3});
      next.on_state_change(c, PageState::mapped);
    }
  EXPECT_TRUE(next.next_victim());
  next.on_state_change(4, PageState::swapped_out);
  for (ChunkId c = 0; c < 4; ++c) next.on_access(c, 999, Seconds{1e-3});
  ASSERT_TRUE(next.next_prefetch()) << "the last thread's row goes on";
  EXPECT_EQ(next.next_prefetch()->chunk, 4U);
}

TEST(BeladyPolicy, FreedChunk_IsForgotten) {
  BeladyPolicy next;
  for (ChunkId c = 0; c < 10; ++c) {
    next.on_access(c, 0, Seconds{1e-3});
    next.on_state_change(c, PageState::mapped);
  }
  for (ChunkId c = 0; c < 10; ++c) next.on_state_change(c, PageState::empty);
  EXPECT_FALSE(next.next_victim());
  EXPECT_FALSE(next.next_prefetch());
}

}  // namespace
}  // namespace terrace::strategy
