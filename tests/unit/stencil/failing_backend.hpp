// A backend of memory over memory in which one transfer fails.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host_backend.hpp"

namespace terrace::stencil::test {

// The transfer that fails, counted from 0, and its error text.
struct Failure {
  enum class Kind { fetches, stores };
  Kind of = Kind::fetches;
  std::size_t number = 0;
  std::string text{};
};

class FailingBackend final : public TieredBackend {
 public:
  FailingBackend(std::size_t memory, std::size_t chunk, Failure failure)
      : backend_(memory, chunk), failure_(std::move(failure)) {}

  [[nodiscard]] std::string name() const override { return backend_.name(); }
  [[nodiscard]] std::size_t chunk() const override { return backend_.chunk(); }
  [[nodiscard]] std::size_t frames() const override { return backend_.frames(); }
  std::byte* add_dataset(const std::string& name, const std::vector<bool>& is_kept) override {
    return backend_.add_dataset(name, is_kept);
  }
  void remove_dataset(DatasetId dataset) override { backend_.remove_dataset(dataset); }
  void move_frame(FrameId frame, const std::optional<ChunkId>& from, const ChunkId& to) override {
    backend_.move_frame(frame, from, to);
  }
  [[nodiscard]] std::size_t num_free_transfers() const override { return backend_.num_free_transfers(); }
  [[nodiscard]] bool clear(const ChunkId& chunk, std::uint64_t ticket) override {
    return backend_.clear(chunk, ticket);
  }
  void fetch(const ChunkId& chunk, std::uint64_t ticket) override {
    count(Failure::Kind::fetches, ticket);
    backend_.fetch(chunk, ticket);
  }
  void store(const ChunkId& chunk, std::uint64_t ticket) override {
    count(Failure::Kind::stores, ticket);
    backend_.store(chunk, ticket);
  }
  [[nodiscard]] bool next(Completion& completion) override {
    if (!backend_.next(completion)) return false;
    if (failing_.contains(completion.ticket)) completion.error = failure_.text;
    return true;
  }
  [[nodiscard]] int completion_fd() const override { return backend_.completion_fd(); }
  void read(const Part& part, std::byte* to) override { backend_.read(part, to); }
  void write(const Part& part, const std::byte* from) override { backend_.write(part, from); }

 private:
  void count(Failure::Kind of, std::uint64_t ticket) {
    if (of == failure_.of && failure_.number-- == 0) failing_.insert(ticket);
  }
  HostBackend backend_;
  Failure failure_;
  std::set<std::uint64_t> failing_;
};

class FailingVariant final : public ExecutorVariant {
 public:
  explicit FailingVariant(Failure failure) : failure_(std::move(failure)) {}
  [[nodiscard]] std::string_view name() const override { return "streamed over memory that fails"; }
  [[nodiscard]] std::unique_ptr<Executor> make(const Options& options, Statistics& statistics) const override {
    const auto chunk = chunk_size(options.memory, 1 << 20, 4096);
    return make_streamed(options, std::make_unique<FailingBackend>(options.memory, chunk, failure_), statistics);
  }

 private:
  Failure failure_;
};

}  // namespace terrace::stencil::test
