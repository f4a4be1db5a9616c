// SPDX-License-Identifier: Apache-2.0
// Decodes the packets of Arm's Statistical Profiling Extension for the memory sampler, by the Arm Architecture
// Reference Manual (chapter "Statistical Profiling Extension sample record specification"). The packets of one
// access end with an end packet or a timestamp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "observe/perf/memory_sample.hpp"

namespace terrace::observe {

// The contents of the packets of one access.
struct SpeAccess {
  MemorySample sample;
  std::uint64_t timestamp = 0;  // of the system counter; 0: none
  bool has_address = false;
  bool has_thread = false;
};

// The implementation-defined numbering of data sources.
enum class SpeSources : std::uint8_t { unknown, neoverse };

class SpeDecoder {
 public:
  explicit SpeDecoder(SpeSources sources = SpeSources::unknown) noexcept : sources_(sources) {}

  // Decodes the next bytes, which begin at this offset of the buffer (packets are aligned in it). Calls
  // each(access) for every access that ends in them and has an address. Keeps an incomplete packet for the next
  // call.
  template <class Each>
  void decode(std::span<const std::byte> bytes, std::uint64_t offset, Each each) {
    while (!bytes.empty()) {
      const auto used = skip_bytes_ > 0 ? skip(bytes.size()) : next_packet(bytes, offset);
      if (used == 0) {
        save_partial(bytes);
        return;
      }
      bytes = bytes.subspan(used);
      offset += used;
      if (!ended_) continue;
      if (access_.has_address && access_.sample.address != 0 &&
          (access_.sample.is_load || access_.sample.is_store))
        each(access_);
      reset_access();
    }
  }
  // Discards incomplete data: the buffer was full, or data were lost.
  void reset() noexcept;
  // Returns the number of bytes that are no packet. The decoder then resynchronises at the next end of an access.
  [[nodiscard]] std::uint64_t malformed() const noexcept { return malformed_; }

 private:
  static constexpr std::size_t k_max_packet = 16;

  std::size_t skip(std::size_t available) noexcept;
  std::size_t next_packet(std::span<const std::byte> bytes, std::uint64_t offset) noexcept;
  std::size_t parse_packet(std::span<const std::byte> bytes, std::uint64_t offset) noexcept;
  void payload(unsigned header, unsigned index, std::uint64_t value) noexcept;
  void events(std::uint64_t value) noexcept;
  void source(std::uint64_t value) noexcept;
  void save_partial(std::span<const std::byte> bytes) noexcept;
  void reset_access() noexcept;

  SpeSources sources_;
  SpeAccess access_;
  bool ended_ = false, is_resyncing_ = false, has_source_ = false;
  std::byte partial_[k_max_packet] = {};
  std::size_t partial_size_ = 0;
  std::size_t skip_bytes_ = 0;  // padding to an alignment, which may extend into the next bytes
  std::uint64_t malformed_ = 0;
};

}  // namespace terrace::observe
