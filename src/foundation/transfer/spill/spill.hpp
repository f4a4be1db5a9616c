// Memory that may be larger than RAM: chunks of 2 MiB of which some are in memory and the others in a file. A
// thread of its own brings in what is touched, and before that what will be (foresight.hpp says what), and writes
// back what leaves, if it has changed.
//
// Nothing is lost: a chunk leaves its place by UFFDIO_MOVE, after which nobody writes to it; its content is then
// compared, by hash, with what the file has; only when the file has it all is its page used again. What the file
// does not take stays in memory. The thread has the memory that it needs from the beginning, or waits for it.
//
// The thread has a table of files of its own, which the program cannot close; nobody else uses those files. Calls
// come to it as faults: the caller touches a page that the thread watches, and waits there.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "transfer/exchange/userfault.hpp"
#include "transfer/spill/block_use.hpp"
#include "transfer/spill/chunk_state.hpp"
#include "transfer/spill/disk_queue.hpp"
#include "transfer/spill/fault_waits.hpp"
#include "transfer/spill/remapper.hpp"
#include "transfer/spill/spill_engine.hpp"
#include "transfer/spill/spill_file.hpp"
#include "transfer/spill/spill_limits.hpp"
#include "transfer/spill/spill_pool.hpp"

namespace terrace::transfer {

class Spill final : public SpillEngine {
 public:
  // Throws Error{failed} when the system lacks what it takes.
  explicit Spill(const Parts& parts);
  // Content is lost.
  ~Spill() override;
  // Returns 0 where this process may have one and the kernel is new enough, or the errno value that says why not.
  [[nodiscard]] static int problem_here() noexcept;

  // As soon as memory is short there is room in the file for the range, as far as the disk has some.
  void reserve(std::uint64_t address, std::size_t size) noexcept override;
  void release(std::uint64_t address, std::size_t size) noexcept override;
  void discard(std::uint64_t address, std::size_t size) noexcept override;
  void leave(std::uint64_t address, std::size_t size) noexcept override;
  void prefer(std::uint64_t address, std::size_t size, Preference preference) noexcept override;
  // No mapping of the file could keep them.
  void change_rights(std::uint64_t address, std::size_t size, bool usual) noexcept override;
  [[nodiscard]] const char* way() const noexcept { return way_; }

  // What has changed is written first, and the child maps the file, where nothing that it has is written over any
  // more. What the file does not take, or cannot leave its place, it shares page by page, as it does what is at
  // the addresses. It has no thread of spilled memory: the kernel pages its copy.
  void before_fork(std::span<const std::uint64_t> at_once) noexcept override;
  void after_fork() noexcept override;
  void in_child() noexcept override;

