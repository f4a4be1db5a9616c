// The assembler that compilers find in the stand-ins' folder: leaves hooks of basic blocks out that say nothing
// new (thin_blocks.hpp), and goes on as the real one, TERRACE_AS or the next in PATH. Whatever it does not
// understand it leaves to that one as it is.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/wrapper/thin_blocks.hpp"

namespace {

namespace fs = std::filesystem;
using namespace terrace;

std::string find_assembler() {
  if (const char* const given = std::getenv("TERRACE_AS"); given && *given) return given;
  std::error_code failed;
  const auto self = fs::canonical("/proc/self/exe", failed);
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto candidate = fs::path(folder) / "as";
    if (access(candidate.c_str(), X_OK) == 0 && fs::canonical(candidate, failed) != self) return candidate;
  }
  return "as";
}

std::string read_all(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto n = write(file, text.data(), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// The assembler's standard input is the text from now on.
bool offer(std::string_view text) {
  const int file = memfd_create("assembly", MFD_CLOEXEC);
  return file >= 0 && write_all(file, text) && lseek(file, 0, SEEK_SET) == 0 && dup2(file, STDIN_FILENO) >= 0;
}

// Whether all words are options: the compiler's output comes through a pipe (gcc's -pipe).
bool names_no_file(const std::vector<char*>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "-o" || word == "-I")
      ++i;
    else if (!word.starts_with('-'))
      return false;
  }
  return true;
}

// Compilers name one file, last, or none. Without the file's name the assembler reads what is offered.
void thin(std::vector<char*>& words) {
  const bool piped = names_no_file(words);
  const std::string_view last = words.back();
  if (!piped && !last.ends_with(".s")) return;
  std::ifstream file(piped ? "/dev/stdin" : std::string(last));
  if (!file) return;
  const auto text = read_all(file);
  const bool hooked = text.find("__sanitizer_cov_trace_pc") != std::string::npos;
  if (!hooked && !piped) return;
  if (offer(hooked ? cli::thin_blocks(text) : text) && !piped) words.pop_back();
}

}  // namespace

int main(int count, char** given) {
  std::vector<char*> words(given, given + count);
  std::string assembler = "as";
  try {
    assembler = find_assembler();
    thin(words);
  } catch (const std::exception&) {
    // No memory for it: then with all hooks.
  }
  words.push_back(nullptr);
  execvp(assembler.c_str(), words.data());
  std::fprintf(stderr, "terrace: cannot run the assembler '%s': %s; name another in TERRACE_AS\n",
               assembler.c_str(), std::strerror(errno));
  return 1;
}
