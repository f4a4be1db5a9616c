// Fuzzes the reader of Accel-Sim's kernel traces: any bytes either make a trace, which can be replayed, or are
// refused with an Error of one line that names file and byte.
//
// The input is cut at zero bytes: the list, the side file of allocations (none where it is empty), kernel-1.traceg
// and, where there is more, kernel-2.traceg.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "gpu_replay.hpp"
#include "gpu_sim/trace/accelsim_reader.hpp"

namespace {

namespace fs = std::filesystem;
using namespace terrace;
using namespace terrace::gpu_sim;

// Removed at the end.
class Folder {
 public:
  Folder() { fs::create_directories(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }
  void put(const char* name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::trunc)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
  }

 private:
  fs::path path_ = fs::path(fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()) /
                   ("accelsim_fuzz." + std::to_string(getpid()));
};

std::string_view cut(std::string_view& text) {
  const auto part = text.substr(0, text.find('\0'));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

// Reads the whole trace, without a simulator.
void read_all(TraceSource& trace) {
  Cta cta;
  for (TraceEvent event; trace.next(event);)
    while (trace.next_cta(cta)) {
      for (const auto& step : cta.steps)
        require(!is_access(step.kind) || (step.lines != 0 && step.lines <= k_max_lines), "an access",
                "of no lines");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  folder.put("kernelslist.g", cut(text));
  const auto side = cut(text);
  folder.put("allocations", side);
  for (const auto* name : {"kernel-1.traceg", "kernel-2.traceg"}) folder.put(name, cut(text));
  const auto list = folder.path() / "kernelslist.g";
  const auto allocations = side.empty() ? fs::path() : folder.path() / "allocations";
  try {
    AccelSimReader whole(list, allocations);
    read_all(whole);
  } catch (const Error& error) {
    require_refusal(error, folder.path().string());
  }
  try {
    AccelSimReader again(list, allocations);
    replay_beginning(again, folder.path().string());
  } catch (const Error& error) {
    require_refusal(error, folder.path().string());
  }
  return 0;
}
