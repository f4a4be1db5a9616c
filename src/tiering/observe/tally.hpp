// SPDX-License-Identifier: Apache-2.0
// Sums the misses of a quantum (a batch of one thread's accesses) by chunk (unit of migration): tens of chunks
// instead of tens of thousands of misses. Consumers that need only sums (the time law, exact counters) use a
// tally, and all sinks of a quantum share one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "observe/access_sink.hpp"
#include "observe/chunk_scratch.hpp"

namespace terrace::observe {

struct ChunkTraffic {
  std::uint64_t prefetched = 0;  // lines read, by kind of miss
  std::uint64_t independent = 0;
  std::uint64_t dependent = 0;
  std::uint64_t weight = 0;   // of the demand misses, in 255ths of a latency
  std::uint64_t written = 0;  // lines written back

  // Adds misses of one kind, and the sum of the weights of demand misses.
  void add(MissKind kind, std::uint64_t misses, std::uint64_t weights) {
    switch (kind) {
      case MissKind::prefetched:
        prefetched += misses;
        break;
      case MissKind::independent:
        independent += misses;
        weight += weights;
        break;
      case MissKind::dependent:
        dependent += misses;
        weight += weights;
        break;
      case MissKind::writeback:
        written += misses;
        break;
    }
  }
  [[nodiscard]] std::uint64_t read() const { return prefetched + independent + dependent; }
  ChunkTraffic& operator+=(const ChunkTraffic& other) {
    prefetched += other.prefetched;
    independent += other.independent;
    dependent += other.dependent;
    weight += other.weight;
    written += other.written;
    return *this;
  }
  ChunkTraffic& operator-=(const ChunkTraffic& other) {
    prefetched -= other.prefetched;
    independent -= other.independent;
    dependent -= other.dependent;
    weight -= other.weight;
    written -= other.written;
    return *this;
  }
};

class Tally {
 public:
  // Sums the quantum's misses, in place of the previous sums.
  void count(const Quantum& quantum);
  // Rebuild a tally from stored sums: clear(), then add() for each chunk and kind, in the order of the chunks'
  // first misses. `weight`: sum over the demand misses.
  void clear();
  void add(ChunkId chunk, MissKind kind, std::uint64_t misses, std::uint64_t weight);
  [[nodiscard]] const std::vector<ChunkScratch<ChunkTraffic>::Entry>& chunks() const {
    return by_chunk_.entries();
  }
  // Returns nullptr where the quantum has no miss on the chunk.
  [[nodiscard]] const ChunkTraffic* find(ChunkId chunk) const { return by_chunk_.find(chunk); }
  // Returns the misses on memory that belongs to no chunk (memory::k_no_chunk).
  [[nodiscard]] const ChunkTraffic& unowned() const { return unowned_; }

 private:
  ChunkTraffic& of(ChunkId chunk);

  ChunkScratch<ChunkTraffic> by_chunk_;
  ChunkTraffic unowned_;
};

// A sink that can share the tally of another.
class TallySink : public AccessSink {
 public:
  void quantum(const Quantum& quantum) final {
    own_.count(quantum);
    on_tally(quantum, own_);
  }
  virtual void on_tally(const Quantum& quantum, const Tally& tally) = 0;
  // Returns whether it would read the quantum's single misses now; a replay does not decode them where no sink
  // does.
  [[nodiscard]] virtual bool wants_misses() const { return false; }

 private:
  Tally own_;
};

// Forwards every quantum to several sinks, in the order of their registration, with one tally for all. Non-owning.
class Tee final : public TallySink {
 public:
  void add(TallySink& sink) { sinks_.push_back(&sink); }
  void on_tally(const Quantum& quantum, const Tally& tally) override {
    for (auto* sink : sinks_) sink->on_tally(quantum, tally);
  }
  [[nodiscard]] bool wants_misses() const override {
    return std::any_of(sinks_.begin(), sinks_.end(), [](const TallySink* sink) { return sink->wants_misses(); });
  }

 private:
  std::vector<TallySink*> sinks_;
};

}  // namespace terrace::observe
