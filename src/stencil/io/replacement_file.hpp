// SPDX-License-Identifier: Apache-2.0
// Replaces a file atomically: writes PATH.part, syncs it and renames it over the target. Used by
// Checkpoint::write().
#pragma once

#include <memory>
#include <string>

#include "stencil/io/file.hpp"

namespace terrace::stencil::io {

class ReplacementFile {
 public:
  // Creates PATH.part, overwriting one that a killed program left. Throws Error{failed} if the system refuses
  // or another program is writing it.
  explicit ReplacementFile(const std::string& path);
  // Removes PATH.part unless it was committed.
  ~ReplacementFile();
  ReplacementFile(const ReplacementFile&) = delete;
  ReplacementFile& operator=(const ReplacementFile&) = delete;

  [[nodiscard]] File& file() { return *file_; }
  // Syncs the file and renames it over the target. Throws Error{failed}; the target is then unchanged.
  void commit();

 private:
  std::string target_;
  std::string name_;
  std::unique_ptr<File> file_;
};

}  // namespace terrace::stencil::io