 private:
  using Slot = SpillPool::Slot;
  static_assert(k_chunk == SpillPool::k_chunk);
  static constexpr std::uint8_t k_read_tries = 3;
  struct Hash {
    std::uint64_t low = 0, high = 0;
    bool operator==(const Hash&) const = default;
  };
  struct Chunk {  // all zero is a fresh one
    Where where{};
    bool clean = false;       // its slot has what the file has
    bool writing = false;     // under way
    bool wanted = false;      // somebody waits for it
    bool rescued = false;     // needed again, while it was written
    bool has_copy = false;    // the file has it, as `hash` says
    bool stays = false;       // it does not leave
    bool refused = false;     // because the file does not take it
    bool foreseen = false;    // read before it was touched
    bool shared = false;      // a child maps its place in the file, `at`
    std::uint8_t failed = 0;  // reads
    Slot slot = 0;            // where it is in one
    std::uint32_t gone = 0;   // so many had left when it did, the last time
    std::uint32_t at = 0;     // where the file has it, in chunks; 0: at its own distance from the beginning
    Hash hash{};
  };
  struct Waiting {
    ChunkId chunk = 0;
    std::uint32_t thread = 0;
    std::uint64_t since = 0;  // nanoseconds
  };
  struct Touch {
    std::uint64_t address = 0;
    std::uint32_t thread = 0;
  };
  struct Worker {  // a thread of the program
    std::uint32_t number = 0;
    std::uint64_t resumed = 0;  // when it had last waited for a chunk; 0: never
    std::uint64_t worked = 0;   // of its own processor time, until it last touched one; nanoseconds
    VisitWork work{};
  };
  // What was reserved at once. Where nearly all touches of what is on disk come unexpected, or little of each
  // chunk is used, whole chunks are too much to read for each: the kernel pages it then, as a mapping of the file,
  // for a while, which doubles each time.
  struct Block {
    std::uint32_t count = 0;
    bool asked = false;     // the file, whether it has room
    bool has_room = false;  // in the file, all of it
    bool kept = false;      // not to be given, nor taken back: rights to a part of it have changed
    bool stuck = false;     // given for good: it could not be taken back
    bool joined = false;    // of pieces
    BlockUse use{};
    PageTrial trial{};
    PageTrial::Seen seen{};  // when `use` began
    bool leaving = false;    // is being given to the kernel
    bool given = false;
    bool settling = false;     // is no mapping of the file any more, but what was written to it is on its way
    std::uint64_t since = 0;   // nanoseconds: when it was given
    std::uint64_t period = 0;  // how long the kernel has it
    [[nodiscard]] bool can_come_back() const noexcept { return given && !kept && !stuck; }
  };
  using Blocks = std::map<ChunkId, Block>;
  struct ForChild {  // what a child of fork moves to its place
    std::uint64_t place = 0;
    std::uint64_t size = 0;
    bool zeros = false;
    std::uint64_t offset = 0;  // in the file
    std::uint64_t mapped = 0;  // where the file is mapped for it; 0: nowhere
  };
  struct Call {
    enum class What : std::uint8_t { stop, fork, reserve, release, discard, leave, prefer, change_rights };
    What what = What::stop;
    std::uint64_t address = 0;
    std::size_t size = 0;
    bool usual = false;  // rights
    Preference preference = Preference::none;
  };

  // As the foresight shall see it; it is told of every change.
  [[nodiscard]] Residence residence(ChunkId chunk) const noexcept {
    const auto& one = chunks_[chunk];
    if (one.where == Where::quiet && one.stays) return Residence::fixed;
    return residence_of(one.where, one.wanted || (one.where == Where::leaving && one.rescued));
  }
  void tell(ChunkId chunk) noexcept { foresight_->moved(chunk, residence(chunk)); }
  [[nodiscard]] std::uint64_t place(ChunkId chunk) const noexcept { return base_ + chunk * k_chunk; }
  [[nodiscard]] std::uint64_t offset(ChunkId chunk) const noexcept {
    return (chunks_[chunk].at > 0 ? chunks_[chunk].at : chunk) * k_chunk;
  }

  // The thread.
  static void* thread_body(void* self);
  void begin();
  static void prepare(std::uint64_t address, std::size_t size) noexcept;  // memory for chunks
  void end() noexcept;
  void run() noexcept;
  void take_faults() noexcept;
  void take_fault(std::uint64_t address, std::uint32_t thread) noexcept;
  void take_answers() noexcept;
  void note_disk() noexcept;
  void note_predicted(std::uint64_t time) noexcept;

  // How many may be in memory (spill_room.cpp).
  void adapt_limit() noexcept;
  void note_at_once() noexcept;
  void set_limit() noexcept;
  void note_return(std::uint32_t left) noexcept;
  void set_refused(ChunkId chunk, bool value) noexcept;
  void try_refused() noexcept;
  void say_beside() noexcept;
  void keep_account() noexcept;
  void note_fault_waits() noexcept;
  void note_over(std::size_t chunks) noexcept;

  // Calls.
  void call(const Call& call) noexcept;
  void ask(const Call& call) noexcept;  // with the lock
  void answer_call() noexcept;
  bool carry_out() noexcept;
  bool keep_spare_blocks() noexcept;
  void add_block(ChunkId first, const Block& block) noexcept;
  void reserve_now(ChunkId first, std::size_t count) noexcept;
  void ask_for_room() noexcept;
  // False: something is under way, again when that has ended.
  bool release_now(ChunkId first, std::size_t count) noexcept;
  bool discard_now(ChunkId first, std::size_t count) noexcept;
  bool leave_now(ChunkId first, std::size_t count) noexcept;
  bool change_rights_now(ChunkId first, std::size_t count, bool usual) noexcept;
  [[nodiscard]] bool is_busy(ChunkId first, ChunkId end) const noexcept;
  bool bring_home(ChunkId chunk) noexcept;
  bool bring_to_place(ChunkId chunk) noexcept;
  void leave_chunk(ChunkId chunk) noexcept;
  void drop(ChunkId chunk) noexcept;
  void give_page_back(ChunkId chunk) noexcept;

