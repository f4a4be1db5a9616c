// Tests tail calls behind which clang puts exit hooks: the hook moves before a call in tail position only.
#include "cli/wrapper/ir_tail_calls.hpp"

#include <gtest/gtest.h>

#include <string>

#include "cli/wrapper/ir_command.hpp"

namespace terrace::cli {
namespace {

const std::string k_entry = "  call void @__tsan_func_entry(i8* %2)\n";
const std::string k_exit = "  call void @__tsan_func_exit()\n";

std::string define(const std::string& body, const std::string& head = "define dso_local i64 @f(i64 %0) #0 {") {
  return head + "\n" + k_entry + body + "}\n";
}
bool moves(const std::string& ir) { return restore_ir_tail_calls(ir) != ir; }

TEST(IrTailCalls, CallInTailPosition_GetsTheHookBeforeIt) {
  const std::string call = "  %3 = tail call i64 @g(i64 %0), !dbg !7\n";
  const std::string end = "  ret i64 %3, !dbg !7\n";
  EXPECT_EQ(restore_ir_tail_calls(define(call + k_exit + end)), define(k_exit + call + end));
  const std::string indirect = "  tail call void %3(i64 %0)\n";
  EXPECT_EQ(restore_ir_tail_calls(define(indirect + k_exit + "  ret void\n")),
            define(k_exit + indirect + "  ret void\n"));
}

TEST(IrTailCalls, ReturnSharedByBlocks_IsDuplicatedBehindTheCall) {
  const std::string end =
      "\n6:                                                ; preds = %4, %1\n"
      "  %7 = phi i64 [ %5, %4 ], [ %0, %1 ]\n" +
      k_exit + "  ret i64 %7, !dbg !9\n";
  const std::string call = "  %5 = tail call i64 @g(i64 %0)\n";
  EXPECT_EQ(restore_ir_tail_calls(define("  br label %4\n\n4:\n" + call + "  br label %6, !dbg !8\n" + end)),
            define("  br label %4\n\n4:\n" + k_exit + call +
                   "  br i1 true, label %terrace.tail.1, label %6, !dbg !8\n\nterrace.tail.1:\n"
                   "  ret i64 %5, !dbg !9\n" +
                   end));
  EXPECT_FALSE(
      moves(define("  br label %4\n\n4:\n  %5 = tail call i64 @g(i64 %0)\n  br label %6\n\n6:\n"
                   "  %7 = phi i64 [ 3, %4 ], [ %5, %1 ], [ %50, %2 ]\n  %8 = add i64 %7, 1\n" +
                   k_exit + "  ret i64 %8\n")));
}

TEST(IrTailCalls, OtherResultOrWorkBehindTheCall_IsUnchanged) {
  const std::string call = "  %3 = tail call i64 @g(i64 %0)\n";
  EXPECT_FALSE(moves(define(call + k_exit + "  ret i64 %0\n")));
  EXPECT_FALSE(moves(define(call + k_exit + "  ret i64 0\n")));
  EXPECT_FALSE(moves(define(call + k_exit + "  ret i64 %30\n")));
  EXPECT_FALSE(moves(define(call + "  call void @__tsan_write8(i8* %1)\n" + k_exit + "  ret i64 %3\n")));
  EXPECT_FALSE(moves(define(call + "  store i64 0, i64* %1\n" + k_exit + "  ret i64 %3\n")));
  EXPECT_FALSE(moves(define("  %3 = call i64 @g(i64 %0)\n" + k_exit + "  ret i64 %3\n"))) << "not marked";
  EXPECT_FALSE(moves(define("  %3 = notail call i64 @g(i64 %0)\n" + k_exit + "  ret i64 %3\n")));
  EXPECT_TRUE(moves(define(call + "  call void @__sanitizer_cov_trace_pc() #7\n" + k_exit + "  ret i64 %3\n")));
}

TEST(IrTailCalls, ReturnsTwiceOrForbidsTailCalls_IsUnchanged) {
  const auto end = "  %3 = tail call i64 @g(i64 %0)\n" + k_exit + "  ret i64 %3\n";
  EXPECT_TRUE(moves(define(end)));
  EXPECT_FALSE(moves(define("  %4 = call i32 @_setjmp(i8* %1) #5\n" + end)));
  const std::string twice = "attributes #5 = { nounwind returns_twice }\n";
  EXPECT_FALSE(moves(define("  %4 = call i32 @mine(i8* %1) #5\n" + end) + twice));
  EXPECT_TRUE(moves(define("  %4 = call i32 @mine(i8* %1) #6\n" + end) + twice));
  EXPECT_FALSE(moves(define(end) + "attributes #0 = { \"disable-tail-calls\"=\"true\" }\n"));
  EXPECT_FALSE(moves("define i64 @f(i64 %0) {\n" + end + "}\n")) << "no hooks";
}

TEST(IrTailCalls, CalleeOfBoundedDepth_IsUnchanged) {
  const auto f = [](const std::string& callee) {
    return define("  %3 = tail call i64 @" + callee + "(i64 %0)\n" + k_exit + "  ret i64 %3\n");
  };
  EXPECT_FALSE(moves(f("malloc")));
  EXPECT_FALSE(moves(f("llvm.ctpop.i64")));
  const auto g = [](const std::string& body, const std::string& linkage = "internal") {
    return "define " + linkage + " i64 @g(i64 %0) {\n" + body + "  ret i64 %0\n}\n";
  };
  EXPECT_FALSE(moves(f("g") + g("  call void @__tsan_read8(i8* %1)\n  %4 = tail call i64 @free(i64 %0)\n")));
  EXPECT_TRUE(moves(f("g") + g("", "weak"))) << "another file may have another";
  EXPECT_TRUE(moves(f("g") + g("  %4 = tail call i64 @f(i64 %0)\n")));
  EXPECT_TRUE(moves(f("g") + g("  %4 = tail call i64 %2(i64 %0)\n")));
}

std::string invoking(const std::string& pad, const std::string& before = "") {
  return define(before +
                "  %3 = invoke i64 @g(i64 %0)\n          to label %4 unwind label %6, !dbg !5\n\n4:\n"
                "  br label %5\n\n5:\n  %9 = phi i64 [ %3, %4 ]\n" +
                k_exit + "  ret i64 %9\n\n6:\n  %7 = landingpad { i8*, i32 }\n          cleanup\n" + pad);
}

TEST(IrTailCalls, HandledException_KeepsTheCall) {
  const auto leaves = k_exit + "  resume { i8*, i32 } %7\n";
  const auto restored = restore_ir_tail_calls(invoking(leaves));
  EXPECT_NE(restored.find(k_exit + "  %3 = tail call i64 @g(i64 %0), !dbg !5\n"
                                   "  br i1 true, label %terrace.tail.1, label %4, !dbg !5\n\n"
                                   "terrace.tail.1:\n  ret i64 %3\n\n4:\n"),
            std::string::npos)
      << restored;
  EXPECT_FALSE(moves(invoking("  call void @__clang_call_terminate(i8* %8)\n  unreachable\n")));
  EXPECT_FALSE(moves(invoking("  call void @cleans(i8* %8)\n" + leaves)));
  EXPECT_FALSE(moves(invoking(leaves, "  %8 = alloca i64, align 8\n"))) << "the callee may have its address";
}

TEST(IrTailCalls, Text_IsRecognisedByItsFirstLine) {
  EXPECT_TRUE(is_ir("; ModuleID = 'a.c'\nsource_filename = \"a.c\"\n"));
  EXPECT_FALSE(is_ir("\t.text\n\t.file\t\"a.c\"\n"));
}

using Words = std::vector<std::string>;

TEST(IrCommand, CodeGenerationOptions_AreKept) {
  EXPECT_EQ(
      ir_command("clang", {"-c", "a.c", "-O2", "-fPIC", "-mavx2", "-g", "-Iinclude", "-DN=3", "-MD", "-MF", "a.d",
                           "-std=c11", "-mllvm", "-x86-pad", "-o", "a.o", "-fprofile-generate"}),
      (Words{"clang", "-Qunused-arguments", "-fno-plt", "-O2", "-fPIC", "-mavx2", "-g", "-mllvm", "-x86-pad"}));
}

TEST(IrCommand, CommandOfOtherSteps_HasNoIrCommand) {
  EXPECT_FALSE(ir_command("clang", {"-O2", "a.c", "b.o", "libc.so.1", "-lm"}).empty());
  EXPECT_FALSE(ir_command("clang", {"-O2", "-x", "c", "-"}).empty());
  for (const Words& words : std::initializer_list<Words>{{"a.c"},
                                                         {"-O0", "a.c"},
                                                         {"-O2", "a.o"},
                                                         {"-O2", "a.c", "b.S"},
                                                         {"-O2", "-S", "a.c", "b.c"},
                                                         {"-O2", "-S", "-emit-llvm", "a.c"},
                                                         {"-O2", "-E", "a.c"},
                                                         {"-O2", "-flto=thin", "a.c"},
                                                         {"-O2", "-fintegrated-as", "a.c"},
                                                         {"-O2", "-Xclang", "-emit-pch", "a.c"},
                                                         {"-O2", "-x", "c++-header", "a.cpp"},
                                                         {"-O2", "a.h"}})
    EXPECT_TRUE(ir_command("clang", words).empty()) << words.back();
}

TEST(IrCommand, AssemblyOutput_IsWrittenByTheSecondStep) {
  EXPECT_EQ(ir_command("clang", {"-O2", "-S", "a.c"}),
            (Words{"clang", "-Qunused-arguments", "-fno-plt", "-O2", "-S"}));
  EXPECT_EQ(ir_arguments({"-O2", "-S", "-I", "b.c", "in/a.c"}),
            (Words{"-O2", "-c", "-I", "b.c", "in/a.c", "-o", "a.s"}));
  EXPECT_EQ(ir_arguments({"-S", "a.c", "-o", "x"}), (Words{"-c", "a.c", "-o", "x"}));
  EXPECT_EQ(ir_arguments({"-S", "a.c", "-ox"}), (Words{"-c", "a.c", "-ox"}));
  EXPECT_EQ(ir_arguments({"-c", "a.c"}), (Words{"-c", "a.c"}));
}

TEST(IrCommand, IntermediateFiles_AreNotKept) {
  EXPECT_EQ(ir_command("clang", {"-O2", "-c", "-save-temps=obj", "-g", "-gsplit-dwarf", "a.c"}),
            (Words{"clang", "-Qunused-arguments", "-fno-plt", "-O2", "-g"}));
  EXPECT_EQ(ir_arguments({"-c", "-save-temps=obj", "--save-temps", "-gsplit-dwarf", "a.c"}),
            (Words{"-c", "-gsplit-dwarf", "a.c"}));
}

TEST(IrCommand, EncodedWords_RoundTrip) {
  const Words words{"clang", "-Wa,-x", "a b", "%:", "-DN=\"3\""};
  EXPECT_EQ(encode_words(words).find_first_of(", \""), std::string::npos);
  EXPECT_EQ(decode_words(encode_words(words)), words);
  EXPECT_TRUE(decode_words("").empty());
}

}  // namespace
}  // namespace terrace::cli
