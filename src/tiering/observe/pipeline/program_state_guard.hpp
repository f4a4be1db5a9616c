// SPDX-License-Identifier: Apache-2.0
// Saves and restores errno and the floating-point environment (MXCSR on x86-64) around code of the runtime that
// runs between two instructions of the program. The runtime computes in the default rounding mode meanwhile: in
// the program's mode a replay, which does not know it, would compute other digits. Used by the pipeline wherever
// it leaves the fast path.
#pragma once

#include "core/errno_scope.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace terrace::observe {

class ProgramStateGuard {
 public:
  ProgramStateGuard() {
#if defined(__SSE2__)
    constexpr unsigned k_default = 0x1f80;  // to nearest, no trap
    _mm_setcsr(k_default);
#endif
  }
  ~ProgramStateGuard() {
#if defined(__SSE2__)
    _mm_setcsr(floating_point_);
#endif
  }
  ProgramStateGuard(const ProgramStateGuard&) = delete;
  ProgramStateGuard& operator=(const ProgramStateGuard&) = delete;

 private:
  ErrnoScope errno_scope_;
#if defined(__SSE2__)
  unsigned floating_point_ = _mm_getcsr();
#endif
};

}  // namespace terrace::observe
