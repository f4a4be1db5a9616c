// The second step in which clang's code is compiled, so that the assembler stand-in sees it between the two
// (ir_tail_calls.hpp): clang writes LLVM IR with hooks in, and calls the stand-in as it would an assembler
// (-fno-integrated-as); the stand-in edits the IR and gives it to clang again. An option of the assembler tells it
// by which command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace terrace::cli {

inline constexpr std::string_view k_ir_command = "--terrace-ir=";

// Returns the command that compiles IR as `compiler` would compile the user's sources: with the arguments that
// tell how code is generated. `arguments` are those of the user, without response files. Returns no words where
// clang makes no jumps of calls (-O0), or where the steps of the user's command are others than sources to
// objects or assembly: link-time optimisation, several sources to assembly.
std::vector<std::string> ir_command(const std::string& compiler, const std::vector<std::string>& arguments);

// Returns the user's arguments as clang gets them where there is such a command: it assembles (-c for -S; the
// stand-in writes assembly then), and keeps no files of intermediate steps, which would be other ones
// (-save-temps).
std::vector<std::string> ir_arguments(std::vector<std::string> arguments);
bool is_save_temps(std::string_view word);

// One word without commas and blanks, and the words of it.
std::string encode_words(const std::vector<std::string>& words);
std::vector<std::string> decode_words(std::string_view text);

}  // namespace terrace::cli
