// SPDX-License-Identifier: Apache-2.0
// Selects the compilation target of a file that includes the stencil library: the processor; the processor with
// checks (TERRACE_STENCIL_CHECKS); or additionally a GPU, by nvcc with --extended-lambda. Files of one program may
// differ: what depends on the target is in an inline namespace of its own, so the one-definition rule holds.
#pragma once

#if defined(TERRACE_STENCIL_CHECKS)
#define TERRACE_STENCIL_BEGIN_TARGET inline namespace checked {
#define TERRACE_STENCIL_END_TARGET }
#elif defined(__CUDACC_EXTENDED_LAMBDA__)
#define TERRACE_STENCIL_GPU
#define TERRACE_STENCIL_BEGIN_TARGET inline namespace on_gpu {
#define TERRACE_STENCIL_END_TARGET }
#else
#define TERRACE_STENCIL_BEGIN_TARGET
#define TERRACE_STENCIL_END_TARGET
#endif

// Follows the captures of a kernel that shall run on a GPU where there is one:
//
//   grid.loop("step", range, [factor] TERRACE_STENCIL_KERNEL(auto u) { u() *= factor; }, read_write(u));
//
// nvcc compiles generic lambdas for the GPU only. A lambda that names its accessors' types may use
// TERRACE_STENCIL_BOTH instead; it runs on every executor.
#ifdef TERRACE_STENCIL_GPU
#define TERRACE_STENCIL_KERNEL __device__
#define TERRACE_STENCIL_BOTH __host__ __device__
#else
#define TERRACE_STENCIL_KERNEL
#define TERRACE_STENCIL_BOTH
#endif
