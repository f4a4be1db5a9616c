// SPDX-License-Identifier: Apache-2.0
// Computes CRC-32C, the checksum of journals, GPU traces and cached files, by the SSE4.2 instruction if the
// processor has it, else by tables, eight bytes a step.
#include "core/blob.hpp"

#include <array>

namespace terrace {
namespace {

constexpr std::uint32_t k_polynomial = 0x82f63b78;  // Castagnoli, bits reversed

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? k_polynomial : 0);
    tables[0][i] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t i = 0; i < 256; ++i) {
      tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
    }
  }
  return tables;
}

constexpr Tables k_tables = make_tables();

std::uint64_t load8(const std::byte* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

std::uint32_t update_by_table(std::uint32_t crc, const std::byte* p, std::size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    const auto word = load8(p) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= k_tables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; n > 0; ++p, --n) crc = (crc >> 8) ^ k_tables[0][(crc ^ std::to_integer<std::uint32_t>(*p)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t update_by_instruction(std::uint32_t crc, const std::byte* p,
                                                                      std::size_t n) {
  std::uint64_t wide = crc;
  for (; n >= 8; p += 8, n -= 8) wide = __builtin_ia32_crc32di(wide, load8(p));
  crc = static_cast<std::uint32_t>(wide);
  for (; n > 0; ++p, --n) crc = __builtin_ia32_crc32qi(crc, std::to_integer<std::uint8_t>(*p));
  return crc;
}
#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~update_by_instruction(~seed, bytes.data(), bytes.size());
#endif
  return crc32c_by_table(bytes, seed);
}

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t seed) {
  return ~update_by_table(~seed, bytes.data(), bytes.size());
}

}  // namespace terrace
