// Wraps a fuzzer's input as recording columns with valid headers and checksums.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "sim/recording/recording_frame.hpp"

namespace terrace::sim {

inline constexpr std::size_t k_min_column_length = 4096;

inline RecordingHeader example_header() {
  RecordingHeader header;
  header.identity.process = 1;
  header.identity.started_unix_ns = 1;
  header.quantum_accesses = 16384;
  header.chunks_per_object = 64;
  header.smallest_chunk = 16384;
  header.largest_chunk = 1 << 30;
  return header;
}

/// The input is cut into columns, each as long as the byte before it says. Those of the misses go on with zeros:
/// they must have room for all that events count, which is more than a byte can say.
inline std::vector<std::byte> recording_of(std::span<const std::byte> input, const RecordingHeader& header) {
  std::vector<std::byte> file;
  FrameWriter frames(1);
  const auto append = [&](std::uint32_t number, const std::array<std::span<const std::byte>, k_columns>& columns) {
    const auto frame = frames.make({number, header.identity.process, header.identity.started_unix_ns}, columns);
    file.insert(file.end(), frame.begin(), frame.end());
  };
  BlobWriter blob;
  header.to_blob(blob);
  append(0, {blob.bytes(), {}, {}});
  for (std::uint32_t number = 1; !input.empty(); ++number) {
    std::array<std::span<const std::byte>, k_columns> columns;
    std::array<std::vector<std::byte>, k_columns> longer;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (input.empty()) break;
      auto& column = columns[i];
      const auto size = std::min<std::size_t>(std::to_integer<std::size_t>(input[0]), input.size() - 1);
      column = input.subspan(1, size);
      input = input.subspan(1 + size);
      if (i == k_events) continue;
      longer[i].assign(column.begin(), column.end());
      longer[i].resize(k_min_column_length);
      column = longer[i];
    }
    append(number, columns);
  }
  return file;
}

}  // namespace terrace::sim
