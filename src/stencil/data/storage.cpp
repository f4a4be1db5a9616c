// SPDX-License-Identifier: Apache-2.0
// Maps the memory of datasets, anonymous or in a file, at staggered addresses and padded row strides. Used by the
// in-memory executors; strides and range texts also throughout the library.
#include "stencil/data/storage.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_line = 64;
constexpr std::size_t k_offsets = 16;  // number of distinct offsets
// Typical dimensions of a two-dimensional tile: rows, and cache lines of each.
constexpr std::ptrdiff_t k_tile_rows = 64, k_tile_lines = 64;
constexpr std::ptrdiff_t k_way = 2048;    // cache lines: 128 KiB, one way of the private cache of many processors
constexpr std::ptrdiff_t k_padding = 32;  // a row grows by at most 1/32
constexpr std::ptrdiff_t k_max_shared = 4;  // rows that map to one set

// Returns the maximum number of a tile's rows that share a cache set. `row` is the stride in bytes.
std::ptrdiff_t max_shared(std::ptrdiff_t row) {
  std::array<std::ptrdiff_t, k_tile_rows> begins{};
  for (std::ptrdiff_t k = 0; k < k_tile_rows; ++k)
    begins[static_cast<std::size_t>(k)] = k * row / static_cast<std::ptrdiff_t>(k_line) % k_way;
  std::ranges::sort(begins);
  std::ptrdiff_t most = 0;
  for (const auto begin : begins)
    most = std::max<std::ptrdiff_t>(most, std::ranges::count_if(begins, [&](auto other) {
                                      return (other - begin + k_way) % k_way < k_tile_lines;
                                    }));
  return most;
}

}  // namespace

Memory::Memory(const std::string& name, std::size_t bytes, std::size_t number, const std::string& folder) {
  const auto shift = number % k_offsets * (k_huge_page / k_offsets / 4) + shift_in_page(number);
  size_ = bytes + shift + k_huge_page;
  mapping_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED)
    throw Error(Code::no_memory, "no memory for the dataset '" + name + "', " + format(Bytes{bytes}) +
                                     ": take a smaller problem, or executor=streamed with data in files");
  if (!folder.empty()) {
    file_.reset(new transfer::SpillFile(file_in(folder)));
    // Reserve the disk blocks now: a page fault without space would kill the process.
    int error = file_->reserve(0, size_);
    if (error == EOPNOTSUPP) error = 0;
    if (error == 0) error = file_->map(reinterpret_cast<std::uint64_t>(mapping_), 0, size_);
    if (error != 0) {
      munmap(mapping_, size_);
      throw Error(Code::failed, "the dataset '" + name + "', " + format(Bytes{bytes}) +
                                    ", cannot be in folder=" + folder + ": " + std::strerror(error) +
                                    ": take another folder or a smaller problem");
    }
  }
  madvise(mapping_, size_, MADV_HUGEPAGE);
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  const auto aligned = (address + k_huge_page - 1) / k_huge_page * k_huge_page;
  first_ = static_cast<std::byte*>(mapping_) + (aligned - address) + shift;
}

void Memory::release() {
  if (mapping_) munmap(mapping_, size_);
  mapping_ = nullptr;
}

Memory::Memory(Memory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      size_(other.size_),
      first_(other.first_),
      file_(std::move(other.file_)) {}

transfer::SpillFile file_in(const std::string& folder) {
  try {
    return transfer::SpillFile(folder);
  } catch (const Error& error) {
    throw Error(error.code(), "folder=" + folder + ": " + error.what());
  }
}

std::string text_of(const Range& range) {
  std::string text;
  for (std::size_t d = 0; d < k_max_dims; ++d)
    text += (d ? " x " : "") + std::to_string(range.begin[d]) + ".." + std::to_string(range.end[d]);
  return text;
}

std::size_t shift_in_page(std::size_t number) {
  // Golden-ratio sequence over the lines of a page: any few consecutive offsets are nearly equidistant.
  constexpr std::size_t k_lines = 64, k_apart = 25;
  return number * k_apart % k_lines * k_line;
}

std::ptrdiff_t padded_row(std::ptrdiff_t length, std::size_t element) {
  // An element may be larger than a cache line.
  const auto in_line = std::max(static_cast<std::ptrdiff_t>(k_line / element), std::ptrdiff_t{1});
  const auto lines = (length + in_line - 1) / in_line;
  // Use an odd number of lines, so that all sets of a small cache are used. Among these, avoid strides slightly
  // above a power of two, whose rows would map to few sets of larger caches.
  const auto bytes = in_line * static_cast<std::ptrdiff_t>(element);  // bytes per counted line
  auto best = lines | 1;
  auto least = max_shared(best * bytes);
  for (auto row = best + 2; row <= lines + lines / k_padding && least > k_max_shared; row += 2)
    if (const auto shared = max_shared(row * bytes); shared < least) {
      least = shared;
      best = row;
    }
  return best * in_line;
}

}  // namespace terrace::stencil
