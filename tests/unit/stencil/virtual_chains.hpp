// Hand-made chains and machines for tests of virtual time.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "stencil/data/storage.hpp"
#include "stencil/virtual/mode.hpp"

namespace terrace::stencil::test {

inline const Range k_nowhere{{0, 0}, {0, 0}, {0, 0}};

// Makes datasets of 8-byte elements without halos.
inline DatasetInfo dataset(DatasetId id, const Range& range) {
  DatasetInfo info{"", id, 0, 8, range};
  info.row = range.length(0);
  info.plane = range.length(0) * range.length(1);
  return info;
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

// Makes a machine from bandwidths in bytes/s; nothing has start-up costs.
inline TwoTierMachine make_tiers(double fast_bytes, double fast, double slow, double loops) {
  TwoTierMachine tiers;
  tiers.fast_bytes = fast_bytes;
  tiers.slow_bytes = 1e15;
  tiers.fast_bandwidth = fast;
  tiers.loop_bandwidth = loops;
  tiers.slow_bandwidth = tiers.in_bandwidth = tiers.out_bandwidth = tiers.slow_read = tiers.slow_write = slow;
  return tiers;
}

inline std::unique_ptr<Mode> mode(std::string_view name, const TwoTierMachine& tiers,
                                  const std::vector<DatasetInfo>& datasets, const ModeOptions& options = {}) {
  auto made = find_mode(name).make(tiers, options);
  for (const auto& info : datasets) made->add(info);
  return made;
}

}  // namespace terrace::stencil::test
