// SPDX-License-Identifier: Apache-2.0
// Sums the counters of a GPU simulation by level, from which terrace.lab.experiment.gpu_laws checks conservation
// laws.
#include "gpu_counts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace terrace::python {
namespace {

using namespace gpu_sim;

// Returns the number of pages that share a frame with another, or are not mapped.
std::uint64_t misplaced(const std::vector<Page>& pages) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> frames;
  std::uint64_t moving = 0;
  for (const auto& page : pages) {
    frames.emplace_back(page.memory, page.frame);
    if (page.moving || page.in_flight != 0) ++moving;
  }
  std::sort(frames.begin(), frames.end());
  const auto last = std::unique(frames.begin(), frames.end());
  return moving + static_cast<std::uint64_t>(frames.end() - last);
}

}  // namespace

nb::dict gpu_counts(const RunCounts& run, std::uint64_t page_bytes) {
  ProcessorCounts sms;
  for (const auto& processor : run.processors) sms += processor;
  SliceCounts slices;
  for (const auto& slice : run.slices) slices += slice;
  DramCounts dram;
  for (const auto& channel : run.channels) dram += channel;
  nb::dict out;
  out["l1_loads"] = sms.loads;
  out["l1_hits"] = sms.load_hits;
  out["l1_merges"] = sms.load_merges;
  out["l1_atomics"] = sms.atomics;
  out["l1_stores"] = sms.stores;
  out["l2_reads"] = slices.reads;
  out["l2_writes"] = slices.writes;
  out["l2_fetched_bytes"] = slices.fetched_sectors * k_sector_bytes;
  out["l2_written_bytes"] = slices.written_sectors * k_sector_bytes;
  out["dram_fill_bytes"] = dram.fill_bytes;
  out["dram_write_back_bytes"] = dram.write_back_bytes;
  out["dram_move_read_bytes"] = dram.move_read_bytes;
  out["dram_move_write_bytes"] = dram.move_write_bytes;
  out["record_bytes"] = dram.record_bytes;
  out["copied_bytes"] = run.mover.moved_pages * page_bytes;
  out["misplaced_pages"] = misplaced(run.pages);
  return out;
}

}  // namespace terrace::python
