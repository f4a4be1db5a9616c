# A function with hooks in every way that compilers call them. What goes with each, at the right, adds up to what
# symbols_code_test.cpp expects.
        .text
        .globl  mixture
        .type   mixture, @function
mixture:
        pushq   %rbx                                            # saved
        call    *__tsan_func_entry@GOTPCREL(%rip)
        call    *__sanitizer_cov_trace_pc@GOTPCREL(%rip)
        .globl  at_block
at_block:
        xorl    %eax, %eax                                      # 1
        addq    $1, %rcx                                        # 1
        movq    %rdi, %rbx                                      # a copy
.L2:                                                            # a jump leads here: a block of its own
        leaq    8(%rbx), %rdi                                   # a parameter
        call    __tsan_read8@PLT
        .globl  at_read
at_read:
        movsd   8(%rbx), %xmm0                                  # 1
        divsd   %xmm1, %xmm0                                    # 16
        movsd   %xmm0, 8(%rsp)                                  # saved
        movq    %rbx, %rdi
        call    *__tsan_unaligned_write8@GOTPCREL(%rip)
        .globl  at_write
at_write:
        movsd   %xmm0, (%rbx)                                   # 1
        addq    $8, %rbx                                        # 1
        cmpq    %rbx, %rcx                                      # 1
        jne     .L2                                             # 1
        # No hook, and the jump may go past it: half of it goes with the block before.
        addq    $3, %rax                                        # 1
        call    outside@PLT                                     # 1
        # A division and a square root, with a block's hook: the access has none of it.
.L3:
        call    *__sanitizer_cov_trace_pc@GOTPCREL(%rip)
        .globl  at_second
at_second:
        sqrtsd  %xmm0, %xmm0                                    # 16
        idivq   %rcx                                            # 16
        call    *__tsan_atomic64_load@GOTPCREL(%rip)
        .globl  at_atomic
at_atomic:
        cmpq    $5, %rax                                        # 1
        jl      .L3                                             # 1
        popq    %rbx                                            # saved
        jmp     *__tsan_func_exit@GOTPCREL(%rip)
        .size   mixture, .-mixture

        .globl  other
        .type   other, @function
other:
        call    *__tsan_read4@GOTPCREL(%rip)
        .globl  at_other
at_other:
        movl    (%rdi), %eax                                    # 1
        imull   %eax, %eax                                      # 1
        ret                                                     # 1
        .size   other, .-other
        # What only an exception leads to goes back to the beginning. The exit is no way there: there is one loop, and
        # it is small.
        .globl  thrower
        .type   thrower, @function
thrower:
        call    *__sanitizer_cov_trace_pc@GOTPCREL(%rip)
        .globl  at_beginning
at_beginning:
        xorl    %eax, %eax
.L5:
        call    *__tsan_read4@GOTPCREL(%rip)
        .globl  in_loop
in_loop:
        addq    $1, %rax
        cmpq    $5, %rax
        jl      .L5
        jmp     *__tsan_func_exit@GOTPCREL(%rip)
        jmp     thrower                                         # the landing pad
        .size   thrower, .-thrower
        # What an error leads to does not come back, though what comes before the loop lies behind it: there is one loop,
        # which is in no other.
        .globl  checker
        .type   checker, @function
checker:
        call    *__sanitizer_cov_trace_pc@GOTPCREL(%rip)
        jmp     .L7
.L6:
        call    *__sanitizer_cov_trace_pc@GOTPCREL(%rip)
        .globl  in_checked
in_checked:
        call    outside@PLT
        cmpq    $7, %rax
        je      .L8
        cmpq    $9, %rax
        je      .L9
        cmpq    $5, %rax
        jl      .L6
        jmp     *__tsan_func_exit@GOTPCREL(%rip)
.L8:
        call    *abort@GOTPCREL(%rip)
.L9:
        call    __assert_fail@PLT
.L7:
        xorl    %eax, %eax
        cmpq    $3, %rcx                                        # another way out: not the same loop as the inner one
        jne     .L6
        jmp     *__tsan_func_exit@GOTPCREL(%rip)
        .size   checker, .-checker
        .section .note.GNU-stack, "", @progbits
