// SPDX-License-Identifier: Apache-2.0
// Reads the kernel's event devices (PMUs) for memory_events.hpp: each device is a folder below
// /sys/bus/event_source/devices: type number, bit fields of the configuration (`format/`) and named events
// (`events/`), by Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace terrace::observe {

struct Encoding {
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  bool operator==(const Encoding&) const = default;
};

// Parses "event=0xcd,umask=0x1,ldlat=3" into names and numbers; a name alone is 1. Throws Error{invalid}.
std::vector<std::pair<std::string, std::uint64_t>> event_terms(std::string_view text);

// Places a value's bits, the lowest first, at the positions of a format such as "config:0-7,32-35". Throws
// Error{invalid} where the format is invalid or has too few bits.
void place_bits(std::string_view format, std::uint64_t value, Encoding& encoding);

class EventDevice {
 public:
  explicit EventDevice(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] bool exists() const;
  // Returns the type number for perf_event_open(2). Throws Error{failed} where the file cannot be read.
  [[nodiscard]] std::uint32_t type() const;
  [[nodiscard]] bool has_format(std::string_view name) const;
  // Returns the terms of the event of this name; nothing where the device has none.
  [[nodiscard]] std::optional<std::string> event(std::string_view name) const;
  // Encodes terms by the device's formats; `instead` overrides terms of the same name. Throws Error{invalid} with
  // the file.
  [[nodiscard]] Encoding encode(std::string_view terms, std::string_view instead = {}) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace terrace::observe
