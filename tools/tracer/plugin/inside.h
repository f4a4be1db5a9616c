/* SPDX-License-Identifier: Apache-2.0 */
/* Defines how the part of the tracer inside the traced program (inside.c) speaks to the plug-in in QEMU around it
 * (plugin.cpp): by a system call that no kernel knows, which the plug-in sees and the program does not feel. */
#pragma once

#define TERRACE_TRACE_CALL 0x54455252

/* The call's first argument. The others: address, size and, of a block, the caller; or, of a marker, the first 40
 * bytes of its name. */
enum terrace_trace_event {
  TERRACE_TRACE_ALLOCATE,
  TERRACE_TRACE_RELEASE,
  TERRACE_TRACE_MEMORY_FUNCTIONS,
  TERRACE_TRACE_LOOP_BEGIN,
  TERRACE_TRACE_PHASE,
  TERRACE_TRACE_LOOP_END
};

#define TERRACE_TRACE_NAME 40

/* Blocks from this size on are told. */
#define TERRACE_TRACE_LEAST_BLOCK 4096
