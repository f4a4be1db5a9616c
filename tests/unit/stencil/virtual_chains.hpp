// Chains and machines for tests of virtual time, made by hand.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "stencil/data/storage.hpp"
#include "stencil/virtual/mode.hpp"

namespace terrace::stencil::test {

inline const Range k_nowhere{{0, 0}, {0, 0}, {0, 0}};

// Of 8 bytes, without a halo.
inline DatasetAbout dataset(DatasetId id, const Range& range) {
  DatasetAbout about{"", id, 0, 8, range};
  about.row = range.length(0);
  about.plane = range.length(0) * range.length(1);
  return about;
}

inline Argument argument(DatasetId id, Access access, const Point& low = {0, 0, 0},
                         const Point& high = {0, 0, 0}) {
  return {id, "", access, Stencil(std::vector<Point>{low, high}), low, high, 8};
}

inline Loop loop(const Range& range, std::vector<Argument> arguments) {
  Loop made;
  made.range = range;
  made.arguments = std::move(arguments);
  return made;
}

// Bandwidths in bytes a second; nothing takes time before it begins.
inline Pair pair_with(double fast_bytes, double fast, double slow, double loops) {
  Pair pair;
  pair.fast_bytes = fast_bytes;
  pair.slow_bytes = 1e15;
  pair.fast_bandwidth = fast;
  pair.loop_bandwidth = loops;
  pair.slow_bandwidth = pair.in_bandwidth = pair.out_bandwidth = pair.slow_read = pair.slow_write = slow;
  return pair;
}

inline std::unique_ptr<Mode> mode(std::string_view name, const Pair& pair,
                                  const std::vector<DatasetAbout>& datasets, const ModeOptions& options = {}) {
  auto made = find_mode(name).make(pair, options);
  for (const auto& about : datasets) made->add(about);
  return made;
}

}  // namespace terrace::stencil::test
