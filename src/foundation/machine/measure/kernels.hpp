// SPDX-License-Identifier: Apache-2.0
// Declares the loops that `terrace machine measure` and benchmarks time: STREAM's four kernels, pure reads and
// writes, pointer chases. They do not depend on clocks, places or threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "machine/library.hpp"

namespace terrace::machine {

// STREAM (McCalpin): a, b, c of equal length; `q` is its scalar.
void stream_copy(std::span<double> c, std::span<const double> a);                            // c = a
void stream_scale(std::span<double> b, std::span<const double> c, double q);                 // b = q c
void stream_add(std::span<double> c, std::span<const double> a, std::span<const double> b);  // c = a + b
void stream_triad(std::span<double> a, std::span<const double> b, std::span<const double> c,
                  double q);  // a = b + q c

// Reads every byte; the sum keeps the loop alive.
double read_all(std::span<const double> a);
// Writes every byte, by non-temporal stores if the processor has them, so that no line is read first.
void write_all(std::span<double> a, double value);

// Computes a = b + q c, one element at a time, as instrumented code does: never vectorised. Three accesses an
// element.
void scalar_triad(std::span<double> a, std::span<const double> b, std::span<const double> c, double q);

// Performs `adds` dependent additions, a multiple of 64; each takes one core cycle.
std::uint64_t add_dependent(std::uint64_t start, std::size_t adds);

// Reads `reads` random elements of `far`, whose size is a power of two, with one pass over `near` after each:
// triples of elements, two reads and one write, with about three instructions each. No address depends on data.
void read_random_spaced(std::span<const std::uint64_t> far, std::span<std::uint64_t> near, std::size_t reads,
                        std::uint64_t& seed);

// Writes `writes` random elements of `far`, whose size is a power of two, and after each `between` elements of
// `near`, consecutive ones in different lines; `near` has a power of two of lines.
void write_random_spaced(std::span<std::uint64_t> far, std::span<std::uint64_t> near, std::size_t between,
                         std::size_t writes, std::uint64_t& seed);

// Reads from streams in random order: the next element of stream s is at[s], which advances.
std::uint64_t read_streams(std::span<const std::uint64_t> memory, std::span<std::uint32_t> at, std::size_t reads,
                           std::uint64_t& seed);

// Calls the function for each of its arguments, `passes` times. The calls are independent. Each has a load and a
// store of data in the first-level cache.
inline constexpr std::size_t k_library_arguments = 1024;
void call_library(LibraryFunction function, std::size_t passes);

// One cache line of a chase.
struct alignas(64) ChaseLine {
  ChaseLine* next = nullptr;
};

// Links lines into one random cycle, reproducible by seed.
class ChaseCycle {
 public:
  ChaseCycle(std::span<ChaseLine> lines, std::uint64_t seed);  // 2 to 2^32 - 1 lines, else Error{invalid}
  // Links one line of each page of `page_lines` lines. The position in the page advances by one line from page to
  // page, so that the lines map to different sets of a cache.
  static ChaseCycle one_line_per_page(std::span<ChaseLine> memory, std::size_t page_lines, std::uint64_t seed);
  // Returns the k-th of n starting lines (n up to 64), evenly spaced along the cycle, for concurrent chases.
  [[nodiscard]] ChaseLine* start(std::size_t k, std::size_t n) const;

 private:
  ChaseCycle() = default;
  void link(std::size_t count, std::uint64_t seed, const std::function<ChaseLine*(std::size_t)>& line);

  static constexpr std::size_t k_num_starts = 64;
  ChaseLine* starts_[k_num_starts] = {};
};

// Follows the cycle for `hops` dependent loads.
ChaseLine* chase(ChaseLine* from, std::size_t hops);
// Follows several cycles concurrently, `hops` each, so that their misses overlap. `from` has 4, 8, 16 or 32 lines
// and is set to where the chases ended.
void chase_many(std::span<ChaseLine*> from, std::size_t hops);

}  // namespace terrace::machine
