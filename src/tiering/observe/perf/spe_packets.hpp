// Arm's Statistical Profiling Extension: packets in a buffer, by the Arm Architecture Reference Manual (chapter
// "Statistical Profiling Extension sample record specification"). The packets of one access end with an end packet
// or a timestamp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "observe/perf/memory_sample.hpp"

namespace terrace::observe {

// What the packets of one access say.
struct SpeAccess {
  MemorySample sample;
  std::uint64_t timestamp = 0;  // the system counter's; 0 where there was none
  bool has_address = false;
  bool has_thread = false;
};

// How a processor numbers where data came from, which the architecture leaves to it.
enum class SpeSources : std::uint8_t { unknown, neoverse };

class SpeReader {
 public:
  explicit SpeReader(SpeSources sources = SpeSources::unknown) noexcept : sources_(sources) {}

  // Takes the next bytes, which begin at this offset of the buffer (packets are aligned in it); calls each(access)
  // for every access that ends in them and has an address. Packets that are cut at the end go on in the next
  // bytes.
  template <class Each>
  void take(std::span<const std::byte> bytes, std::uint64_t offset, Each each) {
    while (!bytes.empty()) {
      const auto used = passed_over_ > 0 ? pass_over(bytes.size()) : packet(bytes, offset);
      if (used == 0) {
        keep(bytes);
        return;
      }
      bytes = bytes.subspan(used);
      offset += used;
      if (!ended_) continue;
      if (access_.has_address && access_.sample.address != 0 &&
          (access_.sample.is_load || access_.sample.is_store))
        each(access_);
      forget();
    }
  }
  // What was begun does not go on: the buffer was full, or data were lost.
  void cut() noexcept;
  // Bytes that are no packet: passed over, up to the next end of an access.
  [[nodiscard]] std::uint64_t malformed() const noexcept { return malformed_; }

 private:
  static constexpr std::size_t k_longest = 16;

  std::size_t pass_over(std::size_t available) noexcept;
  std::size_t packet(std::span<const std::byte> bytes, std::uint64_t offset) noexcept;
  std::size_t whole_packet(std::span<const std::byte> bytes, std::uint64_t offset) noexcept;
  void payload(unsigned header, unsigned index, std::uint64_t value) noexcept;
  void events(std::uint64_t value) noexcept;
  void source(std::uint64_t value) noexcept;
  void keep(std::span<const std::byte> bytes) noexcept;
  void forget() noexcept;

  SpeSources sources_;
  SpeAccess access_;
  bool ended_ = false, skipping_ = false, has_source_ = false;
  std::byte kept_[k_longest] = {};
  std::size_t kept_size_ = 0;
  std::size_t passed_over_ = 0;  // bytes up to an alignment, which may be among the next ones
  std::uint64_t malformed_ = 0;
};

}  // namespace terrace::observe
