// Datasets in a file, of which a part is in memory: carries out what the scheduler decides, by a thread of its
// own.
//
// Each dataset has addresses for all of its numbers. A chunk that comes in gets the pages of one that leaves: they
// move to its addresses by mremap(2), which copies nothing. So a dataset's view never changes, loops need not know
// what is in memory, and the memory that all take is that of the frames.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "stencil/stream/scheduler.hpp"
#include "terrace/stencil/statistics.hpp"
#include "transfer/spill/disk_queue.hpp"
#include "transfer/spill/spill_file.hpp"

namespace terrace::stencil {

class FileStream {
 public:
  // So many bytes of memory, in chunks of so many. Throws Error{no_memory} or Error{failed}.
  FileStream(const std::string& folder, std::size_t memory, std::size_t chunk, Statistics& statistics);
  ~FileStream();
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;

  // Room in the file and addresses; where its first byte is. Throws Error{failed} where the disk has no room.
  std::byte* add_dataset(const std::string& name, std::uint32_t chunks, bool is_temporary);
  // Its room in the file is free again; its addresses stay reserved.
  void remove_dataset(DatasetId dataset);
  [[nodiscard]] std::size_t frames() const { return frame_count_; }

  // What it moves is added to `moved`, which has an element for each step and one more.
  void begin(std::shared_ptr<const StreamPlan> plan, std::shared_ptr<const StreamPlan> ahead,
             std::shared_ptr<StreamMoves> moved);
  // Returns once all that the step uses is in memory. Throws Error{failed} where the disk refused.
  void wait_for(std::size_t step);
  void end_step(std::size_t step);

  // A part of a dataset's bytes, wherever they are.
  void get(DatasetId dataset, std::size_t offset, std::size_t size, std::byte* to);
  void set(DatasetId dataset, std::size_t offset, std::size_t size, const std::byte* from);

 private:
  struct Place {
    std::byte* first = nullptr;
    std::size_t size = 0;
    std::uint64_t offset = 0;  // in the file
  };
  void body() noexcept;
  // All that can be begun now; holds the lock.
  void begin_moves();
  void finish(std::uint64_t token, int error);
  void carry_out(const StreamAction& action);
  void move_pages(std::byte* from, std::byte* to);
  void wake() noexcept;
  void fail(const std::string& what, int error);
  [[nodiscard]] std::byte* address(const ChunkId& chunk) const {
    return places_[chunk.dataset].first + chunk.number * chunk_;
  }
  [[nodiscard]] std::uint64_t offset(const ChunkId& chunk) const {
    return places_[chunk.dataset].offset + std::uint64_t{chunk.number} * chunk_;
  }
  // Calls with each chunk's part, while nothing is under way.
  template <class Action>
  void for_parts(DatasetId dataset, std::size_t offset, std::size_t size, Action action);

  // A chunk's numbers: where they are, or copied to `bounce_`, while nothing is under way.
  [[nodiscard]] std::byte* in_memory(const ChunkId& chunk);
  // What was changed in `bounce_`, to the file.
  void put_back();

  std::size_t chunk_;
  std::size_t frame_count_;
  Statistics& statistics_;
  transfer::SpillFile file_;
  std::unique_ptr<transfer::DiskQueue> queue_;
  StreamScheduler scheduler_;
  std::vector<Place> places_;
  std::uint64_t file_end_ = 0;
  std::byte* pool_ = nullptr;  // where frames are that nobody has
  std::byte* bounce_ = nullptr;
  std::optional<ChunkId> bounced_;
  bool is_bounce_changed_ = false;
  std::shared_ptr<StreamMoves> moved_;

  std::mutex mutex_;
  std::condition_variable ready_;
  std::unordered_map<std::uint64_t, StreamAction> under_way_;
  std::uint64_t next_token_ = 0;
  std::string failure_;
  bool is_over_ = false;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace terrace::stencil
