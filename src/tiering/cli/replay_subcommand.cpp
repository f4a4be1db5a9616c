// SPDX-License-Identifier: Apache-2.0
// Implements `terrace replay FILE`, which simulates a recording of misses on other machines. Dispatched by main().
// See subcommands.hpp.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/journal_folder.hpp"
#include "cli/options.hpp"
#include "cli/output_option.hpp"
#include "cli/session_builder.hpp"
#include "cli/subcommands.hpp"
#include "core/error.hpp"
#include "runtime/replay/replay.hpp"

namespace terrace::cli {

namespace {

// Owns a read-only mapping of a file.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
      throw Error(errno == ENOENT ? Code::invalid : Code::failed,
                  path + ": cannot be read: " + std::strerror(errno));
    struct stat status {};
    fstat(file, &status);
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > 0) map_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (map_ == MAP_FAILED) throw Error(Code::failed, path + ": cannot be mapped: " + std::strerror(errno));
  }
  ~MappedFile() {
    if (map_) munmap(map_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  [[nodiscard]] std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(map_), size_}; }

 private:
  void* map_ = nullptr;
  std::size_t size_ = 0;
};

// Reports a truncated recording of a process on standard error. Returns whether it was complete.
bool check_complete(const std::string& path, const sim::RecordedProcess& process, const sim::ReplayEnd& end,
                    const std::string& cut) {
  if (end.finished) return true;
  const auto& why = end.reason.empty() ? cut : end.reason;
  fmt::print(
      stderr,
      "terrace: {}: the recording of {} (process {}) is truncated: replayed {} whole {}{}; record again for "
      "the rest\n",
      path, process.header.identity.program, process.header.identity.process, end.frames,
      end.frames == 1 ? "frame" : "frames", why.empty() ? "; its end is missing" : ", then " + why);
  return false;
}

}  // namespace

int run_replay(int argc, char** argv) {
  const auto options = parse_launch("replay", argc, argv);
  if (!options) return 0;
  const ProfileOutputs outputs(options->output, labels_of(*options));
  const MappedFile file(options->recording);
  try {
    const auto index = sim::index_recording(file.bytes());
    JournalFolder folder(options->keep_journals);
    std::vector<std::string> sentences;
    auto session = build_session(*options, folder.path().string(), sentences);
    if (!outputs.sentence().empty()) sentences.push_back(outputs.sentence());
    for (const auto& sentence : sentences)
      if (!options->quiet && !options->json) fmt::print(stderr, "terrace: {}\n", sentence);
    bool is_whole = true;
    for (const auto& process : index.processes)
      is_whole &= check_complete(options->recording, process,
                                 runtime::replay(process, session, options->iterations), index.cut);
    if (is_whole && !index.cut.empty())
      fmt::print(stderr,
                 "terrace: {}: what follows the last frame was not replayed, {}; record again for the rest\n",
                 options->recording, index.cut);
    auto job = std::filesystem::path(options->recording).stem();
    folder.merge(*options, outputs, job, {});
    return is_whole && index.cut.empty() ? 0 : 1;  // the profile has the frames that were read
  } catch (const Error& error) {
    if (error.code() != Code::corrupt) throw;
    // A file of another kind is a usage error; a damaged recording is a failure.
    const bool is_recording = sim::is_recording(file.bytes());
    throw Error(is_recording ? error.code() : Code::invalid,
                options->recording + ": " + error.what() +
                    (is_recording ? "; record again with --misses"
                                  : "; give a file that record or simulate wrote with --misses"));
  }
}

}  // namespace terrace::cli
