// SPDX-License-Identifier: Apache-2.0
// Counts MPI calls in fixed tables, and decides whose ranks a communicator's are. See mpi_statistics.hpp.
#include "agent/mpi_monitor/mpi_statistics.hpp"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/system_time.hpp"
#include "core/tick_clock.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

double read_seconds() noexcept { return to_seconds(read_kernel_clock(CLOCK_MONOTONIC)); }

// Returns the slot of a key in a table whose size is a power of two (multiplicative hashing).
std::size_t hash(std::uint64_t key, std::size_t slots) noexcept {
  return (key * 0x9e3779b97f4a7c15) >> (64 - std::bit_width(slots - 1));
}

// --- the library's constants --------------------------------------------------------------------------------

// Constants of an ABI of MPI.
struct Abi {
  std::uint64_t world;     // MPI_COMM_WORLD
  std::int32_t proc_null;  // MPI_PROC_NULL
  std::int32_t congruent;  // MPI_CONGRUENT
  std::size_t handle_size;
};
constexpr Abi k_mpich{0x44000000, -1, 1, 4};
constexpr Abi k_standard{0x101, -3, 202, 8};  // MPI 5.0, appendix A
constexpr Abi k_open_mpi{0, -2, 1, 8};        // handles are addresses

using Compare = int (*)(std::uint64_t one, std::uint64_t other, int* result);
using Query = int (*)(int* flag);

struct Library {
  Abi abi;
  Compare compare;  // null: the library has none
  Query initialized, finalized;
};
struct FoundLibrary {
  Library library;
  std::atomic<bool> is_found;
};
constinit FoundLibrary g_library{};

template <class Function>
Function find(const char* name) noexcept {
  return reinterpret_cast<Function>(terrace_mpi_real ? terrace_mpi_real(name) : nullptr);
}

Abi find_abi(const void* function) noexcept {
  // An executable may have a copy of the object, whose address is then the handle.
  constexpr const char* k_world = "ompi_mpi_comm_world";
  void* world = dlsym(RTLD_DEFAULT, k_world);
  if (!world) world = find<void*>(k_world);
  if (world) {
    auto abi = k_open_mpi;
    abi.world = reinterpret_cast<std::uint64_t>(world);
    return abi;
  }
  Dl_info about;
  const bool is_standard =
      function && dladdr(function, &about) != 0 && about.dli_fname && std::strstr(about.dli_fname, "libmpi_abi");
  return is_standard ? k_standard : k_mpich;
}

[[gnu::noinline, gnu::cold]] const Library& find_library() noexcept {
  Library found{};
  found.compare = find<Compare>("PMPI_Comm_compare");
  found.initialized = find<Query>("PMPI_Initialized");
  found.finalized = find<Query>("PMPI_Finalized");
  found.abi = find_abi(reinterpret_cast<const void*>(found.compare));
  g_library.library = found;  // racing threads store the same values
  g_library.is_found.store(true, std::memory_order_release);
  return g_library.library;
}

const Library& library() noexcept {
  return g_library.is_found.load(std::memory_order_acquire) ? g_library.library : find_library();
}

// --- communicators ------------------------------------------------------------------------------------------

// Caches a communicator for a thread. Valid while no communicator has been freed since.
struct KnownCommunicator {
  std::uint64_t handle = 0;
  std::uint32_t epoch = 0;  // g_epoch when it was compared
  bool has_ranks_of_world = false;
};
constinit std::atomic<std::uint32_t> g_epoch{1};  // number of freed communicators, from 1: handles are used again

struct ThreadState {
  std::uint64_t begun = 0;                   // ticks; 0: the begin of the call was not seen
  std::array<KnownCommunicator, 8> known{};  // direct-mapped by handle
};
constinit thread_local ThreadState t_state __attribute__((tls_model(TERRACE_THREAD_MODEL)));

// MPI_COMM_WORLD exists between MPI_Init and MPI_Finalize only, and not in a program that uses sessions alone.
bool compare_with_world(const Library& in, std::uint64_t communicator) noexcept {
  int is_initialized = 0;
  int is_finalized = 1;
  if (!in.compare || !in.initialized || !in.finalized) return false;
  if (in.initialized(&is_initialized) != 0 || is_initialized == 0) return false;
  if (in.finalized(&is_finalized) != 0 || is_finalized != 0) return false;
  int result = -1;
  return in.compare(communicator, in.abi.world, &result) == 0 && result == in.abi.congruent;
}

