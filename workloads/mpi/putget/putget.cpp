// SPDX-License-Identifier: Apache-2.0
// One-sided communication on any number of ranks: put and get between neighbours on a ring, in a window of
// MPI_Win_allocate, synchronised by fences (active target) and by locks (passive target).
//
// An iteration is a put and a get of the whole window by each. Every word that arrives is compared with what its
// origin wrote, which differs from iteration to iteration.
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

namespace putget {

constexpr int k_words[] = {1 << 10, 1 << 15, 1 << 19};  // of a rank's window, by class
constexpr std::array<const char*, 4> k_kinds = {"put, fence", "get, fence", "put, lock", "get, lock"};

/// This rank's window, and what it puts and gets.
class Window {
 public:
  Window(int rank, int ranks, int words)
      : rank_(rank),
        before_((rank + ranks - 1) % ranks),
        after_((rank + 1) % ranks),
        words_(words),
        buffer_(static_cast<std::size_t>(words)) {
    const MPI_Aint bytes = static_cast<MPI_Aint>(words) * static_cast<MPI_Aint>(sizeof(std::uint64_t));
    MPI_Win_allocate(bytes, sizeof(std::uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() { MPI_Win_free(&window_); }

  void iterate(std::uint64_t iteration) {
    // The neighbour's words arrive in the window.
    fill(buffer_.data(), 4 * iteration);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window_);
    timed(0, [&] {
      put();
      MPI_Win_fence(MPI_MODE_NOSUCCEED, window_);
    });
    check(memory_, 4 * iteration);

    // The neighbour's window arrives in the buffer.
    fill(memory_, 4 * iteration + 1);
    MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOPUT, window_);
    timed(1, [&] {
      get();
      MPI_Win_fence(MPI_MODE_NOSUCCEED, window_);
    });
    check(buffer_.data(), 4 * iteration + 1);

    // Passive targets take no part: a barrier separates writes from reads, and a rank locks its own window, too.
    fill(buffer_.data(), 4 * iteration + 2);
    MPI_Barrier(MPI_COMM_WORLD);
    timed(2, [&] { locked(MPI_LOCK_EXCLUSIVE, after_, [&] { put(); }); });
    MPI_Barrier(MPI_COMM_WORLD);
    locked(MPI_LOCK_EXCLUSIVE, rank_, [&] {
      check(memory_, 4 * iteration + 2);
      fill(memory_, 4 * iteration + 3);
    });
    MPI_Barrier(MPI_COMM_WORLD);
    timed(3, [&] { locked(MPI_LOCK_SHARED, before_, [&] { get(); }); });
    check(buffer_.data(), 4 * iteration + 3);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  bool is_right() const { return num_wrong_ == 0; }
  double seconds(std::size_t kind) const { return seconds_[kind]; }

 private:
  std::uint64_t word(int origin, std::uint64_t series, int index) const {
    const std::uint64_t seed = (static_cast<std::uint64_t>(origin) << 40) + series;
    return workloads::random_at(workloads::mix(seed), static_cast<std::uint64_t>(index));
  }

  void fill(std::uint64_t* words, std::uint64_t series) const {
    for (int i = 0; i < words_; ++i) words[i] = word(rank_, series, i);
  }

  /// Compares words with those of the rank before this one.
  void check(const std::uint64_t* words, std::uint64_t series) {
    for (int i = 0; i < words_; ++i) num_wrong_ += words[i] != word(before_, series, i) ? 1 : 0;
  }

  void put() { MPI_Put(buffer_.data(), words_, MPI_UINT64_T, after_, 0, words_, MPI_UINT64_T, window_); }
  void get() { MPI_Get(buffer_.data(), words_, MPI_UINT64_T, before_, 0, words_, MPI_UINT64_T, window_); }

  template <typename Access>
  void locked(int lock, int rank, Access access) {
    MPI_Win_lock(lock, rank, 0, window_);
    access();
    MPI_Win_unlock(rank, window_);
  }

  template <typename Access>
  void timed(std::size_t kind, Access access) {
    const double begin = workloads::seconds();
    access();
    seconds_[kind] += workloads::seconds() - begin;
  }

  int rank_, before_, after_;
  int words_;
  std::vector<std::uint64_t> buffer_;
  std::uint64_t* memory_ = nullptr;  // owned by the window
  MPI_Win window_ = MPI_WIN_NULL;
  std::array<double, k_kinds.size()> seconds_{};
  std::uint64_t num_wrong_ = 0;
};

int run(const workloads::MpiEnvironment& mpi, int words, std::uint64_t iterations) {
  Window window(mpi.rank(), mpi.size(), words);
  for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) window.iterate(iteration);
  const double bytes =
      static_cast<double>(sizeof(std::uint64_t)) * words * static_cast<double>(iterations) * mpi.size();
  for (std::size_t kind = 0; kind < k_kinds.size(); ++kind) {
    const double seconds = workloads::max_of_ranks(window.seconds(kind));
    if (mpi.prints()) std::printf("%-10s %12.2f MB/s\n", k_kinds[kind], bytes / seconds * 1e-6);
  }
  const bool is_right = workloads::is_true_on_all(window.is_right());
  if (!mpi.prints()) return 0;
  std::printf("Words of a rank %d, iterations %llu\n", words, static_cast<unsigned long long>(iterations));
  return workloads::verdict(is_right);
}

}  // namespace putget

int main(int argc, char** argv) {
  const workloads::MpiEnvironment mpi(&argc, &argv);
  const auto arguments = workloads::parse_mpi_arguments(
      argc, argv, mpi, "putget", "Put and get between MPI ranks, by fences and by locks", 20);
  return mpi.exit_status(putget::run(mpi, putget::k_words[arguments.number_of_class], arguments.iterations));
}
