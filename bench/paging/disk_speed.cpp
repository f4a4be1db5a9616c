// disk_speed FOLDER [MIB]: measures the bytes a second of reading, of writing and of both at once, past the
// kernel's cache, in requests of 2 MiB. It takes the best of several numbers of requests in flight, which a
// schedule that moves data to and from this disk can reach. acceptance/memory compares out-of-core runs with it.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>

#include "transfer/spill/disk_queue.hpp"
#include "transfer/spill/spill_file.hpp"

namespace terrace::transfer {
namespace {

constexpr std::size_t k_request = std::size_t{2} << 20;
// Requests in flight in one direction; both directions together have at most what the queue takes.
constexpr std::array<std::size_t, 3> k_depths{4, 16, k_disk_requests};

class Speed {
 public:
  Speed(const char* folder, std::size_t size) : file_(folder), count_(size / k_request) {
    disk_ = make_ring_queue(file_.fd());
    if (!disk_) disk_ = make_thread_queue(file_.fd(), k_disk_requests);
    auto* const memory = mmap(nullptr, k_disk_requests * k_request, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = reinterpret_cast<std::uint64_t>(memory);
    std::memset(memory, 1, k_disk_requests * k_request);
    file_.reserve(0, 2 * count_ * k_request);
    // Blocks that were never written are not read from the disk, and are slower to write.
    for (const std::size_t half : {0, 1}) {
      written_half_ = half;
      measure(k_depths.front(), false, true);
    }
  }

  // Returns the bytes a second of reading the one half, and of writing the other.
  double best(bool read, bool write) {
    double found = 0;
    const auto most = read && write ? k_disk_requests / 2 : k_disk_requests;
    for (const auto depth : k_depths)
      if (depth <= most) found = std::max(found, measure(depth, read, write));
    return found;
  }

 private:
  // Returns the bytes a second with `depth` requests in flight in each direction.
  double measure(std::size_t depth, bool read, bool write) {
    std::array<std::size_t, 2> next{read ? 0 : count_, write ? 0 : count_};  // by direction
    std::size_t ended = 0;
    const auto begun = std::chrono::steady_clock::now();
    const std::size_t all = (read ? count_ : 0) + (write ? count_ : 0);
    const std::size_t first_of_writes = read ? depth : 0;
    const std::size_t slots = first_of_writes + (write ? depth : 0);
    const auto direction = [&](std::uint64_t slot) -> std::size_t { return slot < first_of_writes ? 0 : 1; };
    for (std::uint64_t slot = 0; slot < slots; ++slot) start(slot, direction(slot), next);
    disk_->submit();
    while (ended < all) {
      DiskCompletion answer;
      if (!disk_->next_completion(answer)) continue;
      if (answer.error != 0) throw std::runtime_error(std::strerror(answer.error));
      ++ended;
      start(answer.token, direction(answer.token), next);
      disk_->submit();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    return static_cast<double>(all * k_request) / took.count();
  }

  void start(std::uint64_t slot, std::size_t direction, std::array<std::size_t, 2>& next) {
    if (next[direction] == count_) return;
    const auto half = direction == 1 ? written_half_ : 1 - written_half_;
    const auto at = (half * count_ + next[direction]++) * k_request;
    disk_->start({direction == 1, memory_ + slot * k_request, at, k_request, slot});
  }
  SpillFile file_;
  std::size_t count_;
  std::size_t written_half_ = 1;
  std::unique_ptr<DiskQueue> disk_;
  std::uint64_t memory_ = 0;
};

}  // namespace
}  // namespace terrace::transfer

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: disk_speed FOLDER [MIB]\n", stderr);
    return 2;
  }
  try {
    const std::size_t size = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 512) << 20U;
    terrace::transfer::Speed speed(argv[1], size);
    const auto write = speed.best(false, true);
    const auto read = speed.best(true, false);
    const auto both = speed.best(true, true);
    std::printf("{\"read\": %.0f, \"write\": %.0f, \"both\": %.0f}\n", read, write, both);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "disk_speed: %s: %s\n", argv[1], error.what());
    return 1;
  }
}
