// Compares names of addresses with binutils' output (nm, addr2line) and with brute force.
#include "observe/symbols/symbols.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "observe/symbols/files/symbols_scopes.hpp"
#include "observe/symbols/files/symbols_writer.hpp"

namespace terrace::observe {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (const auto n = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  pclose(pipe);
  return text;
}

// A cache folder of the test's own.
class Symbols : public ::testing::Test {
 protected:
  Symbols() : cache_(fs::temp_directory_path() / ("symbols-" + std::to_string(getpid()))) {}
  ~Symbols() override { fs::remove_all(cache_); }

  std::string write(const std::string& module) const { return write_symbol_file(module, cache_.string()); }

  // The module as if it were loaded at `bias`. Its build-id is the beginning of the symbol file's name.
  static void load(SymbolTable& table, const std::string& file, const std::string& module, std::uint64_t bias) {
    const auto name = fs::path(file).filename().string();
    std::vector<std::uint8_t> id;
    for (std::size_t i = 0; i + 1 < name.find('-'); i += 2)
      id.push_back(static_cast<std::uint8_t>(std::stoi(name.substr(i, 2), nullptr, 16)));
    ASSERT_TRUE(table.add_file(file.c_str()));
    ASSERT_EQ(table.add_module({module.c_str(), bias, bias, bias + (1ULL << 30), id}), 0);
    ASSERT_TRUE(table.is_described(0));
  }

  fs::path cache_;
};

// Symbol files of older naming versions stay in the user's cache and must not be used.
TEST_F(Symbols, OlderNamingVersion_IsNotUsed) {
  const auto fresh = write(TERRACE_SYMBOLS_SUBJECT);
  ASSERT_NE(fresh, "");
  const auto name = fs::path(fresh).filename().string();
  const auto stale = cache_ / (name.substr(0, name.find(".v")) + ".v1.symbols");
  fs::rename(fresh, stale);
  EXPECT_EQ(write(TERRACE_SYMBOLS_SUBJECT), fresh);
  EXPECT_TRUE(fs::exists(fresh));
}

struct Frame {
  std::string function, place;  // as addr2line has them; the place is "path:line"
};

// addr2line's inlined frames of each address, innermost first.
std::vector<std::vector<Frame>> inlined_frames(const std::string& module,
                                               const std::vector<std::uint64_t>& addresses) {
  std::ostringstream command;
  command << "addr2line -a -i -f -C -e '" << module << "'" << std::hex;
  for (const auto address : addresses) command << " 0x" << address;
  std::istringstream lines(output_of(command.str()));
  std::vector<std::vector<Frame>> all;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      all.emplace_back();
      continue;
    }
    Frame frame{line, ""};
    std::getline(lines, frame.place);
    frame.place = frame.place.substr(0, frame.place.find(" ("));
    all.back().push_back(frame);
  }
  return all;
}

bool is_library_frame(const Frame& frame) {
  return frame.place.find("/include/c++/") != std::string::npos || frame.function.starts_with("std::") ||
         frame.function.starts_with("operator new") || frame.function.starts_with("xmalloc") ||
         frame.function.starts_with("xalloc_into") || frame.function.starts_with("Grid<double>::Grid");
}

