// The loops that measurements time: STREAM's four, pure reads and writes, chases. They know nothing of time,
// places or threads.
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
// Writes every byte without fetching it first where the processor can (non-temporal stores).
void write_all(std::span<double> a, double value);

// a = b + q c, one element at a time as instrumented code runs: never vectorised. Three accesses an element.
void scalar_triad(std::span<double> a, std::span<const double> b, std::span<const double> c, double q);

// Adds `adds` times, a multiple of 64, each addition waiting for the one before: one takes one cycle of the core.
std::uint64_t add_dependent(std::uint64_t start, std::size_t adds);

// Reads `reads` random elements of `far`, a power of two of them, and after each goes through `near`, whole
// triples of elements: reads two, writes one, with some three instructions each. No address depends on what was
// read.
void read_apart(std::span<const std::uint64_t> far, std::span<std::uint64_t> near, std::size_t reads,
                std::uint64_t& seed);

// Writes `writes` random elements of `far`, a power of two of them, and after each `between` elements of `near`, a
// power of two of lines, neighbours in different lines.
void write_apart(std::span<std::uint64_t> far, std::span<std::uint64_t> near, std::size_t between,
                 std::size_t writes, std::uint64_t& seed);

// Reads elements one after the other from streams in random order: of stream s the one at `at[s]`, which goes on.
std::uint64_t read_streams(std::span<const std::uint64_t> memory, std::span<std::uint32_t> at, std::size_t reads,
                           std::uint64_t& seed);

// Calls the function for each of its arguments, `passes` times; no call waits for another. Beside each call are a
// load and a store, of data in the first-level cache.
inline constexpr std::size_t k_library_arguments = 1024;
void call_library(LibraryFunction function, std::size_t passes);

// One cache line of a chase.
struct alignas(64) ChaseLine {
  ChaseLine* next = nullptr;
};

// Links the lines into one cycle in random order, the same for the same seed.
class ChaseCycle {
 public:
  ChaseCycle(std::span<ChaseLine> lines, std::uint64_t seed);  // 2 to 2^32 - 1 lines, else Error{invalid}
  // One line of each page of `page_lines` lines, of each page the line after the last one's, so that the lines are
  // in different sets of a cache.
  static ChaseCycle one_a_page(std::span<ChaseLine> memory, std::size_t page_lines, std::uint64_t seed);
  // The k-th of n starting lines (n up to 64), evenly apart along the cycle, so that chases can start apart.
  [[nodiscard]] ChaseLine* start(std::size_t k, std::size_t n) const;

 private:
  ChaseCycle() = default;
  void link(std::size_t count, std::uint64_t seed, const std::function<ChaseLine*(std::size_t)>& line);

  static constexpr std::size_t k_marks = 64;
  ChaseLine* marks_[k_marks] = {};
};

// Follows the cycle: each load waits for the one before.
ChaseLine* chase(ChaseLine* from, std::size_t hops);
// Several chases at once, `hops` each; misses of different chains do not wait for one another. `from` holds 4, 8,
// 16 or 32 lines and is left where the chases ended.
void chase_many(std::span<ChaseLine*> from, std::size_t hops);

}  // namespace terrace::machine
