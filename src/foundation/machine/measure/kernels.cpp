// SPDX-License-Identifier: Apache-2.0
// Implements the loops that `terrace machine measure` times, simple enough for the compiler to optimise them like
// loops of user programs. Compiled with full optimisation in every build type.
#include "machine/measure/kernels.hpp"

#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/error.hpp"

namespace terrace::machine {
namespace {

std::uint64_t next_random(std::uint64_t& state) {  // splitmix64 (Vigna)
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Follows K cycles concurrently; K is constant, so that the compiler keeps all positions in registers.
template <std::size_t K>
void chase_k(std::span<ChaseLine*> from, std::size_t hops) {
  ChaseLine* at[K];
  for (std::size_t k = 0; k < K; ++k) at[k] = from[k];
  for (std::size_t hop = 0; hop < hops; ++hop) {
#pragma GCC unroll 32
    for (std::size_t k = 0; k < K; ++k) at[k] = at[k]->next;
  }
  for (std::size_t k = 0; k < K; ++k) from[k] = at[k];
}

}  // namespace

// Must stay a loop, as in STREAM: GCC would replace it by memcpy, whose stores may bypass the caches.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif
void stream_copy(std::span<double> c, std::span<const double> a) {
  double* __restrict to = c.data();
  const double* __restrict from = a.data();
  const std::size_t n = c.size();
  for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
}

void stream_scale(std::span<double> b, std::span<const double> c, double q) {
  double* __restrict to = b.data();
  const double* __restrict from = c.data();
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) to[i] = q * from[i];
}

void stream_add(std::span<double> c, std::span<const double> a, std::span<const double> b) {
  double* __restrict to = c.data();
  const double* __restrict left = a.data();
  const double* __restrict right = b.data();
  const std::size_t n = c.size();
  for (std::size_t i = 0; i < n; ++i) to[i] = left[i] + right[i];
}

void stream_triad(std::span<double> a, std::span<const double> b, std::span<const double> c, double q) {
  double* __restrict to = a.data();
  const double* __restrict left = b.data();
  const double* __restrict right = c.data();
  const std::size_t n = a.size();
  for (std::size_t i = 0; i < n; ++i) to[i] = left[i] + q * right[i];
}

double read_all(std::span<const double> a) {
  // Eight independent vector sums, so that the loop is not bound by the latency of addition.
  using Vector = double __attribute__((vector_size(16)));
  constexpr std::size_t k_sums = 8;
  constexpr std::size_t k_step = 2 * k_sums;
  Vector sums[k_sums] = {};
  const double* p = a.data();
  std::size_t i = 0;
  for (; i + k_step <= a.size(); i += k_step) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < k_sums; ++k) {
      Vector value;
      std::memcpy(&value, p + i + 2 * k, sizeof value);
      sums[k] += value;
    }
  }
  double total = 0;
  for (const auto& sum : sums) total += sum[0] + sum[1];
  for (; i < a.size(); ++i) total += p[i];
  return total;
}

void write_all(std::span<double> a, double value) {
  std::size_t i = 0;
#if defined(__SSE2__)
  // The instruction requires 16-byte alignment, which the first element may lack.
  while (i < a.size() && reinterpret_cast<std::uintptr_t>(a.data() + i) % 16 != 0) a[i++] = value;
  const __m128d both = _mm_set1_pd(value);
  for (; i + 2 <= a.size(); i += 2) _mm_stream_pd(a.data() + i, both);
  _mm_sfence();
#endif
  for (; i < a.size(); ++i) a[i] = value;
}

#if defined(__clang__)
void scalar_triad(std::span<double> a, std::span<const double> b, std::span<const double> c, double q) {
#pragma clang loop vectorize(disable) interleave(disable)
#else
__attribute__((optimize("no-tree-vectorize", "no-tree-slp-vectorize"))) void scalar_triad(
    std::span<double> a, std::span<const double> b, std::span<const double> c, double q) {
#endif
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] + q * c[i];
}

std::uint64_t add_dependent(std::uint64_t start, std::size_t adds) {
  std::uint64_t sum = start;
  const std::uint64_t addend = start | 1;
  for (std::size_t i = 0; i < adds; i += 64) {
#pragma GCC unroll 64
    for (int k = 0; k < 64; ++k) {
      sum += addend;
      __asm__ volatile("" : "+r"(sum));  // keeps each addition a separate instruction
    }
  }
  return sum;
}

