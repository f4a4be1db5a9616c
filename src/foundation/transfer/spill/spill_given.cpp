// Blocks that are given to the kernel's own paging. See spill.hpp.
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "transfer/spill/spill.hpp"
#include "transfer/spill/spill_limits.hpp"
#include "transfer/spill/spill_system.hpp"

namespace terrace::transfer {

namespace {

using spill_limits::k_trials;

Seconds in_seconds(std::uint64_t ns) noexcept { return Seconds{static_cast<double>(ns) * 1e-9}; }

}  // namespace

Spill::Blocks::iterator Spill::block_of(ChunkId c) noexcept {
  auto block = blocks_.upper_bound(c);
  if (block == blocks_.begin()) return blocks_.end();
  --block;
  return c - block->first < block->second.count ? block : blocks_.end();
}

// Of the range no block is on its way to the kernel.
void Spill::stop_giving(ChunkId first, ChunkId end) noexcept {
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (block->second.leaving && block->first < end && first < block->first + block->second.count)
      keep_block(block);
}

// A block begins there, where one has it in its middle.
void Spill::split_block(ChunkId at) noexcept {
  const auto block = block_of(at);
  if (block == blocks_.end() || block->first == at) return;
  auto rest = block->second;
  rest.count = block->first + block->second.count - at;
  block->second.count = at - block->first;
  add_block(at, rest);
}

// The range has blocks of its own: the first of them.
Spill::Blocks::iterator Spill::divide_blocks(ChunkId first, ChunkId end) noexcept {
  split_block(first);
  split_block(end);
  return blocks_.lower_bound(first);
}

// Somebody waits for a chunk from disk; it may be on its way.
void Spill::loaded_for(ChunkId c, bool expected, bool sparse) noexcept {
  const auto found = block_of(c);
  if (found == blocks_.end()) return;
  auto& block = found->second;
  if (block.use.is_new()) block.seen = seen_by_touches();
  auto& heap = heap_of(found->first);
  const auto count = [&](BlockUse& use) {
    if (chunks_[c].where == Where::disk) use.loaded(expected);
    use.waited(sparse);
  };
  count(block.use);
  if (BlockUse::is_piece(block.count)) count(heap);
  // Where the file has no room for all of it the kernel would end the program.
  if (block.use.is_for_pages(heap, block.count) && block.has_room && !block.kept && giving_since_ == 0)
    give_block(found);
}

// From now on who touches it waits until it is given.
void Spill::give_block(Blocks::iterator found) noexcept {
  found->second.leaving = true;
  giving_since_ = steady_ns();
  const auto is_in = [&](ChunkId c) { return c - found->first < found->second.count; };
  for (const auto c : needy_)
    if (is_in(c)) chunks_[c].wanted = false;
  std::erase_if(needy_, is_in);
}

// All of it goes to the file; then the file takes its place.
void Spill::go_on_giving() noexcept {
  const auto found = std::ranges::find_if(blocks_, [](const auto& one) { return one.second.leaving; });
  if (found == blocks_.end()) {
    giving_since_ = 0;
    return;
  }
  const auto first = found->first;
  const auto count = found->second.count;
  bool all = true;
  for (auto c = first; c < first + count; ++c) {
    auto& chunk = chunks_[c];
    if (chunk.stays || chunk.at > 0 || is_taken(c)) return keep_block(found);
    if (chunk.where == Where::quiet || chunk.where == Where::ready) send_away(c);
    if (chunk.where == Where::leaving && chunk.clean && !chunk.writing) {
      std::erase(leaving_, c);
      is_foreseen(c, false);
      pool_->give(chunk.slot);
      chunk.where = Where::disk;
      chunk.clean = chunk.wanted = chunk.rescued = false;
      tell(c);
    }
    all = all && (chunk.where == Where::fresh || chunk.where == Where::disk);
  }
  if (!all) {
    if (steady_ns() - giving_since_ <= parts_.handover_limit_ns) return;
    found->second.use.refuse(1);
    keep_block(found);
    return;
  }
  if (!are_zeros_in_file(first, count) || file_->map(place(first), offset(first), count * k_chunk) != 0)
    return keep_block(found);
  madvise(memory_at(place(first)), count * k_chunk, MADV_DONTFORK);
  if (is_in_no_order(found)) madvise(memory_at(place(first)), count * k_chunk, MADV_RANDOM);
  for (auto c = first; c < first + count; ++c) {
    if (chunks_[c].where != Where::fresh) --content_;
    chunks_[c] = {};
    tell(c);
  }
  auto& block = found->second;
  block.leaving = false;
  block.given = true;
  block.since = steady_ns();
  block.period = block.period > 0 ? 2 * block.period : parts_.first_period_ns;
  if (is_in_no_order(found))
    block.trial.end();
  else
    block.trial.begin(seen_by_system(), block.seen, seen_by_touches());
  given_ += count;
  giving_since_ = 0;
  faults_->wake(place(first), count * k_chunk);
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (one.chunk - first >= count) return false;
    counts_->waited.fetch_add(steady_ns() - one.since, std::memory_order_relaxed);
    return true;
  });
  join_given(found);
}

