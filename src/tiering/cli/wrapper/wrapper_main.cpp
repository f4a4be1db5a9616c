// SPDX-License-Identifier: Apache-2.0
// Implements terrace-cc, terrace-c++ and terrace-fc, compilers for `CC=`, `CXX=`, `FC=`: one executable, which its
// name selects. Programs report every load and store to Terrace if it starts them, and run as usual otherwise.
//
//   TERRACE_CC, TERRACE_CXX, TERRACE_FC   the compiler to use (default: gcc, g++, gfortran)
//   TERRACE_AS                            the assembler to use (default: the compiler's)
//   TERRACE_WRAPPER=off                   call the compiler unchanged: for configure steps
//   --terrace-show                        print the command instead of running it
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/wrapper/wrapper_command.hpp"
#include "core/error.hpp"

namespace {

namespace fs = std::filesystem;
using namespace terrace;

struct Compiler {
  cli::WrapperLanguage language;
  const char* variable;
  const char* standard;
};

Compiler compiler_for(const std::string& name) {
  if (name == "terrace-fc") return {cli::WrapperLanguage::fortran, "TERRACE_FC", "gfortran"};
  if (name == "terrace-c++") return {cli::WrapperLanguage::cxx, "TERRACE_CXX", "g++"};
  return {cli::WrapperLanguage::c, "TERRACE_CC", "gcc"};
}

// Finds the library relative to the installed wrapper, or in the build tree.
cli::WrapperLayout find_layout() {
  const auto here = fs::read_symlink("/proc/self/exe").parent_path();
  std::error_code ignored;
  for (const auto& folder : {here / ".." / TERRACE_LIBRARY_FOLDER, here / ".." / "agent"})
    if (fs::exists(folder / "libterrace.so", ignored)) {
      const auto library = fs::canonical(folder);
      return {library.string(), (library / "stand-ins").string()};
    }
  throw Error(Code::not_found, "libterrace.so is not where " + (here / "terrace-cc").string() + " expects it (" +
                                   (here / ".." / TERRACE_LIBRARY_FOLDER).lexically_normal().string() +
                                   "); install again");
}

// Sets TERRACE_AS to the assembler that the compiler would use, which the stand-in runs.
void export_assembler(const std::vector<std::string>& compiler) {
  if (std::getenv("TERRACE_AS") || cli::is_clang(compiler)) return;
  auto words = compiler;
  words.emplace_back("-print-prog-name=as");
  FILE* const answer = popen((cli::quote_command(words) + " 2>/dev/null").c_str(), "r");
  if (!answer) return;
  char line[4096] = "";
  const bool read = std::fgets(line, sizeof line, answer) != nullptr;
  line[std::strcspn(line, "\n")] = '\0';
  // "as" alone means the one in PATH.
  if (pclose(answer) == 0 && read && line[0] == '/') setenv("TERRACE_AS", line, 1);
}

[[noreturn]] void execute(const std::vector<std::string>& words, const char* variable) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const auto& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  execvp(list[0], list.data());
  throw Error(Code::failed, "cannot run the compiler '" + words[0] + "': " + std::strerror(errno) +
                                "; name another in " + variable);
}

// Runs the compiler with Terrace's flags, or prints the command with --terrace-show.
void run(int count, char** words) {
  const auto name = fs::path(words[0]).filename().string();
  const auto compiler = compiler_for(name);
  cli::WrapperCall call;
  call.language = compiler.language;
  const char* const given = std::getenv(compiler.variable);
  call.compiler = cli::split_response(given && *given ? given : compiler.standard);
  call.arguments.assign(words + 1, words + count);
  const char* const switched = std::getenv("TERRACE_WRAPPER");
  call.off = switched && std::string_view(switched) == "off";
  const bool show = std::erase(call.arguments, "--terrace-show") > 0;
  const auto command = cli::wrapper_command(call, call.off ? cli::WrapperLayout{} : find_layout());
  if (!show) {
    if (!call.off) export_assembler(call.compiler);
    if (const auto note = cli::wrapper_note(call); !note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
    execute(command, compiler.variable);
  }
  std::puts(cli::quote_command(command).c_str());
}

}  // namespace

int main(int count, char** words) {
  try {
    run(count, words);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code() == Code::invalid ? 2 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "terrace-cc: %s\n", error.what());
    return 1;
  }
}
