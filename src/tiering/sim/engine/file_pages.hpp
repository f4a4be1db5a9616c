// SPDX-License-Identifier: Apache-2.0
// Numbers the pages of the program data that may reside in the backing file (virtual_spill.hpp), and maps misses
// to them. VirtualMachine uses it for programs with out-of-core memory (--memory). Each object begins at a chunk
// of the file. The numbers of a freed object go to the next object with as many chunks, as a heap reuses
// addresses, so that a program that repeats itself repeats its page numbers.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/big_block.hpp"
#include "core/rounding.hpp"
#include "core/units.hpp"
#include "memory/chunk_table.hpp"
#include "observe/access_sink.hpp"

namespace terrace::sim {

using FilePage = std::uint32_t;
inline constexpr FilePage k_no_page = ~FilePage{0};
inline constexpr std::uint32_t k_pages_of_a_chunk = k_huge_page / 4096;

class FilePages {
 public:
  // Smaller objects always stay in memory, like small blocks of a heap.
  static constexpr std::uint64_t k_min_object = k_big_block;

  FilePages(const memory::ChunkTable& chunks, Bytes line) : chunks_(chunks), line_(line.value) {}

  struct Block {
    std::uint32_t first = 0;  // chunk of the file
    std::uint32_t count = 0;
  };
  // Returns the page of a miss, or k_no_page if its memory is never in the file. Appends to `new_blocks` the block
  // of an object that is seen for the first time. Throws Error{invalid} for a chunk with more lines than a miss
  // can address.
  FilePage page_of(const observe::Miss& miss, std::vector<Block>& new_blocks) {
    if (miss.chunk >= origins_.size() || !origins_[miss.chunk].is_known) number_object(miss.chunk, new_blocks);
    const auto& one = origins_[miss.chunk];
    if (one.first == k_no_page) return k_no_page;
    return one.first + static_cast<FilePage>((one.offset + miss.line * line_) / 4096);
  }
  // Releases the numbers of a freed object, whose first chunk in the table is `first`. Returns its block, or one
  // of no chunks if it had none.
  Block forget(ChunkId first);
  // Returns the bytes of objects that always stay in memory.
  [[nodiscard]] std::uint64_t pinned_bytes() const { return pinned_; }
  // Returns the number of chunks that have been numbered so far.
  [[nodiscard]] std::uint32_t chunks() const { return next_; }

 private:
  struct ChunkOrigin {
    bool is_known = false;
    FilePage first = k_no_page;  // of the chunk's object
    std::uint64_t offset = 0;    // of the chunk in its object
  };
  void number_object(ChunkId chunk, std::vector<Block>& new_blocks);

  const memory::ChunkTable& chunks_;
  std::uint64_t line_;
  std::vector<ChunkOrigin> origins_;                          // by chunk of the table
  std::map<ChunkId, Block> blocks_;                           // by an object's first chunk
  std::map<ChunkId, std::uint64_t> small_;                    // bytes of pinned objects, by first chunk
  std::map<std::uint32_t, std::vector<std::uint32_t>> free_;  // first chunks of free blocks, by block size
  std::uint32_t next_ = 0;
  std::uint64_t pinned_ = 0;
};

}  // namespace terrace::sim
