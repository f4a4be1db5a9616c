// SPDX-License-Identifier: Apache-2.0
// Implements the entries of libterrace-mpi.so on aarch64 (AAPCS64). See layer.hpp.
//
// Layout of the common code's frame, from sp upwards: 12 words of stack arguments, then at x29 the frame record
// (x29, x30), 8 argument registers, the record, the result. x16 and x17 are free for use between functions.
        .set    NUM_WORDS, 12
        .set    RECORD_SIZE, 64
        .set    REGISTERS, 16
        .set    RECORD, REGISTERS + 64
        .set    RESULT, RECORD + RECORD_SIZE
        .set    FRAME_SIZE, RESULT + 16

        .text
        .hidden terrace_entries_begin, terrace_entries_end, g_mpi_targets, mpi_enter, mpi_leave
        .globl  terrace_entries_begin, terrace_entries_end

        .macro  restore_registers
        ldp     x0, x1, [x29, #REGISTERS]
        ldp     x2, x3, [x29, #REGISTERS+16]
        ldp     x4, x5, [x29, #REGISTERS+32]
        ldp     x6, x7, [x29, #REGISTERS+48]
        .endm

        // Receives the entry's number in w16.
        .p2align 4
        .type   forward_call, %function
forward_call:
        .cfi_startproc
        adrp    x17, g_mpi_targets
        add     x17, x17, :lo12:g_mpi_targets
        ldr     x17, [x17, x16, lsl #3]
        cbz     x17, 1f
        br      x17
1:      stp     x29, x30, [sp, #-FRAME_SIZE]!
        .cfi_def_cfa_offset FRAME_SIZE
        .cfi_offset x29, -FRAME_SIZE
        .cfi_offset x30, -FRAME_SIZE + 8
        mov     x29, sp
        .cfi_def_cfa_register x29
        sub     sp, sp, #NUM_WORDS * 8
        stp     x0, x1, [x29, #REGISTERS]
        stp     x2, x3, [x29, #REGISTERS+16]
        stp     x4, x5, [x29, #REGISTERS+32]
        stp     x6, x7, [x29, #REGISTERS+48]
        mov     w0, w16
        add     x1, x29, #REGISTERS
        mov     x2, x30
        add     x3, x29, #FRAME_SIZE
        add     x4, x29, #RECORD
        bl      mpi_enter
        mov     x17, x0
        cbz     x1, 2f
        .set    WORD, 0
        .rept   NUM_WORDS / 2
        ldp     x9, x10, [x29, #FRAME_SIZE+WORD]
        stp     x9, x10, [sp, #WORD]
        .set    WORD, WORD + 16
        .endr
        restore_registers
        blr     x17
        str     x0, [x29, #RESULT]
        mov     x1, x0
        add     x0, x29, #RECORD
        bl      mpi_leave
        ldr     x0, [x29, #RESULT]
        mov     sp, x29
        .cfi_remember_state
        ldp     x29, x30, [sp], #FRAME_SIZE
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa sp, 0
        ret
2:      .cfi_restore_state
        restore_registers
        mov     sp, x29
        ldp     x29, x30, [sp], #FRAME_SIZE
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa sp, 0
        br      x17
        .cfi_endproc
        .size   forward_call, . - forward_call

        .macro  entry id, name
        .globl  \name
        .type   \name, %function
\name:  mov     w16, #\id
        b       forward_call
        .size   \name, . - \name
        .endm

terrace_entries_begin:
        .cfi_startproc
#include "mpi_entries.inc"
        .cfi_endproc
terrace_entries_end:

        .section .note.GNU-stack, "", %progbits
