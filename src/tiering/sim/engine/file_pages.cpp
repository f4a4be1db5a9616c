// SPDX-License-Identifier: Apache-2.0
// Assigns blocks of the simulated backing file to a program's objects, so that VirtualMachine can map each cache
// miss to a page of the file. See file_pages.hpp.
#include "sim/engine/file_pages.hpp"

#include <string>

#include "core/error.hpp"

namespace terrace::sim {

void FilePages::number_object(ChunkId chunk, std::vector<Block>& new_blocks) {
  constexpr std::uint64_t k_lines = 65536;  // of a chunk, that a miss can address
  auto first = chunk;
  while (first > 0 && chunks_[first - 1].object == chunks_[chunk].object) --first;
  auto end = chunk + 1;
  while (end < chunks_.size() && chunks_[end].object == chunks_[chunk].object) ++end;
  if (origins_.size() < end) origins_.resize(end);
  std::uint64_t size = 0;
  for (auto c = first; c < end; ++c) size += chunks_[c].size;
  if (size < k_min_object) {
    for (auto c = first; c < end; ++c) origins_[c].is_known = true;
    small_[first] = size;
    pinned_ += size;
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
  new_blocks.push_back(block);
  std::uint64_t offset = 0;
  for (auto c = first; c < end; ++c) {
    if (chunks_[c].size > k_lines * line_)
      throw Error(Code::invalid, "--memory: the recording has a chunk of " + format(Bytes{chunks_[c].size}) +
                                     ", but a miss addresses only the first " + format(Bytes{k_lines * line_}) +
                                     "; simulate the program instead of replaying it");
    origins_[c] = {true, block.first * k_pages_of_a_chunk, offset};
    offset += chunks_[c].size;
  }
}

FilePages::Block FilePages::forget(ChunkId first) {
  if (const auto small = small_.find(first); small != small_.end()) {
    pinned_ -= small->second;
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
