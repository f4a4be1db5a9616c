// SPDX-License-Identifier: Apache-2.0
// Bandwidth and latency of several pairs of ranks at once, by message size: rank i of the first half and rank i of
// the second are a pair. One rank alone is a pair with itself.
//
// Bandwidth is that of windows of 16 messages, by Isend, Irecv and Waitall, each answered by a short message;
// latency is half of a blocking round trip. Contents are checked before the timed messages and after them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/random.hpp"
#include "common/verdict.hpp"
#include "mpi/common/arguments.hpp"
#include "mpi/common/environment.hpp"

namespace pairs {

constexpr int k_window = 16;                                 // messages
constexpr int k_max_bytes[] = {64 << 10, 1 << 20, 4 << 20};  // by class
constexpr int k_first_tag = 1;                               // of a window; 0 is the tag of all other messages

/// The seconds of a message size, the longest of all ranks; on rank 0.
struct Times {
  double windows;
  double round_trips;
};

/// One of the ranks of a pair, and its buffers.
class Peer {
 public:
  Peer(int rank, int ranks, int max_bytes) : rank_(rank) {
    const int half = ranks / 2;
    sends_ = ranks == 1 || rank < half;
    receives_ = ranks == 1 || rank >= half;
    partner_ = ranks == 1 ? rank : (rank + half) % ranks;
    sent_.resize(static_cast<std::size_t>(k_window) * static_cast<std::size_t>(max_bytes));
    received_.resize(sent_.size());
  }

  /// Returns the times of `iterations` windows and as many round trips. Counts bytes that are wrong.
  Times measure(int bytes, std::uint64_t iterations) {
    prepare(bytes, 0);
    window(bytes);
    check(bytes, 0, k_window);
    prepare(bytes, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = workloads::seconds();
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) window(bytes);
    const double windows = workloads::seconds() - begin;
    check(bytes, 1, k_window);

    prepare(bytes, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = workloads::seconds();
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) round_trip(bytes);
    const double round_trips = workloads::seconds() - begin;
    check(bytes, 2, 1);
    return {workloads::max_of_ranks(windows), workloads::max_of_ranks(round_trips)};
  }

  bool is_right() const { return num_wrong_ == 0; }

 private:
  /// Returns the byte at `index` of what `sender` sends in a series of messages of a size.
  static unsigned char byte_at(int sender, int bytes, int series, std::size_t index) {
    const std::uint64_t seed =
        (static_cast<std::uint64_t>(sender) << 40) + (static_cast<std::uint64_t>(bytes) << 8);
    return static_cast<unsigned char>(workloads::random_at(seed + static_cast<std::uint64_t>(series), index));
  }

  /// Fills what is sent, the window's messages one after the other, and clears what is received.
  void prepare(int bytes, int series) {
    const std::size_t end = static_cast<std::size_t>(k_window) * static_cast<std::size_t>(bytes);
    for (std::size_t i = 0; i < end; ++i) sent_[i] = byte_at(rank_, bytes, series, i);
    std::fill_n(received_.begin(), end, static_cast<unsigned char>(0));
  }

  /// Compares the messages that were received. In windows only receivers have any.
  void check(int bytes, int series, int messages) {
    if (messages == k_window && !receives_) return;
    const std::size_t end = static_cast<std::size_t>(messages) * static_cast<std::size_t>(bytes);
    for (std::size_t i = 0; i < end; ++i)
      num_wrong_ += received_[i] != byte_at(partner_, bytes, series, i) ? 1 : 0;
  }

  void window(int bytes) {
    std::array<MPI_Request, 2 * k_window> requests;
    int count = 0;
    for (int message = 0; receives_ && message < k_window; ++message)
      MPI_Irecv(message_in(received_, message, bytes), bytes, MPI_BYTE, partner_, k_first_tag + message,
                MPI_COMM_WORLD, &requests[static_cast<std::size_t>(count++)]);
    for (int message = 0; sends_ && message < k_window; ++message)
      MPI_Isend(message_in(sent_, message, bytes), bytes, MPI_BYTE, partner_, k_first_tag + message,
                MPI_COMM_WORLD, &requests[static_cast<std::size_t>(count++)]);
    MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    if (partner_ == rank_) return;
    int answer = 0;
    if (receives_) MPI_Send(&answer, 1, MPI_INT, partner_, 0, MPI_COMM_WORLD);
    if (sends_) MPI_Recv(&answer, 1, MPI_INT, partner_, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  void round_trip(int bytes) {
    if (partner_ == rank_) {
      MPI_Sendrecv(sent_.data(), bytes, MPI_BYTE, rank_, 0, received_.data(), bytes, MPI_BYTE, rank_, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return;
    }
    if (sends_) MPI_Send(sent_.data(), bytes, MPI_BYTE, partner_, 0, MPI_COMM_WORLD);
    MPI_Recv(received_.data(), bytes, MPI_BYTE, partner_, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!sends_) MPI_Send(sent_.data(), bytes, MPI_BYTE, partner_, 0, MPI_COMM_WORLD);
  }

  static unsigned char* message_in(std::vector<unsigned char>& buffer, int message, int bytes) {
    return buffer.data() + static_cast<std::size_t>(message) * static_cast<std::size_t>(bytes);
  }

  int rank_;
  int partner_;
  bool sends_, receives_;  // windows
  std::vector<unsigned char> sent_, received_;
  std::uint64_t num_wrong_ = 0;
};

int run(const workloads::MpiEnvironment& mpi, int max_bytes, std::uint64_t iterations) {
  Peer peer(mpi.rank(), mpi.size(), max_bytes);
  const int pairs = std::max(1, mpi.size() / 2);
  const double messages = static_cast<double>(iterations) * k_window * pairs;
  // A round trip with itself is one message.
  const double messages_of_a_trip = mpi.size() == 1 ? 1.0 : 2.0;
  if (mpi.prints()) std::printf("%10s %12s %12s %12s\n", "bytes", "MB/s", "messages/s", "latency, us");
  for (int bytes = 1; bytes <= max_bytes; bytes *= 4) {
    const Times times = peer.measure(bytes, iterations);
    if (mpi.prints())
      std::printf("%10d %12.2f %12.0f %12.2f\n", bytes, messages * bytes / times.windows * 1e-6,
                  messages / times.windows,
                  times.round_trips / (messages_of_a_trip * static_cast<double>(iterations)) * 1e6);
  }
  const bool is_right = workloads::is_true_on_all(peer.is_right());
  if (!mpi.prints()) return 0;
  std::printf("Pairs %d, iterations %llu of each size\n", pairs, static_cast<unsigned long long>(iterations));
  return workloads::verdict(is_right);
}

}  // namespace pairs

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const auto arguments =
      workloads::parse_mpi_arguments(argc, argv, mpi, "pairs", "Bandwidth and latency of pairs of MPI ranks", 20);
  if (mpi.size() > 1 && mpi.size() % 2 != 0)
    mpi.fail("pairs", std::to_string(mpi.size()) + " ranks: an even number, or 1, is required");
  return mpi.exit_status(pairs::run(mpi, pairs::k_max_bytes[arguments.number_of_class], arguments.iterations));
}
