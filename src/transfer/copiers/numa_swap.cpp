// Between NUMA nodes by exchanging pages with memory beside the program's (exchange/page_exchange.hpp). What
// cannot go that way, move_pages(2) brings; it also serves where Linux is older than 6.8.
#include "core/error.hpp"
#include "transfer/exchange/page_exchange.hpp"
#include "transfer/numa_copier.hpp"

namespace terrace::transfer {

namespace {

// An exchange of less takes longer than its pages' share of a batch of move_pages.
constexpr std::uint64_t k_least = 16 * k_page;
constexpr std::size_t k_kept = 8;             // slots of 2 MiB at most
constexpr std::uint64_t k_share_of_room = 8;  // of what a place has left, a slot takes at most one part in so many

// Pages that stay in slots are held on the place of their node.
class OnLedger final : public SlotAccount {
 public:
  OnLedger(const machine::Machine& machine, memory::Ledger& ledger) : machine_(machine), ledger_(ledger) {}

  bool keep(int node, std::size_t size) noexcept override {
    const auto place = place_of(node);
    return place != k_no_place && ledger_.available(place).value >= k_share_of_room * size &&
           ledger_.take(place, Bytes{size});
  }
  void release(int node, std::size_t size) noexcept override { ledger_.give(place_of(node), Bytes{size}); }

 private:
  [[nodiscard]] PlaceId place_of(int node) const noexcept {
    const auto& places = machine_.places();
    for (PlaceId place = 0; place < places.size(); ++place)
      if (places[place].numa_node == node) return place;
    return k_no_place;
  }

  const machine::Machine& machine_;
  memory::Ledger& ledger_;
};

class NumaSwap final : public NumaCopier {
 public:
  explicit NumaSwap(const CopierParts& parts)
      : NumaCopier(parts), account_(parts.machine, parts.ledger), exchange_(account_, 1, k_kept) {}

 private:
  void bring(std::span<Load> loads, int node) noexcept override {
    std::size_t begin = 0;  // of those that are not there
    const auto bring_rest = [&](std::size_t end) {
      if (end > begin) NumaCopier::bring(loads.subspan(begin, end - begin), node);
      begin = end + 1;
    };
    for (std::size_t i = 0; i < loads.size(); ++i) {
      auto& load = loads[i];
      const auto size = range_of(*load.chunk);
      if (!load.underway || size < k_least || exchange_.bring(load.chunk->address, size, node) != 0) continue;
      load.behind = 0;
      bring_rest(i);
    }
    bring_rest(loads.size());
  }
  bool make_room(PlaceId place) noexcept override { return exchange_.spare(node_of(place)); }
  void settle() noexcept override { exchange_.settle(); }

  OnLedger account_;
  PageExchange exchange_;
};

class Variant final : public CopierVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return "numa_swap"; }
  [[nodiscard]] bool serves(const machine::Place& from, const machine::Place& to) const override {
    return from.numa_node >= 0 && to.numa_node >= 0;
  }
  // Two moves and what watches the range, measured with huge pages on one node.
  [[nodiscard]] Seconds overhead() const override { return {10e-6}; }
  [[nodiscard]] std::unique_ptr<Copier> make(const CopierParts& parts) const override {
    try {
      return std::make_unique<NumaSwap>(parts);
    } catch (const Error&) {
      return nullptr;  // the system does not let this process do it
    }
  }
};

}  // namespace

const CopierVariant& numa_swap_copier() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::transfer
