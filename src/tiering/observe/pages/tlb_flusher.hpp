// SPDX-License-Identifier: Apache-2.0
// Flushes the TLB entries of the process, for the page watches `clear-refs` and `idle-page`. A page-table walk
// sets a page's accessed bit; a TLB hit does not. The kernel clears accessed bits without a TLB flush, so a watch
// that must not miss pages flushes.
#pragma once

#include <cstdint>

namespace terrace::observe {

class TlbFlusher {
 public:
  TlbFlusher() noexcept;
  ~TlbFlusher();
  TlbFlusher(const TlbFlusher&) = delete;
  TlbFlusher& operator=(const TlbFlusher&) = delete;

  // Flushes the TLBs of all processors that run this process: an inter-processor interrupt each, some
  // microseconds. Does nothing where the mapping for it failed; pages may then be missed.
  void flush() noexcept;

 private:
  char* map_ = nullptr;
  std::uint64_t page_;
};

}  // namespace terrace::observe
