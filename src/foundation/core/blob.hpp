// SPDX-License-Identifier: Apache-2.0
// Serialises values as flat bytes: what the launcher passes to the library inside the program, and the payload of
// journal records. Native byte order, no padding. A reader never reads past the end; it throws Error{corrupt}.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace terrace {

class BlobWriter {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T value) { std::memcpy(room(sizeof value), &value, sizeof value); }
  void put(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    if (!text.empty()) std::memcpy(room(text.size()), text.data(), text.size());
  }
  // Appends n bytes and returns them for the caller to fill.
  std::byte* room(std::size_t n) {
    if (n > bytes_.size() - size_) bytes_.resize(std::max(2 * bytes_.size(), size_ + n));
    return bytes_.data() + std::exchange(size_, size_ + n);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }
  void clear() { size_ = 0; }

 private:
  std::vector<std::byte> bytes_;  // capacity; size_ bytes are in use
  std::size_t size_ = 0;
};

class BlobReader {
 public:
  explicit BlobReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> T get() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string get_string() {
    const auto n = get<std::uint32_t>();
    return {reinterpret_cast<const char*>(take(n)), n};
  }
  // Consumes the next n bytes and returns them.
  const std::byte* take(std::size_t n) {
    if (n > remaining())
      throw Error(Code::corrupt,
                  "a record ends before its last field: the file is damaged and must be recorded again");
    const auto* p = bytes_.data() + at_;
    at_ += n;
    return p;
  }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

// Computes CRC-32C (Castagnoli), as iSCSI and ext4 use it (RFC 3720, appendix B.4 has test vectors).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0);
// Computes it without the SSE4.2 instruction: the fallback of crc32c(), public for tests.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t seed = 0);

}  // namespace terrace