bool Spill::is_in_no_order(Blocks::iterator block) noexcept {
  return block->second.use.is_in_no_order(heap_of(block->first), block->second.count);
}

// Pieces of one heap that were given for the same reason are one block from now on: they come back in one step,
// and are judged as one.
void Spill::join_given(Blocks::iterator found) noexcept {
  const auto can_join = [&](Blocks::iterator one) {
    const auto& block = one->second;
    return (block.joined || BlockUse::is_piece(block.count)) && block.can_come_back() && !block.settling &&
           !block.trial.is_on() && !(is_retaking_ && retaken_ == one);
  };
  const auto join = [&](Blocks::iterator one, Blocks::iterator next) {
    if (!can_join(one) || !can_join(next) || one->first + one->second.count != next->first) return false;
    one->second.count += next->second.count;
    one->second.joined = true;
    blocks_.erase(next);
    return true;
  };
  if (const auto next = std::next(found); next != blocks_.end()) join(found, next);
  if (found != blocks_.begin()) join(std::prev(found), found);
}

// Chunks without content are zero, also where the file has what was in them before.
bool Spill::are_zeros_in_file(ChunkId first, std::uint32_t count) noexcept {
  for (auto c = first; c < first + count;) {
    const auto from = c++;
    if (chunks_[from].where != Where::fresh) continue;
    while (c < first + count && chunks_[c].where == Where::fresh) ++c;
    if (file_->make_zero(offset(from), (c - from) * k_chunk) != 0) return false;
  }
  return true;
}

// It is not given after all; who waits is served.
void Spill::keep_block(Blocks::iterator found) noexcept {
  giving_since_ = 0;
  auto& block = found->second;
  block.leaving = false;
  block.use.begin_anew();
  serve_late(found);
}

// Who waits for something of a block that was not to be served before.
void Spill::serve_late(Blocks::iterator found) noexcept {
  const auto count = found->second.count;
  for (std::size_t i = 0; i < waiting_.size();) {
    const auto c = waiting_[i].chunk;
    const auto all = waiting_.size();
    if (c - found->first < count) serve_late(c);
    if (waiting_.size() == all) ++i;
  }
  faults_->wake(place(found->first), count * k_chunk);  // who is not known to wait touches it again
}

void Spill::serve_late(ChunkId c) noexcept {
  auto& chunk = chunks_[c];
  if (chunk.where == Where::quiet) {
    resume(c);
  } else if (chunk.where == Where::ready || (chunk.where == Where::leaving && !chunk.writing)) {
    take_back(c);
    map(c);
    resume(c);
  } else if (!chunk.wanted) {
    if (chunk.where == Where::fresh || chunk.where == Where::disk) needy_.push_back(c);
    chunk.wanted = true;
    tell(c);
  }
}

