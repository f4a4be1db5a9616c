// SPDX-License-Identifier: Apache-2.0
// Serialises changes of the ledger across processes, by a futex in its page. Amounts stay correct without the lock
// (ledger.hpp); it only keeps two concurrent acquisitions from refusing each other where there is memory for one.
// So the lock is taken over from a holder that is dead, has been stopped for 50 ms, or was written by a stray
// write.
#pragma once

#include "memory/ledger/page.hpp"

namespace terrace::memory {

// Slot number of a process that is about to claim its first slot.
inline constexpr std::uint32_t k_without_slot = k_ledger_slots;

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
