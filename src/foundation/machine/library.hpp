// SPDX-License-Identifier: Apache-2.0
// Lists the libm functions whose calls cost core time in virtual time: their default costs, and the arguments with
// which `terrace machine measure` calls them. The agent's libm interposer and the compiler wrapper use the list.
//
// libm is not instrumented, so its memory accesses are not observed. Its calls are counted by function instead.
// Each machine has its own times for them (Initiator::library), so that one recording can be priced for many
// machines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/units.hpp"

namespace terrace::machine {

// X-macro: of(NAME, PARAMETERS, CYCLES, CYCLES_FLOAT, LOW, HIGH) for every function; each has a float version,
// NAMEf. PARAMETERS: of_one (x), of_two (x, y), of_sincos (x and pointers to two results). Cycles are the
// reciprocal throughput of independent calls with arguments in [LOW, HIGH]. They were measured by `terrace machine
// measure` with glibc 2.36 on an AMD EPYC 9005 (Zen 5), 2026-11-21, at its nominal 2.6 GHz. clang-format off
#define TERRACE_LIBRARY_FUNCTIONS(of)                                                                             \
  of(exp, of_one, 6, 4, -10, 10) of(exp2, of_one, 4, 4, -10, 10) of(expm1, of_one, 8, 10, -1, 1)                  \
      of(log, of_one, 5, 4, 0.01, 100) of(log2, of_one, 5, 4, 0.01, 100) of(log10, of_one, 12, 8, 0.01, 100)      \
          of(log1p, of_one, 9, 10, -0.5, 1) of(pow, of_two, 20, 7, 0.1, 10) of(sin, of_one, 20, 4, -10, 10) of(   \
              cos, of_one, 20, 4, -10, 10) of(tan, of_one, 21, 22, -10, 10) of(sincos, of_sincos, 24, 7, -10, 10) \
              of(asin, of_one, 7, 6, -1, 1) of(acos, of_one, 8, 8, -1, 1) of(atan, of_one, 18, 10, -10, 10)       \
                  of(atan2, of_two, 24, 21, -10, 10) of(sinh, of_one, 21, 24, -10, 10)                            \
                      of(cosh, of_one, 10, 10, -10, 10) of(tanh, of_one, 18, 20, -3, 3)                           \
                          of(asinh, of_one, 15, 13, -10, 10) of(acosh, of_one, 12, 10, 1, 10)                     \
                              of(atanh, of_one, 18, 20, -0.99, 0.99) of(cbrt, of_one, 20, 17, -100, 100)          \
                                  of(hypot, of_two, 8, 5, -10, 10) of(erf, of_one, 19, 18, -3, 3)                 \
                                      of(erfc, of_one, 19, 18, -3, 3) of(tgamma, of_one, 105, 77, 0.5, 10)        \
                                          of(lgamma, of_one, 17, 16, 0.5, 10)
// clang-format on

enum class LibraryFunction : std::uint8_t {
#define TERRACE_NUMBER(name, ...) name, name##f,
  TERRACE_LIBRARY_FUNCTIONS(TERRACE_NUMBER)
#undef TERRACE_NUMBER
};

struct LibraryFunctionFacts {
  std::string_view name;
  double cycles;
};
// Names and default cycles, indexed by LibraryFunction.
inline constexpr auto k_library = std::to_array<LibraryFunctionFacts>({
#define TERRACE_FACTS(name, parameters, cycles, cycles_float, ...) {#name, cycles}, {#name "f", cycles_float},
    TERRACE_LIBRARY_FUNCTIONS(TERRACE_FACTS)
#undef TERRACE_FACTS
});
inline constexpr std::size_t k_library_functions = k_library.size();

// Core time of a call, indexed by LibraryFunction.
using LibraryTimes = std::array<Seconds, k_library_functions>;

}  // namespace terrace::machine
