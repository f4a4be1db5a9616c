// SPDX-License-Identifier: Apache-2.0
// Declares the journal: an append-only file of events, written by the part of Terrace inside a program and read by
// `terrace merge`, which makes a profile of it. Each process has one, mapped shared, so that appended records
// survive the death of the process at any instruction. Mode 0600. Every record has its length and a CRC-32C, so
// that a reader stops at the first incomplete record and reports it.
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

#include "core/high_fd.hpp"

namespace terrace {

inline constexpr std::uint32_t k_journal_version = 6;

class Journal {
 public:
  // Creates the file (fails if it exists) and maps it. Throws Error{failed} with the path and the reason.
  explicit Journal(const std::string& path);
  // Truncates the disk space that was allocated ahead.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Appends one record. Thread-safe; preserves errno. Drops the record and counts it in lost() if the disk is full
  // or a limit is reached. Does so, too, in a signal handler that interrupted another append of the thread, and in
  // a forked child, which needs a journal of its own.
  void append(std::uint16_t type, std::span<const std::byte> payload) noexcept;
  // Unmaps address space that was reserved ahead, once no large records are expected.
  void trim() noexcept;
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  template <class Body>
  bool run_exclusively(Body&& body) noexcept;
  bool write(std::uint16_t type, std::span<const std::byte> payload) noexcept;
  bool grow(std::size_t end) noexcept;

  std::string path_;
  int process_ = 0;
  int fd_ = -1;
  FileIdentity identity_;  // detects that the program has closed fd_
  std::byte* map_ = nullptr;
  std::size_t reserved_ = 0;   // mapped address space; never grows, so that the mapping never moves
  std::size_t allocated_ = 0;  // bytes of it with disk space
  std::size_t end_ = 0;
  std::atomic<int> appending_thread_{0};  // 0: none
  std::atomic<std::uint64_t> lost_{0};
};

struct JournalRecord {
  std::uint16_t type = 0;
  std::span<const std::byte> payload;
};

struct JournalEnd {
  std::uint32_t process = 0;
  std::size_t records = 0;
  bool whole = true;   // false: the journal ends in a torn or damaged record
  std::string reason;  // what is wrong with that record, and where it is
};

// Returns whether the bytes begin with the magic of journals: how `terrace merge` finds them in a folder.
bool has_journal_magic(std::span<const std::byte> file);

// Calls `visit` for each valid record in order. Throws Error{corrupt} only if there is no valid header.
JournalEnd read_journal(std::span<const std::byte> file, const std::function<void(const JournalRecord&)>& visit);

}  // namespace terrace
