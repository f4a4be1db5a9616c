// SPDX-License-Identifier: Apache-2.0
// Adapts the pager's limit of resident chunks to the process's other memory, and publishes statistics to the
// launcher. See spill.hpp.
#include <algorithm>
#include <utility>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_limits.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

constexpr std::uint64_t k_margin = 8ULL << 20;  // memory of the process that statm does not show
using spill_limits::k_min_resident;

}  // namespace

// Recomputes the chunk budget: the memory limit less all resident memory of the process that is not in chunks.
void Spill::adapt_limit() noexcept {
  limit_adapted_ns_ = steady_ns();
  const auto [all, of_files] = resident_memory();
  if (kernel_paged_ == 0) other_file_bytes_ = of_files;
  const auto of_given = of_files > other_file_bytes_ ? of_files - other_file_bytes_ : 0;
  const auto chunks = pool_->pages() * k_chunk + of_given;
  const auto stays = k_margin + (all > chunks ? all - chunks : 0);
  // Unevictable memory alone may exceed the limit.
  excess_bytes_ = stays > parts_.memory.value + k_margin ? stays - k_margin - parts_.memory.value : 0;
  const auto others = stays + shrink_kernel_paged(of_given, stays);
  chunk_budget_ = parts_.memory.value > others ? (parts_.memory.value - others) / k_chunk : 0;
  max_min_chunks_ = std::max<std::size_t>(stays / k_chunk, k_min_resident);
  if (chunk_budget_ >= min_chunks_) min_chunks_ = k_min_resident;
  apply_limit();
  pool_->shrink();
  if (excess_bytes_ > 0) warn_too_small();
  retry_refused();
  update_concurrency();
}

// Publishes the mean number of threads that run or wait for chunks.
void Spill::update_concurrency() noexcept {
  const auto time = to_seconds(limit_adapted_ns_ - begun_ns_);
  const auto waited = to_seconds(counts_->waited.load(std::memory_order_relaxed) +
                                 counts_->paged_waited.load(std::memory_order_relaxed));
  if (time <= 0) return;
  const auto all = (program_cpu_time() - cpu_time_at_start_).value + waited;
  counts_->concurrency.store(std::max(1.0, all / time), std::memory_order_relaxed);
}

// Sets the pool's limit. Refused chunks are pinned, and are added so that they take nothing from the others.
void Spill::apply_limit() noexcept {
  allowed_chunks_ = std::max<std::size_t>(chunk_budget_, k_min_resident);
  pool_->set_limit(std::max<std::size_t>(chunk_budget_, min_chunks_) + num_refused_);
}

// Records a refault of a chunk after `left` further evictions (refault distance). Where unevictable memory takes
// the whole limit, the minimum number of chunks may grow up to that memory's size: it grows when most refaults
// would have been hits with the larger number.
void Spill::note_refault(std::uint32_t left) noexcept {
  ++num_refaults_;
  if (left + pool_->limit() <= max_min_chunks_ + num_refused_) ++num_early_refaults_;
  if (num_refaults_ < pool_->limit()) return;
  const bool most = static_cast<double>(num_early_refaults_) >=
                    spill_limits::k_early_refault_share * static_cast<double>(num_refaults_);
  num_refaults_ = num_early_refaults_ = 0;
  if (!most || chunk_budget_ >= k_min_resident) return;
  min_chunks_ =
      std::min(min_chunks_ + std::max<std::size_t>(min_chunks_ / spill_limits::k_growth_part, 1), max_min_chunks_);
  apply_limit();
}

// Records whether the file refused a chunk, which then stays in memory in addition to the limit.
void Spill::set_refused(ChunkId c, bool value) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.write_refused == value) return;
  if (value && num_refused_ == 0) refusals_retried_ns_ = steady_ns();
  chunk.write_refused = value;
  num_refused_ += value ? 1 : std::size_t(-1);
  apply_limit();
}

// Retries refused writes, because a full disk may have space later: if file space for one chunk can be reserved,
// all refused chunks become evictable. Otherwise the interval to the next retry doubles.
void Spill::retry_refused() noexcept {
  const auto now = steady_ns();
  if (num_refused_ == 0 && now - refusals_retried_ns_ > spill_limits::k_max_retry_ns)
    retry_interval_ns_ = spill_limits::k_min_retry_ns;
  if (num_refused_ == 0 || now - refusals_retried_ns_ < retry_interval_ns_) return;
  refusals_retried_ns_ = now;
  retry_interval_ns_ = std::min(2 * retry_interval_ns_, spill_limits::k_max_retry_ns);
  bool has_space = false;
  for (const auto& [first, block] : blocks_)
    for (auto c = first; c < first + block.count; ++c) {
      if (!chunks_[c].write_refused) continue;
      if (!has_space && file_->reserve(offset(c), k_chunk) != 0) return;
      has_space = true;
      chunks_[c].pinned = false;
      set_refused(c, false);
      notify_policy(c);
    }
}

void Spill::warn_too_small() noexcept {
  if (std::exchange(said_too_small_, true) || !parts_.say) return;
  warn_memory_too_small(parts_.memory, Bytes{parts_.memory.value + excess_bytes_}, parts_.say);
}

// Publishes the statistics of this round of the pager's loop.
void Spill::update_counts() noexcept {
  const auto set = [](std::atomic<std::uint64_t>& count, std::uint64_t value) {
    count.store(value, std::memory_order_relaxed);
  };
  const auto grow = [&](std::atomic<std::uint64_t>& count, std::uint64_t value) {
    if (value > count.load(std::memory_order_relaxed)) set(count, value);
  };
  set(counts_->content, (num_with_content_ + kernel_paged_) * k_chunk);
  grow(counts_->max_content, (num_with_content_ + kernel_paged_) * k_chunk);
  set(counts_->kernel_paged, kernel_paged_ * k_chunk);
  grow(counts_->max_kernel_paged, kernel_paged_ * k_chunk);
  grow(counts_->max_excess, excess_bytes_);
  sample_fault_waits();
  set(counts_->in_memory, pool_->pages() * k_chunk);
  set(counts_->limit, pool_->limit() * k_chunk);
  const auto within = std::min(pool_->pages(), pool_->limit());
  if (within > allowed_chunks_) note_over_limit(within - allowed_chunks_);
}

// Samples waits in page faults that the kernel serves. Threads that wait for a chunk are in a page fault, too;
// they are counted when the chunk is served.
void Spill::sample_fault_waits() noexcept {
  if (kernel_paged_ == 0) return fault_waits_.pause();
  const auto now = steady_ns();
  if (!fault_waits_.is_due(now)) return;
  const auto is_known = [](const void* spill, std::uint32_t thread) {
    const auto& waiting = static_cast<const Spill*>(spill)->waiters_;
    return std::ranges::find(waiting, thread, &Waiter::thread) != waiting.end();
  };
  counts_->paged_waited.fetch_add(fault_waits_.sample(now, is_known, this), std::memory_order_relaxed);
}

// Records that resident memory exceeds the limit by so many chunks, and why.
void Spill::note_over_limit(std::size_t chunks) noexcept {
  if (chunks * k_chunk <= counts_->max_over_limit.load(std::memory_order_relaxed)) return;
  counts_->max_over_limit.store(chunks * k_chunk, std::memory_order_relaxed);
  const auto reason = num_refused_ > 0 ? k_over_file : min_chunks_ > chunk_budget_ ? k_over_rest : k_over_held;
  counts_->over_limit_reasons.fetch_or(reason, std::memory_order_relaxed);
}

}  // namespace terrace::transfer
