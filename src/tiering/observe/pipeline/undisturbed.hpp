// Between two instructions of the program Terrace makes time: it computes, and it may wait for its turn. The
// program must find errno and the flags of its floating-point arithmetic as they were, and its rounding must not
// become ours: a replay, which has none, would make other digits.
#pragma once

#include <cerrno>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace terrace::observe {

class Undisturbed {
 public:
  Undisturbed() {
#if defined(__SSE2__)
    constexpr unsigned k_default = 0x1f80;  // to nearest, no trap
    _mm_setcsr(k_default);
#endif
  }
  ~Undisturbed() {
#if defined(__SSE2__)
    _mm_setcsr(floating_point_);
#endif
    errno = errno_;
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  int errno_ = errno;
#if defined(__SSE2__)
  unsigned floating_point_ = _mm_getcsr();
#endif
};

}  // namespace terrace::observe