  // Children of fork (spill_fork.cpp).
  bool bring_at_once() noexcept;
  void freeze() noexcept;
  bool bring_all_to_places() noexcept;
  bool bring_to_file(ChunkId chunk) noexcept;
  bool share_with_child(ChunkId chunk) noexcept;
  void give_to_child(ChunkId first, std::uint32_t count, bool zeros) noexcept;
  void map_for_child() noexcept;
  bool write_now(ChunkId chunk, std::uint64_t address) noexcept;
  void find_place(ChunkId chunk) noexcept;
  void leave_place(ChunkId chunk) noexcept;
  [[nodiscard]] bool is_taken(ChunkId chunk) const noexcept { return chunk < taken_.size() && taken_[chunk]; }

  // What happens to chunks.
  void touched(std::uint64_t address, std::uint32_t thread) noexcept;
  void read_ended(ChunkId chunk, int error) noexcept;
  void write_ended(ChunkId chunk, int error) noexcept;
  void map(ChunkId chunk) noexcept;
  void resume(ChunkId chunk) noexcept;

  // Blocks that the kernel pages (spill_given.cpp).
  [[nodiscard]] Blocks::iterator block_of(ChunkId chunk) noexcept;
  [[nodiscard]] BlockUse& heap_of(ChunkId first) noexcept { return heaps_[first / spill_limits::k_heap]; }
  [[nodiscard]] std::size_t heaps() const noexcept { return count_ / spill_limits::k_heap + 1; }
  [[nodiscard]] bool is_in_no_order(Blocks::iterator block) noexcept;
  void join_given(Blocks::iterator block) noexcept;
  void stop_giving(ChunkId first, ChunkId end) noexcept;
  void split_block(ChunkId at) noexcept;
  [[nodiscard]] Blocks::iterator divide_blocks(ChunkId first, ChunkId end) noexcept;
  void loaded_for(ChunkId chunk, bool expected, bool sparse) noexcept;
  void give_block(Blocks::iterator block) noexcept;
  void go_on_giving() noexcept;
  void keep_block(Blocks::iterator block) noexcept;
  void serve_late(Blocks::iterator block) noexcept;
  void serve_late(ChunkId chunk) noexcept;
  void try_again() noexcept;
  bool take_back_given(ChunkId first, ChunkId end) noexcept;
  void start_retaking(Blocks::iterator block) noexcept;
  void go_on_retaking() noexcept;
  void has_settled(Blocks::iterator block, int error) noexcept;
  [[nodiscard]] bool is_retaken(ChunkId first, ChunkId end) const noexcept;
  bool are_zeros_in_file(ChunkId first, std::uint32_t count) noexcept;
  bool replace_mapping(std::uint64_t address, std::size_t size) noexcept;
  void take_block_back(Blocks::iterator block) noexcept;
  void renew(ChunkId first, std::uint32_t count) noexcept;
  [[nodiscard]] std::uint64_t shrink_given(std::uint64_t mapped, std::uint64_t stays) noexcept;
  [[nodiscard]] Worker& worker(std::uint32_t thread) noexcept;
  [[nodiscard]] PageTrial::Seen seen_by_touches() const noexcept;
  [[nodiscard]] PageTrial::Seen seen_by_system() const noexcept;
  [[nodiscard]] Seconds waited_for_pages() const noexcept;

  // What shall happen (spill_flow.cpp).
  void step() noexcept;
  void serve(bool forced) noexcept;
  void look_ahead() noexcept;
  void make_room() noexcept;
  void set_marks() noexcept;
  void check_leaving() noexcept;
  bool check(ChunkId chunk) noexcept;
  bool send_away(ChunkId chunk) noexcept;
  void give_pages_back() noexcept;
  Slot free_slot() noexcept;
  Slot obtain(bool forced) noexcept;
  void start_read(ChunkId chunk, Slot slot) noexcept;
  void take_back(ChunkId chunk) noexcept;
  void is_foreseen(ChunkId chunk, bool value) noexcept;
  void stay(ChunkId chunk) noexcept;
  [[nodiscard]] std::size_t clean_leaving() const noexcept;

