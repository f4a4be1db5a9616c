// SPDX-License-Identifier: Apache-2.0
// Implements a listener of the MPI layer for tests: counts begun and ended calls and described bytes by function,
// and writes them at exit to `counted.PID` in the folder TERRACE_MPI_COUNTS: NAME BEGUN ENDED BYTES_SENT
// BYTES_RECEIVED.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "agent/mpi/call_events.hpp"

namespace {

using namespace terrace::agent;

struct Counts {
  std::atomic<long> begun, ended, bytes_sent, bytes_received;
};
constinit std::array<Counts, 1024> g_counts{};

void on_begin(const MpiCall* call) {
  auto& counts = g_counts.at(call->function);
  ++counts.begun;
  MpiTransfer transfer;
  if (!std::getenv("TERRACE_MPI_DESCRIBE") || !terrace_mpi_describe_transfer(call, &transfer)) return;
  counts.bytes_sent += static_cast<long>(transfer.bytes_sent);
  counts.bytes_received += static_cast<long>(transfer.bytes_received);
}

void on_end(const MpiCall* call) { ++g_counts.at(call->function).ended; }

constexpr MpiListener k_listener{&on_begin, &on_end};

[[gnu::destructor]] void write_counts() {
  const char* const folder = std::getenv("TERRACE_MPI_COUNTS");
  if (!folder || !terrace_mpi_function_name) return;
  char path[4096];
  std::snprintf(path, sizeof path, "%s/counted.%d", folder, static_cast<int>(getpid()));
  std::FILE* file = nullptr;
  for (std::size_t i = 0; i < g_counts.size(); ++i) {
    const auto& counts = g_counts[i];
    if (counts.begun == 0) continue;
    if (!file && !(file = std::fopen(path, "w"))) return;
    std::fprintf(file, "%s %ld %ld %ld %ld\n", terrace_mpi_function_name(i), counts.begun.load(),
                 counts.ended.load(), counts.bytes_sent.load(), counts.bytes_received.load());
  }
  if (file) std::fclose(file);
}

}  // namespace

const MpiListener* terrace::agent::terrace_mpi_listener() noexcept { return &k_listener; }
