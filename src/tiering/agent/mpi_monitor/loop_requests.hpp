// SPDX-License-Identifier: Apache-2.0
// Asks the launcher for the loops around call sites (runtime/session/loop_request.hpp) and caches its answers. The
// MPI monitor uses it. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/mpi/mpi_calls.hpp"

namespace terrace::agent {

struct Process;

class LoopRequests {
 public:
  // Addresses in this process, as in observe::CodeLoop.
  struct Loop {
    runtime::LoopHead head = 0;
    std::uint64_t back = 0;
    std::uint64_t iteration = 0;  // 0: none
    bool is_counted_by_call = false;
  };

  LoopRequests(Process& process, std::string directory) : process_(process), directory_(std::move(directory)) {}

  // Queues a return address, unless its loops are known or requested.
  void add(std::uint64_t address);
  // Sends the queued addresses, and reads the answers that have arrived. Returns true if loops have become known.
  bool exchange();
  // Returns the loops around the call that returns to the address, outermost first; null: not known yet.
  [[nodiscard]] const std::vector<Loop>* find(std::uint64_t address) const;
  // Returns whether an address that was added is in an interpreter's loop over the program's instructions
  // (CPython).
  [[nodiscard]] bool is_interpreter(std::uint64_t address) const { return interpreters_.contains(address); }

 private:
  struct Request {
    std::uint32_t number = 0;
    std::vector<std::uint64_t> addresses;
    std::vector<std::uint64_t> biases;  // by address: of its file in this process
  };

  void send();
  bool receive(const Request& request);
  [[nodiscard]] std::string path(std::uint32_t number, std::string_view suffix) const;

  Process& process_;
  std::string directory_;
  std::uint32_t num_requests_ = 0;
  std::vector<std::uint64_t> queued_;
  std::vector<Request> sent_;
  std::unordered_set<std::uint64_t> interpreters_;
  std::unordered_set<std::uint64_t> seen_;  // addresses that were queued at some time
  std::unordered_map<std::uint64_t, std::vector<Loop>> known_;
};

}  // namespace terrace::agent
