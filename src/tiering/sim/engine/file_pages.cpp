// See file_pages.hpp.
#include "sim/engine/file_pages.hpp"

#include <string>

#include "core/error.hpp"

namespace terrace::sim {

void FilePages::meet(ChunkId chunk, std::vector<Block>& is_new) {
  constexpr std::uint64_t k_lines = 65536;  // that a miss tells apart in a chunk
  auto first = chunk;
  while (first > 0 && chunks_[first - 1].object == chunks_[chunk].object) --first;
  auto end = chunk + 1;
  while (end < chunks_.size() && chunks_[end].object == chunks_[chunk].object) ++end;
  if (known_.size() < end) known_.resize(end);
  std::uint64_t size = 0;
  for (auto c = first; c < end; ++c) size += chunks_[c].size;
  if (size < k_min_object) {
    for (auto c = first; c < end; ++c) known_[c].is_known = true;
    small_[first] = size;
    kept_ += size;
    return;
  }
  const auto count = static_cast<std::uint32_t>(ceil_div(size, k_huge_page));
  auto& free = free_[count];
  Block block{next_, count};
  if (free.empty()) {
    next_ += count;
  } else {
    block.first = free.back();
    free.pop_back();
  }
  blocks_[first] = block;
  is_new.push_back(block);
  std::uint64_t offset = 0;
  for (auto c = first; c < end; ++c) {
    if (chunks_[c].size > k_lines * line_)
      throw Error(Code::invalid, "--memory: a chunk of " + format(Bytes{chunks_[c].size}) +
                                     ", and misses tell only lines of " + format(Bytes{k_lines * line_}) +
                                     " apart; simulate the program instead of replaying it");
    known_[c] = {true, block.first * k_pages_of_a_chunk, offset};
    offset += chunks_[c].size;
  }
}

FilePages::Block FilePages::forget(ChunkId first) {
  if (const auto small = small_.find(first); small != small_.end()) {
    kept_ -= small->second;
    small_.erase(small);
  }
  const auto found = blocks_.find(first);
  if (found == blocks_.end()) return {};
  const auto block = found->second;
  free_[block.count].push_back(block.first);
  blocks_.erase(found);
  return block;
}

}  // namespace terrace::sim
