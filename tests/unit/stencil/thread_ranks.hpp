// Implements Ranks by threads of one process with mailboxes.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "terrace/stencil/ranks.hpp"

namespace terrace::stencil::test {

class Mail {
 public:
  void put(std::size_t from, std::size_t to, std::vector<std::byte> bytes) {
    const std::scoped_lock lock(mutex_);
    boxes_[{from, to}].push_back(std::move(bytes));
    changed_.notify_all();
  }
  // Throws if a rank has failed.
  std::vector<std::byte> take(std::size_t from, std::size_t to) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{from, to}];
    changed_.wait(lock, [&] { return !box.empty() || error_; });
    if (box.empty()) throw std::runtime_error("another rank has failed");
    auto bytes = std::move(box.front());
    box.pop_front();
    return bytes;
  }
  void fail(const std::exception_ptr& error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = error;
    changed_.notify_all();
  }
  // Throws the first failed rank's exception, or an error if messages are left.
  void check() {
    if (error_) std::rethrow_exception(error_);
    for (const auto& [ends, box] : boxes_)
      if (!box.empty()) throw std::runtime_error("a message was not received");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::size_t, std::size_t>, std::deque<std::vector<std::byte>>> boxes_;
  std::exception_ptr error_;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(Mail& mail, std::size_t rank, std::size_t size) : mail_(mail), rank_(rank), size_(size) {}
  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return size_; }
  void exchange(std::span<const Message> sent, std::span<Message> received) override {
    for (const auto& message : sent) mail_.put(rank_, message.rank, message.bytes);
    for (auto& message : received) {
      auto bytes = mail_.take(message.rank, rank_);
      if (bytes.size() != message.bytes.size()) throw std::runtime_error("a message has another length");
      message.bytes = std::move(bytes);
    }
  }
  void gather(std::span<const std::byte> own, std::span<const std::size_t> sizes,
              std::span<std::byte> all) override {
    for (std::size_t to = 0; to < size_; ++to) mail_.put(rank_, to, {own.begin(), own.end()});
    std::size_t at = 0;
    for (std::size_t from = 0; from < size_; at += sizes[from++]) {
      const auto bytes = mail_.take(from, rank_);
      if (bytes.size() != sizes[from]) throw std::runtime_error("a part has another length");
      if (!bytes.empty()) std::memcpy(&all[at], bytes.data(), bytes.size());
    }
  }

 private:
  Mail& mail_;
  std::size_t rank_;
  std::size_t size_;
};

// Runs the action on `count` ranks, one thread each; throws the exception of any.
inline void run_ranks(std::size_t size, const std::function<void(std::unique_ptr<Ranks>)>& work) {
  Mail mail;
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&mail, &work, rank, size] {
      try {
        work(std::make_unique<ThreadRanks>(mail, rank, size));
      } catch (...) {
        mail.fail(std::current_exception());
      }
    });
  for (auto& thread : threads) thread.join();
  mail.check();
}

}  // namespace terrace::stencil::test
