// SPDX-License-Identifier: Apache-2.0
// Defines the names of segments, the parts of a phase between which placement may change: the name of the phase
// for the first, and "resid.7@1048576" for one that begins that many accesses into the phase.
// runtime/segmenter.hpp explains segments. Profiles, journals and plans name segments so.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace terrace {

inline std::string segment_name(std::string_view phase, std::uint64_t offset) {
  return offset == 0 ? std::string(phase) : std::string(phase) + "@" + std::to_string(offset);
}

// Returns the offset in a segment's name; 0 if it has none, as the first segment of a phase, or any other name.
inline std::uint64_t segment_offset(std::string_view name) {
  const auto at = name.rfind('@');
  if (at == std::string_view::npos) return 0;
  std::uint64_t offset = 0;
  const auto* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + at + 1, end, offset);
  return parsed.ec == std::errc() && parsed.ptr == end ? offset : 0;
}

// Returns the name of the phase that a segment belongs to.
inline std::string_view phase_of_segment(std::string_view name) {
  return segment_offset(name) == 0 ? name : name.substr(0, name.rfind('@'));
}

}  // namespace terrace