// What the program works from touch to touch has the cost of touching in it: chunks look better than they are.
PageTrial::Seen Spill::seen_by_touches() const noexcept {
  return {waited_for_pages(), in_seconds(work_), in_seconds(steady_ns())};
}

// Where the system does not say who waits, pages that were read count.
Seconds Spill::waited_for_pages() const noexcept {
  if (!sees_fault_waits_) return static_cast<double>(pages_read()) * spill_limits::k_page_read;
  return in_seconds(counts_->paged_waited.load(std::memory_order_relaxed));
}

// Of the threads that have touched chunks; what they do in the kernel is no work.
PageTrial::Seen Spill::seen_by_system() const noexcept {
  std::uint64_t worked = 0;
  for (const auto& one : workers_) worked += user_ns(one.number);
  return {waited_for_pages(), in_seconds(worked), in_seconds(steady_ns())};
}

// Programs do other things later: what the kernel has had long enough is in chunks again, all of them on disk.
// Where they are still touched in no order it is given once more. Where it was given because little of each chunk
// was used it stays with the kernel as long as that has few pages to read.
void Spill::try_again() noexcept {
  if (is_retaking_) return;
  const auto now = steady_ns();
  for (auto found = blocks_.begin(); found != blocks_.end(); ++found) {
    auto& block = found->second;
    const auto since = now - block.since;
    if (!block.can_come_back() || since <= block.period / 2) continue;
    if (block.trial.is_on() && !block.trial.has_looked()) block.trial.look(seen_by_system());
    if (since <= block.period) continue;
    if (block.trial.is_on()) {
      if (const auto end = seen_by_system(); block.trial.is_passed(end)) {
        block.since = now;
        block.period *= 2;
        block.trial.go_on(end);
        continue;
      }
      block.use.refuse(k_trials);
      block.period = 0;
    }
    return start_retaking(found);
  }
}

// What the kernel has of the range is in chunks again, block by block. False: not yet.
bool Spill::take_back_given(ChunkId first, ChunkId end) noexcept {
  if (is_retaking_) return false;
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    if (block->first >= end || block->first + block->second.count <= first) continue;
    if (!block->second.can_come_back()) continue;
    start_retaking(block);
    return false;
  }
  return true;
}

bool Spill::is_retaken(ChunkId first, ChunkId end) const noexcept {
  return is_retaking_ && retaken_->first < end && first < retaken_->first + retaken_->second.count;
}

// First what was written to it goes to the file, while it is used as before: that may take long.
void Spill::start_retaking(Blocks::iterator found) noexcept {
  found->second.since = steady_ns();
  retaken_ = found;
  is_retaking_ = true;
  remapper_->start_sync(*file_);
}

void Spill::go_on_retaking() noexcept {
  if (remapper_->is_under_way()) return;
  const auto [first, count] = std::pair(retaken_->first, retaken_->second.count);
  auto& block = retaken_->second;
  const int error = remapper_->error();
  if (block.settling) return has_settled(retaken_, error);
  // What cannot be written stays in the kernel's hands.
  if (error != 0)
    say_once(said_kernel_, "the spill file cannot be written: what the kernel has of it stays in memory", error);
  if (error != 0 || !replace_mapping(place(first), count * k_chunk)) {
    block.stuck = true;
    is_retaking_ = false;
  } else {
    block.settling = true;
    remapper_->start_sync(*file_);  // what was written meanwhile
  }
  for (const auto& [address, thread] : touches_) take_fault(address, thread);
  touches_.clear();
}

