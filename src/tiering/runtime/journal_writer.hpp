// SPDX-License-Identifier: Apache-2.0
// Writes typed records (profile/records.hpp) to the journal of a configuration, for its parts. The encoder's
// buffer is reused between records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/blob.hpp"
#include "core/journal.hpp"
#include "profile/records.hpp"

namespace terrace::runtime {

class JournalWriter {
 public:
  explicit JournalWriter(Journal& journal) : journal_(journal) {}
  template <class Record>
  void write(const Record& record) {
    buffer_.clear();
    profile::encode(buffer_, record);
    append<Record>(buffer_.bytes());
  }
  // Writes a record that is encoded already.
  template <class Record>
  void append(std::span<const std::byte> encoded) {
    journal_.append(static_cast<std::uint16_t>(profile::k_record_type<Record>), encoded);
  }

 private:
  Journal& journal_;
  BlobWriter buffer_;
};

}  // namespace terrace::runtime
