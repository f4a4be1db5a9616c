// See page_sentinels.hpp.
#include "transfer/exchange/page_sentinels.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/error.hpp"
#include "core/high_fd.hpp"
#include "core/internal_thread.hpp"
#include "core/rounding.hpp"
#include "core/userfault_file.hpp"
#include "memory/numa_node.hpp"

namespace terrace::transfer {

namespace {

constexpr int k_do_not_unmap = 4;  // MREMAP_DONTUNMAP, which older headers lack

constexpr int k_tries = 4;                   // of a page that is busy, a millisecond between them
constexpr int k_look_again = 1000;           // ms: who stops the thread may have lost the file by which it says so
constexpr std::uint32_t k_all = 0xffffffff;  // chunks

void pause_a_moment() noexcept {
  const timespec moment{0, 1'000'000};
  syscall(SYS_nanosleep, &moment, nullptr);
}

bool kernel_moves_pages() noexcept { return Userfault().is_there(); }

}  // namespace

PageSentinels::PageSentinels(Touched touched, void* whom, void (*enter)())
    : touched_(touched), whom_(whom), enter_(enter), faults_(kernel_moves_pages() ? k_userfault_move : 0) {
  if (!faults_.is_there())
    throw Error(Code::failed, "this process cannot watch pages, " + why_no_userfault(faults_.error()));
  if (kernel_moves_pages()) staging_.emplace(faults_, account_, k_max, 0);
  posts_.reserve(k_max);
  sem_init(&ready_, 0, 0);
  stop_ = move_fd_high(eventfd(0, EFD_CLOEXEC));
  if (stop_ < 0) throw Error(Code::failed, "the system gives no file for watching pages");
  if (!start_signal_masked_thread(thread_, "terrace/touch", thread_body, this)) {
    syscall(SYS_close, stop_);
    throw Error(Code::failed, "the system gives no thread for watching pages");
  }
  while (sem_wait(&ready_) != 0) {
  }
  join();
}

PageSentinels::~PageSentinels() {
  leave();
  disarm(0, k_all);
  stopped_ = true;
  const std::uint64_t one = 1;
  while (write(stop_, &one, sizeof one) < 0 && errno == EINTR) {
  }
  pthread_join(thread_, nullptr);
  syscall(SYS_close, stop_);
}

// No pages may be put aside while somebody holds exchanges up.
bool PageSentinels::arm(ChunkId chunk, std::uint64_t turn, std::uint64_t address, std::size_t size) noexcept {
  const Underway underway;
  const std::lock_guard lock(mutex_);
  const auto begin = align_up(address, k_page);
  const auto end = std::min(align_down(address + size, k_page), align_down(begin, k_piece) + k_piece);
  if (begin >= end || posts_.size() == k_max) return false;
  Post post{.chunk = chunk, .turn = turn, .address = begin, .size = end - begin};
  if (!take_away(post)) return false;
  posts_.push_back(post);
  return true;
}

bool PageSentinels::disarm(ChunkId first, std::uint32_t count) noexcept {
  const std::lock_guard lock(mutex_);
  return std::erase_if(posts_, [&](Post& post) { return post.chunk - first < count && bring_back(post); }) > 0;
}

void PageSentinels::put_back(std::uint64_t low, std::uint64_t high) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& post : posts_)
    if (post.address < high && low < post.address + post.size) bring_back(post);
}

void PageSentinels::put_aside() noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(posts_, [&](Post& post) { return !is_aside(post) && !take_away(post); });
}

bool PageSentinels::take_away(Post& post) noexcept {
  if (faults_.watch(post.address, post.size) != 0) return false;
  if ((staging_ && move_away(post)) || map_away(post)) return true;
  faults_.forget(post.address, post.size);
  return false;
}

// Pages that a child of fork(2) shares become this process's own when they are written; not while they are
// watched: who writes an absent one waits.
bool PageSentinels::own_pages(const Post& post) noexcept {
  faults_.forget(post.address, post.size);
  const bool own = memory::populate(post.address, post.size) == 0;
  return faults_.watch(post.address, post.size) == 0 && own;
}

// Pages that were never touched stay absent, and who touches one traps as well. A page may be busy because a child
// of fork(2) shares it, or because the kernel is looking at it. Some stay busy: of a huge page that was being made
// the process's own when the child ended, page by page, the kernel moves the rest no more; mapping it elsewhere
// does.
bool PageSentinels::move_away(Post& post) noexcept {
  const bool huge = post.size == k_piece && faults_.page_map().may_be_huge(post.address);
  auto* const slot = staging_->take_empty(huge);
  if (!slot) return false;
  for (int tries = 0; tries < k_tries; ++tries) {
    std::size_t moved = 0;
    const int error = faults_.move(slot->address, post.address, post.size, moved);
    if (error == 0 || error == ENOENT) {
      post.slot = slot;
      post.moved = moved;
      return true;
    }
    faults_.restore(post.address, slot->address, post.size, moved);
    if (error != EBUSY || !own_pages(post)) break;
    if (tries > 0) pause_a_moment();
  }
  staging_->clear(*slot);
  staging_->give(*slot);
  return false;
}

bool PageSentinels::map_away(Post& post) noexcept {
  const auto got =
      syscall(SYS_mremap, post.address, post.size, post.size, MREMAP_MAYMOVE | k_do_not_unmap, nullptr);
  if (got < 0) return false;
  post.aside = static_cast<std::uint64_t>(got);
  return true;
}

// Forgetting the range wakes who waits for it. False where the program has closed the file that this thread knows:
// then the pages come back when they are touched.
bool PageSentinels::bring_back(Post& post) noexcept {
  if (!is_aside(post)) return true;
  if (!faults_.answers(post.address)) return false;
  if (post.slot) {
    faults_.restore(post.address, post.slot->address, post.size, post.moved);
    staging_->clear(*post.slot);
    staging_->give(*post.slot);
  } else {
    if (faults_.copy(post.address, post.aside, post.size) != 0)
      faults_.insist(post.address, post.aside, post.size);
    syscall(SYS_munmap, post.aside, post.size);
  }
  faults_.forget(post.address, post.size);
  post.slot = nullptr;
  post.aside = 0;
  return true;
}

// The one of whom somebody touched a page; nothing where its pages are back already, and with them who waited.
std::optional<PageSentinels::Post> PageSentinels::meet(std::uint64_t address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(posts_, [&](const Post& post) { return address - post.address < post.size; });
  if (found == posts_.end()) return {};
  bring_back(*found);
  const auto post = *found;
  posts_.erase(found);
  return post;
}

void PageSentinels::watch() noexcept {
  while (!stopped_) {
    std::array<pollfd, 2> files{{{faults_.file(), POLLIN, 0}, {stop_, POLLIN, 0}}};
    if (poll(files.data(), files.size(), k_look_again) < 0) continue;
    for (std::uint64_t address = 0; faults_.next_touch(address);)
      if (const auto post = meet(address)) touched_(whom_, post->chunk, post->turn);
  }
}

void* PageSentinels::thread_body(void* self) {
  auto& sentinels = *static_cast<PageSentinels*>(self);
  if (sentinels.enter_ != nullptr) sentinels.enter_();
  // With the last file of them the kernel would forget which ranges are watched, and pages that are aside would
  // read as zeros.
  unshare_fd_table(sentinels.faults_.file(), sentinels.stop_);
  sem_post(&sentinels.ready_);
  sentinels.watch();
  return nullptr;
}

}  // namespace terrace::transfer
