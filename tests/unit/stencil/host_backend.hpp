// Backend of memory over memory: frames are pages that are remapped, the slow memory is memory, too, and a
// thread copies between them in a random order. So streams are tested on any machine.
#pragma once

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "stencil/stream/addresses.hpp"
#include "stencil/stream/streamed_data.hpp"

namespace terrace::stencil::test {

class HostBackend final : public TieredBackend {
 public:
  static constexpr std::size_t k_max_copies = 5;

  // Each copy takes at least `delay`.
  HostBackend(std::size_t memory, std::size_t chunk, std::chrono::microseconds delay = {})
      : chunk_(chunk),
        frames_(memory / chunk),
        delay_(delay),
        pool_(reserve_addresses(frames_ * chunk, "frames")),
        file_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { copy_all(); }) {}
  ~HostBackend() override {
    {
      const std::scoped_lock lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
    for (const auto& dataset : datasets_) munmap(dataset.first, dataset.slow.size());
    munmap(pool_, frames_ * chunk_);
    close(file_);
  }

  [[nodiscard]] std::string name() const override { return "datasets in memory"; }
  [[nodiscard]] std::size_t chunk() const override { return chunk_; }
  [[nodiscard]] std::size_t frames() const override { return frames_; }
  std::byte* add_dataset(const std::string& name, const std::vector<bool>& is_kept) override {
    // Values that were never stored are garbage.
    const auto size = is_kept.size() * chunk_;
    datasets_.push_back({reserve_addresses(size, name), std::vector<std::byte>(size, std::byte{0x5b})});
    return datasets_.back().first;
  }
  void remove_dataset(DatasetId dataset) override {
    std::memset(datasets_[dataset].slow.data(), 0xa4, datasets_[dataset].slow.size());
  }
  void move_frame(FrameId frame, const std::optional<ChunkId>& from, const ChunkId& to) override {
    if (!move_pages(from ? fast(*from) : pool_ + frame * chunk_, fast(to), chunk_))
      throw Error(Code::failed, "pages cannot be moved");
  }
  [[nodiscard]] std::size_t num_free_transfers() const override { return k_max_copies - under_way_; }
  [[nodiscard]] bool clear(const ChunkId& chunk, std::uint64_t ticket) override {
    begin({chunk, ticket, Copy::What::clear});
    return false;
  }
  void fetch(const ChunkId& chunk, std::uint64_t ticket) override { begin({chunk, ticket, Copy::What::fetch}); }
  void store(const ChunkId& chunk, std::uint64_t ticket) override { begin({chunk, ticket, Copy::What::store}); }
  [[nodiscard]] bool next(Completion& completion) override {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto ignored = ::read(file_, &count, sizeof count);
    const std::scoped_lock lock(mutex_);
    if (ended_.empty()) return false;
    completion = {ended_.back(), {}};
    ended_.pop_back();
    --under_way_;
    return true;
  }
  [[nodiscard]] int completion_fd() const override { return file_; }
  void read(const Part& part, std::byte* to) override {
    if (!part.is_fast && part.is_clear)
      std::memset(to, 0, part.size);
    else
      std::memcpy(to, (part.is_fast ? fast(part.chunk) : slow(part.chunk)) + part.within, part.size);
  }
  void write(const Part& part, const std::byte* from) override {
    if (!part.is_fast && part.is_clear) std::memset(slow(part.chunk), 0, chunk_);
    std::memcpy((part.is_fast ? fast(part.chunk) : slow(part.chunk)) + part.within, from, part.size);
  }

 private:
  struct Dataset {
    std::byte* first;
    std::vector<std::byte> slow;
  };
  struct Copy {
    enum class What { clear, fetch, store };
    ChunkId chunk;
    std::uint64_t ticket;
    What what;
  };
  [[nodiscard]] std::byte* fast(const ChunkId& chunk) {
    return datasets_[chunk.dataset].first + chunk.number * chunk_;
  }
  [[nodiscard]] std::byte* slow(const ChunkId& chunk) {
    return datasets_[chunk.dataset].slow.data() + chunk.number * chunk_;
  }
  void begin(const Copy& copy) {
    ++under_way_;
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back({copy, fast(copy.chunk), slow(copy.chunk)});
    }
    changed_.notify_all();
  }
  void copy_all() {
    std::mt19937 random;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return is_over_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::swap(waiting_[random() % waiting_.size()], waiting_.back());
      const auto [copy, fast, slow] = waiting_.back();
      waiting_.pop_back();
      lock.unlock();
      if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
      if (copy.what == Copy::What::clear)
        std::memset(fast, 0, chunk_);
      else
        std::memcpy(copy.what == Copy::What::fetch ? fast : slow, copy.what == Copy::What::fetch ? slow : fast,
                    chunk_);
      lock.lock();
      ended_.push_back(copy.ticket);
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto ignored = ::write(file_, &one, sizeof one);
    }
  }

  struct Waiting {
    Copy copy;
    std::byte* fast;
    std::byte* slow;
  };
  std::size_t chunk_;
  std::size_t frames_;
  std::chrono::microseconds delay_;
  std::byte* pool_;
  std::vector<Dataset> datasets_;
  std::size_t under_way_ = 0;
  int file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting> waiting_;
  std::vector<std::uint64_t> ended_;
  bool is_over_ = false;
  std::thread thread_;
};

// Creates the executor `streamed` over this backend.
class HostVariant final : public ExecutorVariant {
 public:
  static constexpr std::string_view k_name = "streamed over memory";
  [[nodiscard]] std::string_view name() const override { return k_name; }
  [[nodiscard]] std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const override {
    return make_streamed(options,
                         std::make_unique<HostBackend>(options.memory, chunk_size(options.memory, 1 << 20, 4096)),
                         statistics);
  }
};

}  // namespace terrace::stencil::test
