// SPDX-License-Identifier: Apache-2.0
// Reads the ledgers of this user's jobs for `terrace machine` and for the metrics of `terrace run`. See view.hpp.
#include "memory/ledger/view.hpp"

#include <array>
#include <cstring>
#include <span>

#include "core/error.hpp"
#include "memory/ledger/division.hpp"
#include "memory/ledger/folder.hpp"
#include "memory/ledger/mapped_page.hpp"

namespace terrace::memory {

namespace {

std::string text_of(std::span<const char> field) { return {field.data(), ::strnlen(field.data(), field.size())}; }

// Fills in the share of each displayed process that has stated a demand.
void add_shares(const LedgerPage& page, const LedgerDescription& description, std::span<const std::size_t> slots,
                LedgerView& view) {
  std::array<LedgerDemand, k_ledger_slots> demands;
  std::array<std::uint64_t, k_ledger_slots> shares{};
  for (PlaceId place = 0; place < description.places; ++place) {
    for (std::size_t i = 0; i < slots.size(); ++i) demands[i] = read_demand(page, slots[i], place);
    divide_budget(description.place[place].budget, description.place[place].granule,
                  std::span(demands).first(slots.size()), shares);
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (demands[i].weight > 0) view.processes[i].holdings[place].share = shares[i];
  }
}

}  // namespace

std::optional<LedgerView> read_ledger_view(const LedgerPage& page) {
  LedgerDescription description;
  std::memcpy(&description, &page.description, sizeof description);
  if (checksum_of(description) != description.check || description.places > k_ledger_places) return std::nullopt;
  LedgerView view;
  view.job = text_of(description.job);
  for (PlaceId place = 0; place < description.places; ++place)
    view.places.push_back({text_of(description.place[place].name), description.place[place].budget});
  const auto self = this_process();
  std::array<std::size_t, k_ledger_slots> slots;
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < used_slots(page); ++slot) {
    const auto owner = read_owner(page, slot);
    if (owner.kind == SlotOwner::Kind::vacant) continue;
    if (owner.kind == SlotOwner::Kind::unknown) {
      ++view.unknown_processes;
      continue;
    }
    if (!is_alive(owner.who, self)) continue;
    slots[count++] = slot;
    auto& process = view.processes.emplace_back();
    process.process = owner.who.process;
    for (PlaceId place = 0; place < description.places; ++place) {
      auto& holding = process.holdings.emplace_back();
      const auto amount = read_amount(page, slot, place);
      if (!amount) continue;
      holding.held = amount->held;
      holding.outstanding = amount->outstanding;
    }
  }
  add_shares(page, description, std::span(slots).first(count), view);
  return view;
}

std::vector<LedgerView> list_user_ledgers() {
  std::vector<LedgerView> views;
  for (const auto& path : ledger_paths()) {
    try {
      const MappedPage mapped(path, MappedPage::Access::read);
      auto view = read_ledger_view(mapped.page());
      if (view && (!view->processes.empty() || view->unknown_processes > 0)) views.push_back(std::move(*view));
    } catch (const Error&) {  // removed meanwhile, of another version, or not accessible: not listed
    }
  }
  return views;
}

}  // namespace terrace::memory
