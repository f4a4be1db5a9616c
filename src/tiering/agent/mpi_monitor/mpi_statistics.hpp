// SPDX-License-Identifier: Apache-2.0
// Counts the program's MPI calls by function, and the point-to-point messages that it sends by receiver and size,
// for the profile (profile::MpiRecord).
//
// All threads count in the same fixed tables, of which only the used pages exist, under one spin lock: a call
// changes up to six counters, and one atomic exchange is cheaper than six atomic additions. MPI libraries
// serialise the calls of threads by a lock that is held longer.
//
// Limits: A message's receiver is known if the communicator is MPI_COMM_WORLD or has the same ranks in the same
// order. Other messages, and those beyond the table's capacity, have the peer MpiMessages::k_other. Bytes are
// those that terrace_mpi_describe_transfer() knows: a receive has the capacity of its buffer. A start of a
// persistent or partitioned operation moves what its initialisation describes. Calls that do not return are not
// counted.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/mpi/call_events.hpp"
#include "observe/objects/spin_lock.hpp"
#include "profile/records.hpp"

namespace terrace::agent {

class MpiStatistics {
 public:
  static constexpr std::size_t k_max_functions = 1024;
  static constexpr std::size_t k_message_slots = 8192;  // a power of two
  static constexpr std::size_t k_max_messages = k_message_slots / 4 * 3;
  static constexpr std::size_t k_request_slots = 4096;  // a power of two
  static constexpr std::size_t k_max_requests = k_request_slots / 4 * 3;

  // Bytes that one operation moves.
  struct Operation {
    std::uint64_t sent = 0, received = 0;
    std::int32_t peer = profile::MpiMessages::k_other;
    bool is_message = false;  // point-to-point, and sends
  };

  constexpr MpiStatistics() = default;
  MpiStatistics(const MpiStatistics&) = delete;
  MpiStatistics& operator=(const MpiStatistics&) = delete;

  // Notes when the calling thread's outermost call began (read_ticks()).
  void on_begin(std::uint64_t ticks) noexcept;
  // Counts the call, which has returned. Thread-safe; does not allocate.
  void on_end(const MpiCall& call, std::uint64_t ticks) noexcept;
  // Returns the sums so far. Thread-safe.
  [[nodiscard]] profile::MpiRecord record() const;

 private:
  struct FunctionUse {
    std::uint64_t calls = 0, ticks = 0, sent = 0, received = 0;
  };
  struct Messages {
    std::uint64_t key = 0;  // of receiver and size class; 0: the slot is free
    std::uint64_t number = 0, bytes = 0;
  };

  // A persistent operation. Stays when its request is freed: MPI libraries use handles again.
  struct Request {
    std::uint64_t key = 0;  // of the handle; 0: the slot is free
    Operation operation;
  };

  // Require: lock_.
  [[nodiscard]] Messages& find_messages(std::int32_t peer, std::uint64_t bytes) noexcept;
  [[nodiscard]] Request* find_request(std::uint64_t key) noexcept;  // or a free slot; null: the table is full
  void add(FunctionUse& use, const Operation& operation) noexcept;
  void add_started(FunctionUse& use, const MpiCall& call) noexcept;

  mutable observe::SpinLock lock_;  // guards the tables
  std::array<FunctionUse, k_max_functions> functions_{};
  std::array<Messages, k_message_slots> messages_{};  // open addressing with linear probing
  std::array<Messages, 65> other_messages_{};         // by size class
  std::size_t num_messages_ = 0;                      // slots in use
  std::array<Request, k_request_slots> requests_{};   // open addressing with linear probing
  std::size_t num_requests_ = 0;                      // slots in use
  std::atomic<std::uint64_t> first_ticks_{0};         // at the first call
  std::atomic<double> first_time_{0};                 // at the first call, seconds
};

// Returns the process's statistics.
MpiStatistics& mpi_statistics() noexcept;

}  // namespace terrace::agent
