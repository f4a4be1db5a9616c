// See page_lock.hpp. The word is 0 where nobody has the turn, else the slot's number + 1, and a bit that says
// whether somebody waits.
#include "memory/ledger/page_lock.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace terrace::memory {

namespace {

constexpr std::uint32_t k_waited_for = 1U << 31;
constexpr int k_tries = 32;  // before waiting
constexpr int k_waits = 50;  // of a millisecond each, before a holder that lives loses its turn
constexpr timespec k_wait{0, 1000000};

bool may_hold(const LedgerPage& page, std::uint32_t holder, const ProcessIdentity& asker) noexcept {
  if (holder == k_joining + 1) return true;
  if (holder > k_ledger_slots) return false;
  const auto owner = read_owner(page, holder - 1);
  return owner.kind == SlotOwner::Kind::owned && is_alive(owner.who, asker);
}

}  // namespace

PageLock::PageLock(LedgerPage& page, std::size_t slot, const ProcessIdentity& who) noexcept
    : page_(page), mine_(static_cast<std::uint32_t>(slot) + 1) {
  for (int i = 0; i < k_tries; ++i) {
    if (replace(page_.lock, 0U, mine_)) return;
    ::sched_yield();
  }
  wait(who);
}

void PageLock::wait(const ProcessIdentity& who) noexcept {
  for (int waits = 0;;) {
    const auto found = load(page_.lock);
    const auto holder = found & ~k_waited_for;
    // Who has waited knows not whether others still do.
    const bool gone = holder == 0 || waits >= k_waits || (waits > 0 && !may_hold(page_, holder, who));
    if (gone) {
      if (replace(page_.lock, found, mine_ | k_waited_for)) return;
      continue;
    }
    if (found != (holder | k_waited_for) && !replace(page_.lock, found, holder | k_waited_for)) continue;
    ::syscall(SYS_futex, &page_.lock, FUTEX_WAIT, holder | k_waited_for, &k_wait, nullptr, 0);
    ++waits;
  }
}

PageLock::~PageLock() {
  while (true) {
    const auto found = load(page_.lock);
    if ((found & ~k_waited_for) != mine_) return;  // it was taken over
    if (!replace(page_.lock, found, 0U)) continue;
    if ((found & k_waited_for) != 0) ::syscall(SYS_futex, &page_.lock, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    return;
  }
}

}  // namespace terrace::memory
