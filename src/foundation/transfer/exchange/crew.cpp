// See crew.hpp.
#include "transfer/exchange/crew.hpp"

#include <algorithm>

#include "core/internal_thread.hpp"

namespace terrace::transfer {

namespace {

constexpr std::size_t k_block = 64UL << 10;
constexpr std::size_t k_min = 4 * k_block;  // of less a helper would find nothing left when it is awake

class CrewLock {
 public:
  explicit CrewLock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~CrewLock() { pthread_mutex_unlock(&mutex_); }
  CrewLock(const CrewLock&) = delete;
  CrewLock& operator=(const CrewLock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace

Crew::Crew(std::size_t threads, void (*enter)()) : enter_(enter) {
  helpers_.reserve(threads);
  for (pthread_t helper{}; helpers_.size() + 1 < threads; helpers_.push_back(helper))
    if (!start_signal_masked_thread(helper, "terrace/copy", thread_body, this)) break;
}

Crew::~Crew() {
  {
    const CrewLock lock(mutex_);
    stop_ = true;
    pthread_cond_broadcast(&called_);
  }
  for (const auto helper : helpers_) pthread_join(helper, nullptr);
}

void Crew::copy(const CopyKernel& kernel, void* to, const void* from, std::size_t size) noexcept {
  const Piece piece{&kernel, static_cast<char*>(to), static_cast<const char*>(from), size};
  bool together = !helpers_.empty() && size >= k_min;
  if (together) {
    const CrewLock lock(mutex_);
    together = piece_.size == 0;
    if (together) {
      piece_ = piece;
      next_.store(0, std::memory_order_relaxed);
      ++calls_;
      pthread_cond_broadcast(&called_);
    }
  }
  if (!together) return kernel.copy(to, from, size);
  copy_blocks(piece);
  const CrewLock lock(mutex_);
  while (helping_ > 0) pthread_cond_wait(&through_, &mutex_);
  piece_ = {};
}

void Crew::copy_blocks(const Piece& piece) noexcept {
  for (;;) {
    const auto at = next_.fetch_add(k_block, std::memory_order_relaxed);
    if (at >= piece.size) return;
    piece.kernel->copy(piece.to + at, piece.from + at, std::min(k_block, piece.size - at));
  }
}

void* Crew::thread_body(void* self) {
  auto& crew = *static_cast<Crew*>(self);
  if (crew.enter_ != nullptr) crew.enter_();
  crew.help();
  return nullptr;
}

void Crew::help() noexcept {
  const CrewLock lock(mutex_);
  for (std::uint64_t seen = 0;;) {
    while ((piece_.size == 0 || calls_ == seen) && !stop_) pthread_cond_wait(&called_, &mutex_);
    if (stop_) return;
    seen = calls_;
    const auto piece = piece_;
    ++helping_;
    pthread_mutex_unlock(&mutex_);
    copy_blocks(piece);
    pthread_mutex_lock(&mutex_);
    if (--helping_ == 0) pthread_cond_signal(&through_);
  }
}

}  // namespace terrace::transfer