bool has_ranks_of_world(const Library& in, std::uint64_t communicator) noexcept {
  if (communicator == in.abi.world) return true;
  auto& known = t_state.known[hash(communicator, t_state.known.size())];
  const auto epoch = g_epoch.load(std::memory_order_relaxed);
  if (known.handle != communicator || known.epoch != epoch)
    known = {communicator, epoch, compare_with_world(in, communicator)};
  return known.has_ranks_of_world;
}

// --- functions ----------------------------------------------------------------------------------------------

enum class Role : std::uint8_t {
  k_unknown,
  k_moves,  // moves what its arguments describe, if anything
  k_init,   // initialises a persistent or partitioned operation
  k_start,  // starts one
  k_start_all,
  k_frees,  // frees a communicator
};
constinit std::array<std::atomic<Role>, MpiStatistics::k_max_functions> g_roles{};

[[gnu::noinline, gnu::cold]] Role find_role(std::size_t function) noexcept {
  const char* const text = terrace_mpi_function_name ? terrace_mpi_function_name(function) : nullptr;
  const std::string_view name = text ? text : "";
  auto role = Role::k_moves;
  if (name.ends_with("_init") || name.ends_with("_init_c")) role = Role::k_init;
  if (name == "Start") role = Role::k_start;
  if (name == "Startall") role = Role::k_start_all;
  if (name == "Comm_free" || name == "Comm_disconnect") role = Role::k_frees;
  g_roles[function].store(role, std::memory_order_relaxed);  // racing threads store the same value
  return role;
}

Role role_of(std::size_t function) noexcept {
  const auto role = g_roles[function].load(std::memory_order_relaxed);
  return role == Role::k_unknown ? find_role(function) : role;
}

// Returns whether the call succeeded and its arguments describe an operation. A Fortran procedure returns nothing.
bool describe(const MpiCall& call, MpiStatistics::Operation& operation) noexcept {
  if (call.language == MpiLanguage::k_c && static_cast<std::int32_t>(call.result) != 0) return false;
  MpiTransfer transfer;
  if (!terrace_mpi_describe_transfer || !terrace_mpi_describe_transfer(&call, &transfer)) return false;
  const auto& in = library();
  // Transfers with tags are point-to-point; those of collectives and windows have ranks, too.
  const bool is_send = transfer.sends != 0 && transfer.send_tag != k_no_mpi_tag;
  const bool is_receive = transfer.receives != 0 && transfer.receive_tag != k_no_mpi_tag;
  if (!is_receive || transfer.source != in.abi.proc_null) operation.received = transfer.bytes_received;
  if (is_send && transfer.destination == in.abi.proc_null) return true;
  operation.sent = transfer.bytes_sent;
  operation.is_message = is_send;
  if (is_send && has_ranks_of_world(in, transfer.handle)) operation.peer = transfer.destination;
  return true;
}

// Returns the key of a request at an index of an array of handles.
std::uint64_t request_key(const MpiCall& call, std::uint64_t array, std::size_t index) noexcept {
  constexpr std::uint64_t k_c_handle = std::uint64_t{1} << 63;
  constexpr std::uint64_t k_fortran_handle = std::uint64_t{3} << 62;
  const bool is_c = call.language == MpiLanguage::k_c;
  const std::size_t size = is_c ? library().abi.handle_size : sizeof(std::int32_t);
  std::uint64_t handle = 0;  // both architectures are little-endian
  std::memcpy(&handle, reinterpret_cast<const char*>(array) + index * size, size);  // NOLINT
  return handle | (is_c ? k_c_handle : k_fortran_handle);
}

}  // namespace

void MpiStatistics::on_begin(std::uint64_t ticks) noexcept {
  if (first_ticks_.load(std::memory_order_relaxed) == 0) [[unlikely]] {
    first_time_.store(read_seconds(), std::memory_order_relaxed);  // racing threads store nearly the same values
    first_ticks_.store(read_ticks(), std::memory_order_relaxed);
  }
  t_state.begun = ticks;
}

