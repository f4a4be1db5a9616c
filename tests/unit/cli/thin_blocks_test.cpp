// Tests which hooks of basic blocks are removed from assembly, and which are marked as a loop's.
#include "cli/wrapper/thin_blocks.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace terrace::cli {
namespace {

const std::string k_hook = "\tcall\t*__sanitizer_cov_trace_pc@GOTPCREL(%rip)\n";
const std::string k_mark = "\t# loop";
const std::string k_access = "\tcall\t*__tsan_read8@GOTPCREL(%rip)\n";
const std::string k_work = "\taddq\t$1, %rax\n\taddq\t$1, %rbx\n\taddq\t$1, %rcx\n\taddq\t$1, %rdx\n";

std::string unmarked(std::string text) {
  for (auto at = text.find(k_mark); at != std::string::npos; at = text.find(k_mark)) text.erase(at, k_mark.size());
  return text;
}

TEST(ThinBlocks, BlockWithAccesses_LosesItsHook) {
  EXPECT_EQ(thin_blocks(".L2:\n" + k_hook + k_work + k_access + k_work), ".L2:\n" + k_work + k_access + k_work);
  // Labels of debug information begin no block, and neither do comments.
  const std::string between = ".LVL7:\n.LBB12:\n\t.loc 1 7 3\n# a.c:1: x\n";
  EXPECT_EQ(thin_blocks(k_hook + between + k_access), between + k_access);
  EXPECT_EQ(thin_blocks("\tcall\t__sanitizer_cov_trace_pc@PLT\n\tcall\t__tsan_write4@PLT\n"),
            "\tcall\t__tsan_write4@PLT\n");
  EXPECT_EQ(thin_blocks("\tcall\t[QWORD PTR __sanitizer_cov_trace_pc@GOTPCREL[rip]]\n"
                        "\tcall\t[QWORD PTR __tsan_read1@GOTPCREL[rip]]\n"),
            "\tcall\t[QWORD PTR __tsan_read1@GOTPCREL[rip]]\n");
}

TEST(ThinBlocks, BlockWithoutAccesses_KeepsItsHook) {
  for (const std::string end : {".L3:\n", "f:\n", "\tjne\t.L9\n", "\tret\n", "\tjmp\t*%rax\n"}) {
    std::string text = k_hook;
    text.append(k_work).append(end).append(k_access);
    EXPECT_EQ(unmarked(thin_blocks(text)), text) << end;
  }
  const auto entry = k_hook + "\tcall\t*__tsan_func_exit@GOTPCREL(%rip)\n" + k_work + "\tret\n";
  EXPECT_EQ(unmarked(thin_blocks(entry)), entry) << "a function's exit is no access";
}

TEST(ThinBlocks, SmallBlock_KeepsItsHookOnlyInLoops) {
  const std::string little = "\taddq\t$1, %rax\n";
  EXPECT_EQ(thin_blocks(k_hook + little + "\tjne\t.L4\n.L4:\n"), little + "\tjne\t.L4\n.L4:\n");
  const auto loop = ".L4:\n" + k_hook + little + "\tjne\t.L4\n";
  EXPECT_EQ(thin_blocks(loop), loop);
}

TEST(ThinBlocks, OtherText_IsUnchanged) {
  for (const std::string text :
       {"", "\n", "no newline at the end", "\tcall\n\t\n:\n", ".L:\n.L\n", "\x01\xff\n\n\n"})
    EXPECT_EQ(thin_blocks(text), text.empty() || text.ends_with('\n') ? text : text + "\n");
}

TEST(ThinBlocks, HookOfLoop_IsMarked) {
  const auto call = k_hook.substr(0, k_hook.size() - 1);
  const auto inner = ".L5:\n" + k_access + "\tjne\t.L5\n";
  const auto loop = [&](const std::string& hook) {
    return "f:\n.L4:\n" + hook + k_access + inner + "\tjne\t.L4\n\tret\n\t.size\tf, .-f\n";
  };
  EXPECT_EQ(thin_blocks(loop(k_hook)), loop(call + k_mark + "\n"));
}

// Where a jump may lead anywhere, code that only an exception reaches and that goes back to the function's
// beginning is part of a loop. A jump to the exit hook leaves the function.
TEST(ThinBlocks, JumpedToExit_EndsTheFlow) {
  const auto call = k_hook.substr(0, k_hook.size() - 1);
  const auto function = [&](const std::string& hook, const std::string& exit) {
    return "f:\n.L1:\n" + hook + k_access + "\tcall\tg@PLT\n\tjmp\t" + exit +
           "\n.L2:\n\tjmp\t.L1\n\t.size\tf, .-f\n";
  };
  for (const std::string exit : {"*__tsan_func_exit@GOTPCREL(%rip)", "[QWORD PTR __tsan_func_exit@GOTPCREL[rip]]"})
    EXPECT_EQ(thin_blocks(function(k_hook, exit)), function("", exit));
  EXPECT_EQ(thin_blocks(function(k_hook, "*%rax")), function(call + k_mark + "\n", "*%rax"));
}

// Code behind a call that never returns is not reached from it, although it may jump back to the loop's beginning.
TEST(ThinBlocks, CallOfNonReturningFunction_MakesNoLoop) {
  const auto call = k_hook.substr(0, k_hook.size() - 1);
  const auto function = [&](const std::string& hook, const std::string& callee) {
    return "f:\n.L1:\n" + hook + k_access + "\tjne\t.L3\n\tret\n.L3:\n\tcall\t" + callee +
           "\n.L2:\n\tjmp\t.L1\n\t.size\tf, .-f\n";
  };
  for (const std::string callee : {"abort@PLT", "*_ZSt16__throw_bad_castv@GOTPCREL(%rip)",
                                   "[QWORD PTR __assert_fail@GOTPCREL[rip]]", "_gfortran_stop_string"})
    EXPECT_EQ(thin_blocks(function(k_hook, callee)), function("", callee));
  for (const std::string callee : {"abort_later@PLT", "*%rax", "g"})
    EXPECT_EQ(thin_blocks(function(k_hook, callee)), function(call + k_mark + "\n", callee));
}

// Random text loses nothing but lines with a block's hook.
TEST(ThinBlocks, RandomText_LosesOnlyHooks) {
  std::minstd_rand random(5);
  const std::string pieces[] = {k_hook,     k_access,       "\tjmp\t.L1\n", ".L1:\n",
                                ".L2:\n",   "\tjne\t.L2\n", "\tret\n",      "\taddl\t%eax, %ebx\n",
                                ".LVL1:\n", "\t.loc 1 2\n", "f:\n",         "\tcall\tg@PLT\n"};
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    std::string rest;
    for (auto n = random() % 40; n > 0; --n) {
      const auto& piece = pieces[random() % std::size(pieces)];
      text += piece;
      if (piece != k_hook) rest += piece;
    }
    const auto marked = thin_blocks(text);
    for (auto at = marked.find(k_mark); at != std::string::npos; at = marked.find(k_mark, at + 1))
      EXPECT_TRUE(std::string_view(marked).substr(0, at).ends_with(k_hook.substr(0, k_hook.size() - 1)));
    auto thinned = unmarked(marked);
    EXPECT_LE(thinned.size(), text.size());
    for (auto at = thinned.find(k_hook); at != std::string::npos; at = thinned.find(k_hook))
      thinned.erase(at, k_hook.size());
    EXPECT_EQ(thinned, rest);
  }
}

}  // namespace
}  // namespace terrace::cli
