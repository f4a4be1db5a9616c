// SPDX-License-Identifier: Apache-2.0
// Calls libm functions as programs do, with independent calls, for `terrace machine measure` to time them.
#include <math.h>

#include "machine/measure/kernels.hpp"

namespace terrace::machine {
namespace {

// Returns the k-th argument of a low-discrepancy sequence (multiples of the golden ratio), which fills the range
// evenly.
template <class Real>
Real argument(std::size_t number, double low, double high) {
  const double multiple = static_cast<double>(number) * 0.6180339887498949;
  return static_cast<Real>(low +
                           (high - low) * (multiple - static_cast<double>(static_cast<std::size_t>(multiple))));
}

template <class Real, class Function>
void call_with_all_arguments(Function function, double low, double high, std::size_t passes) {
  Real x[k_library_arguments], y[k_library_arguments], results[k_library_arguments];
  for (std::size_t i = 0; i < k_library_arguments; ++i) {
    x[i] = argument<Real>(i, low, high);
    y[i] = argument<Real>(i + k_library_arguments, low, high);
  }
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < k_library_arguments; ++i) results[i] = function(x[i], y[i]);
    __asm__ volatile("" ::"r"(results) : "memory");  // keeps the results alive
  }
}

template <class Real, class Function>
Real sum_of_two(Function function, Real x) {
  Real sine, cosine;
  function(x, &sine, &cosine);
  return sine + cosine;
}

}  // namespace

void call_library(LibraryFunction function, std::size_t passes) {
  switch (function) {
#define TERRACE_RESULT_of_one(name) ::name(x)
#define TERRACE_RESULT_of_two(name) ::name(x, y)
#define TERRACE_RESULT_of_sincos(name) sum_of_two(::name, x)
#define TERRACE_CASE(real, name, parameters, low, high) \
  case LibraryFunction::name:                           \
    return call_with_all_arguments<real>(               \
        [](real x, [[maybe_unused]] real y) { return TERRACE_RESULT_##parameters(name); }, low, high, passes);
#define TERRACE_CASES(name, parameters, cycles, cycles_float, low, high) \
  TERRACE_CASE(double, name, parameters, low, high)                      \
  TERRACE_CASE(float, name##f, parameters, low, high)
    TERRACE_LIBRARY_FUNCTIONS(TERRACE_CASES)
  }
}

}  // namespace terrace::machine
