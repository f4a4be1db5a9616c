// SPDX-License-Identifier: Apache-2.0
// A file that takes the place of another when it is complete and on the disk.
#pragma once

#include <memory>
#include <string>

#include "stencil/io/file.hpp"

namespace terrace::stencil::io {

class ReplacementFile {
 public:
  // Makes PATH.part; one that a killed program left is overwritten. Throws Error{failed} where the system refuses
  // or another program is writing it.
  explicit ReplacementFile(const std::string& path);
  // Removes it, unless it has taken the place.
  ~ReplacementFile();
  ReplacementFile(const ReplacementFile&) = delete;
  ReplacementFile& operator=(const ReplacementFile&) = delete;

  [[nodiscard]] File& file() { return *file_; }
  // To the disk, and renamed. Throws Error{failed}; the file that it was to replace is then as it was.
  void commit();

 private:
  std::string target_;
  std::string name_;
  std::unique_ptr<File> file_;
};

}  // namespace terrace::stencil::io
