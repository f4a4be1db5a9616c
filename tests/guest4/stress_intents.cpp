// Implements the random allocation by intent of one process of the stress test. See stress_intents.hpp.
#include "stress_intents.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <stdexcept>

#include "machine/ordering.hpp"
#include "stress_nodes.hpp"

namespace terrace::tests {

namespace {

using agent::OrderedHeap;

constexpr std::size_t k_max_ranges = 24;
constexpr std::size_t k_max_pages = 1536;  // of a range

OrderedHeap& make_heap(const machine::Machine& machine, memory::Ledger& ledger, InitiatorId initiator) {
  OrderedHeap::Parts parts;
  parts.machine = &machine;
  parts.initiator = initiator;
  parts.ledger = &ledger;
  parts.enter = [] {};
  parts.say = [](const char* sentence) { std::fprintf(stderr, "stress: %s\n", sentence); };
  return *new OrderedHeap(parts);
}

std::size_t below(std::mt19937_64& random, std::size_t limit) { return random() % limit; }

}  // namespace

StressIntents::StressIntents(const machine::Machine& machine, memory::Ledger& ledger, InitiatorId initiator)
    : machine_(machine), heap_(make_heap(machine, ledger, initiator)) {
  for (const auto& intent : machine::intents(machine)) intents_.push_back(heap_.find_intent(intent));
}

void StressIntents::step(StressReport& report, std::mt19937_64& random) {
  const auto what = below(random, 10);
  if (ranges_.empty() || (what < 3 && ranges_.size() < k_max_ranges)) {
    what % 3 == 0 ? map(report, random) : allocate(report, random);
    return;
  }
  const auto index = below(random, ranges_.size());
  if (what < 7) {
    const auto pages = ranges_[index].written.size();
    const auto first = below(random, pages);
    touch(index, first, std::min<std::size_t>(pages - first, 64), report, random);
  } else if (what < 9) {
    apply(index, report, random);
  } else {
    release(index);
    ++report.intent_freed;
  }
}

void StressIntents::keep_or_release(Range range, int error, StressReport& report) {
  if (error == 0) {
    ranges_.push_back(std::move(range));
    return;
  }
  if (error != ENOMEM) report.last_error = error;
  ++(error == ENOMEM ? report.intent_no_room : report.intent_refused);
  give_back(range);
}

void StressIntents::allocate(StressReport& report, std::mt19937_64& random) {
  Range range;
  range.written.resize(1 + below(random, k_max_pages));
  range.zeros = below(random, 2) == 0;
  const auto when = below(random, 2) == 0 ? OrderedHeap::FillMode::eager : OrderedHeap::FillMode::on_touch;
  const auto intent = intents_[below(random, intents_.size())];
  int error = 0;
  range.data = static_cast<unsigned char*>(heap_.allocate(range.size(), 1, intent, when, range.zeros, &error));
  if (range.data == nullptr) throw std::runtime_error("the heap has no space");
  begin_ = std::min(begin_, range.address() / k_huge_page * k_huge_page);
  end_ = std::max(end_, align_up(range.address() + range.size(), k_huge_page));
  ++report.intent_ranges;
  keep_or_release(std::move(range), error, report);
}

// Some of it is there before it is placed.
void StressIntents::map(StressReport& report, std::mt19937_64& random) {
  Range range;
  range.mapped = true;
  range.written.resize(1 + below(random, k_max_pages));
  void* const got =
      ::mmap(nullptr, range.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) throw std::runtime_error("no mapping");
  range.data = static_cast<unsigned char*>(got);
  for (std::size_t i = 0; i < 16; ++i) {
    const auto page = below(random, range.written.size());
    range.written[page] = static_cast<std::uint32_t>(random());
    *reinterpret_cast<volatile std::uint32_t*>(range.data + page * k_page) = range.written[page];
  }
  ++report.intent_ranges;
  const auto error = heap_.apply(range.address(), range.size(), intents_[below(random, intents_.size())]);
  keep_or_release(std::move(range), error, report);
}

void StressIntents::apply(std::size_t index, StressReport& report, std::mt19937_64& random) {
  auto& range = ranges_[index];
  const auto first = below(random, range.written.size());
  const auto pages = 1 + below(random, range.written.size() - first);
  const auto error =
      heap_.apply(range.address() + first * k_page, pages * k_page, intents_[below(random, intents_.size())]);
  ++report.intent_applied;
  auto taken = std::move(range);
  range = std::move(ranges_.back());
  ranges_.pop_back();
  keep_or_release(std::move(taken), error, report);
}

bool StressIntents::touch(std::size_t index, std::size_t first, std::size_t pages, StressReport& report,
                          std::mt19937_64& random) {
  auto& range = ranges_[index];
  for (auto page = first; page < first + pages; ++page) {
    auto* const word = reinterpret_cast<volatile std::uint32_t*>(range.data + page * k_page);
    if ((range.zeros || range.written[page] != 0) && *word != range.written[page]) ++report.damaged;
    range.written[page] = static_cast<std::uint32_t>(random()) | 1;
    *word = range.written[page];
  }
  report.intent_touched += pages;
  if (is_held(range.address() + first * k_page, pages * k_page)) return true;
  ++report.intent_no_room;
  release(index);
  return false;
}

bool StressIntents::is_held(std::uint64_t address, std::size_t size) const {
  auto at = address;
  for (const auto& part : heap_.placed(address, size)) {
    if (part.address > at || part.held != part.size) return false;
    at = part.address + part.size;
  }
  return at >= address + size;
}

void StressIntents::release(std::size_t index) {
  give_back(ranges_[index]);
  ranges_[index] = std::move(ranges_.back());
  ranges_.pop_back();
}

void StressIntents::give_back(const Range& range) {
  if (!range.mapped) {
    if (!heap_.release(range.data)) throw std::runtime_error("a block is unknown to the heap");
    return;
  }
  // As the library's munmap does.
  heap_.on_unmapped(range.address(), range.size());
  ::munmap(range.data, range.size());
}

void StressIntents::count(StressReport& report, std::mt19937_64& random) {
  const auto& places = machine_.places();
  std::vector<std::uint64_t> in_blocks(places.size());  // pages of the kernel's, by place
  const auto on = [&](const std::vector<int>& nodes, std::size_t place) {
    return static_cast<std::uint64_t>(std::ranges::count(nodes, places[place].numa_node));
  };
  for (std::size_t index = ranges_.size(); index-- > 0;) {
    // Touch the written pages once more, which compares them; that populates no page.
    const auto pages = ranges_[index].written.size();
    bool stays = true;
    for (std::size_t page = 0; stays && page < pages; ++page)
      if (ranges_[index].written[page] != 0) stays = touch(index, page, 1, report, random);
    if (!stays) continue;
    const auto& range = ranges_[index];
    heap_.await_filled(range.address(), range.size());
    const auto end = range.address() + range.size();
    for (const auto& part : heap_.placed(range.address(), range.size())) {
      if (part.held == 0) continue;  // left to the kernel, and not touched
      const auto from = std::max(part.address, range.address());
      const auto to = std::min(part.address + part.size, end);
      const auto nodes = settled_nodes(from, (to - from) / k_page, true);
      report.held.at(part.place) += part.held == part.size ? to - from : part.held;
      report.misplaced += nodes.size() - on(nodes, part.place);
      for (std::size_t place = 0; place < places.size(); ++place) {
        report.kernel.at(place) += on(nodes, place) * k_page;
        if (!range.mapped) in_blocks[place] += on(nodes, place);
      }
    }
  }
  if (end_ == 0) return;
  const auto nodes = settled_nodes(begin_, (end_ - begin_) / k_page);
  for (std::size_t place = 0; place < places.size(); ++place)
    report.beside.at(place) += (on(nodes, place) - in_blocks[place]) * k_page;
}

void StressIntents::free_all() {
  while (!ranges_.empty()) release(ranges_.size() - 1);
}

}  // namespace terrace::tests