void MpiStatistics::on_end(const MpiCall& call, std::uint64_t ticks) noexcept {
  const auto begun = std::exchange(t_state.begun, 0);
  if (call.function >= k_max_functions) return;
  const auto role = role_of(call.function);
  if (role == Role::k_frees) g_epoch.fetch_add(1, std::memory_order_relaxed);
  Operation operation;
  const bool is_described = (role == Role::k_moves || role == Role::k_init) && describe(call, operation);
  const std::lock_guard lock(lock_);
  auto& use = functions_[call.function];
  ++use.calls;
  if (begun != 0) use.ticks += ticks - begun;
  if (role == Role::k_start || role == Role::k_start_all) return add_started(use, call);
  if (!is_described) return;
  if (role == Role::k_moves) return add(use, operation);
  // The request is the last argument.
  const auto key = request_key(call, mpi_argument(call, terrace_mpi_num_arguments(call.function) - 1), 0);
  auto* const request = find_request(key);
  if (!request) return;
  if (request->key == 0) ++num_requests_;
  *request = {key, operation};
}

void MpiStatistics::add(FunctionUse& use, const Operation& operation) noexcept {
  use.sent += operation.sent;
  use.received += operation.received;
  if (!operation.is_message) return;
  auto& messages = find_messages(operation.peer, operation.sent);
  ++messages.number;
  messages.bytes += operation.sent;
}

void MpiStatistics::add_started(FunctionUse& use, const MpiCall& call) noexcept {
  const bool is_all = role_of(call.function) == Role::k_start_all;
  auto count = is_all ? mpi_argument(call, 0) : 1;
  if (is_all && call.language != MpiLanguage::k_c)
    std::memcpy(&count, reinterpret_cast<const void*>(count), sizeof(std::int32_t));  // NOLINT
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) {
    const auto* const request =
        find_request(request_key(call, mpi_argument(call, is_all ? 1 : 0), static_cast<std::size_t>(i)));
    if (request && request->key != 0) add(use, request->operation);
  }
}

MpiStatistics::Request* MpiStatistics::find_request(std::uint64_t key) noexcept {
  for (auto slot = hash(key, k_request_slots);; slot = (slot + 1) % k_request_slots) {
    auto& request = requests_[slot];
    if (request.key == key) return &request;
    if (request.key == 0) return num_requests_ == k_max_requests ? nullptr : &request;
  }
}

MpiStatistics::Messages& MpiStatistics::find_messages(std::int32_t peer, std::uint64_t bytes) noexcept {
  const auto size_class = static_cast<std::uint64_t>(std::bit_width(bytes));
  if (peer < 0) return other_messages_[size_class];
  const auto key = ((static_cast<std::uint64_t>(peer) + 1) << 8) | size_class;
  for (auto slot = hash(key, k_message_slots);; slot = (slot + 1) % k_message_slots) {
    auto& messages = messages_[slot];
    if (messages.key == key) return messages;
    if (messages.key != 0) continue;
    if (num_messages_ == k_max_messages) return other_messages_[size_class];
    ++num_messages_;
    messages.key = key;
    return messages;
  }
}

profile::MpiRecord MpiStatistics::record() const {
  profile::MpiRecord record;
  const auto ticks = read_ticks() - first_ticks_.load(std::memory_order_relaxed);
  const auto seconds = read_seconds() - first_time_.load(std::memory_order_relaxed);
  const double tick = ticks == 0 ? 0 : seconds / static_cast<double>(ticks);
  // Copies one row at a time, because the lock must not be held while memory is allocated.
  for (std::size_t function = 0; function < k_max_functions; ++function) {
    lock_.lock();
    const auto use = functions_[function];
    lock_.unlock();
    if (use.calls == 0) continue;
    const char* const name = terrace_mpi_function_name ? terrace_mpi_function_name(function) : nullptr;
    record.functions.push_back(
        {name ? name : "?", use.calls, Seconds{static_cast<double>(use.ticks) * tick}, use.sent, use.received});
  }
  const auto add = [&](const Messages& in_table, std::int32_t peer, std::uint64_t size_class) {
    lock_.lock();
    const auto messages = in_table;
    lock_.unlock();
    if (messages.number != 0)
      record.messages.push_back({peer, static_cast<std::uint8_t>(size_class), messages.number, messages.bytes});
  };
  for (std::uint64_t size_class = 0; size_class < other_messages_.size(); ++size_class)
    add(other_messages_[size_class], profile::MpiMessages::k_other, size_class);
  for (const auto& messages : messages_)
    add(messages, static_cast<std::int32_t>(messages.key >> 8) - 1, messages.key & 0xff);
  std::ranges::sort(record.messages, {}, [](const auto& one) { return std::tuple(one.peer, one.size_class); });
  return record;
}

MpiStatistics& mpi_statistics() noexcept {
  static constinit MpiStatistics statistics;
  return statistics;
}

}  // namespace terrace::agent
