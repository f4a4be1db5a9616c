// SPDX-License-Identifier: Apache-2.0
// Declares the statistics of out-of-core memory, in shared memory: the spill engine of each process writes them;
// the launcher reads them, for the lines that `terrace run` prints while and after the program runs. Units are
// bytes, chunks and nanoseconds.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace terrace::transfer {

// Bit mask of reasons why resident memory exceeded the limit.
enum OverReason : std::uint32_t {
  k_over_file = 1,  // the file refused writes
  k_over_rest = 2,  // memory that cannot be evicted left too little for chunks
  k_over_held = 4   // nothing evictable: locked, pinned by a device, or with non-default protection in part
};

struct SpillCounts {
  std::atomic<std::uint64_t> read, written;         // bytes of file I/O
  std::atomic<std::uint64_t> prefetched;            // chunks read before their access
  std::atomic<std::uint64_t> demanded;              // chunks read on a fault
  std::atomic<std::uint64_t> wasted;                // prefetched chunks evicted before an access
  std::atomic<std::uint64_t> clean;                 // chunks evicted without a write
  std::atomic<std::uint64_t> touches;               // observed accesses
  std::atomic<std::uint64_t> waited;                // total wait of the program's threads for chunks: nanoseconds
  std::atomic<double> concurrency;                  // mean number of threads that run or wait for chunks
  std::atomic<std::uint64_t> paged_waited;          // total wait for pages that the kernel reads: nanoseconds
  std::atomic<std::uint64_t> content, max_content;  // bytes with content, now and maximum
  std::atomic<std::uint64_t> in_memory, limit;      // bytes
  std::atomic<std::uint64_t> kernel_paged;          // bytes handed over to kernel paging
  std::atomic<std::uint64_t> busy;                  // time with I/O in flight: nanoseconds
  std::atomic<std::uint64_t> predicted, measured;   // time of a thread's segments (ReplacementPolicy): nanoseconds
  std::atomic<std::uint64_t> segments;              // such segments
  std::atomic<std::uint64_t> max_excess;            // max bytes beyond the limit that no chunk accounts for
  std::atomic<std::uint64_t> max_over_limit;        // max bytes of resident memory beyond the limit
  std::atomic<std::uint32_t> over_limit_reasons;    // OverReason
  std::atomic<std::uint64_t> max_kernel_paged;      // maximum of `kernel_paged`
  std::atomic<std::uint64_t> refused_bytes;  // total bytes of blocks that neither file nor memory could take
  std::atomic<bool> plan_names;              // the plan names some of the data, applied or not
  std::atomic<bool> plan_tried;              // a plan's retention was tried
  std::atomic<bool> plan_undone;             // and reverted
  std::atomic<double> plan_gain;             // share of time saved in the latest trial
  std::atomic<bool> paged;                   // the kernel pages everything (PagedSpill)
  std::atomic<bool> active;                  // false: the process's memory is not out of core
  std::atomic<std::int32_t> process;         // process id
  std::array<char, 32> program;              // process name; set before `active`
};

}  // namespace terrace::transfer
