// SPDX-License-Identifier: Apache-2.0
// Builds the command of the second of two steps in which clang compiles, so that the assembler stand-in can edit
// the code between them (ir_tail_calls.hpp). First clang writes instrumented LLVM IR and calls the stand-in as its
// assembler (-fno-integrated-as); the stand-in edits the IR and passes it to clang again. An option of the
// assembler carries the command of that second step. terrace-cc encodes it, the stand-in decodes it.
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

// Encode words as one word without commas and blanks, and decode it.
std::string encode_words(const std::vector<std::string>& words);
std::vector<std::string> decode_words(std::string_view text);

}  // namespace terrace::cli