void read_random_spaced(std::span<const std::uint64_t> far, std::span<std::uint64_t> near, std::size_t reads,
                        std::uint64_t& seed) {
  std::uint64_t sum = 0, mixed = 0;
  for (std::size_t read = 0; read < reads; ++read) {
    sum += far[next_random(seed) & (far.size() - 1)];
#pragma GCC unroll 4
    for (std::size_t i = 0; i + 3 <= near.size(); i += 3) {
      mixed += near[i];  // dependent, so that it is not vectorised
      sum ^= mixed + i;
      mixed += near[i + 1];
      sum ^= mixed + i;
      near[i + 2] = sum;
    }
  }
}

void write_random_spaced(std::span<std::uint64_t> far, std::span<std::uint64_t> near, std::size_t between,
                         std::size_t writes, std::uint64_t& seed) {
  constexpr std::size_t k_step = 9;                    // elements: a line and one more
  volatile std::uint64_t* const cached = near.data();  // volatile: each store is a separate instruction
  for (std::size_t write = 0; write < writes; ++write) {
    far[next_random(seed) & (far.size() - 1)] = write;
    for (std::size_t i = 0; i < between; ++i) cached[(k_step * i) & (near.size() - 1)] = write;
  }
}

std::uint64_t read_streams(std::span<const std::uint64_t> memory, std::span<std::uint32_t> at, std::size_t reads,
                           std::uint64_t& seed) {
  std::uint64_t sum = 0;
  for (std::size_t read = 0; read < reads; ++read)
    sum += memory[at[((next_random(seed) >> 32) * at.size()) >> 32]++];
  return sum;
}

ChaseCycle::ChaseCycle(std::span<ChaseLine> lines, std::uint64_t seed) {
  link(lines.size(), seed, [lines](std::size_t i) { return &lines[i]; });
}

ChaseCycle ChaseCycle::one_line_per_page(std::span<ChaseLine> memory, std::size_t page_lines, std::uint64_t seed) {
  ChaseCycle cycle;
  cycle.link(memory.size() / page_lines, seed,
             [=](std::size_t page) { return &memory[page * page_lines + page % page_lines]; });
  return cycle;
}

void ChaseCycle::link(std::size_t count, std::uint64_t seed, const std::function<ChaseLine*(std::size_t)>& line) {
  if (count < 2 || count > 0xffffffffu) {
    throw Error(Code::invalid, "a pointer chase over " + std::to_string(count) +
                                   " cache lines cannot be measured; it needs from 2 to 2^32 - 1");
  }
  // Link a random permutation end to end: one cycle through all lines, all orders equally likely (Fisher-Yates).
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    // Scale 32 random bits to 0..i: there are fewer than 2^32 lines, and the bias is irrelevant here.
    const auto j = static_cast<std::size_t>(((next_random(seed) >> 32) * (i + 1)) >> 32);
    std::swap(order[i], order[j]);
  }
  for (std::size_t i = 0; i + 1 < order.size(); ++i) line(order[i])->next = line(order[i + 1]);
  line(order.back())->next = line(order.front());
  for (std::size_t k = 0; k < k_num_starts; ++k) starts_[k] = line(order[order.size() * k / k_num_starts]);
}

ChaseLine* ChaseCycle::start(std::size_t k, std::size_t n) const { return starts_[k * k_num_starts / n]; }

ChaseLine* chase(ChaseLine* from, std::size_t hops) {
  while (hops-- > 0) from = from->next;
  return from;
}

void chase_many(std::span<ChaseLine*> from, std::size_t hops) {
  switch (from.size()) {
    case 4:
      return chase_k<4>(from, hops);
    case 8:
      return chase_k<8>(from, hops);
    case 16:
      return chase_k<16>(from, hops);
    case 32:
      return chase_k<32>(from, hops);
    default:
      throw Error(Code::invalid, std::to_string(from.size()) +
                                     " concurrent pointer chases cannot be measured; give 4, 8, 16 or 32");
  }
}

}  // namespace terrace::machine
