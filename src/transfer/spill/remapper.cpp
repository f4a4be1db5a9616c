// See remapper.hpp.
#include "transfer/spill/remapper.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.hpp"
#include "transfer/exchange/quiet_thread.hpp"

namespace terrace::transfer {

Remapper::Remapper(void (*enter)()) : enter_(enter) {
  if (!start_quietly(thread_, "terrace-remap", body, this))
    throw Error(Code::failed, "no thread for memory over a file");
}

Remapper::~Remapper() {
  state_.store(k_stop, std::memory_order_release);
  state_.notify_one();
  pthread_join(thread_, nullptr);
}

void Remapper::start(std::uint64_t from, std::uint64_t to, std::size_t size) noexcept {
  from_ = from;
  to_ = to;
  size_ = size;
  state_.store(k_wanted, std::memory_order_release);
  state_.notify_one();
}

void* Remapper::body(void* self) {
  auto& remapper = *static_cast<Remapper*>(self);
  if (remapper.enter_) remapper.enter_();
  for (;;) {
    remapper.state_.wait(k_idle, std::memory_order_acquire);
    if (remapper.state_.load(std::memory_order_acquire) == k_stop) return nullptr;
    remapper.done_ = syscall(SYS_mremap, remapper.from_, remapper.size_, remapper.size_,
                             MREMAP_MAYMOVE | MREMAP_FIXED, remapper.to_) != -1;
    int wanted = k_wanted;
    remapper.state_.compare_exchange_strong(wanted, k_idle, std::memory_order_release);
  }
}

}  // namespace terrace::transfer