TEST_F(Symbols, Site_IsInnermostNonAllocatorFrame) {
  const auto file = write(TERRACE_SYMBOLS_SUBJECT);
  ASSERT_FALSE(file.empty());
  SymbolTable table;
  constexpr std::uint64_t k_bias = 0x7f0000000000;
  load(table, file, TERRACE_SYMBOLS_SUBJECT, k_bias);

  // Every address of our functions.
  std::vector<std::uint64_t> addresses;
  std::istringstream symbols(output_of("nm -S -C --defined-only '" TERRACE_SYMBOLS_SUBJECT "'"));
  for (std::string line; std::getline(symbols, line);) {
    std::istringstream in(line);
    std::uint64_t low = 0, size = 0;
    std::string type, name;
    if (!(in >> std::hex >> low >> size >> type >> name) || (type != "T" && type != "t")) continue;
    if (name.starts_with("use(") || name.starts_with("make(") || name == "main" || name.starts_with("xmalloc("))
      for (auto address = low; address < low + size; ++address) addresses.push_back(address);
  }
  ASSERT_GT(addresses.size(), 300U);

  const auto expected = inlined_frames(TERRACE_SYMBOLS_SUBJECT, addresses);
  ASSERT_EQ(expected.size(), addresses.size());
  std::size_t ascended = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto site = table.find(addresses[i] + k_bias);
    if (expected[i].front().place.starts_with("?")) continue;
    const auto frame = std::ranges::find_if_not(expected[i], is_library_frame);
    const bool allocator = frame == expected[i].end();
    ASSERT_NE(site.function, nullptr) << std::hex << addresses[i];
    EXPECT_EQ(site.allocator, allocator) << site.function << " at " << std::hex << addresses[i];
    if (allocator || site.allocator) continue;
    ascended += frame != expected[i].begin();
    if (frame->place.ends_with(":?") || frame->place.ends_with(":0")) continue;
    EXPECT_TRUE(frame->place.ends_with("/" + std::string(site.file) + ":" + std::to_string(site.line)))
        << site.file << ":" << site.line << " for " << frame->place << " at " << std::hex << addresses[i];
    EXPECT_TRUE(frame->function.starts_with(site.function)) << frame->function << " is not " << site.function;
  }
  EXPECT_GT(ascended, 20U) << "some of it is inlined from the library";
}

TEST_F(Symbols, NoDebugInformation_UsesOffset) {
  fs::create_directories(cache_);
  const auto stripped = (cache_ / "stripped").string();
  output_of("objcopy -g '" TERRACE_SYMBOLS_SUBJECT "' '" + stripped + "'");
  SymbolTable table;
  load(table, write(stripped), stripped, 0);
  std::istringstream symbols(output_of("nm '" + stripped + "' | grep ' main$'"));
  std::uint64_t main = 0;
  symbols >> std::hex >> main;
  char buffer[128];
  const auto site = table.find(main + 3);
  EXPECT_EQ(table.describe(site, main + 3, buffer, sizeof buffer), "main+0x3");
  output_of("strip '" + stripped + "'");
  const auto nothing = write(stripped);
  SymbolTable bare;
  load(bare, nothing, stripped, 0x1000);
  const auto unknown = bare.find(main + 3 + 0x1000);
  std::ostringstream text;
  text << fs::path(nothing).filename().string().substr(0, 8) << "+0x" << std::hex << main + 3;
  EXPECT_EQ(bare.describe(unknown, main + 3, buffer, sizeof buffer), text.str());
}

TEST(SymbolTableDescribe, StaticInitializer_IsFileAndLine) {
  const SymbolTable table;
  char buffer[64];
  for (const char* const made :
       {"__static_initialization_and_destruction_0", "_GLOBAL__sub_I_grid", "__cxx_global_var_init.3"})
    EXPECT_EQ(table.describe({.module = 0, .function = made, .file = "/src/ft.cpp", .line = 141}, 0, buffer,
                             sizeof buffer),
              "ft.cpp:141");
  EXPECT_EQ(table.describe({.module = 0, .function = "initialise", .file = "/src/ft.cpp", .line = 9}, 0, buffer,
                           sizeof buffer),
            "initialise ft.cpp:9");
}

TEST_F(Symbols, Variables_EqualSymbolTable) {
  SymbolTable table;
  load(table, write(TERRACE_SYMBOLS_SUBJECT), TERRACE_SYMBOLS_SUBJECT, 0);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> found;
  for (const auto& variable : table.variables(0))
    found[table.text(0, variable.name)] = {variable.low, variable.size};
  std::istringstream symbols(output_of("nm -S -C '" TERRACE_SYMBOLS_SUBJECT "'"));
  std::size_t compared = 0;
  for (std::string line; std::getline(symbols, line);) {
    std::istringstream in(line);
    std::uint64_t low = 0, size = 0;
    std::string type, name;
    in >> std::hex >> low >> size >> type >> std::ws;
    std::getline(in, name);
    if (name == "make(unsigned long)::saved") name = "make.saved";  // a function's own
    if (name != "big_table" && name != "field::velocity" && name != "make.saved") continue;
    ++compared;
    EXPECT_EQ(found[name], std::pair(low, size)) << name;
  }
  EXPECT_EQ(compared, 3U);
}

