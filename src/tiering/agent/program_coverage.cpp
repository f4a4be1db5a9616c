// SPDX-License-Identifier: Apache-2.0
// Measures which part of the program's time and heap the instrumentation covers: samples threads with perf events,
// finds touched pages with mincore(2). Owned by the agent's state in simulations. See program_coverage.hpp.
#include "agent/program_coverage.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>

#include "core/rounding.hpp"
#include "core/small_file.hpp"
#include "core/system_time.hpp"

namespace terrace::agent {

namespace {

// Returns the resident bytes of [low, high).
Bytes touched(std::uint64_t low, std::uint64_t high) {
  constexpr std::uint64_t k_pages_at_a_time = 4096;
  unsigned char pages[k_pages_at_a_time];
  std::uint64_t count = 0;
  for (auto at = page_down(low); at < high; at += k_pages_at_a_time * k_page) {
    const auto end = std::min(high, at + k_pages_at_a_time * k_page);
    if (syscall(SYS_mincore, at, end - at, pages) != 0) continue;  // not mapped any more
    count += static_cast<std::uint64_t>(
        std::count_if(pages, pages + ceil_div(end - at, k_page), [](unsigned char page) { return page & 1; }));
  }
  return Bytes{std::min(count * k_page, high - low)};
}

// Returns the kernel's time, bypassing interposed clocks: the lifetime of objects in the real run.
Seconds kernel_time() { return Seconds{to_seconds(read_kernel_clock(CLOCK_MONOTONIC))}; }

bool system_calls_filtered() { return prctl(PR_GET_SECCOMP) != 0; }

// Returns kernel.perf_event_paranoid, or -1 if it cannot be read.
int read_paranoid() {
  char text[16];
  int value = -1;
  return read_small_file("/proc/sys/kernel/perf_event_paranoid", text, sizeof text) &&
                 std::sscanf(text, "%d", &value) == 1
             ? value
             : -1;
}

// Returns why no thread could be sampled, for the profile. `error`: of perf_event_open(2), or 0.
std::string why_not(int error) {
  if (error == 0) return "no thread was followed";
  std::string why =
      std::string("the kernel does not let a program sample itself (perf_event_open: ") + std::strerror(error);
  constexpr int k_allowed = 2;
  if (const int paranoid = read_paranoid(); paranoid > k_allowed)
    why += "; kernel.perf_event_paranoid is " + std::to_string(paranoid) + ", it may be 2 at most";
  return why + ")";
}

}  // namespace

ProgramCoverage::ProgramCoverage() : filtered_(system_calls_filtered()), heap_(touched, kernel_time) {}

void ProgramCoverage::begin_thread() noexcept {
  auto& thread = observe::t_thread;
  // If the program has set a system call filter since, perf_event_open(2) might kill it.
  if (thread.samples || system_calls_filtered() != filtered_) return;
  const std::lock_guard guard(lock_);
  auto* const samples = observe::TimeSamples::begin(code_, owed_ns_, refused_);
  if (!samples) return;
  owed_ns_ = 0;
  try {
    threads_.push_back(samples);
    thread.samples = samples;
    sampled_ = true;
  } catch (const std::exception&) {
    owed_ns_ = observe::TimeSamples::end(samples);  // no memory to record it
  }
}

void ProgramCoverage::end_thread() noexcept {
  auto* const samples = std::exchange(observe::t_thread.samples, nullptr);
  if (!samples) return;
  const std::lock_guard guard(lock_);
  std::erase(threads_, samples);
  owed_ns_ += observe::TimeSamples::end(samples);
}

void ProgramCoverage::drain_samples() noexcept {
  const std::lock_guard guard(lock_);
  for (auto* const samples : threads_)
    if (samples != observe::t_thread.samples) samples->drain();
}

// The calling thread's samples are up to date, because it is inside Terrace.
void ProgramCoverage::set_in_loop(bool in_loop) {
  drain_samples();
  code_.set_in_loop(in_loop);
  heap_.set_in_loop(in_loop);
}

// Returns the coverage for the journal. The runtime calls it at the end of each main loop and of the run.
profile::CoverageRecord ProgramCoverage::so_far() {
  drain_samples();
  profile::CoverageRecord record;
  if (sampled_)
    record.sample_period = Seconds{to_seconds(observe::k_sample_period_ns)};
  else
    record.not_sampled = why_not(refused_);
  const auto seconds = [](std::uint64_t ns) { return Seconds{to_seconds(ns)}; };
  for (auto& code : code_.times())
    if (code.kind != observe::CodeKind::terrace)
      record.code.push_back({std::move(code.path), code.kind == observe::CodeKind::hooks,
                             seconds(code.time.in_loop), seconds(code.time.elsewhere)});
  auto share = heap_.share();
  record.heap = share.bytes;
  record.heap_uncovered = share.uncovered;
  record.objects = std::move(share.objects);
  return record;
}

}  // namespace terrace::agent
