// State of the fake CUDA driver and the rules that it checks: memory, mappings, streams whose operations run
// late and in random order, events.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <utility>

#include "fake_cuda.hpp"

namespace terrace::stencil::test::fake_cuda {

inline constexpr int k_invalid = 1;
inline constexpr int k_out_of_memory = 2;
inline constexpr int k_no_device = 100;

struct Operation {
  std::vector<Used> used;
  std::function<void()> run;
  bool is_kernel = false;
  bool is_copy_to_host = false;
};
struct Stream {
  std::uint64_t put = 0;                                      // operations so far
  std::uint64_t done = 0;                                     // of them
  std::deque<std::pair<std::uint64_t, Operation>> unsettled;  // not waited for yet
};
struct Event {
  Stream* stream = nullptr;
  std::uint64_t number = 0;  // operations of the stream at the record
};
struct Mapping {
  std::size_t size = 0;
  std::uint64_t handle = 0;
  bool has_access = false;
};
struct Physical {
  std::size_t size = 0;
  std::size_t offset = 0;  // in the file
  bool is_mapped = false;
};

inline bool overlaps(const void* a, std::size_t a_size, const void* b, std::size_t b_size) {
  const auto* const x = static_cast<const char*>(a);
  const auto* const y = static_cast<const char*>(b);
  return x < y + b_size && y < x + a_size;
}

struct World {
  std::recursive_mutex mutex;
  std::mt19937_64 random;
  std::size_t memory = 0, taken = 0, granularity = 4096;
  int devices = 1, contexts = 0;
  int file = -1;
  std::size_t file_end = 0;
  std::map<char*, std::size_t> reserved;
  std::map<char*, Mapping> mapped;
  std::map<std::uint64_t, Physical> physical;
  std::map<char*, std::size_t> buffers;  // of cuMemAlloc
  std::map<char*, std::size_t> pinned;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::uint64_t next_handle = 1;
  std::map<std::string, int> called;
  std::map<std::string, std::pair<int, int>> failures;  // remaining calls, and the error
  std::vector<std::string> broken;
  int sticky = 0;

  void breach(const std::string& what) {
    if (std::ranges::find(broken, what) == broken.end()) broken.push_back(what);
  }

  [[nodiscard]] bool is_accessible(const void* first, std::size_t size) const {
    auto* at = static_cast<char*>(const_cast<void*>(first));
    auto* const end = at + size;
    for (const auto& [start, length] : buffers)
      if (at >= start && end <= start + length) return true;
    while (at < end) {
      auto found = mapped.upper_bound(at);
      if (found == mapped.begin()) return false;
      --found;
      if (at >= found->first + found->second.size || !found->second.has_access) return false;
      at = found->first + found->second.size;
    }
    return true;
  }
  [[nodiscard]] bool is_pinned(const void* first, std::size_t size) const {
    const auto* const at = static_cast<const char*>(first);
    for (const auto& [start, length] : pinned)
      if (at >= start && at + size <= start + length) return true;
    return false;
  }

  void put(Stream* stream, Operation operation) {
    for (auto* other : streams) {
      if (other == stream) continue;
      for (const auto& [number, with] : other->unsettled)
        for (const auto& a : operation.used)
          for (const auto& b : with.used) {
            const auto is_stored_again = operation.is_kernel && with.is_copy_to_host && !b.is_written;
            if ((a.is_written || b.is_written) && !is_stored_again && overlaps(a.first, a.size, b.first, b.size))
              breach("two streams use the same bytes, and one writes them");
          }
    }
    stream->unsettled.emplace_back(stream->put++, std::move(operation));
    while (random() % 4 == 0 && do_one()) {
    }
  }
  // Runs the next operation of a random stream; returns false if there is none.
  bool do_one() {
    std::vector<Stream*> pending;
    for (auto* stream : streams)
      if (stream->done < stream->put) pending.push_back(stream);
    if (pending.empty()) return false;
    auto* const stream = pending[random() % pending.size()];
    auto& [number, operation] = stream->unsettled[stream->unsettled.size() - (stream->put - stream->done)];
    ++stream->done;
    for (const auto& used : operation.used)
      if (!is_accessible(used.first, used.size) && !is_pinned(used.first, used.size)) {
        breach(std::string(operation.is_kernel ? "a kernel" : "a copy") + " uses memory that is not there");
        return true;
      }
    if (operation.run) operation.run();
    return true;
  }
  // Marks everything in the stream before the number as done and waited for.
  int wait(Stream* stream, std::uint64_t number) {
    while (stream->done < number) do_one();
    while (!stream->unsettled.empty() && stream->unsettled.front().first < number) stream->unsettled.pop_front();
    return sticky;
  }
  void hold_unused(const void* first, std::size_t size, const char* what) {
    for (const auto* stream : streams)
      for (const auto& [number, operation] : stream->unsettled)
        for (const auto& used : operation.used)
          if (overlaps(used.first, used.size, first, size)) {
            breach(std::string(what) + " while " + (operation.is_kernel ? "a kernel" : "a copy") + " may use it");
            return;
          }
  }
};

inline World& world() {
  static auto* const all = new World;
  return *all;
}

inline thread_local bool has_context = false;

// Entry of each function: takes the lock, counts the call, and returns the requested error.
class Entry {
 public:
  explicit Entry(const char* name, bool needs_context = true) : lock_(world().mutex) {
    ++world().called[name];
    if (needs_context && !has_context) world().breach(std::string(name) + " without a context");
    const auto found = world().failures.find(name);
    if (found != world().failures.end() && found->second.first-- == 0) {
      error = found->second.second;
      world().failures.erase(found);
      if (error >= 700) world().sticky = error;
    }
  }
  int error = 0;

 private:
  std::scoped_lock<std::recursive_mutex> lock_;
};

}  // namespace terrace::stencil::test::fake_cuda
