// See file_stream.hpp.
#include "stencil/stream/file_stream.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/error.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_most_moves = 16;
constexpr std::size_t k_disk_threads = 4;  // where there is no io_uring
constexpr std::size_t k_huge = std::size_t{2} << 20U;

// Addresses without memory, at a multiple of a huge page.
std::byte* reserve(std::size_t size, const std::string& what) {
  auto* const mapped =
      mmap(nullptr, size + k_huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw Error(Code::no_memory, "no addresses for " + what + ": " + std::strerror(errno));
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const auto before = (k_huge - address % k_huge) % k_huge;
  auto* const first = static_cast<std::byte*>(mapped);
  if (before > 0) munmap(first, before);
  if (before < k_huge) munmap(first + before + size, k_huge - before);
  madvise(first + before, size, MADV_HUGEPAGE);
  return first + before;
}

std::unique_ptr<transfer::DiskQueue> make_queue(int file) {
  if (auto ring = transfer::make_ring_queue(file)) return ring;
  return transfer::make_thread_queue(file, k_disk_threads);
}

}  // namespace

FileStream::FileStream(const std::string& folder, std::size_t memory, std::size_t chunk, Statistics& statistics)
    : chunk_(chunk),
      frame_count_(memory / chunk),
      statistics_(statistics),
      file_(folder),
      queue_(make_queue(file_.file())),
      scheduler_(frame_count_, std::min(k_most_moves, transfer::k_disk_requests)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) throw Error(Code::failed, std::string("no event for streaming: ") + std::strerror(errno));
  pool_ = reserve(frame_count_ * chunk_, "memory=" + std::to_string(memory));
  bounce_ = reserve(chunk_, "a chunk");
  std::memset(pool_, 0, frame_count_ * chunk_);  // the memory is there from now on
  thread_ = std::thread([this] { body(); });
}

FileStream::~FileStream() {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  wake();
  thread_.join();
  for (const auto& place : places_) munmap(place.first, place.size);
  munmap(pool_, frame_count_ * chunk_);
  munmap(bounce_, chunk_);
  close(wake_);
}

std::byte* FileStream::add_dataset(const std::string& name, std::uint32_t chunks, bool is_temporary) {
  const auto size = std::size_t{chunks} * chunk_;
  Place place{reserve(size, "the dataset '" + name + "'"), size, file_end_};
  const std::scoped_lock lock(mutex_);
  // Now, and not when a chunk has to leave: then there would be nowhere to go.
  if (const int error = is_temporary ? 0 : file_.reserve(file_end_, size); error != 0 && error != EOPNOTSUPP) {
    munmap(place.first, size);
    throw Error(Code::failed, "no room for the dataset '" + name + "', " + std::to_string(size) + " bytes, in " +
                                  file_.folder() + ": " + std::strerror(error));
  }
  file_end_ += size;
  places_.push_back(place);
  scheduler_.add_dataset(chunks, is_temporary);
  return place.first;
}

void FileStream::remove_dataset(DatasetId dataset) {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] { return scheduler_.under_way() == 0 || !failure_.empty(); });
  if (bounced_ && bounced_->dataset == dataset) {
    bounced_.reset();
    is_bounce_changed_ = false;
  }
  scheduler_.remove_dataset(dataset);
  file_.release(places_[dataset].offset, places_[dataset].size);
}

void FileStream::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(wake_, &one, sizeof one);
}

void FileStream::begin(std::shared_ptr<const StreamPlan> plan, std::shared_ptr<const StreamPlan> ahead,
                       std::shared_ptr<StreamMoves> moved) {
  {
    const std::scoped_lock lock(mutex_);
    put_back();
    bounced_.reset();
    if (!failure_.empty()) throw Error(Code::failed, failure_);
    moved_ = std::move(moved);
    scheduler_.begin(std::move(plan), std::move(ahead));
  }
  wake();
}

void FileStream::wait_for(std::size_t step) {
  std::unique_lock lock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  ready_.wait(lock, [&] { return scheduler_.is_ready(step) || !failure_.empty(); });
  statistics_.waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!failure_.empty()) throw Error(Code::failed, failure_);
}

void FileStream::end_step(std::size_t step) {
  {
    const std::scoped_lock lock(mutex_);
    scheduler_.end_step(step);
  }
  wake();
}

void FileStream::body() noexcept {
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      transfer::DiskAnswer answer;
      while (queue_->next(answer)) finish(answer.token, answer.error);
      if (is_over_ && under_way_.empty()) return;
      // What was changed in `bounce_` is not in the file yet: its chunk must not come from there.
      if (!is_over_ && failure_.empty() && !is_bounce_changed_) begin_moves();
    }
    pollfd files[] = {{queue_->file(), POLLIN, 0}, {wake_, POLLIN, 0}};
    poll(files, 2, -1);
    std::uint64_t count = 0;
    if (files[1].revents != 0) [[maybe_unused]]
      const auto ignored = ::read(wake_, &count, sizeof count);
  }
}

