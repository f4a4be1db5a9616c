// Whose turn it is to change the ledger. Amounts stay right without it (ledger.cpp says why); with it, two
// processes that ask at the same time are not both refused where there is room for one. So a holder that is dead,
// that has been stopped for long, or that a stray write has put there loses its turn.
#pragma once

#include "memory/ledger/page.hpp"

namespace terrace::memory {

// Of one who has no slot yet.
inline constexpr std::uint32_t k_joining = k_ledger_slots;

class PageLock {
 public:
  PageLock(LedgerPage& page, std::size_t slot, const ProcessIdentity& who) noexcept;
  ~PageLock();
  PageLock(const PageLock&) = delete;
  PageLock& operator=(const PageLock&) = delete;

 private:
  void wait(const ProcessIdentity& who) noexcept;

  LedgerPage& page_;
  std::uint32_t mine_;
};

}  // namespace terrace::memory
