// See unified_memory.hpp.
#include "strategy/tiering/unified_memory.hpp"

#include <algorithm>

namespace terrace::strategy {
namespace {

constexpr std::uint64_t k_leaf = 64 << 10;
constexpr std::uint64_t k_block = 2 << 20;
constexpr std::uint64_t k_dense = 51;  // per cent
constexpr std::uint32_t k_counter_threshold = 256;
constexpr std::uint32_t k_counter_step = 16;

}  // namespace

PolicyNeeds UnifiedMemory::needs() const {
  PolicyNeeds needs;
  if (mode_ == UnifiedMemoryMode::access_counters)
    needs.touches = k_counter_step;
  else
    needs.faults = true;
  return needs;
}

void UnifiedMemory::touched(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) {
  const auto leaf = stretch_around(chunk, k_leaf, tiers);
  auto& touches = touches_[leaf.begin];
  touches += k_counter_step;
  if (touches < k_counter_threshold) return;
  touches = 0;
  bring(leaf, tiers, choice);
}

void UnifiedMemory::faulted(std::span<const ChunkId> chunks, const Tiers& tiers, PolicyChoice& choice) {
  for (const auto chunk : chunks) {
    if (counts_as_there(chunk, tiers)) continue;
    const bool alone = mode_ == UnifiedMemoryMode::first_touch;
    bring(alone ? ChunkRange{chunk, chunk + 1} : dense_around(chunk, tiers), tiers, choice);
  }
}

ChunkRange UnifiedMemory::object_of(ChunkId chunk, const Tiers& tiers) {
  const auto [found, is_new] = objects_.try_emplace((*tiers.chunks)[chunk].object);
  if (is_new) found->second = object_chunks(*tiers.chunks, chunk);
  return found->second;
}

ChunkRange UnifiedMemory::stretch_around(ChunkId chunk, std::uint64_t bytes, const Tiers& tiers) {
  const auto object = object_of(chunk, tiers);
  const auto count = static_cast<ChunkId>(std::max<std::uint64_t>(1, bytes / tiers.size(object.begin).value));
  const auto begin = object.begin + (chunk - object.begin) / count * count;
  return {begin, std::min(begin + count, object.end)};
}

ChunkRange UnifiedMemory::dense_around(ChunkId chunk, const Tiers& tiers) {
  const auto leaf = stretch_around(chunk, k_leaf, tiers);
  auto dense = leaf;
  for (auto bytes = 2 * k_leaf; bytes <= k_block; bytes *= 2) {
    const auto node = stretch_around(chunk, bytes, tiers);
    std::uint64_t there = leaf.end - leaf.begin;
    for (auto other = node.begin; other < node.end; ++other)
      if ((other < leaf.begin || other >= leaf.end) && counts_as_there(other, tiers)) ++there;
    if (there * 100 > k_dense * (node.end - node.begin)) dense = node;
  }
  return dense;
}

bool UnifiedMemory::counts_as_there(ChunkId chunk, const Tiers& tiers) const {
  return tiers.on(chunk, tiers.fast) || arrivals_.is_here_or_coming(chunk);
}

void UnifiedMemory::bring(ChunkRange wanted, const Tiers& tiers, PolicyChoice& choice) {
  const auto block = stretch_around(wanted.begin, k_block, tiers).begin;
  if (std::find(blocks_.begin(), blocks_.end(), block) == blocks_.end()) blocks_.push_back(block);
  for (auto chunk = wanted.begin; chunk < wanted.end; ++chunk) {
    if (counts_as_there(chunk, tiers)) continue;
    while (arrivals_.room(tiers) < tiers.size(chunk).value)
      if (!evict_block(block, tiers, choice)) return;
    arrivals_.bring(chunk, tiers, choice);
  }
}

// A block of which some is still on its way in keeps its turn.
bool UnifiedMemory::evict_block(ChunkId but, const Tiers& tiers, PolicyChoice& choice) {
  for (auto at = blocks_.begin(); at != blocks_.end(); ++at) {
    if (*at == but) continue;
    const auto block = stretch_around(*at, k_block, tiers);
    bool coming = false;
    std::vector<ChunkId> there;
    for (auto chunk = block.begin; chunk < block.end; ++chunk) {
      if (!arrivals_.is_here_or_coming(chunk)) continue;
      if (tiers.on(chunk, tiers.fast))
        there.push_back(chunk);
      else
        coming = true;
    }
    if (there.empty()) continue;
    if (!coming) blocks_.erase(at);
    for (const auto chunk : there) arrivals_.send_back(chunk, tiers, choice);
    return true;
  }
  return false;
}

}  // namespace terrace::strategy
