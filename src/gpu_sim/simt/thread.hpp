// SPDX-License-Identifier: Apache-2.0
// Declares one thread of a kernel, as the kernels of workloads/gpu see it: indices, global and shared memory,
// loops, barriers.
//
//   device.launch({"saxpy", blocks, 256}, [&](Thread& t) {
//     const auto i = t.index();
//     if (i < n) t.store(y, i, fma(a, t.load(x, i), t.load(y, i)));
//   });
//
// Loops with accesses in them must use `range` or `loop`, so that lanes which leave them in different iterations
// reconverge (lane_log.hpp). A kernel with barriers is a coroutine that returns ThreadRun:
//
//   [&](Thread& t) -> ThreadRun { ...; co_await t.barrier(); ... }
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu_sim/simt/value.hpp"

namespace terrace::gpu_sim {

// Global memory that the host allocated. A non-owning handle: copies refer to the same memory.
template <Plain T>
class Array {
 public:
  Array(std::span<T> elements, std::uint64_t address) : elements_(elements), address_(address) {}
  // Returns the elements for the host; not logged.
  [[nodiscard]] std::span<T> host() const { return elements_; }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  [[nodiscard]] std::uint64_t address(std::size_t i) const { return address_ + i * sizeof(T); }

 private:
  std::span<T> elements_;
  std::uint64_t address_;
};

// Execution of a thread with barriers.
class ThreadRun {
 public:
  struct promise_type {
    ThreadRun get_return_object() { return ThreadRun(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }
    std::exception_ptr failure;
  };
  ThreadRun(ThreadRun&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ThreadRun& operator=(ThreadRun&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~ThreadRun() {
    if (handle_) handle_.destroy();
  }
  // Runs to the next barrier, or to the end. Returns whether the thread is at a barrier.
  bool resume() {
    handle_.resume();
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
    return !handle_.done();
  }
  [[nodiscard]] bool done() const { return handle_.done(); }

 private:
  explicit ThreadRun(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// A loop that lanes may leave in different iterations: `for (auto loop = t.loop(); loop.iterate(test);) { ... }`.
class Loop {
 public:
  Loop(LaneLog& log, std::uint32_t place) : log_(log) { log_.position().enter(place); }
  ~Loop() { log_.position().leave(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  [[nodiscard]] bool iterate(bool test) {
    log_.position().next_iteration();
    return test;
  }

 private:
  LaneLog& log_;
};

// Iterates begin, begin + step, ..., below end. Costs an addition, a test and a branch per iteration.
template <std::integral T>
class Range {
 public:
  class Iterator {
   public:
    Iterator(LaneLog* log, T at, T step) : log_(log), at_(at), step_(step) {}
    Value<T> operator*() const { return {at_, log_}; }
    Iterator& operator++() {
      at_ += step_;
      log_->count(1);
      log_->position().next_iteration();
      return *this;
    }
    bool operator!=(T end) const {
      log_->count(k_comparison);
      return at_ < end;
    }

   private:
    LaneLog* log_;
    T at_;
    T step_;
  };
  Range(LaneLog& log, T begin, T end, T step, std::uint32_t place)
      : loop_(log, place), log_(log), begin_(begin), end_(end), step_(step) {}
  [[nodiscard]] Iterator begin() const { return {&log_, begin_, step_}; }
  [[nodiscard]] T end() const { return end_; }

 private:
  Loop loop_;
  LaneLog& log_;
  T begin_;
  T end_;
  T step_;
};

class Thread {
 public:
  using Where = std::source_location;

  [[nodiscard]] Value<std::int32_t> block() const { return own(block_); }
  [[nodiscard]] Value<std::int32_t> thread() const { return own(thread_); }
  [[nodiscard]] std::int32_t threads() const { return threads_; }  // of a CTA
  // Returns the thread's number over all CTAs; costs a multiply-add.
  [[nodiscard]] Value<std::int32_t> index() {
    log_->count(1);
    return own(block_ * threads_ + thread_);
  }
  // Returns a value that every thread can compute with, such as a loop's first index.
  template <Plain T>
  [[nodiscard]] Value<T> own(T number) const {
    return {number, log_};
  }

  // Loads element i; costs the address's multiply-add and the load itself.
  template <Plain T, class Index>
  [[nodiscard]] Value<std::remove_const_t<T>> load(const Array<T>& array, const Index& i,
                                                   Where where = Where::current()) {
    const auto at = place(array, i);
    const auto load = log_->access(StepKind::load, array.address(at), sizeof(T), place_of(where));
    return {array.host()[at], log_, load};
  }
  template <Plain T, class Index, class V>
  void store(const Array<T>& array, const Index& i, const V& value, Where where = Where::current()) {
    const auto at = place(array, i);
    array.host()[at] = static_cast<T>(detail::needed(value));
    log_->access(StepKind::store, array.address(at), sizeof(T), place_of(where));
  }
  // Adds `value`, and returns the old value.
  template <Plain T, class Index, class V>
  Value<T> atomic_add(const Array<T>& array, const Index& i, const V& value, Where where = Where::current()) {
    const auto at = place(array, i);
    auto& element = array.host()[at];
    const auto old = element;
    element = static_cast<T>(old + static_cast<T>(detail::needed(value)));
    return {old, log_, log_->access(StepKind::atomic, array.address(at), sizeof(T), place_of(where))};
  }

  // Accesses to shared memory (see Shared): one instruction each; bank conflicts are not modelled.
  template <Plain T, class Index>
  [[nodiscard]] Value<T> read(std::span<T> shared, const Index& i) {
    log_->count(1);
    return own(shared[checked(detail::needed(i), shared.size())]);
  }
  template <Plain T, class Index, class V>
  void write(std::span<T> shared, const Index& i, const V& value) {
    log_->count(1);
    shared[checked(detail::needed(i), shared.size())] = static_cast<T>(detail::needed(value));
  }

  [[nodiscard]] Loop loop(Where where = Where::current()) { return {*log_, place_of(where)}; }
  // Marks accesses as those of a function called here, during the lifetime of the result.
  [[nodiscard]] Loop call(Where where = Where::current()) { return {*log_, place_of(where)}; }
  template <class Begin, class End>
  [[nodiscard]] auto range(const Begin& begin, const End& end, Where where = Where::current()) {
    const auto first = detail::needed(begin);
    using T = std::remove_const_t<decltype(first)>;
    return Range<T>(*log_, first, static_cast<T>(detail::needed(end)), T{1}, place_of(where));
  }
  template <class Begin, class End, std::integral T>
  [[nodiscard]] auto range(const Begin& begin, const End& end, T step, Where where = Where::current()) {
    return Range<T>(*log_, static_cast<T>(detail::needed(begin)), static_cast<T>(detail::needed(end)), step,
                    place_of(where));
  }
  // Waits until all threads of the CTA are here: co_await it.
  [[nodiscard]] std::suspend_always barrier() const { return {}; }

  // Begins the thread; called by Device.
  void start(LaneLog& log, std::int32_t block, std::int32_t thread, std::int32_t threads) {
    log_ = &log;
    block_ = block;
    thread_ = thread;
    threads_ = threads;
    log.restart();
  }

 private:
  template <class I>
  static std::size_t checked(I i, std::size_t size) {
    if (std::cmp_less(i, 0) || std::cmp_greater_equal(i, size))
      throw Error(Code::invalid, "element " + std::to_string(i) + " of an array of " + std::to_string(size) +
                                     " elements is used: check the index");
    return static_cast<std::size_t>(i);
  }
  template <Plain T, class Index>
  std::size_t place(const Array<T>& array, const Index& i) {
    log_->count(1);
    return checked(detail::needed(i), array.size());
  }

  LaneLog* log_ = nullptr;
  std::int32_t block_ = 0;
  std::int32_t thread_ = 0;
  std::int32_t threads_ = 0;
};

}  // namespace terrace::gpu_sim
