// SPDX-License-Identifier: Apache-2.0
// Models the time that sampling and page references cost the sampled program. The collectors charge it by
// take_cost.
//
// A record: the core stops and writes it to memory. Akiyama and Hirofuchi (Quantitative evaluation of Intel PEBS
// overhead for online system-noise analysis, ROSS 2017) measured 200 to 300 ns. An interrupt takes over a buffer
// of records: 2.5 us is our estimate for an interrupt, its handler and the copy of 64 records. Page references: 42
// ns for each page whose bit is read and cleared, or that is protected, as measured on small pages (11 ms a GiB);
// a larger page has one bit, too, and costs as much. Through clear_refs and smaps it is more: 13.5 ms for 400 MiB
// of small pages, 0.34 ms of huge ones (Linux 6.18, AMD Zen 5, while another thread of the process ran). The
// program pays for each page that it uses again, in the window or after it: a page-table walk has to set the bit,
// 385 ns in a molecular dynamics program whose 360 MB were cleared every 0.5 s, 260 to 330 ns in a sweep of 200
// MiB, in a virtual machine on the same processor.
#pragma once

#include <cstdint>
#include <utility>

#include "core/units.hpp"

namespace terrace::observe {

inline constexpr Seconds k_record_cost{250e-9};
inline constexpr std::uint64_t k_records_per_interrupt = 64;
inline constexpr Seconds k_interrupt_cost{2.5e-6};
inline constexpr Seconds k_reference_cost{42e-9};
inline constexpr Seconds k_smaps_page_cost{130e-9};  // its bit cleared and read
inline constexpr Seconds k_page_reuse_cost{385e-9};
inline constexpr double k_max_reference_share = 0.015;  // of the time, for clearing, reading and reuse
inline constexpr Seconds k_smaps_cost{300e-6};          // in addition to the pages: the text for all mappings

// Returns the cost of a window: its pages are cleared, read, and used again.
constexpr Seconds window_cost(std::uint64_t pages) {
  return k_smaps_cost + static_cast<double>(pages) * (k_smaps_page_cost + k_page_reuse_cost);
}

// Accumulates the cost since the last call of take().
class SamplingOverhead {
 public:
  // `cores`: number of cores that write records concurrently, each at its own cost.
  explicit SamplingOverhead(double cores) : cores_(cores) {}

  void add_record() {
    ++records_;
    of_cores_ += k_record_cost;
    if (records_ % k_records_per_interrupt == 0) of_cores_ += k_interrupt_cost;
  }
  // Adds pages whose bits one thread reads and clears, or protects.
  void add_references(std::uint64_t pages) { of_one_ += static_cast<double>(pages) * k_reference_cost; }
  // Adds a window: clear_refs, smaps at its end, and the reuse of the pages by the program.
  void add_window(std::uint64_t pages) { of_one_ += window_cost(pages); }
  [[nodiscard]] Seconds take() {
    return std::exchange(of_cores_, Seconds{}) * (1 / cores_) + std::exchange(of_one_, Seconds{});
  }
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  double cores_;
  std::uint64_t records_ = 0;
  Seconds of_cores_, of_one_;
};

}  // namespace terrace::observe
