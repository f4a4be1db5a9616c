// SPDX-License-Identifier: Apache-2.0
// Tests the counting of MPI calls with an MPI layer of five functions. The expected sums follow from the calls.
#include "agent/mpi_monitor/mpi_statistics.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/tick_clock.hpp"

namespace terrace::agent {

namespace {

enum Function : std::uint16_t {
  k_send,
  k_receive,
  k_send_init,
  k_comm_free,
  k_barrier,
  k_gather,
  k_start,
  k_start_all
};
constexpr const char* k_names[] = {"Send",    "Recv",   "Send_init", "Comm_free",
                                   "Barrier", "Gather", "Start",     "Startall"};

// Handles and constants of MPICH.
constexpr std::uint64_t k_world = 0x44000000;
constexpr std::uint64_t k_copy_of_world = 0x84000001;
constexpr std::uint64_t k_half_of_world = 0x84000002;
constexpr std::int32_t k_proc_null = -1;
constexpr std::int32_t k_congruent = 1;
constexpr std::int32_t k_unequal = 3;
std::uint64_t g_congruent = k_copy_of_world;

int compare(std::uint64_t one, std::uint64_t other, int* result) {
  EXPECT_EQ(other, k_world);
  *result = one == g_congruent ? k_congruent : k_unequal;
  return 0;
}
int set_true(int* flag) {
  *flag = 1;
  return 0;
}
int set_false(int* flag) {
  *flag = 0;
  return 0;
}

// The arguments of a call, as the layer of this test has them.
struct Arguments {
  std::uint64_t bytes = 0;
  std::int32_t peer = 0;
  std::uint64_t communicator = k_world;
  const std::uint32_t* request = nullptr;  // of Send_init, which fits a handle of MPICH
};

MpiCall call_of(Function function, const Arguments& arguments) {
  MpiCall call{};
  call.function = function;
  call.registers = reinterpret_cast<const std::uint64_t*>(&arguments);
  return call;
}

void make_call(MpiStatistics& to, Function function, const Arguments& arguments = {}, std::int64_t result = 0) {
  auto call = call_of(function, arguments);
  to.on_begin(read_ticks());
  call.result = result;
  to.on_end(call, read_ticks());
}

using Messages = std::map<std::pair<int, int>, std::pair<std::uint64_t, std::uint64_t>>;

Messages messages_of(const MpiStatistics& statistics) {
  Messages messages;
  for (const auto& one : statistics.record().messages)
    messages[{one.peer, one.size_class}] = {one.messages, one.bytes};
  return messages;
}

}  // namespace

const char* terrace_mpi_function_name(std::size_t index) noexcept {
  return index < std::size(k_names) ? k_names[index] : nullptr;
}

std::size_t terrace_mpi_num_arguments(std::size_t index) noexcept {
  return index == k_send_init ? offsetof(Arguments, request) / sizeof(std::uint64_t) + 1 : 0;
}

bool terrace_mpi_describe_transfer(const MpiCall* call, MpiTransfer* transfer) noexcept {
  if (call->function == k_comm_free || call->function == k_barrier || call->function >= k_start) return false;
  const auto& arguments = *reinterpret_cast<const Arguments*>(call->registers);
  *transfer = {};
  transfer->handle = arguments.communicator;
  transfer->destination = transfer->source = transfer->send_tag = transfer->receive_tag = k_no_mpi_rank;
  if (call->function == k_receive) {
    transfer->receives = 1;
    transfer->bytes_received = arguments.bytes;
    transfer->source = arguments.peer;
    transfer->receive_tag = 0;
  } else {
    transfer->sends = 1;
    transfer->bytes_sent = arguments.bytes;
    transfer->destination = arguments.peer;
    if (call->function != k_gather) transfer->send_tag = 0;
  }
  return true;
}

void* terrace_mpi_real(const char* name) noexcept {
  if (std::strcmp(name, "PMPI_Comm_compare") == 0) return reinterpret_cast<void*>(&compare);
  if (std::strcmp(name, "PMPI_Initialized") == 0) return reinterpret_cast<void*>(&set_true);
  if (std::strcmp(name, "PMPI_Finalized") == 0) return reinterpret_cast<void*>(&set_false);
  return nullptr;
}

namespace {

struct MpiStatisticsTest : testing::Test {
  std::unique_ptr<MpiStatistics> statistics = std::make_unique<MpiStatistics>();
};

TEST_F(MpiStatisticsTest, NoCall_RecordIsEmpty) {
  EXPECT_TRUE(statistics->record().functions.empty());
  EXPECT_TRUE(statistics->record().messages.empty());
}

TEST_F(MpiStatisticsTest, Calls_AreSummedByFunction) {
  for (std::uint64_t i = 1; i <= 10; ++i) make_call(*statistics, k_send, {i});
  make_call(*statistics, k_receive, {100, 1});
  make_call(*statistics, k_barrier);
  make_call(*statistics, k_gather, {7, 3});
  const auto functions = statistics->record().functions;
  ASSERT_EQ(functions.size(), 4u);
  EXPECT_EQ(functions[0].name, "Send");
  EXPECT_EQ(functions[0].calls, 10u);
  EXPECT_EQ(functions[0].sent, 55u);
  EXPECT_EQ(functions[0].received, 0u);
  EXPECT_EQ(functions[1].name, "Recv");
  EXPECT_EQ(functions[1].received, 100u);
  EXPECT_EQ(functions[2].name, "Barrier");
  EXPECT_EQ(functions[2].calls, 1u);
  EXPECT_EQ(functions[3].name, "Gather");
  EXPECT_EQ(functions[3].sent, 7u);
}

// The time of a call is at most that of the caller's clock around it.
TEST_F(MpiStatisticsTest, Time_IsThatBetweenBeginAndEnd) {
  const auto begun = std::chrono::steady_clock::now();
  statistics->on_begin(read_ticks());
  double work = 1;
  for (int i = 0; i < 1'000'000; ++i) work = work * 1.0000001 + 1e-9;
  statistics->on_end(call_of(k_barrier, {}), read_ticks());
  const std::chrono::duration<double> around = std::chrono::steady_clock::now() - begun;
  statistics->on_end(call_of(k_send, {}), read_ticks());  // its begin was not seen
  EXPECT_GT(work, 1);
  const auto functions = statistics->record().functions;
  EXPECT_EQ(functions[0].time.value, 0);
  EXPECT_GT(functions[1].time.value, 0);
  EXPECT_LE(functions[1].time.value, 1.001 * around.count());
}

TEST_F(MpiStatisticsTest, Messages_AreCountedByPeerAndPowerOfTwo) {
  for (const std::uint64_t bytes : {0, 1, 4, 7, 8}) make_call(*statistics, k_send, {bytes, 2});
  make_call(*statistics, k_send, {1ULL << 40, 0});
  make_call(*statistics, k_receive, {4, 2});
  make_call(*statistics, k_gather, {4, 2});
  const Messages expected{
      {{0, 41}, {1, 1ULL << 40}}, {{2, 0}, {1, 0}}, {{2, 1}, {1, 1}}, {{2, 3}, {2, 11}}, {{2, 4}, {1, 8}}};
  EXPECT_EQ(messages_of(*statistics), expected);
}

TEST_F(MpiStatisticsTest, OtherCommunicators_HavePeersIfTheirRanksAreThoseOfTheWorld) {
  make_call(*statistics, k_send, {4, 1, k_copy_of_world});
  make_call(*statistics, k_send, {4, 1, k_half_of_world});
  const Messages expected{{{-1, 3}, {1, 4}}, {{1, 3}, {1, 4}}};
  EXPECT_EQ(messages_of(*statistics), expected);
}

// MPI gives the handle of a freed communicator to a new one.
TEST_F(MpiStatisticsTest, FreedCommunicator_IsComparedAnew) {
  make_call(*statistics, k_send, {4, 1, k_copy_of_world});
  g_congruent = 0;
  make_call(*statistics, k_send, {4, 1, k_copy_of_world});
  make_call(*statistics, k_comm_free);
  make_call(*statistics, k_send, {4, 1, k_copy_of_world});
  g_congruent = k_copy_of_world;
  const Messages expected{{{-1, 3}, {1, 4}}, {{1, 3}, {2, 8}}};
  EXPECT_EQ(messages_of(*statistics), expected);
}

TEST_F(MpiStatisticsTest, NothingMoved_CallAloneIsCounted) {
  make_call(*statistics, k_send, {4, k_proc_null});
  make_call(*statistics, k_receive, {4, k_proc_null});
  const std::uint32_t request = 7;
  make_call(*statistics, k_send_init, {4, 1, k_world, &request});
  make_call(*statistics, k_send, {4, 1}, 6);  // failed
  const auto record = statistics->record();
  ASSERT_EQ(record.functions.size(), 3u);
  EXPECT_EQ(record.functions[0].calls, 2u);
  for (const auto& one : record.functions) EXPECT_EQ(one.sent + one.received, 0u) << one.name;
  EXPECT_TRUE(record.messages.empty());
}

// Calls MPI_Start or MPI_Startall.
void start(MpiStatistics& to, Function function, std::vector<std::uint64_t> arguments) {
  MpiCall call{};
  call.function = function;
  call.registers = arguments.data();
  to.on_begin(read_ticks());
  to.on_end(call, read_ticks());
}

TEST_F(MpiStatisticsTest, PersistentOperations_EachStartMovesWhatItsInitDescribed) {
  const std::uint32_t requests[] = {7, 8, 9};  // nothing is known of the last one
  make_call(*statistics, k_send_init, {4, 1, k_world, &requests[0]});
  make_call(*statistics, k_send_init, {100, 2, k_world, &requests[1]});
  const auto address = reinterpret_cast<std::uint64_t>(requests);
  start(*statistics, k_start, {address});
  start(*statistics, k_start_all, {3, address});
  make_call(*statistics, k_send_init, {16, 1, k_world, &requests[0]});  // the handle is used again
  start(*statistics, k_start, {address});
  const auto functions = statistics->record().functions;
  ASSERT_EQ(functions.size(), 3u);
  EXPECT_EQ(functions[0].sent, 0u);
  EXPECT_EQ(functions[1].name, "Start");
  EXPECT_EQ(functions[1].sent, 4u + 16);
  EXPECT_EQ(functions[2].sent, 4u + 100);
  const Messages expected{{{1, 3}, {2, 8}}, {{1, 5}, {1, 16}}, {{2, 7}, {1, 100}}};
  EXPECT_EQ(messages_of(*statistics), expected);
}

TEST_F(MpiStatisticsTest, MoreRequestsThanSlots_TheirStartsMoveNothing) {
  constexpr auto k_requests = static_cast<std::uint32_t>(MpiStatistics::k_max_requests) + 10;
  for (std::uint32_t request = 0; request < k_requests; ++request) {
    make_call(*statistics, k_send_init, {4, 1, k_world, &request});
    start(*statistics, k_start, {reinterpret_cast<std::uint64_t>(&request)});
  }
  const Messages expected{{{1, 3}, {MpiStatistics::k_max_requests, 4 * MpiStatistics::k_max_requests}}};
  EXPECT_EQ(messages_of(*statistics), expected);
}

TEST_F(MpiStatisticsTest, SeveralThreads_NoCallIsLost) {
  constexpr std::uint64_t k_calls = 20'000;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int peer = 0; peer < 4; ++peer)
    threads.emplace_back([&, peer] {
      for (std::uint64_t i = 0; i < k_calls; ++i) make_call(*statistics, k_send, {i % 2, peer});
    });
  for (auto& thread : threads) thread.join();
  const auto functions = statistics->record().functions;
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].calls, 4 * k_calls);
  EXPECT_EQ(functions[0].sent, 2 * k_calls);
  Messages expected;
  for (int peer = 0; peer < 4; ++peer) {
    expected[{peer, 0}] = {k_calls / 2, 0};
    expected[{peer, 1}] = {k_calls / 2, k_calls / 2};
  }
  EXPECT_EQ(messages_of(*statistics), expected);
}

TEST_F(MpiStatisticsTest, MorePeersThanSlots_RestIsCountedTogether) {
  constexpr auto k_peers = static_cast<int>(MpiStatistics::k_max_messages) + 100;
  for (int round = 0; round < 2; ++round)
    for (int peer = 0; peer < k_peers; ++peer) make_call(*statistics, k_send, {4, peer});
  auto messages = messages_of(*statistics);
  EXPECT_EQ(messages.size(), MpiStatistics::k_max_messages + 1);
  EXPECT_EQ((messages[{-1, 3}]), (std::pair<std::uint64_t, std::uint64_t>{200, 800}));
  messages.erase({-1, 3});
  for (const auto& [key, value] : messages) ASSERT_EQ(value, (std::pair<std::uint64_t, std::uint64_t>{2, 8}));
}

}  // namespace

}  // namespace terrace::agent
