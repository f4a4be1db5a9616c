// SPDX-License-Identifier: Apache-2.0
// When each point of datasets was accessed last, and so how much else was accessed since: what a cache asks that
// has lost a part of it by then. Points that were accessed together are kept together, exactly as far as loops
// reach.
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
  // `room`: bytes of a direct-mapped cache. Where data lie in memory is taken to be random: points are still there
  // with probability exp(-D / room), D being the bytes of other points that were accessed since.
  explicit LastAccesses(double capacity) : capacity_(capacity) {}

  void add(const DatasetInfo& info);

  // What a loop touches of a dataset; it changes `written`, a part of that.
  struct Touch {
    DatasetId dataset = 0;
    Range reached;
    Range written;
  };
  // Of the points of a touch: the share that the cache does not have, and the share that it stored when it lost
  // it, since it had been written.
  struct Found {
    double lost = 0;
    double stored = 0;
  };
  // All is touched now, point by point in one order, so that of the rest of what was touched together the same
  // amount lies between two touches of each point. Of different datasets; results are in their order.
  [[nodiscard]] std::vector<Found> access(std::span<const Touch> touches);

 private:
  using Moment = std::uint32_t;
  struct Piece {
    Range range;  // pieces of a dataset do not overlap
    Moment last = 0;
    // Where a point lies does not change, so that what is lost more easily is lost each time that anything is.
    // This share is lost most easily and has not been written since it came; the others differ from the slow
    // memory.
    double clean = 1;
  };
  struct DatasetPieces {
    double element;  // bytes
    std::vector<Piece> pieces;
  };
  // What of a touch is there, and takes that out. `clean`: of what it does not write, from now on.
  [[nodiscard]] Found take(const Touch& touch, double& clean);
  void put(const Touch& touch, double clean);
  // Bytes that were accessed last at this moment, or later.
  [[nodiscard]] double since(Moment moment) const;
  void add(Moment moment, double bytes);
  // Leaves out the moments of which nothing is left.
  void renumber();

  double capacity_;
  std::vector<DatasetPieces> datasets_;
  FenwickTree sums_;  // of bytes, by moment
  double all_ = 0;
  std::vector<std::pair<Moment, double>> taken_;  // bytes, by an access
  Moment now_ = 0;
};

}  // namespace terrace::stencil
