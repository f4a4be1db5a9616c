// SPDX-License-Identifier: Apache-2.0
// Tracks when each point of the datasets was accessed last, and so its reuse distance: the bytes of other
// points accessed since. The mode `cache` derives hit rates from it. Points that were accessed together are
// stored as one range, exact to loop bounds.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stencil/data/storage.hpp"
#include "stencil/virtual/fenwick_tree.hpp"

namespace terrace::stencil {

class LastAccesses {
 public:
  // `capacity` is the size of a direct-mapped cache in bytes. Addresses are assumed random: a point is still
  // cached with probability exp(-D / capacity), where D is the bytes of other points accessed since.
  explicit LastAccesses(double capacity) : capacity_(capacity) {}

  void add(const DatasetInfo& info);

  // A loop's access to a dataset: `reached` is read or written, `written` is a part of it.
  struct Touch {
    DatasetId dataset = 0;
    Range reached;
    Range written;
  };
  // Fractions of the points of a Touch: those that missed, and those that were dirty when they were evicted.
  struct Found {
    double lost = 0;
    double stored = 0;
  };
  // Accesses all touches as one interleaved sweep: of data accessed together, the same amount lies between two
  // accesses of each point. Touches are of different datasets; results are in their order.
  [[nodiscard]] std::vector<Found> access(std::span<const Touch> touches);

 private:
  using Moment = std::uint32_t;
  struct Piece {
    Range range;  // disjoint within a dataset
    Moment last = 0;
    // Addresses are fixed, so points in contended sets are evicted each time that any are. `clean` is the
    // fraction, evicted first, that has not been written since it was fetched; the rest is dirty.
    double clean = 1;
  };
  struct DatasetPieces {
    double element;  // bytes
    std::vector<Piece> pieces;
  };
  // Removes the cached points of a touch and returns their state. Sets `clean` to the clean fraction of what
  // the touch does not write.
  [[nodiscard]] Found take(const Touch& touch, double& clean);
  void put(const Touch& touch, double clean);
  // Returns the bytes accessed last at or after the moment.
  [[nodiscard]] double since(Moment moment) const;
  void add(Moment moment, double bytes);
  // Compacts the moments that have no bytes left.
  void renumber();

  double capacity_;
  std::vector<DatasetPieces> datasets_;
  FenwickTree sums_;  // bytes by moment
  double all_ = 0;
  std::vector<std::pair<Moment, double>> taken_;  // bytes that an access removed
  Moment now_ = 0;
};

}  // namespace terrace::stencil
