// SPDX-License-Identifier: Apache-2.0
// Writes typed records (profile/records.hpp) to a journal. The encoder's buffer is reused between records.
#pragma once

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
    journal_.append(static_cast<std::uint16_t>(profile::k_record_type<Record>), buffer_.bytes());
  }

 private:
  Journal& journal_;
  BlobWriter buffer_;
};

}  // namespace terrace::runtime