void FileStream::begin_moves() {
  auto begun = false;
  while (queue_->room() > 0) {
    const auto action = scheduler_.next();
    if (!action) break;
    carry_out(*action);
    begun = true;
  }
  if (begun) {
    queue_->submit();
    ready_.notify_all();  // what needed no transfer is there
  }
}

void FileStream::carry_out(const StreamAction& action) {
  using What = StreamAction::What;
  auto* const memory = address(action.chunk);
  if (action.what != What::store)
    move_pages(action.evicted ? address(*action.evicted) : pool_ + std::size_t{action.frame} * chunk_, memory);
  auto& moved = (*moved_)[scheduler_.step()];
  if (action.what == What::admit || action.what == What::clear) {
    ++(action.what == What::clear ? moved.cleared : moved.admitted);
    if (action.what == What::clear) std::memset(memory, 0, chunk_);
    scheduler_.done(action);
    return;
  }
  const auto token = next_token_++;
  under_way_.emplace(token, action);
  const auto is_store = action.what == What::store;
  ++(is_store ? moved.stored : moved.fetched);
  (is_store ? statistics_.bytes_out : statistics_.bytes_in) += static_cast<double>(chunk_);
  queue_->start({is_store, reinterpret_cast<std::uint64_t>(memory), offset(action.chunk), chunk_, token});
}

void FileStream::move_pages(std::byte* from, std::byte* to) {
  // The old addresses stay reserved; where the kernel cannot do that (before 5.7), they are mapped again.
  if (mremap(from, chunk_, chunk_, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != MAP_FAILED) return;
  if (errno == EINVAL && mremap(from, chunk_, chunk_, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED) {
    mmap(from, chunk_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return;
  }
  fail("pages cannot be moved", errno);
}

void FileStream::finish(std::uint64_t token, int error) {
  const auto found = under_way_.find(token);
  const auto action = found->second;
  under_way_.erase(found);
  if (error != 0)
    fail(action.what == StreamAction::What::store ? "a write failed" : "a read failed", error);
  else
    scheduler_.done(action);
  ready_.notify_all();
}

void FileStream::fail(const std::string& what, int error) {
  if (failure_.empty())
    failure_ = "datasets in " + file_.folder() + ": " + what + ": " + std::strerror(error) +
               "; what was computed since the last checkpoint is lost";
  ready_.notify_all();
}

template <class Action>
void FileStream::for_parts(DatasetId dataset, std::size_t offset, std::size_t size, Action action) {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] { return scheduler_.under_way() == 0 || !failure_.empty(); });
  while (size > 0) {
    if (!failure_.empty()) throw Error(Code::failed, failure_);
    const ChunkId chunk{dataset, static_cast<std::uint32_t>(offset / chunk_)};
    const auto within = offset % chunk_;
    const auto part = std::min(size, chunk_ - within);
    action(chunk, within, part);
    offset += part;
    size -= part;
  }
}

std::byte* FileStream::in_memory(const ChunkId& chunk) {
  if (scheduler_.frame_of(chunk) != k_no_frame) {
    if (bounced_ == chunk) bounced_.reset();  // it may be changed, and leave
    return address(chunk);
  }
  if (bounced_ == chunk) return bounce_;
  put_back();
  if (scheduler_.is_clear(chunk))
    std::memset(bounce_, 0, chunk_);
  else if (pread(file_.file(), bounce_, chunk_, static_cast<off_t>(offset(chunk))) != static_cast<ssize_t>(chunk_))
    fail("a read failed", errno != 0 ? errno : EIO);
  bounced_ = chunk;
  return bounce_;
}

void FileStream::put_back() {
  if (!bounced_ || !is_bounce_changed_) return;
  if (pwrite(file_.file(), bounce_, chunk_, static_cast<off_t>(offset(*bounced_))) != static_cast<ssize_t>(chunk_))
    fail("a write failed", errno != 0 ? errno : EIO);
  scheduler_.changed(*bounced_);
  is_bounce_changed_ = false;
}

void FileStream::get(DatasetId dataset, std::size_t offset, std::size_t size, std::byte* to) {
  for_parts(dataset, offset, size, [&](const ChunkId& chunk, std::size_t within, std::size_t part) {
    std::memcpy(to, in_memory(chunk) + within, part);
    to += part;
  });
}

void FileStream::set(DatasetId dataset, std::size_t offset, std::size_t size, const std::byte* from) {
  for_parts(dataset, offset, size, [&](const ChunkId& chunk, std::size_t within, std::size_t part) {
    auto* const memory = in_memory(chunk);
    std::memcpy(memory + within, from, part);
    from += part;
    if (memory == bounce_)
      is_bounce_changed_ = true;
    else
      scheduler_.changed(chunk);
  });
}

}  // namespace terrace::stencil