#ifdef TERRACE_SYMBOLS_FORTRAN
TEST_F(Symbols, CommonBlock_EachMemberIsVariable) {
  SymbolTable table;
  load(table, write(TERRACE_SYMBOLS_FORTRAN), TERRACE_SYMBOLS_FORTRAN, 0);
  std::istringstream symbol(output_of("nm -S '" TERRACE_SYMBOLS_FORTRAN "' | grep ' fields_$'"));
  std::uint64_t block = 0, size = 0;
  symbol >> std::hex >> block >> size;
  EXPECT_EQ(size, (100 * 100 + 200 + 300 * 10) * 8U);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> found;
  for (const auto& variable : table.variables(0))
    found[table.text(0, variable.name)] = {variable.low, variable.size};
  // In the order of the COMMON statement; the first description of the block names them.
  EXPECT_EQ(found["fields_.u"], std::pair(block, std::uint64_t{80000}));
  EXPECT_EQ(found["fields_.v"], std::pair(block + 80000, std::uint64_t{1600}));
  EXPECT_EQ(found["fields_.w"], std::pair(block + 81600, std::uint64_t{24000}));
  EXPECT_EQ(found["first.kept"].second, 40000U);
  EXPECT_FALSE(found.contains("fields_"));
  EXPECT_FALSE(found.contains("fields_.other"));
}
#endif

TEST_F(Symbols, SecondWrite_UsesCache) {
  const auto first = write(TERRACE_SYMBOLS_SUBJECT);
  const auto when = fs::last_write_time(first);
  EXPECT_EQ(write(TERRACE_SYMBOLS_SUBJECT), first);
  EXPECT_EQ(fs::last_write_time(first), when);
  EXPECT_EQ(write("/does/not/exist"), "");
  EXPECT_EQ(write("/etc/passwd"), "");
}

TEST_F(Symbols, DamagedFile_IsRefused) {
  const auto file = write(TERRACE_SYMBOLS_SUBJECT);
  std::ifstream in(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto damaged = (cache_ / "damaged").string();
  const auto accepts = [&](const std::string& bytes) {
    std::ofstream(damaged, std::ios::binary) << bytes;
    return SymbolTable().add_file(damaged.c_str());
  };
  EXPECT_TRUE(accepts(whole));
  EXPECT_FALSE(accepts(""));
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(accepts(whole.substr(0, random() % whole.size())));
    auto flipped = whole;
    // After the build-id and the path, which identify the file and are not contents.
    const auto at = sizeof(SymbolFileHeader) + random() % (whole.size() - sizeof(SymbolFileHeader));
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (random() % 8)));
    EXPECT_FALSE(accepts(flipped)) << "byte " << at;
  }
  // A header with sizes beyond the end of the file.
  for (const auto at : {offsetof(SymbolFileHeader, functions), offsetof(SymbolFileHeader, sites),
                        offsetof(SymbolFileHeader, variables), offsetof(SymbolFileHeader, string_bytes)}) {
    auto grown = whole;
    grown[at + 6] = '\x7f';
    EXPECT_FALSE(accepts(grown));
  }
}

