// Values as flat bytes: what the launcher hands to the library inside the program, and what a journal record
// holds. Native byte order and no padding; a reader never looks past the end and throws Error{corrupt}.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace terrace {

class BlobWriter {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T value) {
    const auto* p = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof value);
  }
  void put(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    const auto* p = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), p, p + text.size());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::vector<std::byte> bytes_;
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
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - at_; }

 private:
  const std::byte* take(std::size_t n) {
    if (n > remaining()) throw Error(Code::corrupt, "a record ends too early");
    const auto* p = bytes_.data() + at_;
    at_ += n;
    return p;
  }
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

// CRC-32C (Castagnoli), as iSCSI and ext4 use it (RFC 3720, appendix B.4 has test vectors).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0);
// The same without the processor's instruction: what crc32c() does where there is none, here to be tested.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t seed = 0);

}  // namespace terrace
