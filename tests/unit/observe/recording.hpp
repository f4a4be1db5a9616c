// Provides a sink that records quanta, and fixtures of most tests of observe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "observe/access_sink.hpp"
#include "observe/objects/address_map.hpp"
#include "observe/pipeline/pipeline.hpp"

namespace terrace::observe::test {

using observe::Miss;
using observe::MissKind;

struct RecordingSink final : observe::AccessSink {
  void quantum(const observe::Quantum& quantum) override {
    ++quanta;
    lengths.push_back(quantum.accesses);
    accesses += quantum.accesses;
    instructions += quantum.instructions;
    for (std::size_t i = 0; i < hits.size(); ++i) hits[i] += quantum.hits[i];
    walks += quantum.walks;
    for (const auto& calls_of : quantum.calls) calls[calls_of.function] += calls_of.count;
    misses.insert(misses.end(), quantum.misses.begin(), quantum.misses.end());
  }
  [[nodiscard]] std::uint64_t count(MissKind kind) const {
    std::uint64_t n = 0;
    for (const Miss& miss : misses) n += miss.kind == kind ? 1 : 0;
    return n;
  }
  // Indexed by level.
  [[nodiscard]] std::uint64_t all_hits() const {
    return std::accumulate(hits.begin(), hits.end(), std::uint64_t{0});
  }
  // Fetched lines: all misses but write-backs.
  [[nodiscard]] std::uint64_t fetched() const { return misses.size() - count(MissKind::writeback); }
  // Counts fetched lines.
  [[nodiscard]] double share(MissKind kind) const {
    return static_cast<double>(count(kind)) / static_cast<double>(fetched());
  }
  // Latencies that misses expose beyond those of overlapping misses.
  [[nodiscard]] double exposed() const {
    double sum = 0;
    for (const Miss& miss : misses) sum += miss.weight;
    return sum / 255;
  }
  void clear() { *this = RecordingSink{}; }

  std::uint64_t quanta = 0;
  std::uint64_t accesses = 0;
  std::uint64_t instructions = 0;
  std::array<std::uint64_t, observe::k_max_cache_levels> hits{};
  std::uint64_t walks = 0;
  std::vector<std::uint64_t> lengths;
  std::vector<Miss> misses;
  std::map<std::uint32_t, std::uint64_t> calls;  // of libm, by function
};

inline machine::Cache cache(std::uint64_t size, std::uint32_t ways, bool shared) {
  return {shared ? "shared" : "private", Bytes{size}, ways, shared, Seconds{0}};
}

inline PipelineConfig config_of(std::uint64_t private_bytes, std::uint64_t shared_bytes) {
  PipelineConfig config;
  config.caches = {cache(private_bytes, 8, false), cache(shared_bytes, 16, true)};
  return config;
}

// Small enough for tests to overflow.
inline PipelineConfig small_config() { return config_of(4096, 65536); }

// A pipeline over a map with one range of real memory, in chunks of `chunk_bytes`.
class Bench {
 public:
  explicit Bench(std::size_t bytes, const PipelineConfig& config = small_config(), std::size_t chunk_bytes = 65536)
      : memory((bytes + 8191) / 8), shared(make_shared_cache(config)) {
    const auto start = reinterpret_cast<std::uint64_t>(memory.data());
    base = (start + 4095) & ~std::uint64_t{4095};
    map.add_range(base, bytes);
    for (std::size_t at = 0; at < bytes; at += chunk_bytes) {
      map.set_chunk(base + at, std::min(chunk_bytes, bytes - at), static_cast<ChunkId>(at / chunk_bytes));
    }
    pipeline = std::make_unique<Pipeline>(config, *shared, map, sink, 0, nullptr);
  }
  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(base);
  }
  // Calls the hook before a load, and loads.
  template <class T>
  T load(const T* at, std::uint64_t site = 1) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
    pipeline->access(reinterpret_cast<std::uint64_t>(at), sizeof(T), false, site);
    return *at;
  }
  template <class T>
  void store(T* at, T value, std::uint64_t site = 1) {
    pipeline->access(reinterpret_cast<std::uint64_t>(at), sizeof(T), true, site);
    *at = value;
  }

  std::vector<std::uint64_t> memory;
  std::uint64_t base = 0;
  AddressMap map;
  RecordingSink sink;
  std::unique_ptr<SharedCache, void (*)(SharedCache*)> shared;
  std::unique_ptr<Pipeline> pipeline;
};

}  // namespace terrace::observe::test
