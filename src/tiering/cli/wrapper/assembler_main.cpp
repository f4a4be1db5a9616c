// SPDX-License-Identifier: Apache-2.0
// Implements the assembler stand-in, which compilers called by terrace-cc and its siblings find in the stand-ins'
// folder (-B) and run as their assembler `as`. It edits the assembly: restores tail calls (tail_calls.hpp),
// removes redundant hooks of basic blocks (thin_blocks.hpp), adds versions without hooks (unhooked_copies.hpp).
// Then it runs the real assembler, TERRACE_AS or the next in PATH. Unknown input is passed on unchanged. If the
// real assembler rejects the edited text, it gets it again without the copies.
//
// clang calls the stand-in with LLVM IR (ir_tail_calls.hpp) and the command that compiles it, k_ir_command.
#include <sys/mman.h>
#include <sys/wait.h>
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

#include "cli/wrapper/ir_command.hpp"
#include "cli/wrapper/ir_tail_calls.hpp"
#include "cli/wrapper/tail_calls.hpp"
#include "cli/wrapper/thin_blocks.hpp"
#include "cli/wrapper/unhooked_copies.hpp"

namespace {

namespace fs = std::filesystem;
using namespace terrace;

// Returns the real assembler: TERRACE_AS, or the next `as` in PATH that is not this program.
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

// Makes the text the standard input.
bool set_standard_input(std::string_view text) {
  const int file = memfd_create("assembly", MFD_CLOEXEC);
  return file >= 0 && write_all(file, text) && lseek(file, 0, SEEK_SET) == 0 && dup2(file, STDIN_FILENO) >= 0;
}

// Returns whether all words are options: input then comes through a pipe (gcc's -pipe).
bool has_no_input_file(const std::vector<char*>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "-o" || word == "-I")
      ++i;
    else if (!word.starts_with('-'))
      return false;
  }
  return true;
}

// Runs the assembler on the text. Returns whether it succeeded; prints its messages only then.
bool assemble(const std::string& assembler, const std::vector<char*>& words, std::string_view text) {
  const int messages = memfd_create("messages", MFD_CLOEXEC);
  const auto child = fork();
  if (child == 0) {
    if (messages >= 0) dup2(messages, STDERR_FILENO);
    if (set_standard_input(text)) execvp(assembler.c_str(), words.data());
    _exit(1);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return false;
  char part[4096];
  lseek(messages, 0, SEEK_SET);
  for (ssize_t n = 0; (n = read(messages, part, sizeof part)) > 0;)
    if (!write_all(STDERR_FILENO, {part, static_cast<std::size_t>(n)})) break;
  return true;
}

// Returns the value of the option -o; "" without one.
std::string_view output_of(const std::vector<char*>& words) {
  for (std::size_t i = 1; i + 1 < words.size(); ++i)
    if (std::string_view(words[i]) == "-o") return words[i + 1];
  return {};
}

// Removes the command that compiles LLVM IR (clang's intermediate code) from the arguments and returns it; empty
// without one, as when gcc calls. terrace-cc passes it in an option (ir_command.hpp).
std::vector<std::string> take_ir_command(std::vector<char*>& words) {
  std::vector<std::string> command;
  std::erase_if(words, [&](std::string_view word) {
    if (!word.starts_with(cli::k_ir_command)) return false;
    command = cli::decode_words(word.substr(cli::k_ir_command.size()));
    return true;
  });
  return command;
}

// Compiles LLVM IR to where the assembler would have written, with its tail calls restored, or unchanged where the
// compiler does not accept that. Returns false if the input is no IR; does not return otherwise.
bool compile_ir(std::vector<std::string> command, const std::vector<char*>& words) {
  std::ifstream file(words.back());
  const auto text = read_all(file);
  if (command.empty() || !cli::is_ir(text)) return false;
  const std::string compiler = command.front();
  for (const std::string_view word : {"-Xclang", "-disable-llvm-passes", "-w", "-c", "-x", "ir", "-", "-o"})
    command.emplace_back(word);
  command.emplace_back(output_of(words));
  std::vector<char*> list;
  for (auto& word : command) list.push_back(word.data());
  list.push_back(nullptr);
  if (assemble(compiler, list, cli::restore_ir_tail_calls(text))) std::exit(0);
  if (set_standard_input(text)) execvp(compiler.c_str(), list.data());
  std::fprintf(stderr, "terrace: cannot run the compiler '%s': %s; name another in TERRACE_CC or TERRACE_CXX\n",
               compiler.c_str(), std::strerror(errno));
  std::exit(1);
}

// Edits the input and assembles it. Compilers name one file, as the last word, or none; without a file the
// assembler reads standard input. Returns whether the work is done; otherwise the caller executes the assembler
// with `words`.
bool edit_and_assemble(const std::string& assembler, std::vector<char*>& words) {
  const bool piped = has_no_input_file(words);
  const std::string_view last = words.back();
  if (!piped && !last.ends_with(".s")) return false;
  std::ifstream file(piped ? "/dev/stdin" : std::string(last));
  if (!file) return false;
  const auto text = read_all(file);
  const bool hooked = text.find("__sanitizer_cov_trace_pc") != std::string::npos;
  if (!hooked && !piped) return false;
  const auto thinned = hooked ? cli::thin_blocks(cli::restore_tail_calls(text)) : text;
  if (hooked) {
    auto without_file = words;
    if (!piped) without_file.pop_back();
    without_file.push_back(nullptr);
    if (assemble(assembler, without_file, cli::add_unhooked_copies(thinned))) return true;
  }
  if (set_standard_input(thinned) && !piped) words.pop_back();
  return false;
}

}  // namespace

int main(int count, char** given) {
  std::vector<char*> words(given, given + count);
  std::string assembler = "as";
  try {
    const auto command = take_ir_command(words);
    compile_ir(command, words);
    assembler = find_assembler();
    if (edit_and_assemble(assembler, words)) return 0;
  } catch (const std::exception&) {
    // Out of memory: assemble the input unchanged.
  }
  words.push_back(nullptr);
  execvp(assembler.c_str(), words.data());
  std::fprintf(stderr, "terrace: cannot run the assembler '%s': %s; name another in TERRACE_AS\n",
               assembler.c_str(), std::strerror(errno));
  return 1;
}
