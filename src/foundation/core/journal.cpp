// SPDX-License-Identifier: Apache-2.0
// Writes and reads journals: files of records of a run (objects, phases, moves), which the runtime appends to and
// the launcher merges into the profile. Writing happens inside a user's process, which must not notice: no
// exception, no signal (a full disk under a mapping raises SIGBUS, a file size limit SIGXFSZ), no lock that
// outlives its holder. Reading accepts arbitrary bytes.
#include "core/journal.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/address_space.hpp"
#include "core/blob.hpp"
#include "core/errno_scope.hpp"
#include "core/rounding.hpp"
#include "core/shared_mapping.hpp"

namespace terrace {
namespace {

constexpr std::array<char, 8> k_magic = {'T', 'E', 'R', 'R', 'A', 'C', 'E', 'J'};
constexpr std::size_t k_header_bytes = 64;
constexpr std::size_t k_header_checked = 60;  // followed by its CRC
constexpr std::size_t k_head_bytes = 16;      // head of a record
constexpr std::size_t k_head_checked = 8;
constexpr std::size_t k_alignment = 8;

constexpr std::size_t k_reserve = std::size_t{16} << 30;
constexpr std::size_t k_min_reserve = std::size_t{16} << 20;
constexpr std::size_t k_reserve_divisor = 16;  // under RLIMIT_AS: reserve at most 1/16 of what is left
constexpr std::size_t k_min_step = std::size_t{256} << 10;
constexpr std::size_t k_max_step = std::size_t{16} << 20;

constexpr std::size_t aligned(std::size_t n) { return (n + k_alignment - 1) & ~(k_alignment - 1); }

// Returns a record's first eight bytes.
std::array<std::byte, k_head_checked> record_head(std::uint32_t length, std::uint16_t type) {
  std::array<std::byte, k_head_checked> head{};
  std::memcpy(head.data(), &length, sizeof length);
  std::memcpy(head.data() + 4, &type, sizeof type);
  return head;
}

std::array<std::byte, k_header_bytes> file_header(std::uint32_t process) {
  std::array<std::byte, k_header_bytes> header{};
  std::memcpy(header.data(), k_magic.data(), k_magic.size());
  std::memcpy(header.data() + 8, &k_journal_version, sizeof k_journal_version);
  std::memcpy(header.data() + 12, &process, sizeof process);
  const auto crc = crc32c(std::span(header).first(k_header_checked));
  std::memcpy(header.data() + k_header_checked, &crc, sizeof crc);
  return header;
}

template <class T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

Journal::Journal(const std::string& path) : path_(path), process_(getpid()) {
  const auto release_and_throw = [&](const char* what) {
    const int error = errno;
    if (map_ != nullptr) munmap(map_, reserved_);
    if (fd_ >= 0) {
      close(fd_);
      unlink(path.c_str());
    }
    throw Error(Code::failed, "journal " + path + ": " + what + ": " + std::strerror(error));
  };
  fd_ = move_fd_high(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  identity_ = FileIdentity(fd_);
  if (fd_ < 0) release_and_throw("cannot create it");
  // Maps address space without disk space. Under RLIMIT_AS a smaller journal is better than none.
  const auto left = address_space_left();
  const auto max_reserve = left ? std::max(left->value / k_reserve_divisor, k_min_reserve) : k_reserve;
  for (reserved_ = k_reserve; reserved_ >= k_min_reserve; reserved_ /= 4) {
    if (reserved_ > max_reserve) continue;
    void* map = mmap(nullptr, reserved_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (map != MAP_FAILED) {
      map_ = static_cast<std::byte*>(map);
      break;
    }
  }
  if (map_ == nullptr) release_and_throw("cannot map it");
  if (!grow(k_header_bytes)) release_and_throw("no disk space for it");
  const auto header = file_header(static_cast<std::uint32_t>(process_));
  std::memcpy(map_, header.data(), header.size());
  end_ = k_header_bytes;
}

Journal::~Journal() {
  // A forked child has a copy of this object and must leave the parent's file alone.
  const bool mine = getpid() == process_;
  munmap(map_, reserved_);
  // If truncation fails, zeros remain, which readers take as the end.
  if (!mine || !identity_.is_still(fd_)) return;
  [[maybe_unused]] const bool trimmed = ftruncate(fd_, static_cast<off_t>(end_)) == 0;
  close(fd_);
}

// Runs `body` under a spin lock. Returns false without running it in a forked child and on re-entry by a signal
// handler.
template <class Body>
bool Journal::run_exclusively(Body&& body) noexcept {
  const auto self = static_cast<int>(syscall(SYS_gettid));
  if (getpid() != process_ || appending_thread_.load(std::memory_order_relaxed) == self) return false;
  int nobody = 0;
  while (!appending_thread_.compare_exchange_weak(nobody, self, std::memory_order_acquire)) {
    nobody = 0;
    sched_yield();
  }
  const bool done = body();
  appending_thread_.store(0, std::memory_order_release);
  return done;
}

void Journal::append(std::uint16_t type, std::span<const std::byte> payload) noexcept {
  const ErrnoScope errno_scope;
  if (!run_exclusively([&] { return write(type, payload); })) lost_.fetch_add(1, std::memory_order_relaxed);
}

// Writes a record at the end and publishes it. Requires the lock (run_exclusively()).
bool Journal::write(std::uint16_t type, std::span<const std::byte> payload) noexcept {
  if (payload.size() > reserved_ - end_ || payload.size() > UINT32_MAX - k_head_bytes) return false;
  const auto length = static_cast<std::uint32_t>(k_head_bytes + payload.size());
  const std::size_t end = aligned(end_ + length);
  if (!grow(end)) return false;
  const auto head = record_head(length, type);
  const auto crc = crc32c(payload, crc32c(head));
  std::byte* record = map_ + end_;
  if (!payload.empty()) std::memcpy(record + k_head_bytes, payload.data(), payload.size());
  std::memcpy(record + k_head_checked, &crc, sizeof crc);
  std::memcpy(record + 4, head.data() + 4, k_head_checked - 4);
  // Publishes the record: until here, a reader sees the end of the journal.
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(record)).store(length, std::memory_order_release);
  end_ = end;
  return true;
}

// Allocates disk space up to `end`.
bool Journal::grow(std::size_t end) noexcept {
  if (end <= allocated_) return true;
  // The program may have closed the descriptor, or reused its number.
  if (end > reserved_ || !identity_.is_still(fd_)) return false;
  // Grow in steps proportional to the file: few calls for a long journal, little space for a short one.
  const std::size_t step = std::clamp(allocated_, k_min_step, k_max_step);
  const std::size_t new_size = std::min(reserved_, std::max(end, allocated_ + step));
  if (allocate_file_space(fd_, allocated_, new_size)) {
    allocated_ = new_size;
    return true;
  }
  // The step does not fit on the disk; the single record may.
  if (!allocate_file_space(fd_, allocated_, end)) return false;
  allocated_ = end;
  return true;
}

void Journal::trim() noexcept {
  run_exclusively([&] {
    const auto size = (allocated_ + k_max_step) / k_page * k_page;
    if (size < reserved_ && munmap(map_ + size, reserved_ - size) == 0) reserved_ = size;
    return true;
  });
}

bool has_journal_magic(std::span<const std::byte> file) {
  return file.size() >= k_magic.size() && std::memcmp(file.data(), k_magic.data(), k_magic.size()) == 0;
}

JournalEnd read_journal(std::span<const std::byte> file, const std::function<void(const JournalRecord&)>& visit) {
  const auto begin = file.first(std::min(file.size(), k_header_bytes));
  if (std::all_of(begin.begin(), begin.end(), [](std::byte b) { return b == std::byte{0}; }))
    throw Error(Code::corrupt, "the journal is empty: its process wrote nothing before it ended; record again");
  if (file.size() < k_header_bytes) {
    throw Error(Code::corrupt, "the journal has " + std::to_string(file.size()) + " bytes, but its header has " +
                                   std::to_string(k_header_bytes) + "; record again");
  }
  if (!has_journal_magic(file)) {
    throw Error(Code::corrupt,
                "this is not a journal: it does not begin with \"TERRACEJ\"; name a *.journal that Terrace wrote");
  }
  if (crc32c(file.first(k_header_checked)) != load<std::uint32_t>(file, k_header_checked)) {
    throw Error(Code::corrupt, "the journal's header is damaged; record again");
  }
  if (const auto version = load<std::uint32_t>(file, 8); version != k_journal_version) {
    throw Error(Code::corrupt, "the journal has version " + std::to_string(version) +
                                   ", this Terrace reads version " + std::to_string(k_journal_version) +
                                   "; merge it with the Terrace that wrote it");
  }
  JournalEnd end;
  end.process = load<std::uint32_t>(file, 12);
  const auto end_at_damage = [&](std::size_t at, const std::string& what) {
    end.whole = false;
    end.reason = "record " + std::to_string(end.records + 1) + " at byte " + std::to_string(at) + ": " + what;
    return end;
  };
  for (std::size_t at = k_header_bytes; at < file.size();) {
    const auto left = file.subspan(at);
    if (left.size() < k_head_bytes) {
      // Fewer bytes than a head: padding left by a copy, or the start of a torn record.
      const bool empty = std::all_of(left.begin(), left.end(), [](std::byte b) { return b == std::byte{0}; });
      if (empty) break;
      return end_at_damage(at, "the file ends in its head");
    }
    const auto length = load<std::uint32_t>(left, 0);
    if (length == 0) break;
    if (length < k_head_bytes)
      return end_at_damage(at, "its length of " + std::to_string(length) + " is impossible");
    if (length > left.size()) {
      return end_at_damage(
          at, "it has " + std::to_string(length) + " bytes, the file ends after " + std::to_string(left.size()));
    }
    const auto payload = left.subspan(k_head_bytes, length - k_head_bytes);
    if (crc32c(payload, crc32c(left.first(k_head_checked))) != load<std::uint32_t>(left, k_head_checked)) {
      return end_at_damage(at, "its checksum does not match");
    }
    visit({load<std::uint16_t>(left, 4), payload});
    ++end.records;
    at += aligned(length);  // may step past the end of a file that was truncated inside the padding
  }
  return end;
}

}  // namespace terrace
