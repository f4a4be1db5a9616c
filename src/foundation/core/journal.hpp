// The journal: the append-only file in which the part of Terrace inside a program writes down what happened. One a
// process, mapped and shared with the kernel, so that what was appended survives the process's death at any
// instruction; mode 0600; every record carries its length and a CRC-32C, so that a reader stops at the first
// record that is not whole and says so.
//
// Layout, native byte order: a header of 64 bytes (magic "TERRACEJ", u32 version, u32 process id, zeros, u32 CRC
// of the 60 bytes before it), then records, each 8-byte aligned: u32 length of this head and the payload, u16
// type, u16 zero, u32 CRC of the 8 bytes before it and the payload, u32 zero, payload, padding. A record is
// published by storing its length last. Zero length, or the end of the file, ends the journal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/high_file.hpp"

namespace terrace {

inline constexpr std::uint32_t k_journal_version = 5;

class Journal {
 public:
  // Creates the file (fails if it exists) and maps it. Throws Error{failed} with the path and the reason.
  explicit Journal(const std::string& path);
  // Gives back the disk space that was taken ahead.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Appends one record. Safe from several threads, and errno is kept. When the disk is full or a limit is met the
  // journal goes quiet: nothing throws, `lost()` counts what did not fit. So does an append from a signal handler
  // that interrupted one, and from a forked child, which needs a journal of its own.
  void append(std::uint16_t type, std::span<const std::byte> payload) noexcept;
  // Nothing large comes any more: address space that was taken ahead is given back.
  void trim() noexcept;
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  template <class Body>
  bool alone(Body&& body) noexcept;
  bool write(std::uint16_t type, std::span<const std::byte> payload) noexcept;
  bool grow(std::size_t end) noexcept;

  std::string path_;
  int process_ = 0;
  int file_ = -1;
  FileIdentity identity_;  // of that file
  std::byte* map_ = nullptr;
  std::size_t reserved_ = 0;  // address space; grows never, so that the mapping never moves
  std::size_t backed_ = 0;    // bytes of it that the file has
  std::size_t at_ = 0;
  std::atomic<int> holder_{0};  // thread that is appending
  std::atomic<std::uint64_t> lost_{0};
};

struct JournalRecord {
  std::uint16_t type = 0;
  std::span<const std::byte> payload;
};

struct JournalEnd {
  std::uint32_t process = 0;
  std::size_t records = 0;
  bool whole = true;   // false: the journal ends in a record that was torn or damaged
  std::string reason;  // what was wrong, where
};

// Whether it begins as journals do, whole or not.
bool begins_as_journal(std::span<const std::byte> file);

// Calls `visit` for every whole record in order. Throws Error{corrupt} only when there is no valid header.
JournalEnd read_journal(std::span<const std::byte> file, const std::function<void(const JournalRecord&)>& visit);

}  // namespace terrace
