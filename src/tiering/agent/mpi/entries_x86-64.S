// SPDX-License-Identifier: Apache-2.0
// Implements the entries of libterrace-mpi.so on x86-64 (System V ABI). See layer.hpp.
//
// Layout of the common code's frame, from %rbp downwards: 6 argument registers, the record, the result, 12 words
// of stack arguments at %rsp. All entries and the common code have unwind tables: a backtrace from inside MPI
// finds the caller, and an exception passes.
        .set    NUM_WORDS, 12
        .set    RECORD_SIZE, 64
        .set    REGISTERS, -48
        .set    RECORD, REGISTERS - RECORD_SIZE
        .set    RESULT, RECORD - 16
        .set    FRAME_SIZE, -RESULT + NUM_WORDS * 8

        .text
        .hidden terrace_entries_begin, terrace_entries_end, g_mpi_targets, mpi_enter, mpi_leave
        .globl  terrace_entries_begin, terrace_entries_end

        .macro  restore_registers
        movq    REGISTERS(%rbp), %rdi
        movq    REGISTERS+8(%rbp), %rsi
        movq    REGISTERS+16(%rbp), %rdx
        movq    REGISTERS+24(%rbp), %rcx
        movq    REGISTERS+32(%rbp), %r8
        movq    REGISTERS+40(%rbp), %r9
        .endm

        // Receives the entry's number in %r10d.
        .p2align 4
        .type   forward_call, @function
forward_call:
        .cfi_startproc
        leaq    g_mpi_targets(%rip), %r11
        movq    (%r11,%r10,8), %r11
        testq   %r11, %r11
        jz      1f
        jmp     *%r11
1:      pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $FRAME_SIZE, %rsp
        movq    %rdi, REGISTERS(%rbp)
        movq    %rsi, REGISTERS+8(%rbp)
        movq    %rdx, REGISTERS+16(%rbp)
        movq    %rcx, REGISTERS+24(%rbp)
        movq    %r8, REGISTERS+32(%rbp)
        movq    %r9, REGISTERS+40(%rbp)
        movl    %r10d, %edi
        leaq    REGISTERS(%rbp), %rsi
        movq    8(%rbp), %rdx
        leaq    16(%rbp), %rcx
        leaq    RECORD(%rbp), %r8
        call    mpi_enter
        movq    %rax, %r11
        testq   %rdx, %rdx
        jz      2f
        .set    WORD, 0
        .rept   NUM_WORDS / 2
        movups  16+WORD(%rbp), %xmm15
        movups  %xmm15, WORD(%rsp)
        .set    WORD, WORD + 16
        .endr
        restore_registers
        call    *%r11
        movq    %rax, RESULT(%rbp)
        leaq    RECORD(%rbp), %rdi
        movq    %rax, %rsi
        call    mpi_leave
        movq    RESULT(%rbp), %rax
        leave
        .cfi_remember_state
        .cfi_def_cfa %rsp, 8
        ret
2:      .cfi_restore_state
        restore_registers
        leave
        .cfi_def_cfa %rsp, 8
        jmp     *%r11
        .cfi_endproc
        .size   forward_call, . - forward_call

        .macro  entry id, name
        .globl  \name
        .type   \name, @function
\name:  movl    $\id, %r10d
        jmp     forward_call
        .size   \name, . - \name
        .endm

terrace_entries_begin:
        .cfi_startproc
#include "mpi_entries.inc"
        .cfi_endproc
terrace_entries_end:

        .section .note.GNU-stack, "", @progbits
