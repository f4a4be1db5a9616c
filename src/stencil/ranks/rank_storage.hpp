// SPDX-License-Identifier: Apache-2.0
// Maps global datasets to a rank's local ones, which are datasets of the inner executor. A local dataset covers
// the rank's own points and the bounding range that chains have used so far; it is reallocated when it must
// grow. Used by Distributed.
#pragma once

#include <cstdint>
#include <vector>

#include "stencil/execute/executor.hpp"

namespace terrace::stencil {

class RankStorage {
 public:
  explicit RankStorage(Executor& executor) : executor_(executor) {}

  // Adds the next dataset; `own` are this rank's points of it. Allocates nothing yet.
  void add(const DatasetInfo& whole, const Range& own);
  // Makes the range and the rank's own points available. New points are 0.
  void provide(DatasetId dataset, const Range& range);
  // Makes a temporary dataset an ordinary one.
  void keep(DatasetId dataset);

  [[nodiscard]] const DatasetInfo& whole(DatasetId dataset) const { return all_[dataset].whole; }
  [[nodiscard]] const Range& own(DatasetId dataset) const { return all_[dataset].own; }
  // Returns the local dataset's number in the executor, once it exists.
  [[nodiscard]] DatasetId part(DatasetId dataset) const { return all_[dataset].part.id; }
  // Returns how often any rank may have changed the values; 0: all are 0.
  [[nodiscard]] std::uint64_t version(DatasetId dataset) const { return all_[dataset].version; }
  // Counts a change, so that halos are exchanged again.
  void changed(DatasetId dataset) { ++all_[dataset].version; }

  // Copy values of an available range; an unallocated dataset reads as 0.
  void get(DatasetId dataset, const Range& range, std::byte* values);
  void set(DatasetId dataset, const Range& range, const std::byte* values);

 private:
  struct DatasetPart {
    DatasetInfo whole;
    Range own;
    bool is_kept = true;
    bool is_there = false;
    DatasetInfo part{};
    std::uint64_t version = 0;
  };
  void copy(const DatasetInfo& from, const DatasetInfo& to);

  Executor& executor_;
  std::vector<DatasetPart> all_;
  DatasetId next_ = 0;  // next number in the executor
};

}  // namespace terrace::stencil
