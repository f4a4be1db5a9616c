// SPDX-License-Identifier: Apache-2.0
// A rank's parts of the datasets, as datasets of the executor below: each has the rank's own points and the
// smallest range around them that chains have used so far. One that has to grow is made anew.
#pragma once

#include <cstdint>
#include <vector>

#include "stencil/execute/executor.hpp"

namespace terrace::stencil {

class RankStorage {
 public:
  explicit RankStorage(Executor& executor) : executor_(executor) {}

  // The next dataset; `own` are this rank's points of it. Nothing is stored yet.
  void add(const DatasetInfo& whole, const Range& own);
  // The range is there from now on, as are the rank's own points. New points are 0.
  void provide(DatasetId dataset, const Range& range);
  // A temporary dataset is an ordinary one from now on.
  void keep(DatasetId dataset);

  [[nodiscard]] const DatasetInfo& whole(DatasetId dataset) const { return all_[dataset].whole; }
  [[nodiscard]] const Range& own(DatasetId dataset) const { return all_[dataset].own; }
  // Its number in the executor, once it is there.
  [[nodiscard]] DatasetId part(DatasetId dataset) const { return all_[dataset].part.id; }
  // How often some rank may have changed its numbers; 0: all are 0.
  [[nodiscard]] std::uint64_t version(DatasetId dataset) const { return all_[dataset].version; }
  void changed(DatasetId dataset) { ++all_[dataset].version; }

  // Of a range that is there; of a dataset of which nothing is, zeros.
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
  DatasetId next_ = 0;  // of the executor
};

}  // namespace terrace::stencil
