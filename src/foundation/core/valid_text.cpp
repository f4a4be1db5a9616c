// SPDX-License-Identifier: Apache-2.0
// Validates and repairs UTF-8 before the profile's database stores a text. See valid_text.hpp.
#include "core/valid_text.hpp"

#include <array>
#include <cstddef>

namespace terrace {

namespace {

constexpr std::string_view k_replacement = "\xEF\xBF\xBD";

// Lowest character by encoded length in bytes.
constexpr std::array<char32_t, 5> k_first{0, 0, 0x80, 0x800, 0x10000};

// Returns the encoded length of the character at the beginning of a text; 0 if it is invalid.
std::size_t character_at(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc0 || lead >= 0xf8 || text.size() < bytes) return 0;
  char32_t character = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80) return 0;
    character = character << 6U | (next & 0x3fU);
  }
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  return character < k_first[bytes] || character > 0x10ffff || surrogate ? 0 : bytes;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto bytes = character_at(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const auto bytes = character_at(text);
    valid += bytes == 0 ? k_replacement : text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return valid;
}

}  // namespace terrace
