// SPDX-License-Identifier: Apache-2.0
// Implements the thread that starts and finishes the transfers of out-of-core execution, and the waits of the
// threads that run tiles. Called by StreamedData, the base of the executors `streamed` and `gpu`.
#include "stencil/stream/stream.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace terrace::stencil {

Stream::Stream(std::unique_ptr<TieredBackend> backend, Statistics& statistics)
    : backend_(std::move(backend)),
      chunk_(backend_->chunk()),
      frames_(backend_->frames()),
      statistics_(statistics),
      scheduler_(frames_, std::min(k_max_moves, backend_->num_free_transfers())),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0)
    throw Error(Code::failed, std::string("out-of-core execution: eventfd(2) failed: ") + std::strerror(errno));
  thread_ = std::thread([this] { body(); });
}

Stream::~Stream() {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
  }
  wake();
  thread_.join();
  close(wake_);
}

std::byte* Stream::add_dataset(const std::string& name, const std::vector<bool>& is_kept) {
  const std::scoped_lock lock(mutex_);
  auto* const first = backend_->add_dataset(name, is_kept);
  scheduler_.add_dataset(is_kept);
  return first;
}

void Stream::remove_dataset(DatasetId dataset) {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] { return scheduler_.under_way() == 0 || !failure_.empty(); });
  scheduler_.remove_dataset(dataset);
  backend_->remove_dataset(dataset);
}

void Stream::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(wake_, &one, sizeof one);
}

void Stream::begin(std::shared_ptr<const StreamPlan> plan, std::shared_ptr<const StreamPlan> ahead,
                   std::shared_ptr<StreamMoves> moved) {
  {
    const std::scoped_lock lock(mutex_);
    throw_failure();
    try {
      backend_->flush();
    } catch (const Error& error) {
      fail(error.what());
    }
    add_to_statistics();
    throw_failure();
    moved_ = std::move(moved);
    scheduler_.begin(std::move(plan), std::move(ahead));
    is_held_ = is_cancelled_ = false;
  }
  wake();
}

bool Stream::is_ready(std::size_t step) {
  const std::scoped_lock lock(mutex_);
  return scheduler_.is_ready(step);
}

bool Stream::wait_for(std::size_t step) {
  std::unique_lock lock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  ready_.wait(lock, [&] { return scheduler_.is_ready(step) || is_cancelled_ || !failure_.empty(); });
  statistics_.waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  throw_failure();
  return !is_cancelled_;
}

void Stream::cancel() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    is_cancelled_ = true;
  }
  ready_.notify_all();
}

void Stream::end_step(std::size_t step) {
  {
    const std::scoped_lock lock(mutex_);
    scheduler_.end_step(step);
  }
  wake();
}

// Runs on the stream's thread: finishes transfers and starts new ones until the destructor ends it.
void Stream::body() noexcept {
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      try {
        TieredBackend::Completion completion;
        while (backend_->next(completion)) finish(completion);
        if (is_over_ && under_way_.empty()) return;
        if (!is_over_ && !is_held_ && failure_.empty()) begin_moves();
      } catch (const std::exception& error) {
        fail(error.what());
      }
    }
    pollfd files[] = {{backend_->completion_fd(), POLLIN, 0}, {wake_, POLLIN, 0}};
    poll(files, 2, -1);
    std::uint64_t count = 0;
    if (files[1].revents != 0) [[maybe_unused]]
      const auto ignored = ::read(wake_, &count, sizeof count);
  }
}

void Stream::begin_moves() {
  auto begun = false;
  while (backend_->num_free_transfers() > 0) {
    const auto action = scheduler_.next();
    if (!action) break;
    execute(*action);
    begun = true;
  }
  if (begun) {
    backend_->submit();
    ready_.notify_all();  // some chunks needed no transfer
  }
}

// Starts one transfer on the backend, or completes it at once if nothing is copied.
void Stream::execute(const StreamAction& action) {
  using What = StreamAction::What;
  if (action.what != What::store) backend_->move_frame(action.frame, action.evicted, action.chunk);
  auto& moved = (*moved_)[scheduler_.step()];
  const auto ticket = next_ticket_++;
  if (action.what == What::admit) ++moved.admitted;
  if (action.what == What::clear) ++moved.cleared;
  if (action.what == What::admit || (action.what == What::clear && backend_->clear(action.chunk, ticket))) {
    scheduler_.done(action);
    return;
  }
  if (action.what == What::fetch) {
    backend_->fetch(action.chunk, ticket);
    ++moved.fetched;
    fetched_ += static_cast<double>(chunk_);
  } else if (action.what == What::store) {
    backend_->store(action.chunk, ticket);
    ++moved.stored;
    stored_ += static_cast<double>(chunk_);
  }
  under_way_.emplace(ticket, action);  // only this thread takes completions
}

void Stream::finish(const TieredBackend::Completion& completion) {
  const auto found = under_way_.find(completion.ticket);
  const auto action = found->second;
  under_way_.erase(found);
  if (!completion.error.empty())
    fail((action.what == StreamAction::What::store ? "a write failed: " : "a read failed: ") + completion.error);
  else
    scheduler_.done(action);
  ready_.notify_all();
}

void Stream::fail(const std::string& what) {
  if (failure_.empty())
    failure_ = backend_->name() + ": " + what +
               "; what was computed since the last checkpoint is lost: begin again from it";
  ready_.notify_all();
}

void Stream::throw_failure() const {
  if (!failure_.empty()) throw Error(Code::failed, failure_);
}

template <class Action>
void Stream::for_parts(DatasetId dataset, std::size_t offset, std::size_t size, Action action) {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] { return scheduler_.under_way() == 0 || !failure_.empty(); });
  is_held_ = true;
  while (size > 0) {
    throw_failure();
    const ChunkId chunk{dataset, static_cast<std::uint32_t>(offset / chunk_)};
    const auto within = offset % chunk_;
    const auto part = std::min(size, chunk_ - within);
    try {
      action(TieredBackend::Part{chunk, within, part, scheduler_.frame_of(chunk) != k_no_frame,
                                 scheduler_.is_clear(chunk)});
    } catch (const Error& error) {
      fail(error.what());
    }
    offset += part;
    size -= part;
  }
  add_to_statistics();
  throw_failure();
}

void Stream::update_statistics() {
  const std::scoped_lock lock(mutex_);
  add_to_statistics();
}

void Stream::add_to_statistics() {
  statistics_.bytes_in += std::exchange(fetched_, 0);
  statistics_.bytes_out += std::exchange(stored_, 0);
  const auto& copied = backend_->transferred();
  statistics_.copied_in += copied.in - counted_.in;
  statistics_.copied_out += copied.out - counted_.out;
  counted_ = copied;
}

void Stream::get(DatasetId dataset, std::size_t offset, std::size_t size, std::byte* to) {
  for_parts(dataset, offset, size, [&](const TieredBackend::Part& part) {
    backend_->read(part, to);
    to += part.size;
  });
}

void Stream::set(DatasetId dataset, std::size_t offset, std::size_t size, const std::byte* from) {
  for_parts(dataset, offset, size, [&](const TieredBackend::Part& part) {
    backend_->write(part, from);
    scheduler_.changed(part.chunk);
    from += part.size;
  });
}

}  // namespace terrace::stencil