  std::uint64_t base_;
  std::size_t count_;
  SpillCounts* counts_;
  std::optional<Userfault> faults_;
  std::optional<SpillFile> file_;
  std::unique_ptr<DiskQueue> disk_;
  const char* way_ = "";
  std::optional<SpillPool> pool_;
  std::optional<Remapper> remapper_;
  std::unique_ptr<Foresight> foresight_;
  Chunk* chunks_ = nullptr;
  BlockUse* heaps_ = nullptr;  // by part of the address space
  // These have all the room that they need from the beginning.
  std::vector<Waiting> waiting_;
  std::vector<Worker> workers_;
  std::vector<ChunkId> needy_;    // touched, and without a page
  std::vector<ChunkId> leaving_;  // the oldest first
  std::size_t reads_ = 0;         // under way
  std::size_t writes_ = 0;
  std::size_t foreseen_ = 0;   // chunks in memory or on their way there that nobody has touched yet
  std::uint64_t content_ = 0;  // chunks that are not fresh
  Blocks blocks_;
  Blocks spare_blocks_;             // what new ones are made of
  bool unasked_ = false;            // some of them
  std::uint64_t given_ = 0;         // chunks that the kernel pages
  std::uint64_t giving_since_ = 0;  // a block is being given; nanoseconds
  Blocks::iterator retaken_{};      // on its way back, where one is: `is_retaking_`
  bool is_retaking_ = false;
  std::uint64_t hand_ = 0;  // of given blocks, where pages were last given up
  FaultWaits fault_waits_;  // in blocks that the kernel pages
  const bool sees_fault_waits_ = FaultWaits::is_there();
  std::uint64_t begun_ = 0;   // nanoseconds
  Seconds begun_with_{};      // the program's processor time then
  std::uint64_t mapped_ = 0;  // bytes of files that the process maps beside them
  std::uint64_t beside_ = 0;  // bytes beyond the limit that are in no chunk
  std::size_t rest_ = 0;      // chunks that the rest of the process leaves room for
  std::size_t allowed_ = 0;   // those, or the least
  std::size_t floor_ = spill_limits::k_min, max_floor_ = spill_limits::k_min;  // chunks in any case
  std::size_t refused_ = 0;                                                    // by the file
  std::uint64_t tried_ = 0;                      // when those were last tried, or refused; nanoseconds
  std::uint64_t retry_ = spill_limits::k_retry;  // and how long until the next time
  std::size_t returns_ = 0, soon_ = 0;           // chunks that came back lately
  std::uint32_t departures_ = 0;
  std::uint64_t busy_since_ = 0;  // nanoseconds; 0: nothing is read or written
  std::uint64_t unexpected_ = 0;  // touches of what was on disk
  std::uint64_t work_ = 0;        // processor time of the program from one touch to the next; nanoseconds
  std::uint64_t served_ = 0;      // touches of what was in memory
  std::uint64_t serving_ = 0;     // nanoseconds for which those waited
  std::uint64_t adapted_ = 0;     // when the limit was; nanoseconds
  std::vector<bool> taken_;       // by chunk: a child maps what the file has at its own distance
  std::vector<ForChild> for_child_;
  std::array<ChunkId, k_at_once> at_once_{};  // that a child needs before it can map anything
  std::size_t at_once_count_ = 0;
  std::vector<std::uint32_t> spare_;  // places behind those
  std::vector<Touch> touches_;        // put off
  std::uint32_t places_ = 0;          // the first that was never used
  bool is_shared_ = false;            // with the child, page by page: all of it,
  bool shares_some_ = false;          // or some
  sem_t forked_{};
  bool said_full_ = false, said_write_ = false, said_read_ = false, said_lost_ = false, said_beside_ = false,
       said_child_ = false, said_kernel_ = false;

  std::uint64_t bell_ = 0;  // the page that callers touch
  std::mutex calling_;
  Call call_;
  std::atomic<std::uint32_t> calls_{0}, answers_{0};
  bool is_called_ = false;  // and the call could not be answered yet
  bool is_answering_ = false;
  bool stop_ = false;  // the thread's own
  sem_t ready_{};
  std::string problem_;  // why it did not begin
  pthread_t thread_{};
};

}  // namespace terrace::transfer