TEST(FlattenScopes, RandomScopes_EqualBruteForce) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<CodeScope> scopes;
    std::vector<ScopeRange> ranges;
    // Adjacent functions with nested scopes.
    for (std::uint64_t at = 10; at < 400; at += 60) {
      struct Open {
        std::uint64_t low, high;
        int scope;
      };
      std::vector<Open> nest;
      const auto open = [&](std::uint64_t low, std::uint64_t high, int parent) {
        CodeScope scope;
        scope.name = static_cast<std::uint32_t>(scopes.size());
        scope.allocator = random() % 2 == 0;
        scope.parent = parent;
        scope.call_file = 7;
        scope.call_line = static_cast<std::uint32_t>(1000 + scopes.size());
        scope.depth = static_cast<std::uint32_t>(nest.size());
        scopes.push_back(scope);
        ranges.push_back({low, high, static_cast<int>(scopes.size() - 1)});
        nest.push_back({low, high, static_cast<int>(scopes.size() - 1)});
      };
      open(at, at + 20 + random() % 40, -1);
      while (nest.back().high - nest.back().low > 4 && random() % 4 != 0) {
        const auto outer = nest.back();
        const auto low = outer.low + random() % (outer.high - outer.low - 1);
        open(low, low + 1 + random() % (outer.high - low), outer.scope);
      }
    }
    std::shuffle(ranges.begin(), ranges.end(), random);
    std::vector<LineRow> lines;
    for (std::uint64_t address = random() % 20; address < 500; address += 1 + random() % 9)
      lines.push_back({address, 3, static_cast<std::uint32_t>(1 + random() % 5), random() % 12 == 0});

    const auto sites = flatten_scopes(scopes, ranges, lines);
    for (std::uint64_t address = 0; address < 520; ++address) {
      const ScopeRange* innermost = nullptr;
      for (const auto& range : ranges)
        if (range.low <= address && address < range.high &&
            (!innermost || scopes[range.scope].depth > scopes[innermost->scope].depth))
          innermost = &range;
      const LineRow* row = nullptr;
      for (const auto& line : lines)
        if (line.address <= address) row = &line;
      const auto after = std::ranges::upper_bound(sites, address, {}, &SymbolSite::low);
      const SymbolSite* const site = after == sites.begin() ? nullptr : &*(after - 1);
      const bool known = site && !(site->flags & k_symbol_no_code);
      ASSERT_EQ(known, innermost && row && !row->end) << "seed " << seed << " address " << address;
      if (!known) continue;
      auto at = innermost->scope;
      auto file = row->file;
      auto line = row->line;
      while (scopes[at].allocator && scopes[at].parent >= 0) {
        file = scopes[at].call_file;
        line = scopes[at].call_line;
        at = scopes[at].parent;
      }
      ASSERT_EQ(site->function, scopes[at].name) << "seed " << seed << " address " << address;
      ASSERT_EQ(site->file, file);
      ASSERT_EQ(site->line, line);
      ASSERT_EQ((site->flags & k_symbol_allocator) != 0, scopes[at].allocator);
    }
  }
}

// Code in a function that has a library header's line, because the compiler lost the scope of inlined code.
TEST(SymbolScopes, LostLibraryCode_HasLineOfFollowingCode) {
  constexpr std::uint32_t k_own = 3;
  constexpr std::uint32_t k_header = 4;
  // A function, and in it a member of the library, called in line 71 of its own.
  const std::vector<CodeScope> scopes{{10, false, -1, 0, 0, 0}, {11, true, 0, k_own, 71, 1}};
  const std::vector<ScopeRange> ranges{{100, 200, 0}, {140, 150, 1}, {300, 320, 0}};
  const std::vector<LineRow> lines{{100, k_own, 70},
                                   {130, k_header, 137, false, true},
                                   {140, k_header, 430, false, true},
                                   {150, k_own, 72},
                                   {160, k_header, 137, false, true},
                                   {200, 0, 0, true},
                                   {300, k_header, 9, false, true},
                                   {320, 0, 0, true}};
  const auto sites = flatten_scopes(scopes, ranges, lines);
  const auto at = [&](std::uint64_t address) {
    return *(std::ranges::upper_bound(sites, address, {}, &SymbolSite::low) - 1);
  };
  for (const auto& [address, line] : {std::pair{100, 70}, {130, 71}, {140, 71}, {150, 72}, {160, 72}}) {
    EXPECT_EQ(at(address).file, k_own) << address;
    EXPECT_EQ(at(address).line, line) << address;
    EXPECT_EQ(at(address).flags, 0U);
  }
  EXPECT_EQ(at(300).file, k_header) << "nothing is known of it but that";
}

}  // namespace
}  // namespace terrace::observe