void Spill::has_settled(Blocks::iterator found, int error) noexcept {
  auto& [first, block] = *found;
  is_retaking_ = false;
  file_->drop_cached(offset(first), block.count * k_chunk);
  block.given = block.settling = false;
  block.use.begin_anew();
  given_ -= block.count;
  content_ += block.count;
  if (error != 0)
    say_once(said_lost_, "the spill file cannot be written: who touches what was lost gets a bus error", error);
  for (auto c = first; c < first + block.count; ++c) {
    chunks_[c].where = error == 0 ? Where::disk : Where::quiet;
    chunks_[c].stays = error != 0;
    if (error != 0) {
      faults_->poison(place(c), k_chunk);
      chunks_[c].failed = k_read_tries;
    }
    tell(c);
  }
  serve_late(found);
}

// By memory of which every page is absent and watched, in one step: nobody meets anything in between. A thread of
// its own does that, since it waits until it was read here that it is done. Touches that come meanwhile are to be
// served later.
bool Spill::replace_mapping(std::uint64_t address, std::size_t size) noexcept {
  const auto got = syscall(SYS_mmap, nullptr, size + k_chunk, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (got == -1) return false;
  const auto mapped = static_cast<std::uint64_t>(got);
  const auto from = align_up(mapped, k_chunk);
  syscall(SYS_munmap, mapped, from - mapped);
  syscall(SYS_munmap, from + size, mapped + k_chunk - from);
  prepare(from, size);
  bool done = false;
  if (faults_->watch(from, size) == 0) {
    remapper_->start(from, address, size);
    while (remapper_->is_under_way()) {
      pollfd file{faults_->file(), POLLIN, 0};
      poll(&file, 1, 1);
      for (Touch touch; faults_->next_touch(touch.address, &touch.thread);) {
        if (touches_.size() < touches_.capacity())
          touches_.push_back(touch);
        else
          faults_->wake(page_down(touch.address), k_page);  // who will touch it again
      }
    }
    done = remapper_->error() == 0;
  }
  if (!done) syscall(SYS_munmap, from, size);
  return done;
}

// Its content is lost, and it is ours again.
void Spill::take_block_back(Blocks::iterator found) noexcept {
  renew(found->first, found->second.count);
  given_ -= found->second.count;
  found->second.given = false;
}

// Memory as it was in the beginning, whatever was mapped there.
void Spill::renew(ChunkId first, std::uint32_t count) noexcept {
  const auto address = place(first);
  const auto size = count * k_chunk;
  syscall(SYS_mmap, address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
          -1, 0L);
  prepare(address, size);
  faults_->watch(address, size);
}

// Given blocks have their share, by size, of the memory that is left for data, and no more; where they have more,
// some pages of theirs leave. What is to be left to them.
std::uint64_t Spill::shrink_given(std::uint64_t mapped, std::uint64_t stays) noexcept {
  if (given_ == 0) return 0;
  constexpr std::uint64_t k_fewest = spill_limits::k_min * k_chunk;  // for them, and for chunks
  const auto room = parts_.memory.value - std::min(parts_.memory.value, stays + k_fewest);
  const auto part = static_cast<double>(given_) / static_cast<double>(given_ + content_);
  const auto share = std::max(static_cast<std::uint64_t>(static_cast<double>(room) * part), k_fewest);
  if (mapped <= share) return share;
  auto excess = mapped - share;
  for (std::size_t tried = 0; excess > 0 && tried < 2 * blocks_.size(); ++tried) {
    auto block = block_of(static_cast<ChunkId>(hand_));
    if (block == blocks_.end() || !block->second.given) {
      block =
          std::ranges::find_if(blocks_, [&](const auto& one) { return one.second.given && one.first >= hand_; });
      if (block == blocks_.end())
        block = std::ranges::find_if(blocks_, [](const auto& one) { return one.second.given; });
      hand_ = block->first;
    }
    const auto left = (block->first + block->second.count - hand_) * k_chunk;
    const auto size = std::min(left, align_up(2 * excess, k_chunk));
    madvise(memory_at(place(static_cast<ChunkId>(hand_))), size, k_page_out);
    hand_ += size / k_chunk;
    excess -= std::min(excess, size / 2);
  }
  return share;
}

}  // namespace terrace::transfer
