// SPDX-License-Identifier: Apache-2.0
// Implements a listener of the MPI layer for tests. At exit it writes to the folder TERRACE_MPI_COUNTS:
//   counted.PID   NAME BEGUN ENDED BYTES_SENT BYTES_RECEIVED, for each function
//   messages.PID  sent|received SOURCE DESTINATION TAG BYTES COUNT, for point-to-point messages with a named peer
// Bytes and messages only if TERRACE_MPI_DESCRIBE is set.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "agent/mpi/call_events.hpp"

namespace {

using namespace terrace::agent;

struct Counts {
  std::atomic<long> begun, ended, bytes_sent, bytes_received;
};
constinit std::array<Counts, 1024> g_counts{};

// Messages by whether they are sent, source, destination, tag and bytes.
using Message = std::tuple<bool, int, int, int, std::uint64_t>;
std::mutex g_mutex;
std::map<Message, long>& messages() {
  static auto& kept = *new std::map<Message, long>;  // never destroyed: write_counts() runs at exit
  return kept;
}

void count_messages(const MpiTransfer& transfer) {
  static const auto comm_rank =
      reinterpret_cast<int (*)(std::uint64_t, int*)>(terrace_mpi_real("PMPI_Comm_rank"));  // takes the C handle
  int rank = -1;
  if (transfer.handle_kind != MpiHandle::k_communicator || comm_rank(transfer.handle, &rank) != 0) return;
  const std::lock_guard lock(g_mutex);
  if (transfer.sends && transfer.send_tag >= 0)
    ++messages()[{true, rank, transfer.destination, transfer.send_tag, transfer.bytes_sent}];
  if (transfer.receives && transfer.receive_tag >= 0 && transfer.source >= 0)
    ++messages()[{false, transfer.source, rank, transfer.receive_tag, transfer.bytes_received}];
}

void on_begin(const MpiCall* call) {
  auto& counts = g_counts.at(call->function);
  ++counts.begun;
  MpiTransfer transfer;
  if (!std::getenv("TERRACE_MPI_DESCRIBE") || !terrace_mpi_describe_transfer(call, &transfer)) return;
  counts.bytes_sent += static_cast<long>(transfer.bytes_sent);
  counts.bytes_received += static_cast<long>(transfer.bytes_received);
  count_messages(transfer);
}

void on_end(const MpiCall* call) { ++g_counts.at(call->function).ended; }

constexpr MpiListener k_listener{&on_begin, &on_end};

std::FILE* open_file(const char* name) {
  const std::string folder = std::getenv("TERRACE_MPI_COUNTS");
  return std::fopen((folder + "/" + name + "." + std::to_string(getpid())).c_str(), "w");
}

[[gnu::destructor]] void write_counts() {
  if (!std::getenv("TERRACE_MPI_COUNTS") || !terrace_mpi_function_name) return;
  std::FILE* file = nullptr;
  for (std::size_t i = 0; i < g_counts.size(); ++i) {
    const auto& counts = g_counts[i];
    if (counts.begun == 0) continue;
    if (!file && !(file = open_file("counted"))) return;
    std::fprintf(file, "%s %ld %ld %ld %ld\n", terrace_mpi_function_name(i), counts.begun.load(),
                 counts.ended.load(), counts.bytes_sent.load(), counts.bytes_received.load());
  }
  if (!file) return;
  std::fclose(file);
  if (!(file = open_file("messages"))) return;
  for (const auto& [message, count] : messages()) {
    const auto& [is_sent, source, destination, tag, bytes] = message;
    std::fprintf(file, "%s %d %d %d %llu %ld\n", is_sent ? "sent" : "received", source, destination, tag,
                 static_cast<unsigned long long>(bytes), count);
  }
  std::fclose(file);
}

}  // namespace

const MpiListener* terrace::agent::terrace_mpi_listener() noexcept { return &k_listener; }
