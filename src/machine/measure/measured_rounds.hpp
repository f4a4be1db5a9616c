// The kernels under the clock: each runs some rounds on pinned threads, the first unrecorded, and yields the
// median with its spread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine/file/machine_file.hpp"
#include "machine/measure/fits.hpp"
#include "machine/measure/kernels.hpp"

namespace terrace::machine {

// Median, and largest less smallest. The values must not be empty.
Spread spread_of(std::vector<double> values);

// Seconds an access of a scalar loop over data in the first-level cache.
Spread time_of_an_access(int processor, std::size_t repetitions);

// Seconds a call of one of libm's functions, with the load and the store beside it.
Spread time_of_a_call(int processor, LibraryFunction function, std::size_t repetitions);

// Seconds an element of the same loop over the memory, cut into its three arrays.
Spread time_of_a_streamed_element(int processor, std::span<double> memory, std::size_t repetitions);

// Seconds a hop of one chase; each round goes on where the last one ended, so that it meets lines that are cold.
Spread time_of_a_hop(int processor, const ChaseCycle& cycle, std::size_t hops, std::size_t repetitions);
// Seconds a hop when several chases run at once, at the number of chases for which it is least.
double least_time_of_parallel_hops(int processor, const ChaseCycle& cycle, std::size_t hops,
                                   std::size_t repetitions);

// For 32, 40, 48, 56, 64, 80, ... pages of `page_lines` lines, one line of each, as far as the memory goes.
std::vector<PagesCost> costs_of_pages(int processor, std::span<ChaseLine> memory, std::size_t page_lines,
                                      std::size_t repetitions);

// Bytes a second that the other processors read of `memory`, and seconds a hop of a chase by the first one beside
// them, for one pace of theirs after the other, the fastest last. Empty where there is no other processor.
std::vector<std::pair<double, Spread>> loaded_hops(std::span<const int> processors, const ChaseCycle& cycle,
                                                   std::size_t hops, std::span<const double> memory,
                                                   std::size_t repetitions);

// How many accesses a core has under way at once: independent misses of `memory`, a power of two of elements, that
// are so far apart no longer overlap. 0 when none were found to be far enough apart.
std::uint32_t reorder_window(int processor, std::span<const std::uint64_t> memory, std::size_t repetitions);

// How many stores a core has waiting for their lines: stores that miss and have so many others between them no
// longer overlap. The memory is a power of two of elements. 0 when none were found to be far enough apart.
std::uint32_t store_buffer(int processor, std::span<std::uint64_t> memory, std::size_t repetitions);

// Seconds a line of that many streams through the memory, read in random order, for 4, 8, 16, ... streams.
std::vector<StreamsCost> costs_of_streams(int processor, std::span<const std::uint64_t> memory,
                                          std::size_t repetitions);

// Bytes a second of "copy", "scale", "add", "triad" (bytes as STREAM counts them), "read" and "write", with one
// thread on each processor. The memory is cut into the three arrays.
std::vector<std::pair<std::string, Spread>> bandwidths(std::span<const int> processors, std::span<double> memory,
                                                       std::size_t repetitions);

// Bytes a second of memcpy, counting each byte once.
Spread copy_bandwidth(int processor, std::span<const double> from, std::span<double> to, std::size_t repetitions);

}  // namespace terrace::machine
