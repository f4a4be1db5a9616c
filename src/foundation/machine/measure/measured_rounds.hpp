// SPDX-License-Identifier: Apache-2.0
// Times the kernels (kernels.hpp) for `terrace machine measure`. Each function measures one round of a figure (a
// time or rate) in short windows, adds them to the figure's earlier rounds, and returns best, median and range
// over all of them (Spread).
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

// Returns median, range and minimum. Requires: values are not empty.
Spread spread_of(std::vector<double> values);

// Where and how a round is measured. Non-owning.
struct Probe {
  Figures& figures;
  std::span<const int> cores;  // processors; the first measures, the others are kept idle or measure, too
  std::size_t windows = 3;     // of a round
  Seconds max_hop{};           // limit for cores that measure together (windows.hpp)
};

// Memory with a pointer chase through it. Chases continue where the last ones ended, so that their lines are cold;
// the first ones are cold, too, if the memory is more than twice the caches. Construction needs half as much
// memory again.
struct ChaseBuffer {
  ChaseBuffer(Bytes size, Pages pages, int numa_node);
  PlacedBuffer memory;
  ChaseCycle cycle;
  ChaseLine* single = nullptr;
  std::vector<ChaseLine*> several;
};

// Measures seconds per core cycle, by dependent additions.
Spread measure_cycle(const Probe& probe, const std::string& name);

// Measures seconds per access of a scalar loop over data in the first-level cache.
Spread measure_access(const Probe& probe, const std::string& name);

// Measures seconds per call of a libm function, including a load and a store.
Spread measure_call(const Probe& probe, const std::string& name, LibraryFunction function);

// Measures seconds per element of the loop of measure_access() over `memory`, divided into three arrays.
Spread measure_streamed_element(const Probe& probe, const std::string& name, std::span<double> memory);

// Measures seconds per hop of one chase. With `cached` the data are loaded into the caches before each window.
Spread measure_hop(const Probe& probe, const std::string& name, ChaseBuffer& chase, std::size_t hops, bool cached);
// Measures seconds per hop of 4, 8, 16 and 32 concurrent chases, and returns the minimum.
struct MinTime {
  Spread seconds;
  std::string figure;  // name of the figure with the minimum
};
MinTime measure_min_parallel_hop(const Probe& probe, const std::string& name, ChaseBuffer& chase, std::size_t hops,
                                 bool cached);

// Measures costs for 32, 40, 48, 56, 64, 80, ... pages of `page_lines` lines, one line of each, as far as the
// memory goes.
std::vector<PagesCost> measure_page_costs(const Probe& probe, const std::string& name, std::span<ChaseLine> memory,
                                          std::size_t page_lines);

// Measures the loaded latency: seconds per hop of a chase by the first core while the other cores read `memory`,
// at several read rates in ascending order. Returns pairs of bytes per second and latency, medians. Empty if there
// is no other core.
std::vector<std::pair<double, Spread>> measure_loaded_hops(const Probe& probe, const std::string& name,
                                                           ChaseBuffer& chase, std::span<const double> memory);

// Measures how many accesses a core has in flight at once: the distance in accesses from which on independent
// misses in `memory` no longer overlap. `memory` has a power of two of elements. Returns 0 if misses overlap at
// all distances.
std::uint32_t reorder_window(const Probe& probe, const std::string& name, std::span<const std::uint64_t> memory);

// Measures the size of the store buffer: the number of hits between two store misses from which on these no longer
// overlap. `memory` has a power of two of elements. Returns 0 if they overlap at all distances.
std::uint32_t store_buffer(const Probe& probe, const std::string& name, std::span<std::uint64_t> memory);

// Measures seconds per line of 4, 8, 16, ... streams through the memory, read in random order.
std::vector<StreamsCost> measure_stream_costs(const Probe& probe, const std::string& name,
                                              std::span<const std::uint64_t> memory);

// Measures bytes per second of "copy", "scale", "add", "triad" (bytes as STREAM counts them), "read" and "write",
// with one thread on each of the first `threads` cores. The memory is divided into three arrays. Each kernel first
// runs over `caches` bytes, so that the caches are in the state in which it leaves them.
std::vector<std::pair<std::string, Spread>> bandwidths(const Probe& probe, const std::string& name,
                                                       std::size_t threads, std::span<double> memory,
                                                       Bytes caches);

// Measures bytes per second of memcpy, counting each byte once.
Spread copy_bandwidth(const Probe& probe, const std::string& name, std::span<const double> from,
                      std::span<double> to);

}  // namespace terrace::machine
