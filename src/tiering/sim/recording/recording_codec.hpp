// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes numbers in the columns of recordings (files of a run's cache misses and events, which
// --misses FILE writes for `terrace replay`) and of GPU traces: LEB128 (seven bits a byte, the lowest first, the
// high bit set if more follow), signed numbers in zigzag (0, -1, 1, -2, ...). A reader never reads past the end;
// it throws Error{corrupt}, and its caller names the file.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace terrace::sim {

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

inline void put_byte(std::vector<std::byte>& out, std::uint8_t value) { out.push_back(std::byte{value}); }

inline void put_number(std::vector<std::byte>& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) put_byte(out, static_cast<std::uint8_t>(value | 0x80));
  put_byte(out, static_cast<std::uint8_t>(value));
}

inline void put_text(std::vector<std::byte>& out, std::string_view text) {
  put_number(out, text.size());
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

inline void put_time(std::vector<std::byte>& out, double seconds) {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof seconds>>(seconds);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

class ColumnReader {
 public:
  ColumnReader() = default;
  explicit ColumnReader(std::span<const std::byte> bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  std::uint8_t byte() {
    if (at_ == end_) fail();
    return std::to_integer<std::uint8_t>(*at_++);
  }
  std::uint64_t number() {
    std::uint64_t value = byte();
    if (value < 0x80) [[likely]]
      return value;
    value &= 0x7f;
    for (unsigned shift = 7;; shift += 7) {
      const std::uint64_t part = byte();
      // The tenth byte has room for one bit.
      if (shift == 63 && part > 1)
        throw Error(Code::corrupt, "the file is damaged: a number in it has more than 64 bits");
      value |= (part & 0x7f) << shift;
      if (part < 0x80) return value;
    }
  }
  // Throws if the number is above `most`.
  std::uint64_t number(std::uint64_t most) {
    const auto value = number();
    if (value > most)
      throw Error(Code::corrupt, "the file is damaged: a number in it is larger than its field allows");
    return value;
  }
  std::int64_t signed_number() { return unzigzag(number()); }
  std::string_view text() {
    const auto size = number();
    const auto bytes = take(size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  double time() {
    double value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > remaining()) fail();
    const std::span bytes(at_, static_cast<std::size_t>(size));
    at_ += size;
    return bytes;
  }

 private:
  [[noreturn]] static void fail() {
    throw Error(Code::corrupt, "the file is damaged: its data end within a number or text");
  }

  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
};

}  // namespace terrace::sim
