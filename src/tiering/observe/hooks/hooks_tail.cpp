// SPDX-License-Identifier: Apache-2.0
// Defines the exit hook of a function that ends with a tail call (cli/wrapper/tail_calls.hpp). It runs after the
// callee's parameters have been set, so it preserves all registers: general ones always, vector and x87 registers
// where the call is followed, because only then it runs code that uses them.
#include "observe/pipeline/shadow_stack.hpp"
#include "observe/pipeline/trace.hpp"

#if defined(__x86_64__)

#include <cpuid.h>

namespace terrace::observe {

// The assembly below refers to these by their mangled names. They are hidden, so that calls do not use the PLT.
[[gnu::visibility("hidden")]] bool follows_exits();
[[gnu::visibility("hidden")]] void leave_by_jump(std::uint64_t stack_pointer, std::uint64_t site);
// Whether processor and kernel support XSAVE; otherwise FXSAVE saves all existing registers.
[[gnu::visibility("hidden")]] extern constinit unsigned char has_xsave;
constinit unsigned char has_xsave = 0;

// Requires: compiled to general registers only; the caller saves the others if it returns true.
[[gnu::target("general-regs-only")]] bool follows_exits() {
  const Thread& thread = t_thread;
  return thread.calls != nullptr && thread.inside == 0 && thread.depth != 0;
}

void leave_by_jump(std::uint64_t stack_pointer, std::uint64_t site) { leave_function(stack_pointer, site); }

namespace {

// Finds out at start-up whether XSAVE is available.
__attribute__((constructor(101))) void find_xsave() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) has_xsave = (c & bit_OSXSAVE) != 0 ? 1 : 0;
}

}  // namespace

}  // namespace terrace::observe

// The area of XSAVE's standard form: 2,688 bytes up to AVX-512's registers (Intel SDM 1, 13.4 and 13.5), which are
// components 0 to 2 and 5 to 7, mask 0xe7. Its header, at 512, must be zero.
asm(R"(
        .text
        .p2align 4
        .globl  __tsan_func_exit_tail
        .type   __tsan_func_exit_tail, @function
__tsan_func_exit_tail:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset 6, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register 6
        pushq   %rax
        pushq   %rcx
        pushq   %rdx
        pushq   %rsi
        pushq   %rdi
        pushq   %r8
        pushq   %r9
        pushq   %r10
        pushq   %r11
        subq    $8, %rsp
        call    _ZN7terrace7observe13follows_exitsEv
        testb   %al, %al
        je      2f
        subq    $2752, %rsp
        andq    $-64, %rsp
        cmpb    $0, _ZN7terrace7observe9has_xsaveE(%rip)
        je      1f
        xorl    %eax, %eax
        movq    %rax, 512(%rsp)
        movq    %rax, 520(%rsp)
        movq    %rax, 528(%rsp)
        movq    %rax, 536(%rsp)
        movq    %rax, 544(%rsp)
        movq    %rax, 552(%rsp)
        movq    %rax, 560(%rsp)
        movq    %rax, 568(%rsp)
        movl    $0xe7, %eax
        xorl    %edx, %edx
        xsave   (%rsp)
        leaq    16(%rbp), %rdi
        movq    8(%rbp), %rsi
        call    _ZN7terrace7observe13leave_by_jumpEmm
        movl    $0xe7, %eax
        xorl    %edx, %edx
        xrstor  (%rsp)
        jmp     2f
1:      fxsave  (%rsp)
        leaq    16(%rbp), %rdi
        movq    8(%rbp), %rsi
        call    _ZN7terrace7observe13leave_by_jumpEmm
        fxrstor (%rsp)
2:      leaq    -72(%rbp), %rsp
        popq    %r11
        popq    %r10
        popq    %r9
        popq    %r8
        popq    %rdi
        popq    %rsi
        popq    %rdx
        popq    %rcx
        popq    %rax
        popq    %rbp
        .cfi_def_cfa 7, 8
        ret
        .cfi_endproc
        .size   __tsan_func_exit_tail, .-__tsan_func_exit_tail
)");

#else

// The wrappers restore tail calls on x86-64 only.
extern "C" TERRACE_HOOK void __tsan_func_exit_tail() {}

#endif
