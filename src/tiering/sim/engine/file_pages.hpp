// The pages of a program's data that may be in a file (virtual_spill.hpp): which page a miss is on. Pages are
// numbered so that each object begins a chunk of the file's; what is freed gives its numbers to the next object of
// as many chunks, as a heap gives its addresses, so that a program that repeats itself repeats its numbers.
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
  // Objects of less stay in memory whatever happens, as blocks of a heap do.
  static constexpr std::uint64_t k_min_object = k_big_block;

  FilePages(const memory::ChunkTable& chunks, Bytes line) : chunks_(chunks), line_(line.value) {}

  struct Block {
    std::uint32_t first = 0;  // chunk of the file's
    std::uint32_t count = 0;
  };
  // The page of a miss, or k_no_page where it is on nothing that may be in a file. `is_new`: an object that was
  // met for the first time, which has that block then. Throws Error{invalid} for a chunk with more lines than
  // misses tell apart.
  FilePage of(const observe::Miss& miss, std::vector<Block>& is_new) {
    if (miss.chunk >= known_.size() || !known_[miss.chunk].is_known) meet(miss.chunk, is_new);
    const auto& one = known_[miss.chunk];
    if (one.first == k_no_page) return k_no_page;
    return one.first + static_cast<FilePage>((one.offset + miss.line * line_) / 4096);
  }
  // The object that these chunks of the table are was freed: its block, if it had one, or one of no chunks.
  Block forget(ChunkId first);
  // Bytes of what stays in memory.
  [[nodiscard]] std::uint64_t kept() const { return kept_; }
  // So many chunks have a number.
  [[nodiscard]] std::uint32_t chunks() const { return next_; }

 private:
  struct Known {
    bool is_known = false;
    FilePage first = k_no_page;  // of its object
    std::uint64_t offset = 0;    // in it
  };
  void meet(ChunkId chunk, std::vector<Block>& is_new);

  const memory::ChunkTable& chunks_;
  std::uint64_t line_;
  std::vector<Known> known_;                                  // by chunk of the table
  std::map<ChunkId, Block> blocks_;                           // by an object's first chunk
  std::map<ChunkId, std::uint64_t> small_;                    // the same, of objects that stay: bytes
  std::map<std::uint32_t, std::vector<std::uint32_t>> free_;  // first chunks, by how many there are
  std::uint32_t next_ = 0;
  std::uint64_t kept_ = 0;
};

}  // namespace terrace::sim
