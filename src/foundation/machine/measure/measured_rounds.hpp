// The kernels under the clock: each function measures one round of a figure in short windows, adds them to the
// figure's earlier rounds, and returns what all of them say.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "machine/file/machine_file.hpp"
#include "machine/measure/figures.hpp"
#include "machine/measure/fits.hpp"
#include "machine/measure/kernels.hpp"
#include "machine/measure/placed_buffer.hpp"

namespace terrace::machine {

// Returns the median, the largest less the smallest, and the least. The values must not be empty.
Spread spread_of(std::vector<double> values);

// Where and how one round is measured. Non-owning.
struct Probe {
  Figures& figures;
  std::span<const int> cores;  // processors; the first one measures, the others are kept quiet or measure, too
  std::size_t windows = 3;     // of a round
  Seconds max_hop{};           // of several cores that measure together (windows.hpp)
};

// Memory with a chase through it. Chases go on where the last ones ended, so that they meet lines that are cold;
// the first ones do, too, if the memory is more than twice the caches. Construction takes half as much more.
struct ChaseBuffer {
  ChaseBuffer(Bytes size, Pages pages, int numa_node);
  PlacedBuffer memory;
  ChaseCycle cycle;
  ChaseLine* single = nullptr;
  std::vector<ChaseLine*> several;
};

// Seconds of a cycle of the core: an addition that waits for the one before.
Spread time_of_a_cycle(const Probe& probe, const std::string& name);

// Seconds an access of a scalar loop over data in the first-level cache.
Spread time_of_an_access(const Probe& probe, const std::string& name);

// Seconds a call of one of libm's functions, with the load and the store beside it.
Spread time_of_a_call(const Probe& probe, const std::string& name, LibraryFunction function);

// Seconds an element of the same loop as time_of_an_access() over the memory, cut into its three arrays.
Spread time_of_a_streamed_element(const Probe& probe, const std::string& name, std::span<double> memory);

// Seconds a hop of one chase. With `cached` the data is brought into the caches before each window.
Spread time_of_a_hop(const Probe& probe, const std::string& name, ChaseBuffer& chase, std::size_t hops,
                     bool cached);
// Seconds a hop when 4, 8, 16 or 32 chases run at once, at the number of chases for which it is least.
struct LeastTime {
  Spread seconds;
  std::string figure;  // whose windows say so
};
LeastTime min_time_of_parallel_hops(const Probe& probe, const std::string& name, ChaseBuffer& chase,
                                    std::size_t hops, bool cached);

// For 32, 40, 48, 56, 64, 80, ... pages of `page_lines` lines, one line of each, as far as the memory goes.
std::vector<PagesCost> costs_of_pages(const Probe& probe, const std::string& name, std::span<ChaseLine> memory,
                                      std::size_t page_lines);

// Bytes a second that the other cores read of `memory`, and seconds a hop of a chase by the first one beside
// them, for one pace of theirs after the other, the fastest last: medians. Empty where there is no other core.
std::vector<std::pair<double, Spread>> loaded_hops(const Probe& probe, const std::string& name, ChaseBuffer& chase,
                                                   std::span<const double> memory);

// How many accesses a core has under way at once: independent misses of `memory`, a power of two of elements, that
// are so far apart no longer overlap. 0 when none were found to be far enough apart.
std::uint32_t reorder_window(const Probe& probe, const std::string& name, std::span<const std::uint64_t> memory);

// How many stores a core has waiting for their lines: stores that miss and have so many others between them no
// longer overlap. The memory is a power of two of elements. 0 when none were found to be far enough apart.
std::uint32_t store_buffer(const Probe& probe, const std::string& name, std::span<std::uint64_t> memory);

// Seconds a line of that many streams through the memory, read in random order, for 4, 8, 16, ... streams.
std::vector<StreamsCost> costs_of_streams(const Probe& probe, const std::string& name,
                                          std::span<const std::uint64_t> memory);

// Bytes a second of "copy", "scale", "add", "triad" (bytes as STREAM counts them), "read" and "write", with one
// thread on each of the first `threads` cores. The memory is cut into the three arrays. Before the windows of a
// kernel it runs over `caches` bytes, so that the caches hold lines as it leaves them.
std::vector<std::pair<std::string, Spread>> bandwidths(const Probe& probe, const std::string& name,
                                                       std::size_t threads, std::span<double> memory,
                                                       Bytes caches);

// Bytes a second of memcpy, counting each byte once.
Spread copy_bandwidth(const Probe& probe, const std::string& name, std::span<const double> from,
                      std::span<double> to);

}  // namespace terrace::machine
