// The shared part of a ledger, as bytes, and how they are read by those who do not trust them: a stray write of
// one process must not let others hand out more than there is. Each slot is written by its own process alone.
// Owners and amounts are there twice, each copy with a check of its own; what neither copy says is unknown. Totals
// are never stored. How amounts are announced and summed is in ledger.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/identifiers.hpp"
#include "memory/ledger/process_identity.hpp"

namespace terrace::memory {

inline constexpr std::size_t k_ledger_places = 64;
inline constexpr std::size_t k_ledger_slots = 256;
inline constexpr std::uint64_t k_ledger_magic = 0x3152454744454c54;  // "TLEDGER1" in the order of the bytes

// Bytes of a place. What is reserved and not yet populated is held as well.
struct LedgerAmount {
  std::uint64_t held = 0;
  std::uint64_t outstanding = 0;
  bool operator==(const LedgerAmount&) const = default;
};

// What a process would like to have of a place; see division.hpp.
struct LedgerDemand {
  static constexpr std::uint64_t k_no_quota = ~std::uint64_t{0};
  std::uint64_t quota = k_no_quota;  // it has no use for more
  std::uint32_t weight = 1;          // 0: it states no demand
  double gain = -1;                  // predicted seconds saved by a byte; negative: unknown
  bool operator==(const LedgerDemand&) const = default;
};

// What `terrace machine` shows; written once, by who makes the page. Amounts do not depend on it.
struct LedgerTitle {
  struct Place {
    char name[40];
    std::uint64_t budget;
    std::uint64_t granule;
  };
  char job[80];
  std::uint32_t places;
  std::uint32_t reserved;
  Place place[k_ledger_places];
  std::uint64_t check;
};

struct LedgerPage {
  struct Owner {
    std::uint64_t tag;  // of the process and the slot, or that of a vacant slot
    ProcessIdentity who;
  };
  struct Entry {
    LedgerAmount amount;
    std::uint64_t check;
  };
  struct Demand {
    std::uint64_t quota, weight, gain, check;
  };
  struct Copy {
    Owner owners[k_ledger_slots];
    Entry entries[k_ledger_slots][k_ledger_places];
  };

  // Vacant slots. Their amounts are left as they are: memory of slots that nobody uses is not touched.
  LedgerPage() noexcept;

  std::uint64_t magic;
  std::uint64_t size;
  std::uint64_t since[2];  // start time of who made it, and its check: processes that are older have no part in it
  LedgerTitle title;
  std::uint32_t lock;    // whose turn it is (page_lock.hpp); amounts do not depend on it
  std::uint32_t said;    // that it was found damaged
  std::uint64_t looked;  // when somebody last looked thoroughly for the dead, in ns
  std::uint64_t used;    // slots, from the first on, that have ever been claimed, with a check
  // Far from each other, so that one stray write does not destroy both.
  Copy first;
  Demand demands[k_ledger_slots][k_ledger_places];
  Copy second;

  [[nodiscard]] const Copy& copy(std::size_t which) const noexcept { return which == 0 ? first : second; }
  [[nodiscard]] Copy& copy(std::size_t which) noexcept { return which == 0 ? first : second; }
};

// Words that other processes write. A load that misses another process's last store comes before it for everyone:
// ledger.cpp rests on that.
template <class Word>
Word load(const Word& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
}
template <class Word>
void store(Word& word, Word value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
template <class Word>
void publish(Word& word, Word value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_SEQ_CST);
}
template <class Word>
bool replace(Word& word, Word expected, Word value) noexcept {
  return __atomic_compare_exchange_n(&word, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

std::uint64_t since(const LedgerPage& page) noexcept;  // 0 where it was overwritten

// Slots behind these were never claimed.
std::size_t used_slots(const LedgerPage& page) noexcept;
void raise_used_slots(LedgerPage& page, std::size_t slots) noexcept;

struct SlotOwner {
  enum class Kind : std::uint8_t { vacant, owned, unknown };
  Kind kind = Kind::unknown;
  ProcessIdentity who;
  std::uint64_t tags[2]{};   // as they were found
  bool first_whole = false;  // else the slot may be about to be claimed, and only its owner may change it
};
SlotOwner read_owner(const LedgerPage& page, std::size_t slot) noexcept;
// The slot is this process's from now on if nobody has changed it since `found` was read.
bool claim(LedgerPage& page, std::size_t slot, const SlotOwner& found, const ProcessIdentity& who) noexcept;
// Nothing happens where somebody has changed the slot since `found` was read.
void vacate(LedgerPage& page, std::size_t slot, const SlotOwner& found) noexcept;
// A slot of which the first copy is damaged gets a tag that says nothing and that nobody else gives: whatever is
// written there from now on differs from it, also where a stray write destroys the slot in the same way again.
// False where somebody has changed it since `found` was read.
bool mark(LedgerPage& page, std::size_t slot, SlotOwner& found, const ProcessIdentity& by) noexcept;
bool is_owned_by(const LedgerPage& page, std::size_t slot, const ProcessIdentity& who, std::uint64_t tag) noexcept;
std::uint64_t tag_of(const ProcessIdentity& who, std::size_t slot) noexcept;

// The larger of the two copies, where both are whole: while they differ, their process is changing them.
std::optional<LedgerAmount> read_amount(const LedgerPage& page, std::size_t slot, PlaceId place) noexcept;
void write_amount(LedgerPage& page, std::size_t slot, PlaceId place, const LedgerAmount& amount) noexcept;
bool says_amount(const LedgerPage& page, std::size_t slot, PlaceId place, const LedgerAmount& amount) noexcept;

// A damaged one states nothing, as weight 0 does.
LedgerDemand read_demand(const LedgerPage& page, std::size_t slot, PlaceId place) noexcept;
void write_demand(LedgerPage& page, std::size_t slot, PlaceId place, const LedgerDemand& demand) noexcept;
inline bool may_have_demand(const LedgerPage& page, std::size_t slot, PlaceId place) noexcept {
  return load(page.demands[slot][place].weight) != 0;
}

std::uint64_t check_of(const LedgerTitle& title) noexcept;

}  // namespace terrace::memory
