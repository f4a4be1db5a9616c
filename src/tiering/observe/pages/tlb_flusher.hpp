// The translations of addresses that processors keep. A page's "used" mark is set when a processor looks the page
// up; one that still knows the page sets none. The kernel's ways to clear marks do not make processors forget, so
// who wants to see every page does that.
#pragma once

#include <cstdint>

namespace terrace::observe {

class TlbFlusher {
 public:
  TlbFlusher() noexcept;
  ~TlbFlusher();
  TlbFlusher(const TlbFlusher&) = delete;
  TlbFlusher& operator=(const TlbFlusher&) = delete;

  // All processors that run this process forget its translations: one interrupt of each, some microseconds. Does
  // nothing where the addresses for it were refused: then pages may be missed.
  void drop() noexcept;

 private:
  char* map_ = nullptr;
  std::uint64_t page_;
};

}  // namespace terrace::observe
