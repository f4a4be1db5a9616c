// What executors share whose datasets are in memory.
#pragma once

#include <span>
#include <vector>

#include "stencil/execute/executor.hpp"
#include "stencil/execute/team.hpp"

namespace terrace::stencil {

class InMemory : public Executor {
 public:
  InMemory(const Options& options, Statistics& statistics)
      : statistics_(statistics), team_(threads_of(options)), folder_(options.is_paged ? options.folder : "") {}
  void add(const DatasetAbout& about) override;
  void remove(DatasetId dataset) override { memories_[dataset].release(); }
  void get(DatasetId dataset, const Range& range, std::byte* numbers) override;
  void set(DatasetId dataset, const Range& range, const std::byte* numbers) override;

 protected:
  // Of a loop's arguments.
  [[nodiscard]] std::vector<View> views(const Loop& loop) const;
  [[nodiscard]] Team& team() { return team_; }
  [[nodiscard]] Statistics& statistics() { return statistics_; }
  [[nodiscard]] const std::vector<DatasetAbout>& abouts() const { return abouts_; }
  // A loop has run by itself.
  void note(const Loop& loop, double seconds);

 private:
  Statistics& statistics_;
  Team team_;
  std::string folder_;  // of the datasets' files, if they have any
  std::vector<DatasetAbout> abouts_;
  std::vector<Memory> memories_;
};

// A loop that is being run: where its data are, and its partial results.
struct Running {
  const Loop* loop = nullptr;
  std::vector<View> views;
  std::vector<std::vector<std::byte>> partials;
  std::vector<std::byte*> partial_addresses;

  void do_part(const Range& range) const {
    if (!range.empty()) loop->body({*loop, range, views.data(), partial_addresses.data()});
  }
};
[[nodiscard]] Running begin(const Loop& loop, std::vector<View> views, const Reductions& reductions);

// Calls with each row's place in numbers that lie in a row, its distance from the dataset's first element, and its
// length; all in bytes.
template <class Action>
void for_rows(const DatasetAbout& about, const Range& range, Action action) {
  const auto size = static_cast<std::size_t>(range.length(0)) * about.element;
  std::size_t at = 0;
  for (auto z = range.begin[2]; z < range.end[2]; ++z)
    for (auto y = range.begin[1]; y < range.end[1]; ++y, at += size)
      action(at, about.offset({range.begin[0], y, z}), size);
}

// Copies between numbers in a row and a dataset's memory.
void copy_out(const DatasetAbout& about, const std::byte* first, const Range& range, std::byte* numbers);
void copy_in(const DatasetAbout& about, std::byte* first, const Range& range, const std::byte* numbers);

}  // namespace terrace::stencil
