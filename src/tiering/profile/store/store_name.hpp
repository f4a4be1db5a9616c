// The name that a profile gets, and how it gets it: the file appears whole, and nothing is lost that another
// launch wrote.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace terrace::profile {

class StoreName {
 public:
  // One that nobody asked for: where there is such a file, the next free one after it ("a.7-2.terrace") is taken.
  static StoreName next_free(const std::string& path);
  // One that a user gave. What is there now is replaced, once the new file is whole. What comes there from now on
  // is another launch's that was given the same name, as by each rank of a job: it is kept, and this one takes the
  // next free name. Throws Error{invalid} where something else than a profile is there.
  static StoreName given(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_given() const { return is_given_; }
  // Where the file is made, in the folder where it will be.
  [[nodiscard]] std::string beside() const;
  // Whether what was there when the name was given is there still.
  [[nodiscard]] bool has_earlier() const;
  // What is made there gets the name, which is returned. Throws Error{failed}.
  [[nodiscard]] std::string take(const std::string& draft) const;

 private:
  // What tells one file from another, and from itself once it is written again.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Identity&) const = default;
  };
  static std::optional<Identity> identity_of(const std::string& path);
  [[nodiscard]] bool replace_by(const std::string& draft) const;

  std::string path_;
  std::string target_;  // what a link at that path leads to
  bool is_given_ = false;
  std::optional<Identity> earlier_;
};

}  // namespace terrace::profile
