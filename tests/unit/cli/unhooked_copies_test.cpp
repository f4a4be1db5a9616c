// Tests versions without hooks: what is copied, what is unchanged, and that both versions work as one.
#include "cli/wrapper/unhooked_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace terrace::cli {
namespace {

const std::string k_entry = "\tcall\t*__tsan_func_entry@GOTPCREL(%rip)\n";
const std::string k_exit = "\tcall\t*__tsan_func_exit@GOTPCREL(%rip)\n";
const std::string k_read = "\tcall\t*__tsan_read8@GOTPCREL(%rip)\n";
const std::string k_block = "\tcall\t*__sanitizer_cov_trace_pc@GOTPCREL(%rip)\n";
const std::string k_turn = "\tcall\t*__sanitizer_cov_trace_pc@GOTPCREL(%rip)\t# loop\n";

std::string asks(const std::string& which) {
  return "\tmovq\t__terrace_unhooked@GOTPCREL(%rip), %r11\n\tds cmpb\t$0, (%r11)\n\tjne\t.Lterrace_behind_" +
         which + "\n";
}
std::string call(const std::string& which) { return ".Lterrace_call_" + which + ":\n"; }
std::string behind(const std::string& which) { return ".Lterrace_behind_" + which + ":\n"; }
std::string jump(const std::string& which) { return "\tjmp\t.Lterrace_call_" + which + "\n"; }

std::string function(const std::string& body) {
  return "\t.type\tf, @function\nf:\n" + body + "\t.size\tf, .-f\n";
}
bool has_copy(const std::string& body) {
  return add_unhooked_copies(function(body)).find("f.unhooked:") != std::string::npos;
}

TEST(UnhookedCopies, Copy_HasAllButHooks) {
  const std::string begin = ".LFB0:\n\t.loc 1 3 view .LVU1\n\t.cfi_startproc\n";
  const std::string end = "\tmovq\t(%rbx), %rax\n\tjne\t.L4\n";
  EXPECT_EQ(add_unhooked_copies("\t.text\n" + function(begin + k_entry + ".L4:\n" + k_turn + k_read + k_block +
                                                       end + k_exit + "\tret\n")),
            "\t.text\n" +
                function(begin + call("0_0") + k_entry + asks("0_0") + ".L4:\n" + call("0_1") + k_turn +
                         asks("0_1") + k_read + k_block + end + call("0_2") + k_exit + "\tret\n") +
                "\t.p2align 4\n\t.type\tf.unhooked, @function\nf.unhooked:\n.LFB0.unhooked:\n"
                "\t.loc 1 3 view .LVU1.unhooked\n\t.cfi_startproc\n" +
                jump("0_0") + behind("0_0") + ".L4.unhooked:\n" + jump("0_1") + behind("0_1") +
                "\tmovq\t(%rbx), %rax\n\tjne\t.L4.unhooked\n" + jump("0_2") +
                "\tret\n\t.size\tf.unhooked, .-f.unhooked\n");
}

TEST(UnhookedCopies, Calls_StayInTheHookedVersion) {
  // The hook performs atomic operations.
  EXPECT_TRUE(has_copy(k_entry + k_read));
  EXPECT_FALSE(has_copy(k_entry + "\tcall\t*__tsan_atomic64_fetch_add@GOTPCREL(%rip)\n")) << "nothing is left out";
  // The linker rewrites the code around these.
  const std::string address = "\tleaq\tx@tlsgd(%rip), %rdi\n\tcall\t*__tls_get_addr@GOTPCREL(%rip)\n";
  const auto text = add_unhooked_copies(function(k_entry + address + k_read));
  EXPECT_NE(text.find("\tjne\t.Lterrace_behind_0_0\n" + address + k_read), std::string::npos) << text;
  EXPECT_NE(text.find(behind("0_0") + address + "\t.size"), std::string::npos) << text;
  // A recursive call uses the hooked version.
  EXPECT_NE(add_unhooked_copies(function(k_entry + k_read + "\tleaq\tf(%rip), %rax\n")).rfind("leaq\tf(%rip)"),
            std::string::npos);
}

TEST(UnhookedCopies, ColdPart_IsCopied) {
  const std::string cold = "\tjne\t.L7\n\t.section\t.text.unlikely\n\t.type\tf.cold, @function\nf.cold:\n.L7:\n" +
                           k_read + "\tjmp\t.L1\n\t.text\n";
  const auto text = add_unhooked_copies(function(k_entry + ".L1:\n" + cold));
  EXPECT_NE(text.find("f.cold.unhooked:\n.L7.unhooked:\n\tjmp\t.L1.unhooked\n\t.text\n"
                      "\t.size\tf.unhooked, .-f.unhooked\n"
                      "\t.section\t.text.unlikely\n\t.size\tf.cold.unhooked, .-f.cold.unhooked\n\t.previous\n"),
            std::string::npos)
      << text;
}

TEST(UnhookedCopies, UnduplicableText_HasNoCopy) {
  EXPECT_TRUE(has_copy(k_entry + k_read + "1:\n\tjmp\t1b\n"));
  EXPECT_FALSE(has_copy(k_entry + k_read + "place_of_mine:\n"));
  EXPECT_FALSE(has_copy(k_entry + k_read + "\t.set\tx, 3\n"));
  EXPECT_FALSE(has_copy(k_entry + k_read + "\t.macro\tx\n"));
  EXPECT_FALSE(has_copy(k_entry)) << "nothing is left out";
  EXPECT_FALSE(has_copy(k_read)) << "no way in";
  // A call in inline assembly may change any register.
  EXPECT_FALSE(has_copy("#APP\n" + k_entry + "#NO_APP\n" + k_read));
  const auto intel = ".intel_syntax noprefix\n" + function(k_entry + k_read);
  EXPECT_EQ(add_unhooked_copies(intel), intel);
}

// Random text without the copies and the insertions is the original text.
TEST(UnhookedCopies, RandomText_IsKept) {
  std::minstd_rand random(7);
  const std::string pieces[] = {k_entry,        k_exit,        k_read,        k_turn,      k_block,
                                "\tjmp\t.L1\n", ".L1:\n",      ".L2:\n",      "f:\n",      "\t.size\tf, .-f\n",
                                "f.cold:\n",    "\tcall\tg\n", "#APP\n",      "#NO_APP\n", "\t.section\t.rodata\n",
                                "\t.set\tx\n",  "\n",          "\t.size\t\n", "x\n",       ".LVL1:\n"};
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (auto n = random() % 40; n > 0; --n) text += pieces[random() % std::size(pieces)];
    const auto made = add_unhooked_copies(text);
    std::string kept;
    bool in_copy = false;
    int asking = 0;
    for (std::size_t at = 0; at < made.size();) {
      const auto end = made.find('\n', at) + 1;
      const auto line = made.substr(at, end - at);
      at = end;
      if (line == "\t.p2align 4\n") in_copy = true;
      if (line.starts_with("\tmovq\t__terrace")) asking = 3;
      if (asking > 0)
        --asking;
      else if (!in_copy && !line.starts_with(".Lterrace_"))
        kept += line;
      if (!line.starts_with("\t.size\tf.unhooked")) continue;
      in_copy = false;
      const std::string cold = "\t.section\t.rodata\n\t.size\tf.cold.unhooked, .-f.cold.unhooked\n\t.previous\n";
      if (made.compare(at, cold.size(), cold) == 0) at += cold.size();
    }
    EXPECT_EQ(kept, text);
  }
}

}  // namespace
}  // namespace terrace::cli
