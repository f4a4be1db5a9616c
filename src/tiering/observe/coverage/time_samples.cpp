// SPDX-License-Identifier: Apache-2.0
// Samples the processor time of a thread of the program, for the agent's report of coverage. See time_samples.hpp.
#include "observe/coverage/time_samples.hpp"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "core/rounding.hpp"
#include "core/system_time.hpp"

namespace terrace::observe {

namespace {

// Data pages of a ring, for about a minute: uninstrumented code may run for long without a drain. Fewer where the
// limit of locked memory is lower.
constexpr std::uint64_t k_max_pages = 64;

// Raw system calls, here and below: the program's mmap and open are interposed.
void* map(std::uint64_t size, int flags, int file) {
  const auto result = syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, flags, file, 0L);
  return result == -1 ? nullptr : reinterpret_cast<void*>(result);  // NOLINT(performance-no-int-to-ptr)
}

// Returns the calling thread's processor time.
std::uint64_t thread_time_ns() { return to_ns(read_kernel_clock(CLOCK_THREAD_CPUTIME_ID)); }

// Maps a ring for the calling thread. The mapping keeps the event alive when its descriptor is closed.
void* map_ring(std::uint64_t period_ns, std::uint64_t page, std::uint64_t& size) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_TASK_CLOCK;
  wanted.sample_period = period_ns;
  wanted.sample_type = PERF_SAMPLE_IP;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  const auto file = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (file < 0) return nullptr;
  void* ring = nullptr;
  for (auto pages = k_max_pages; pages > 0 && !ring; pages /= 4) {
    size = (1 + pages) * page;
    ring = map(size, MAP_SHARED, file);
  }
  const ErrnoScope errno_scope;
  syscall(SYS_close, file);
  return ring;
}

}  // namespace

TimeSamples::TimeSamples(CodeMap& code, perf_event_mmap_page* ring, std::uint64_t mapped, std::uint64_t period_ns,
                         std::uint64_t owed_ns) noexcept
    : code_(code),
      ring_(ring),
      mapped_(mapped),
      period_ns_(period_ns),
      owed_ns_(owed_ns),
      begun_ns_(thread_time_ns()) {}

TimeSamples* TimeSamples::begin(CodeMap& code, std::uint64_t owed_ns, int& refused) noexcept {
  const ErrnoScope errno_scope;
  // Limits the first period from below, because the thread keeps it.
  constexpr auto k_min_period = k_sample_period_ns / 4;
  const auto period = std::max(k_sample_period_ns - std::min(owed_ns, k_sample_period_ns), k_min_period);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto size = align_up(sizeof(TimeSamples), page);
  TimeSamples* samples = nullptr;
  if (void* const memory = map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1)) {
    std::uint64_t mapped = 0;
    void* const ring =
        syscall(SYS_madvise, memory, size, MADV_WIPEONFORK) == 0 ? map_ring(period, page, mapped) : nullptr;
    if (ring)
      samples = new (memory) TimeSamples(code, static_cast<perf_event_mmap_page*>(ring), mapped, period, owed_ns);
    else
      refused = errno;
    if (!samples) syscall(SYS_munmap, memory, size);
  } else {
    refused = errno;
  }
  return samples;
}

std::uint64_t TimeSamples::end(TimeSamples* samples) noexcept {
  samples->drain();
  // Limit the rest: time in the kernel has no samples and must not accumulate.
  const auto spent = thread_time_ns() - samples->begun_ns_;
  const auto rest = samples->owed_ns_ + spent - std::min(spent, samples->counted_ns_);
  if (samples->ring_) syscall(SYS_munmap, samples->ring_, samples->mapped_);
  syscall(SYS_munmap, samples, align_up(sizeof *samples, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))));
  return std::min(rest, k_sample_period_ns);
}

std::uint64_t TimeSamples::head() const noexcept { return __atomic_load_n(&ring_->data_head, __ATOMIC_ACQUIRE); }

// Counts samples, those by address at the last sample's address.
void TimeSamples::count(Attribution attribution, std::uint64_t samples) noexcept {
  const auto time = samples * period_ns_;
  counted_ns_ += time;
  const auto all = time + std::exchange(owed_ns_, 0);
  switch (attribution) {
    case Attribution::by_address:
      return code_.count(last_, all);
    case Attribution::reported:
      return code_.count_reported(all);
    case Attribution::own:
      return code_.count_own(all);
  }
}

// Reads all samples from the ring shared with the kernel, and counts each by this attribution.
void TimeSamples::drain_ring(Attribution attribution) noexcept {
  if (is_draining_.test_and_set(std::memory_order_acquire)) return;
  const auto* const data = reinterpret_cast<const char*>(ring_) + ring_->data_offset;
  const auto size = ring_->data_size;
  const auto word = [&](std::uint64_t at) {
    std::uint64_t value = 0;  // the ring's size and every record's are multiples of eight
    std::memcpy(&value, data + at % size, sizeof value);
    return value;
  };
  const auto end = head();
  for (auto at = seen_.load(std::memory_order_relaxed); at < end;) {
    perf_event_header header;
    const auto first = word(at);
    std::memcpy(&header, &first, sizeof header);
    if (header.size == 0) break;
    if (header.type == PERF_RECORD_SAMPLE) {
      last_ = word(at + 8);
      count(attribution, 1);
    } else if (header.type == PERF_RECORD_LOST) {
      // The ring was full because nothing drained it: attribute the lost samples to the last address.
      count(Attribution::by_address, word(at + 16));
    }
    at += header.size;
  }
  seen_.store(end, std::memory_order_relaxed);
  __atomic_store_n(&ring_->data_tail, end, __ATOMIC_RELEASE);
  is_draining_.clear(std::memory_order_release);
}

}  // namespace terrace::observe
