// Implements one process of the stress test. See stress_worker.hpp.
#include "stress_worker.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

#include "memory/numa_node.hpp"
#include "stress_nodes.hpp"

namespace terrace::tests {

namespace {

constexpr std::uint64_t k_chunk_sizes[] = {4 * k_page, 16 * k_page, 128 * k_page, k_huge_page};
constexpr std::size_t k_max_chunks = 24;      // of an object
constexpr std::size_t k_max_size = 6u << 20;  // of an object
constexpr std::size_t k_max_objects = 64;
constexpr int k_attempts = 20;                    // of bringing a chunk's parts together
constexpr std::uint64_t k_left_free = 16u << 20;  // of a node, by processes that populate at once

// Returns the free memory of a node beyond its reserve.
Bytes free_memory(void* context, PlaceId place) {
  const auto node = static_cast<const machine::Machine*>(context)->place(place).numa_node;
  std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/meminfo");
  std::string word;
  std::uint64_t kib = 0;
  while (file >> word)
    if (word == "MemFree:" && file >> kib) break;
  return Bytes{std::max(kib << 10, k_left_free) - k_left_free};
}

}  // namespace

StressWorker::StressWorker(const machine::Machine& machine, memory::Ledger& ledger, StressIntents& intents,
                           std::uint64_t seed)
    : machine_(machine), ledger_(ledger), intents_(intents), random_(seed) {}

void StressWorker::work(StressReport& report) {
  for (int step = 0; step < 24; ++step) {
    if (below(3) == 0) {
      intents_.step(report, random_);
      continue;
    }
    const auto what = below(10);
    if (objects_.empty() || (what < 3 && objects_.size() < k_max_objects)) {
      allocate(report);
    } else if (what < 6) {
      auto& object = objects_[below(objects_.size())];
      const auto first = below(object.written.size());
      touch(object, first, std::min<std::size_t>(object.written.size() - first, 64), report);
    } else if (what < 9) {
      move(report);
    } else {
      release(below(objects_.size()));
      ++report.freed;
    }
  }
  collect(report);
}

void StressWorker::allocate(StressReport& report) {
  const auto chunk_size = k_chunk_sizes[below(std::size(k_chunk_sizes))];
  const auto chunks = 1 + below(std::min(k_max_chunks, k_max_size / chunk_size));
  auto* const data = static_cast<unsigned char*>(space_.allocate(chunks * chunk_size));
  if (data == nullptr) throw std::runtime_error("the region has no space");
  end_ = std::max(end_, align_up(reinterpret_cast<std::uint64_t>(data) + chunks * chunk_size, k_huge_page));
  Object object{data, static_cast<ChunkId>(chunks_.size()), static_cast<std::uint32_t>(chunks), {}};
  object.written.resize(chunks * chunk_size / k_page, 0);
  for (std::size_t i = 0; i < chunks; ++i)
    chunks_.add(reinterpret_cast<std::uint64_t>(data) + i * chunk_size, static_cast<std::uint32_t>(chunk_size), 0,
                0, k_no_place);
  const bool eager = below(2) == 0;
  const bool whole = below(2) == 0;
  bool bound = true;
  const auto run = static_cast<std::uint32_t>(whole ? chunks : 1);
  for (std::size_t i = 0; bound && i < chunks; i += run)
    bound = bind_run(object.first + static_cast<ChunkId>(i), run, eager);
  objects_.push_back(std::move(object));
  ++(bound ? report.allocated : report.without_room);
  if (!bound) release(objects_.size() - 1);
}

// On some place that has room, taken as first touch does, or eagerly as ordered fill does.
bool StressWorker::bind_run(ChunkId first, std::uint32_t count, bool eager) {
  const auto places = machine_.places().size();
  const auto begin = below(places);
  const Bytes size{std::uint64_t{chunks_[first].size} * count};
  for (std::size_t i = 0; i < places; ++i) {
    const auto place = static_cast<PlaceId>((begin + i) % places);
    const memory::Ledger::FreeMemory free{free_memory, const_cast<machine::Machine*>(&machine_)};
    if (!(eager ? ledger_.reserve(place, size, free) : ledger_.take(place, size))) continue;
    if (!provider_.bind(first, count, place)) throw std::runtime_error("the system lets nothing be bound");
    for (auto chunk = first; chunk < first + count; ++chunk) chunks_.put(chunks_[chunk], place);
    if (!eager) return true;
    if (memory::populate(chunks_[first].address, size.value) != 0) throw std::runtime_error("populate failed");
    ledger_.commit_reserved(place, size);
    return true;
  }
  return false;
}

void StressWorker::touch(Object& object, std::size_t first, std::size_t count, StressReport& report) {
  for (auto page = first; page < first + count; ++page) {
    auto* const word = reinterpret_cast<volatile std::uint32_t*>(object.data + page * k_page);
    if (*word != object.written[page]) ++report.damaged;
    object.written[page] = static_cast<std::uint32_t>(random_());
    *word = object.written[page];
  }
  report.touched += count;
}

void StressWorker::move(StressReport&) {
  const auto& object = objects_[below(objects_.size())];
  const auto place = static_cast<PlaceId>(below(machine_.places().size()));
  const auto first = static_cast<ChunkId>(below(object.chunks));
  const auto count = std::min<std::size_t>(object.chunks - first, 8);
  std::vector<transfer::TransferRequest> requests;
  for (std::size_t i = 0; i < count; ++i)
    requests.push_back({object.first + first + static_cast<ChunkId>(i), place});
  mover_.submit(requests);
  pending_ += count;
}

void StressWorker::release(std::size_t index) {
  auto& object = objects_[index];
  mover_.forget(object.first, object.chunks);  // gives the room back, too
  for (auto chunk = object.first; chunk < object.first + object.chunks; ++chunk) chunks_[chunk].live = false;
  space_.release(object.data);
  object = std::move(objects_.back());
  objects_.pop_back();
}

void StressWorker::collect(StressReport& report) {
  for (const auto& result : mover_.completions()) {
    --pending_;
    if (result.refused && result.error != 0) report.last_error = result.error;
    ++(!result.refused ? report.moved : result.error == 0 ? report.no_room : report.refused);
  }
}

// A chunk that the system has left in parts is held wherever it has pages. Moved to its own place it is whole
// again.
void StressWorker::make_whole(const Object& object, StressReport& report) {
  const auto is_whole = [&](ChunkId id) {
    const auto& chunk = chunks_[id];
    const auto node = machine_.place(chunk.place).numa_node;
    const auto nodes = settled_nodes(chunk.address, chunk.size / k_page);
    return std::all_of(nodes.begin(), nodes.end(), [&](int one) { return one == node; });
  };
  for (auto chunk = object.first; chunk < object.first + object.chunks; ++chunk) {
    if (is_whole(chunk)) continue;
    ++report.in_parts;
    for (int attempt = 0; attempt < k_attempts && !is_whole(chunk); ++attempt) {
      mover_.wait(mover_.submit({chunk, chunks_[chunk].place}));
      ++pending_;
    }
  }
  collect(report);
}

void StressWorker::count(StressReport& report) {
  // Not for the last ticket: its object may be freed, which ends it before those that were asked for earlier.
  for (collect(report); pending_ > 0; collect(report)) ::usleep(1000);
  report.held.fill(0);
  report.kernel.fill(0);
  const auto& places = machine_.places();
  for (auto& object : objects_) {
    touch(object, 0, object.written.size(), report);
    make_whole(object, report);
    const auto nodes = settled_nodes(reinterpret_cast<std::uint64_t>(object.data), object.written.size());
    std::size_t page = 0;
    for (auto chunk = object.first; chunk < object.first + object.chunks; ++chunk) {
      const auto place = chunks_[chunk].place.load();
      report.held.at(place) += chunks_[chunk].size;
      for (const auto end = page + chunks_[chunk].size / k_page; page < end; ++page) {
        report.misplaced += nodes[page] != places[place].numa_node;
        for (std::size_t i = 0; i < places.size(); ++i)
          if (nodes[page] == places[i].numa_node) report.kernel.at(i) += k_page;
      }
    }
  }
  report.beside.fill(0);
  if (end_ > 0) {
    const auto nodes = settled_nodes(space_.base(), (end_ - space_.base()) / k_page);
    for (std::size_t i = 0; i < places.size(); ++i)
      report.beside.at(i) =
          static_cast<std::uint64_t>(std::count(nodes.begin(), nodes.end(), places[i].numa_node)) * k_page -
          report.kernel.at(i);
  }
  intents_.count(report, random_);
}

void StressWorker::free_all() {
  while (!objects_.empty()) release(objects_.size() - 1);
  intents_.free_all();
}

}  // namespace terrace::tests
