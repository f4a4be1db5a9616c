// SPDX-License-Identifier: Apache-2.0
// Implements the copy loops of page exchanges, memcpy(3) and non-temporal stores, and measures which is faster.
// See copy_kernels.hpp.
#include "transfer/exchange/copy_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "core/system_time.hpp"

namespace terrace::transfer {

namespace {

constexpr int k_rounds = 5;

void by_memcpy(void* to, const void* from, std::size_t size) {
  std::memcpy(to, from, size);
  __sync_synchronize();
}

#ifdef __x86_64__
__attribute__((target("avx2"))) void by_streaming(void* to, const void* from, std::size_t size) {
  auto* target = static_cast<__m256i*>(to);
  const auto* source = static_cast<const __m256i*>(from);
  for (const auto* const end = source + size / sizeof(__m256i); source != end; source += 4, target += 4) {
    const auto a = _mm256_load_si256(source);
    const auto b = _mm256_load_si256(source + 1);
    const auto c = _mm256_load_si256(source + 2);
    const auto d = _mm256_load_si256(source + 3);
    _mm256_stream_si256(target, a);
    _mm256_stream_si256(target + 1, b);
    _mm256_stream_si256(target + 2, c);
    _mm256_stream_si256(target + 3, d);
  }
  _mm_sfence();
}
#endif

// Evicts a buffer from the caches, as chunks to be migrated are: placement does not matter for cached data.
void evict(const void* memory, std::size_t size) {
#ifdef __x86_64__
  constexpr std::size_t k_line = 64;
  for (std::size_t at = 0; at < size; at += k_line) _mm_clflush(static_cast<const char*>(memory) + at);
  _mm_mfence();
#else
  (void)memory;
  (void)size;
#endif
}

double now() { return to_seconds(read_clock(CLOCK_MONOTONIC)); }

}  // namespace

std::span<const CopyKernel> copy_kernels() noexcept {
#ifdef __x86_64__
  static constexpr std::array<CopyKernel, 2> all{{{"memcpy", by_memcpy}, {"streaming", by_streaming}}};
  return std::span(all).first(__builtin_cpu_supports("avx2") ? 2 : 1);
#else
  static constexpr std::array<CopyKernel, 1> all{{{"memcpy", by_memcpy}}};
  return all;
#endif
}

const CopyKernel& fastest_copy_kernel(void* to, const void* from, std::size_t size) noexcept {
  const auto kernels = copy_kernels();
  std::array<double, 8> least;
  least.fill(1e9);
  for (int round = 0; round < k_rounds; ++round)
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      evict(from, size);
      evict(to, size);
      const auto begun = now();
      kernels[i].copy(to, from, size);
      least.at(i) = std::min(least.at(i), now() - begun);
    }
  std::size_t best = 0;
  for (std::size_t i = 1; i < kernels.size(); ++i)
    if (least.at(i) < least.at(best)) best = i;
  return kernels[best];
}

}  // namespace terrace::transfer
