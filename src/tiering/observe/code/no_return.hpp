// SPDX-License-Identifier: Apache-2.0
// Lists functions that do not return, by symbol, for the control-flow graphs of the assembler wrapper and of the
// launcher's disassembly. Code after such a call is not its successor. With a fall-through edge, error handling
// would lead into whatever the compiler placed next, and an edge back would form a loop that does not exist.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace terrace::observe {

// Returns whether the function with that symbol, of the C, C++ or Fortran library, never returns to its caller.
constexpr bool never_returns(std::string_view symbol) {
  constexpr std::array<std::string_view, 31> k_names{"abort",
                                                     "exit",
                                                     "_exit",
                                                     "_Exit",
                                                     "quick_exit",
                                                     "pthread_exit",
                                                     "thrd_exit",
                                                     "longjmp",
                                                     "_longjmp",
                                                     "siglongjmp",
                                                     "__longjmp_chk",
                                                     "err",
                                                     "errx",
                                                     "verr",
                                                     "verrx",
                                                     "__assert",
                                                     "__assert_fail",
                                                     "__assert_perror_fail",
                                                     "__chk_fail",
                                                     "__stack_chk_fail",
                                                     "_ZSt9terminatev",
                                                     "_Unwind_Resume",
                                                     "__cxa_throw",
                                                     "__cxa_rethrow",
                                                     "__cxa_bad_cast",
                                                     "__cxa_bad_typeid",
                                                     "__cxa_pure_virtual",
                                                     "__cxa_call_unexpected",
                                                     "__cxa_call_terminate",
                                                     "__cxa_throw_bad_array_new_length",
                                                     "__clang_call_terminate"};
  if (std::find(k_names.begin(), k_names.end(), symbol) != k_names.end()) return true;
  // std::__throw_bad_cast() and its like
  if (symbol.starts_with("_ZSt") && symbol.find("__throw_") != std::string_view::npos) return true;
  for (const std::string_view begin :
       {"_gfortran_stop_", "_gfortran_error_stop_", "_gfortran_runtime_error", "_gfortran_os_error"})
    if (symbol.starts_with(begin)) return true;
  return false;
}

}  // namespace terrace::observe
