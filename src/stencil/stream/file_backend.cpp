// SPDX-License-Identifier: Apache-2.0
// Implements the backend of the executor `streamed`: frames in main memory, chunks in a backing file, and
// transfers by io_uring or by threads. Called by Stream; see file_backend.hpp.
#include "stencil/stream/file_backend.hpp"

#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/size_signal.hpp"
#include "core/units.hpp"
#include "stencil/data/free_memory.hpp"
#include "stencil/stream/addresses.hpp"

namespace terrace::stencil {
namespace {

constexpr std::size_t k_disk_threads = 4;  // used without io_uring

std::unique_ptr<transfer::DiskQueue> make_queue(int file) {
  if (auto ring = transfer::make_ring_queue(file)) return ring;
  return transfer::make_thread_queue(file, k_disk_threads);
}

// Returns the number of frames that the memory holds. Throws Error{no_memory} if so much is not free.
std::size_t frames_of(std::size_t memory, std::size_t chunk) {
  need_memory("memory=" + format(Bytes{memory}), memory / chunk * chunk, "make memory=SIZE smaller");
  return memory / chunk;
}

// Formats "in folder=/data, which has 12GiB free" if the disk is full, else the folder only.
std::string room_in(const transfer::SpillFile& file, int error) {
  const auto text = "in folder=" + file.folder();
  struct statvfs about {};
  if ((error != ENOSPC && error != EDQUOT) || fstatvfs(file.fd(), &about) != 0) return text;
  return text + ", which has " + format(Bytes{std::uint64_t{about.f_bavail} * about.f_frsize}) + " free";
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Code::failed, what + ": " + std::strerror(errno != 0 ? errno : EIO));
}

}  // namespace

FileBackend::FileBackend(const std::string& folder, std::size_t memory, std::size_t chunk)
    : chunk_(chunk), frames_(frames_of(memory, chunk)), file_(file_in(folder)), queue_(make_queue(file_.fd())) {
  pool_ = reserve_addresses(frames_ * chunk_, "memory=" + format(Bytes{memory}));
  bounce_ = reserve_addresses(chunk_, "a chunk");
  std::memset(pool_, 0, frames_ * chunk_);  // commits the memory
}

FileBackend::~FileBackend() {
  for (const auto& dataset : datasets_) munmap(dataset.first, dataset.size);
  munmap(pool_, frames_ * chunk_);
  munmap(bounce_, chunk_);
}

std::byte* FileBackend::add_dataset(const std::string& name, const std::vector<bool>& is_kept) {
  const auto size = is_kept.size() * chunk_;
  const Dataset dataset{reserve_addresses(size, "the dataset '" + name + "'"), size, file_end_};
  // Reserve disk space now: at an eviction it would be too late to fail.
  int error = 0;
  for (std::size_t begin = 0, end = 0; begin < is_kept.size() && error == 0; begin = end + 1) {
    for (end = begin; end < is_kept.size() && is_kept[end];) ++end;
    if (end > begin) error = file_.reserve(file_end_ + begin * chunk_, (end - begin) * chunk_);
  }
  if (error != 0 && error != EOPNOTSUPP) {
    munmap(dataset.first, size);
    throw Error(Code::failed, "no space for the dataset '" + name + "', " + format(Bytes{size}) + ", " +
                                  room_in(file_, error) + ": " + std::strerror(error) +
                                  ": set folder=PATH to another disk, or choose a smaller problem");
  }
  file_end_ += size;
  datasets_.push_back(dataset);
  return dataset.first;
}

void FileBackend::remove_dataset(DatasetId dataset) {
  if (bounced_ && bounced_->dataset == dataset) {
    bounced_.reset();
    is_bounce_changed_ = false;
  }
  file_.release(datasets_[dataset].offset, datasets_[dataset].size);
}

void FileBackend::move_frame(FrameId frame, const std::optional<ChunkId>& from, const ChunkId& to) {
  if (!move_pages(from ? address(*from) : pool_ + std::size_t{frame} * chunk_, address(to), chunk_))
    refuse("pages cannot be moved");
}

bool FileBackend::clear(const ChunkId& chunk, std::uint64_t /*ticket*/) {
  std::memset(address(chunk), 0, chunk_);
  return true;
}

void FileBackend::fetch(const ChunkId& chunk, std::uint64_t ticket) {
  queue_->start({false, reinterpret_cast<std::uint64_t>(address(chunk)), offset(chunk), chunk_, ticket});
}

void FileBackend::store(const ChunkId& chunk, std::uint64_t ticket) {
  queue_->start({true, reinterpret_cast<std::uint64_t>(address(chunk)), offset(chunk), chunk_, ticket});
}

bool FileBackend::next(Completion& completion) {
  transfer::DiskCompletion ended;
  if (!queue_->next_completion(ended)) return false;
  completion.ticket = ended.token;
  completion.error = ended.error != 0 ? std::strerror(ended.error) : "";
  return true;
}

std::byte* FileBackend::in_memory(const Part& part) {
  if (part.is_fast) return address(part.chunk);
  if (bounced_ == part.chunk) return bounce_;
  flush();
  errno = 0;
  if (part.is_clear)
    std::memset(bounce_, 0, chunk_);
  else if (pread(file_.fd(), bounce_, chunk_, static_cast<off_t>(offset(part.chunk))) !=
           static_cast<ssize_t>(chunk_))
    refuse("a read failed");
  if (!part.is_clear) transferred_.in += static_cast<double>(chunk_);
  bounced_ = part.chunk;
  return bounce_;
}

void FileBackend::flush() {
  const auto kept = bounced_;
  bounced_.reset();
  if (!kept || !is_bounce_changed_) return;
  is_bounce_changed_ = false;
  const ScopedSigxfszBlock without;
  errno = 0;
  if (pwrite(file_.fd(), bounce_, chunk_, static_cast<off_t>(offset(*kept))) != static_cast<ssize_t>(chunk_))
    refuse("a write failed");
  transferred_.out += static_cast<double>(chunk_);
}

void FileBackend::read(const Part& part, std::byte* to) {
  std::memcpy(to, in_memory(part) + part.within, part.size);
}

void FileBackend::write(const Part& part, const std::byte* from) {
  auto* const memory = in_memory(part);
  std::memcpy(memory + part.within, from, part.size);
  if (memory == bounce_) is_bounce_changed_ = true;
}

}  // namespace terrace::stencil
