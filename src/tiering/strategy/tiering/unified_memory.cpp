// SPDX-License-Identifier: Apache-2.0
// Implements the GPU policies "unified-memory", "migrate-on-fault" and "access-counters" (`terrace lab gpu
// --policy`). See unified_memory.hpp.
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

PolicyNeeds UnifiedMemoryPolicy::needs() const {
  PolicyNeeds needs;
  if (mode_ == UnifiedMemoryMode::access_counters)
    needs.touches = k_counter_step;
  else
    needs.faults = true;
  return needs;
}

void UnifiedMemoryPolicy::on_touch(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) {
  const auto leaf = aligned_range(chunk, k_leaf, tiers);
  auto& touches = touches_[leaf.begin];
  touches += k_counter_step;
  if (touches < k_counter_threshold) return;
  touches = 0;
  promote(leaf, tiers, choice);
}

void UnifiedMemoryPolicy::on_fault(std::span<const ChunkId> chunks, const Tiers& tiers, PolicyChoice& choice) {
  for (const auto chunk : chunks) {
    if (is_promoted_or_resident(chunk, tiers)) continue;
    const bool alone = mode_ == UnifiedMemoryMode::first_touch;
    promote(alone ? ChunkRange{chunk, chunk + 1} : dense_subtree(chunk, tiers), tiers, choice);
  }
}

ChunkRange UnifiedMemoryPolicy::object_of(ChunkId chunk, const Tiers& tiers) {
  const auto [found, is_new] = objects_.try_emplace((*tiers.chunks)[chunk].object);
  if (is_new) found->second = object_chunks(*tiers.chunks, chunk);
  return found->second;
}

ChunkRange UnifiedMemoryPolicy::aligned_range(ChunkId chunk, std::uint64_t bytes, const Tiers& tiers) {
  const auto object = object_of(chunk, tiers);
  const auto count = static_cast<ChunkId>(std::max<std::uint64_t>(1, bytes / tiers.size(object.begin).value));
  const auto begin = object.begin + (chunk - object.begin) / count * count;
  return {begin, std::min(begin + count, object.end)};
}

// Returns the largest subtree around the faulting chunk of which more than 51 % are in fast memory or in flight.
ChunkRange UnifiedMemoryPolicy::dense_subtree(ChunkId chunk, const Tiers& tiers) {
  const auto leaf = aligned_range(chunk, k_leaf, tiers);
  auto dense = leaf;
  for (auto bytes = 2 * k_leaf; bytes <= k_block; bytes *= 2) {
    const auto node = aligned_range(chunk, bytes, tiers);
    std::uint64_t there = leaf.end - leaf.begin;
    for (auto other = node.begin; other < node.end; ++other)
      if ((other < leaf.begin || other >= leaf.end) && is_promoted_or_resident(other, tiers)) ++there;
    if (there * 100 > k_dense * (node.end - node.begin)) dense = node;
  }
  return dense;
}

bool UnifiedMemoryPolicy::is_promoted_or_resident(ChunkId chunk, const Tiers& tiers) const {
  return tiers.is_on(chunk, tiers.fast) || fifo_.is_promoted(chunk);
}

// Promotes the range, and evicts whole blocks until it fits.
void UnifiedMemoryPolicy::promote(ChunkRange wanted, const Tiers& tiers, PolicyChoice& choice) {
  const auto block = aligned_range(wanted.begin, k_block, tiers).begin;
  if (std::find(blocks_.begin(), blocks_.end(), block) == blocks_.end()) blocks_.push_back(block);
  for (auto chunk = wanted.begin; chunk < wanted.end; ++chunk) {
    if (is_promoted_or_resident(chunk, tiers)) continue;
    while (fifo_.free_bytes(tiers) < tiers.size(chunk).value)
      if (!evict_block(block, tiers, choice)) return;
    fifo_.promote(chunk, tiers, choice);
  }
}

// A block with pending promotions stays in the queue.
bool UnifiedMemoryPolicy::evict_block(ChunkId but, const Tiers& tiers, PolicyChoice& choice) {
  for (auto at = blocks_.begin(); at != blocks_.end(); ++at) {
    if (*at == but) continue;
    const auto block = aligned_range(*at, k_block, tiers);
    bool coming = false;
    std::vector<ChunkId> there;
    for (auto chunk = block.begin; chunk < block.end; ++chunk) {
      if (!fifo_.is_promoted(chunk)) continue;
      if (tiers.is_on(chunk, tiers.fast))
        there.push_back(chunk);
      else
        coming = true;
    }
    if (there.empty()) continue;
    if (!coming) blocks_.erase(at);
    for (const auto chunk : there) fifo_.demote(chunk, tiers, choice);
    return true;
  }
  return false;
}

}  // namespace terrace::strategy
