// SPDX-License-Identifier: Apache-2.0
// Serialises the head of a recording's frame, for the writer and the reader of frames (recording_frame.hpp has the
// layout).
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "core/blob.hpp"
#include "sim/recording/recording_frame.hpp"

namespace terrace::sim {

inline constexpr std::uint32_t k_skippable_frame = 0x184D2A54;
inline constexpr std::string_view k_recording_magic = "TERRACEM";
inline constexpr std::size_t k_frame_head_bytes = 40 + 12 * k_columns + 4;
using HeadBytes = std::array<std::byte, k_frame_head_bytes>;

class FrameHeadWriter {
 public:
  explicit FrameHeadWriter(HeadBytes& bytes) : bytes_(bytes) {}
  void begin(const FrameHead& head) {
    put(k_skippable_frame);
    put(static_cast<std::uint32_t>(k_frame_head_bytes - 8));
    std::memcpy(bytes_.data() + at_, k_recording_magic.data(), k_recording_magic.size());
    at_ += k_recording_magic.size();
    put(k_recording_version);
    put(head.number);
    put(head.process);
    put(std::uint32_t{0});
    put(head.started_unix_ns);
  }
  void column(std::uint32_t stored, std::uint32_t size, std::uint32_t sum) {
    put(stored);
    put(size);
    put(sum);
  }
  void end() { put(crc32c(std::span(bytes_).first(at_))); }

 private:
  template <class T>
  void put(T value) {
    std::memcpy(bytes_.data() + at_, &value, sizeof value);
    at_ += sizeof value;
  }
  HeadBytes& bytes_;
  std::size_t at_ = 0;
};

}  // namespace terrace::sim
