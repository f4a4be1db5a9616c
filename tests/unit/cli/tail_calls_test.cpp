// Tests tail calls behind which compilers put exit hooks: which become jumps again, and which must not.
#include "cli/wrapper/tail_calls.hpp"

#include <gtest/gtest.h>

#include <string>

namespace terrace::cli {
namespace {

std::string named(const std::string& instruction, const std::string& pattern) {
  return "\t" + instruction + "\t# 12\t[c=4 l=3]  " + pattern + "\n";
}
const std::string k_begin =
    "\tpushq\t%rbx\t# 1\t[c=4 l=1]  *pushdi2_rex64/0\n\tmovq\t8(%rsp), %rdi\n"
    "\tcall\t*__tsan_func_entry@GOTPCREL(%rip)\n";
const std::string k_exit = "\tcall\t*__tsan_func_exit@GOTPCREL(%rip)\n";
const std::string k_end = "\tpopq\t%rbx\n\tret\n";

bool jumps(const std::string& body, const std::string& name = "f", const std::string& begin = k_begin) {
  const auto text = restore_tail_calls(name + ":\n" + begin + body + "\t.size\t" + name + ", .-" + name + "\n");
  return text.find("__tsan_func_exit_tail") != std::string::npos;
}
std::string returned(const std::string& pattern, const std::string& saves, const std::string& gives) {
  return "\tcall\tg\n" + named(saves, pattern) + k_exit + named(gives, pattern) + k_end;
}

TEST(TailCalls, CallFollowedByTheHookOnly_BecomesAJump) {
  const auto body = "\tcall\tg\n" + named("movq\t%rax, %rbx", "*movdi_internal/3") + k_exit +
                    named("movq\t%rbx, %rax", "*movdi_internal/3") + k_end;
  EXPECT_EQ(restore_tail_calls("f:\n" + k_begin + body + "\t.size\tf, .-f\n"),
            "f:\n\tpushq\t%rbx\n\tmovq\t8(%rsp), %rdi\n\tcall\t*__tsan_func_entry@GOTPCREL(%rip)\n"
            "\tcall\t*__tsan_func_exit_tail@GOTPCREL(%rip)\n\tpopq\t%rbx\n\tjmp\tg\n\tmovq\t%rax, %rbx\n" +
                k_exit + "\tmovq\t%rbx, %rax\n" + k_end + "\t.size\tf, .-f\n");
}

TEST(TailCalls, ChangedReturnValue_KeepsTheCall) {
  EXPECT_TRUE(jumps(returned("*movsi_internal/0", "movl\t%eax, %ebx", "movl\t%ebx, %eax")));
  EXPECT_TRUE(jumps(returned("*movdf_internal/3", "movsd\t%xmm0, 8(%rsp)", "movsd\t8(%rsp), %xmm0")));
  // Has the same instructions, and a conversion from unsigned to unsigned long.
  EXPECT_FALSE(jumps(returned("*zero_extendsidi2/3", "movl\t%eax, %ebx", "movl\t%ebx, %eax")));
  EXPECT_FALSE(jumps("\tcall\tg\n" + k_exit + named("xorl\t%eax, %eax", "*movsi_xor") + k_end));
  EXPECT_FALSE(jumps("\tcall\tg\n" + k_exit + named("movq\t%rbx, %rax", "*movdi_internal/3") + k_end));
  EXPECT_FALSE(jumps("\tcall\tg\n" + named("addq\t$1, %rax", "*adddi_1/0") + k_exit + k_end));
}

TEST(TailCalls, AddressOfTheFrame_KeepsTheCall) {
  const auto end = "\tcall\tg\n" + k_exit + k_end;
  EXPECT_TRUE(jumps(end));
  EXPECT_TRUE(jumps("\tmovq\t8(%rsp), %rsi\n" + end));
  EXPECT_FALSE(jumps("\tleaq\t8(%rsp), %rdi\n" + end));
  EXPECT_FALSE(jumps("\tmovq\t%rsp, %rdi\n" + end));
  EXPECT_FALSE(jumps("\tmovq\t%rdi, (%rsp)\n" + end)) << "a parameter on the stack";
  EXPECT_FALSE(jumps("\tpushq\t%rdi\n\tcall\tg\n\taddq\t$8, %rsp\n" + k_exit + k_end));
  EXPECT_FALSE(jumps("\tcall\t_setjmp\n" + end));
}

TEST(TailCalls, IndirectCall_ReadsTheRegisterBeforeItIsRestored) {
  const auto text =
      restore_tail_calls("f:\n" + k_begin + "\tcall\t*(%rbx)\n" + k_exit + k_end + "\t.size\tf, .-f\n");
  EXPECT_NE(text.find("_tail@GOTPCREL(%rip)\n\tmovq\t(%rbx), %r11\n\tpopq\t%rbx\n\tjmp\t*%r11\n"),
            std::string::npos)
      << text;
}

std::string with_table(const std::string& pad, const std::string& code) {
  return "\t.cfi_lsda 0x1b,.LLSDA1\n.LEHB0:\n\tcall\t*(%rbx)\n.LEHE0:\n" + k_exit + k_end + ".L3:\n" + code +
         "\t.uleb128 .LEHB0-.LFB1\n\t.uleb128 .LEHE0-.LEHB0\n\t.uleb128 " + pad + "\n\t.uleb128 0\n";
}

TEST(TailCalls, HandledException_KeepsTheCall) {
  const std::string leaves = "\tmovq\t%rax, %rbx\n" + k_exit + "\tmovq\t%rbx, %rdi\n\tcall\t_Unwind_Resume\n";
  const std::string catches = "\tmovq\t%rax, %rdi\n\tcall\t__cxa_begin_catch\n";
  EXPECT_TRUE(jumps(with_table(".L3-.LFB1", leaves)));
  EXPECT_TRUE(jumps(with_table("0", "")));
  EXPECT_FALSE(jumps(with_table(".L3-.LFB1", catches)));
  EXPECT_FALSE(jumps("\t.cfi_lsda 0x1b,.LLSDA1\n\tcall\tg\n" + k_exit + k_end)) << "it must not throw";
  EXPECT_TRUE(jumps(with_table(".L3-.LFB1", catches), "f.actor")) << "a coroutine that resumes another one";
}

TEST(TailCalls, LeafCallee_KeepsTheCall) {
  const auto end = "\n" + k_exit + k_end;
  for (const std::string target : {"malloc", "calloc@PLT", "*realloc@GOTPCREL(%rip)", "_Znwm",
                                   "*_Znam@GOTPCREL(%rip)", "_ZdlPv@PLT", "free", "terrace_phase"})
    EXPECT_FALSE(jumps("\tcall\t" + target + end)) << target;
  for (const std::string target : {"my_malloc", "mallocate@PLT", "*freeze@GOTPCREL(%rip)"})
    EXPECT_TRUE(jumps("\tcall\t" + target + end)) << target;
}

std::string function(const std::string& name, const std::string& body) {
  return name + ":\n" + body + "\tret\n\t.size\t" + name + ", .-" + name + "\n";
}

TEST(TailCalls, CalleeOfBoundedDepth_KeepsTheCall) {
  const auto f = "f:\n" + k_begin + "\tcall\tg\n" + k_exit + k_end + "\t.size\tf, .-f\n";
  const auto restores = [&](const std::string& others) {
    return restore_tail_calls(others + f).find("__tsan_func_exit_tail") != std::string::npos;
  };
  EXPECT_TRUE(restores("")) << "another file's";
  EXPECT_FALSE(restores(function("g", "\tcall\t*__tsan_read8@GOTPCREL(%rip)\n\tjne\t.L2\n")));
  EXPECT_FALSE(restores(function("g", "\tcall\th\n\tcall\tsqrt@PLT\n") + function("h", "\tcall\tfree\n")));
  EXPECT_TRUE(restores(function("g", "\tcall\tf\n"))) << "mutual recursion";
  EXPECT_TRUE(restores(function("g", "\tcall\tg\n"))) << "recursion";
  EXPECT_TRUE(restores(function("g", "\tcall\th\n") + function("h", "\tjmp\tg\n"))) << "recursion behind it";
  EXPECT_TRUE(restores(function("g", "\tcall\t*%rax\n"))) << "through a pointer";
  EXPECT_TRUE(restores(function("g", "\tjmp\t*(%rax)\n")));
  EXPECT_TRUE(restores(function("g", "\tcall\tunknown\n")));
}

TEST(TailCalls, TextWithoutPatterns_IsUnchanged) {
  const auto text =
      "f:\n\tcall\t*__tsan_func_entry@GOTPCREL(%rip)\n\tcall\tg\n" + k_exit + "\tret\n\t.size\tf, .-f\n";
  EXPECT_EQ(restore_tail_calls(text), text);
}

}  // namespace
}  // namespace terrace::cli
