// Values as flat bytes: what the launcher hands to the library inside the program, and what a journal record
// holds. Native byte order and no padding; a reader never looks past the end and throws Error{corrupt}.
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
  // The next n bytes, for the caller to fill.
  std::byte* room(std::size_t n) {
    if (n > bytes_.size() - size_) bytes_.resize(std::max(2 * bytes_.size(), size_ + n));
    return bytes_.data() + std::exchange(size_, size_ + n);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }
  void clear() { size_ = 0; }

 private:
  std::vector<std::byte> bytes_;  // more than are in use
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
  // The next n bytes as they are.
  const std::byte* take(std::size_t n) {
    if (n > remaining()) throw Error(Code::corrupt, "a record ends too early");
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

// CRC-32C (Castagnoli), as iSCSI and ext4 use it (RFC 3720, appendix B.4 has test vectors).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0);
// The same without the processor's instruction: what crc32c() does where there is none, here to be tested.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t seed = 0);

}  // namespace terrace
