// SPDX-License-Identifier: Apache-2.0
// What a file is compiled for: the processor; the processor, with checks (TERRACE_STENCIL_CHECKS); or a GPU, too,
// by nvcc with --extended-lambda. In one program files may differ: what differs in them is in a namespace of its
// own.
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

// Stands behind the captures of a kernel that is to run on a GPU, where there is one:
//
//   grid.loop("step", range, [factor] TERRACE_STENCIL_KERNEL(auto u) { u() *= factor; }, read_write(u));
//
// nvcc compiles lambdas with `auto` for a GPU alone. A lambda that names its accessors' types may have
// TERRACE_STENCIL_BOTH instead; it runs by every executor.
#ifdef TERRACE_STENCIL_GPU
#define TERRACE_STENCIL_KERNEL __device__
#define TERRACE_STENCIL_BOTH __host__ __device__
#else
#define TERRACE_STENCIL_KERNEL
#define TERRACE_STENCIL_BOTH
#endif
