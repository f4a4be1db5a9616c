// SPDX-License-Identifier: Apache-2.0
// Common base of the executors `serial`, `parallel` and `tiled`, whose datasets are in memory (or with paged=1 in
// mapped files).
#pragma once

#include <string>
#include <vector>

#include "stencil/execute/executor.hpp"
#include "stencil/execute/team.hpp"

namespace terrace::stencil {

class InMemory : public Executor {
 public:
  InMemory(const Options& options, Statistics& statistics)
      : statistics_(statistics), team_(threads_of(options)), folder_(options.is_paged ? options.folder : "") {}
  void add(const DatasetInfo& info) override;
  void remove(DatasetId dataset) override { memories_[dataset].release(); }
  void get(DatasetId dataset, const Range& range, std::byte* values) override;
  void set(DatasetId dataset, const Range& range, const std::byte* values) override;

 protected:
  // Returns the accessors of a loop's arguments.
  [[nodiscard]] std::vector<View> views(const Loop& loop) const;
  [[nodiscard]] Team& team() { return team_; }
  [[nodiscard]] Statistics& statistics() { return statistics_; }
  [[nodiscard]] const std::vector<DatasetInfo>& infos() const { return infos_; }
  // Counts an untiled loop that took `seconds`.
  void note(const Loop& loop, double seconds);

 private:
  Statistics& statistics_;
  Team team_;
  std::string folder_;  // with paged=1: folder of the datasets' files; else empty
  std::vector<DatasetInfo> infos_;
  std::vector<Memory> memories_;
};

}  // namespace terrace::stencil
