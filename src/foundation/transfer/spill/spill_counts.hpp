// What became of spilled memory, in a page that several processes may see. Bytes, chunks and nanoseconds.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace terrace::transfer {

// Why more was in memory than should have been.
enum OverReason : std::uint32_t {
  k_over_file = 1,  // the file did not take it
  k_over_rest = 2,  // what has to stay in memory left too little for chunks
  k_over_held = 4   // nothing else could leave: locked, a device's, or with other rights to a part
};

struct SpillCounts {
  std::atomic<std::uint64_t> read, written;  // bytes of the file
  std::atomic<std::uint64_t> foreseen;       // chunks that were read before they were touched
  std::atomic<std::uint64_t> demanded;       // and after
  std::atomic<std::uint64_t> wasted;         // foreseen ones that left untouched
  std::atomic<std::uint64_t> clean;          // chunks that left as the file has them
  std::atomic<std::uint64_t> touches;        // that were noticed
  std::atomic<std::uint64_t> waited;         // by threads of the program for chunks, in all: nanoseconds
  std::atomic<double> at_once;  // threads that worked or waited for chunks at the same time, on average
  std::atomic<std::uint64_t> paged_waited;         // by them, for pages of data that the kernel reads: nanoseconds
  std::atomic<std::uint64_t> content, most;        // bytes that have content, now and at most
  std::atomic<std::uint64_t> in_memory, limit;     // bytes
  std::atomic<std::uint64_t> given;                // bytes that the kernel pages: touched in no order
  std::atomic<std::uint64_t> busy;                 // time in which something was read or written: nanoseconds
  std::atomic<std::uint64_t> predicted, measured;  // nanoseconds of stretches of a thread, as Foresight says
  std::atomic<std::uint64_t> stretches;
  std::atomic<std::uint64_t> beside;  // bytes beyond the limit that are in no chunk, at most
  std::atomic<std::uint64_t> over;    // bytes of memory beyond the limit, at most,
  std::atomic<std::uint32_t> over_reasons;
  std::atomic<std::uint64_t> max_given;  // of `given`
  std::atomic<std::uint64_t> refused;    // bytes of blocks that file and memory have no room for, in all
  std::atomic<bool> plan_names;          // some of the data; whether it is followed or not
  std::atomic<bool> plan_tried;          // a plan said what stays,
  std::atomic<bool> plan_undone;         // and lost
  std::atomic<double> plan_gain;         // share of the time that it saved when that was tried last
  std::atomic<bool> paged;               // all of it by the kernel
  std::atomic<bool> begun;               // else the process has its memory as without a file
  std::atomic<std::int32_t> process;     // its number
  std::array<char, 32> program;          // and its name; set before `begun`
};

}  // namespace terrace::transfer
