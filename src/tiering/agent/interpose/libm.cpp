// SPDX-License-Identifier: Apache-2.0
// Interposes the functions of libm: charges each call's core time to the calling thread, by function, and
// forwards it to the next definition.
//
// A program may have another function of the same name with other parameters (a library's `log` that writes
// lines). So on x86-64 the wrapper preserves all registers that can pass parameters.
//
// The charge precedes the call, so that errno and floating-point flags are those of the function. Calls from the
// program's libraries are charged, too. Terrace does not link libm: most programs do not need it.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "agent/lifecycle/in_process.hpp"
#include "agent/linking/caller_functions.hpp"
#include "core/errno_scope.hpp"
#include "machine/library.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

using machine::LibraryFunction;

void charge(LibraryFunction function) {
  const auto& thread = observe::t_thread;
  if (thread.pipeline && thread.inside == 0) thread.pipeline->call(function);
}

constexpr auto k_libm_names = [] {
  std::array<const char*, machine::k_library_functions> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = machine::k_library[i].name.data();
  return names;
}();
constinit std::array<std::atomic<void*>, k_libm_names.size()> g_libm_without_table{};
constinit CallerFunctions g_libm{k_libm_names, g_libm_without_table};

// Loads libm for a caller without it: a linker that found Terrace's definition first may have omitted the
// dependency.
void* find_in_libm(std::size_t number) noexcept {
  const observe::RuntimeScope inside;
  const ErrnoScope errno_scope;
  void* const libm = dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
  return libm ? dlsym(libm, k_libm_names[number]) : nullptr;
}

// Returns the definition to forward to, after the call has been charged. It is the caller's own: a plug-in may
// use its compiler's libm, and a library may define a `log` that is not a logarithm.
void* next_of(LibraryFunction function, const void* caller) noexcept {
  charge(function);
  const auto number = static_cast<std::size_t>(function);
  void* const next = g_libm.table_for(caller).find(number);
  return next ? next : find_in_libm(number);
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

#if defined(__x86_64__)

// Called by terrace_library_gate only.
extern "C" __attribute__((visibility("hidden"), used)) void* terrace_next_of(std::uint32_t function,
                                                                             const void* caller) noexcept {
  return agent::next_of(static_cast<agent::LibraryFunction>(function), caller);
}

// The function's number is in r11, a scratch register between caller and callee (System V ABI, AMD64
// supplement, 3.2.3). rax is the number of vector registers that hold variable arguments, r10 a static chain.
asm(R"(
  .text
  .p2align 4
  .type terrace_library_gate, @function
terrace_library_gate:
  .cfi_startproc
  pushq %rax
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %r10
  .cfi_adjust_cfa_offset 64
  subq $136, %rsp
  .cfi_adjust_cfa_offset 136
  movups %xmm0, 0(%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movl %r11d, %edi
  movq 200(%rsp), %rsi
  call terrace_next_of
  movq %rax, %r11
  movups 0(%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  addq $136, %rsp
  .cfi_adjust_cfa_offset -136
  popq %r10
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rax
  .cfi_adjust_cfa_offset -64
  jmp *%r11
  .cfi_endproc
  .size terrace_library_gate, . - terrace_library_gate
)");

#define TERRACE_LIBM_WRAPPER(name)                                        \
  extern "C" TERRACE_EXPORT void terrace_libm_##name() asm(#name);        \
  extern "C" __attribute__((naked)) void terrace_libm_##name() {          \
    asm("movl %0, %%r11d\n\tjmp terrace_library_gate"                     \
        :                                                                 \
        : "i"(static_cast<std::uint32_t>(agent::LibraryFunction::name))); \
  }
#define TERRACE_LIBM_WRAPPERS(name, ...) TERRACE_LIBM_WRAPPER(name) TERRACE_LIBM_WRAPPER(name##f)

TERRACE_LIBRARY_FUNCTIONS(TERRACE_LIBM_WRAPPERS)

#else

// NOLINTBEGIN(bugprone-macro-parentheses): types and lists of parameters
#define TERRACE_CALL(result, name, parameters, ...)                                                               \
  TERRACE_EXPORT result name parameters noexcept {                                                                \
    using Function = result(*) parameters;                                                                        \
    return reinterpret_cast<Function>(agent::next_of(agent::LibraryFunction::name, __builtin_return_address(0)))( \
        __VA_ARGS__);                                                                                             \
  }
#define TERRACE_CALL_of_one(real, name) TERRACE_CALL(real, name, (real x), x)
#define TERRACE_CALL_of_two(real, name) TERRACE_CALL(real, name, (real x, real y), x, y)
#define TERRACE_CALL_of_sincos(real, name) \
  TERRACE_CALL(void, name, (real x, real * sine, real * cosine), x, sine, cosine)
#define TERRACE_CALLS(name, parameters, ...) \
  TERRACE_CALL_##parameters(double, name) TERRACE_CALL_##parameters(float, name##f)
// NOLINTEND(bugprone-macro-parentheses)

extern "C" {
TERRACE_LIBRARY_FUNCTIONS(TERRACE_CALLS)
}  // extern "C"

#endif
