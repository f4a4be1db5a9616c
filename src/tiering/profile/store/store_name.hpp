// SPDX-License-Identifier: Apache-2.0
// Chooses the file name of a profile, and publishes the file atomically, for the launcher and the merge: it
// appears complete, and never replaces a profile that another launch wrote in the meantime.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace terrace::profile {

class StoreName {
 public:
  // Makes a default name: if the file exists, the next free name ("a.7-2.terrace") is used.
  static StoreName next_free(const std::string& path);
  // Makes a name requested by the user. A profile that exists now is replaced once the new file is complete. A
  // profile that appears later belongs to another launch with the same name (each rank of a job, for example): it
  // is kept, and this one takes the next free name. Throws Error{invalid} if the existing file is not a profile.
  static StoreName requested(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_requested() const { return is_requested_; }
  // Returns the names among which publish() chooses that are taken: the file's own, "a-2.terrace", and so on.
  [[nodiscard]] std::vector<std::string> names_in_use() const;
  // Returns the path of the draft, in the same folder.
  [[nodiscard]] std::string draft_path() const;
  // Returns whether the file that existed when the name was made is still there, unchanged.
  [[nodiscard]] bool has_earlier() const;
  // Renames the draft to the final name, and returns that name. Throws Error{failed}.
  [[nodiscard]] std::string publish(const std::string& draft) const;

 private:
  // Identifies a file and its version.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Identity&) const = default;
  };
  static std::optional<Identity> identity_of(const std::string& path);
  [[nodiscard]] bool replace_by(const std::string& draft) const;

  std::string path_;
  std::string target_;  // path_ with symbolic links resolved
  bool is_requested_ = false;
  std::optional<Identity> earlier_;
};

}  // namespace terrace::profile
