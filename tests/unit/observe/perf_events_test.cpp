// Tests the choice of perf events: sysfs folders of known machines, against encodings published by vendors and
// kernels; and their serialisation.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/error.hpp"
#include "observe/perf/names/event_device.hpp"
#include "observe/perf/names/memory_events.hpp"
#include "observe/perf/perf_event.hpp"

namespace {

using namespace terrace::observe;
namespace fs = std::filesystem;

// The sysfs files of a machine.
class Files {
 public:
  Files() : root_(fs::temp_directory_path() / ("events_" + std::to_string(getpid()))) {
    fs::create_directories(root_);
  }
  ~Files() { fs::remove_all(root_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  Files& write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << '\n';
    return *this;
  }
  // On a machine for which libpfm4 has no names, or one.
  [[nodiscard]] MemoryEvents events(const std::optional<PerfEvent>& named = {}) const {
    return memory_events({(root_ / "devices").string(), (root_ / "paranoid").string()},
                         [&](const std::string&, std::string&) { return named; });
  }
  [[nodiscard]] EventDevice device(const std::string& name) const { return EventDevice(root_ / "devices" / name); }
  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

void write_core(Files& files, const std::string& name, const std::string& type) {
  files.write("devices/" + name + "/type", type)
      .write("devices/" + name + "/format/event", "config:0-7")
      .write("devices/" + name + "/format/umask", "config:8-15")
      .write("devices/" + name + "/format/ldlat", "config1:0-15");
}

// Skylake: "cpu/mem-loads,ldlat=30/P" is r1cd with 30 as its threshold, "cpu/mem-stores/P" r82d0.
TEST(MemoryEvents, IntelServer_EventsFound) {
  Files files;
  files.write("paranoid", "2");
  write_core(files, "cpu", "4");
  files.write("devices/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3")
      .write("devices/cpu/events/mem-stores", "event=0xd0,umask=0x82")
      .write("devices/cpu/events/cycles", "event=0x3c")
      .write("devices/software/type", "1");
  const auto found = files.events();
  ASSERT_EQ(found.events.size(), 2U);
  EXPECT_EQ(found.unavailable_reason, "");
  const auto& loads = found.events[0];
  EXPECT_EQ(loads.type, 4U);
  EXPECT_EQ(loads.config, 0x1cdU);
  EXPECT_EQ(loads.config1, 30U);
  EXPECT_GE(loads.precise, 1);
  EXPECT_FALSE(loads.has_leader);
  EXPECT_TRUE(loads.sample_type & PERF_SAMPLE_DATA_SRC);
  EXPECT_TRUE(loads.sample_type & PERF_SAMPLE_ADDR);
  EXPECT_TRUE(loads.sample_type & PERF_SAMPLE_WEIGHT);
  EXPECT_EQ(found.events[1].config, 0x82d0U);
  EXPECT_EQ(found.events[1].choice, loads.choice);
  // Missing loads are the next choice, if they belong to this device.
  PerfEvent missed;
  missed.type = 4;
  missed.config = 0x20d1;
  const auto more = files.events(missed);
  ASSERT_EQ(more.events.size(), 3U);
  EXPECT_EQ(more.events[2].config, 0x20d1U);
  EXPECT_GT(more.events[2].choice, loads.choice);
  EXPECT_NE(more.events[2].sample_type & PERF_SAMPLE_ADDR, 0U);
  missed.type = 5;
  EXPECT_EQ(files.events(missed).events.size(), 2U);
}

// Alder Lake: two kinds of core, and loads behind an auxiliary event (r8203) on the large ones.
TEST(MemoryEvents, IntelHybrid_EventsOfBothCores) {
  Files files;
  files.write("paranoid", "1");
  write_core(files, "cpu_core", "4");
  write_core(files, "cpu_atom", "10");
  files.write("devices/cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3")
      .write("devices/cpu_core/events/mem-loads-aux", "event=0x03,umask=0x82")
      .write("devices/cpu_atom/events/mem-loads", "event=0xd0,umask=0x5,ldlat=3");
  const auto found = files.events();
  ASSERT_EQ(found.events.size(), 2U);
  EXPECT_EQ(found.events[0].name, "cpu_atom/mem-loads/");
  EXPECT_EQ(found.events[0].type, 10U);
  EXPECT_EQ(found.events[0].config, 0x5d0U);
  EXPECT_FALSE(found.events[0].has_leader);
  EXPECT_TRUE(found.events[1].has_leader);
  EXPECT_EQ(found.events[1].leader_config, 0x8203U);
}

TEST(MemoryEvents, AmdServer_IbsFound) {
  Files files;
  files.write("paranoid", "2")
      .write("devices/ibs_op/type", "11")
      .write("devices/ibs_op/format/cnt_ctl", "config:19")
      .write("devices/ibs_op/format/l3missonly", "config:16")
      .write("devices/ibs_fetch/type", "10")
      .write("devices/ibs_fetch/format/rand_en", "config:57");
  write_core(files, "cpu", "4");
  const auto found = files.events();
  ASSERT_GE(found.events.size(), 1U);
  const auto& op = found.events.back();
  EXPECT_EQ(op.type, 11U);
  EXPECT_EQ(op.config, 1ULL << 19);
  EXPECT_EQ(op.format, AccessFormat::ibs_op);
  EXPECT_TRUE(op.sample_type & PERF_SAMPLE_RAW);
  EXPECT_EQ(op.period % 16, 0U);  // the counter has no lower bits
}

TEST(MemoryEvents, ArmServer_SpeFound) {
  Files files;
  files.write("paranoid", "2")
      .write("devices/arm_spe_0/type", "8")
      .write("devices/arm_spe_0/format/ts_enable", "config:0")
      .write("devices/arm_spe_0/format/jitter", "config:16")
      .write("devices/arm_spe_0/format/branch_filter", "config:32")
      .write("devices/arm_spe_0/format/load_filter", "config:33")
      .write("devices/arm_spe_0/format/store_filter", "config:34");
  const auto found = files.events();
  ASSERT_EQ(found.events.size(), 1U);
  EXPECT_EQ(found.events[0].config, 1ULL | 1ULL << 16 | 1ULL << 33 | 1ULL << 34);
  EXPECT_EQ(found.events[0].format, AccessFormat::spe);
}

TEST(MemoryEvents, NoEvents_ReasonNamesFile) {
  Files files;
  EXPECT_NE(files.events().unavailable_reason.find("paranoid does not exist"), std::string::npos);
  files.write("paranoid", "2").write("devices/software/type", "1");
  EXPECT_NE(files.events().unavailable_reason.find("no cpu/events/mem-loads, no ibs_op and no arm_spe_0"),
            std::string::npos);
  files.write("paranoid", "4");
  EXPECT_NE(files.events().unavailable_reason.find("paranoid is 4"), std::string::npos);
  files.write("paranoid", "2");
  write_core(files, "cpu", "4");
  files.write("devices/cpu/events/mem-loads", "event=0xcd,colour=2");
  const auto found = files.events();
  EXPECT_TRUE(found.events.empty());
  EXPECT_NE(found.unavailable_reason.find("devices/cpu/format/colour"), std::string::npos)
      << found.unavailable_reason;
}

TEST(MemoryEvents, ThisMachine_EventsOrReason) {
  const auto found = memory_events();
  EXPECT_EQ(found.unavailable_reason.find('\n'), std::string::npos);
  EXPECT_TRUE(!found.events.empty() || !found.unavailable_reason.empty());
}

TEST(EventDevice, Format_PlacesBits) {
  Encoding encoding;
  place_bits("config:0-7,32-35", 0xabc, encoding);
  EXPECT_EQ(encoding.config, 0xbcULL | 0xaULL << 32);
  place_bits("config1:0-63", ~0ULL, encoding);
  EXPECT_EQ(encoding.config1, ~0ULL);
  place_bits("config2:5", 1, encoding);
  EXPECT_EQ(encoding.config2, 32U);
  EXPECT_THROW(place_bits("config:0-3", 16, encoding), terrace::Error);
  for (const char* wrong : {"", "config", "config:", "config:64", "config:7-0", "config:a-b", "config3:0",
                            "config:1-", "config:1,9,1", "config:0-4,3"})
    EXPECT_THROW(place_bits(wrong, 0, encoding), terrace::Error) << wrong;
}

// Placed values are recovered, for any format.
TEST(EventDevice, RandomFormats_KeepValues) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<unsigned> places;
    std::string format = "config" + std::string(random() % 2 == 0 ? "" : "1") + ":";
    for (unsigned at = static_cast<unsigned>(random() % 6); at < 64;) {
      const auto high = std::min<unsigned>(at + static_cast<unsigned>(random() % 12), 63);
      format += (format.back() == ':' ? "" : ",") + std::to_string(at);
      if (high > at) format += "-" + std::to_string(high);
      for (; at <= high; ++at) places.push_back(at);
      at += 1 + static_cast<unsigned>(random() % 20);
    }
    const auto value = places.size() == 64 ? random() : random() & ((1ULL << places.size()) - 1);
    Encoding encoding{random(), random(), 0};
    const auto before = encoding;
    place_bits(format, value, encoding);
    const bool second = format[6] == '1';
    const auto word = second ? encoding.config1 : encoding.config;
    auto rest = second ? before.config1 : before.config;
    for (std::size_t i = 0; i < places.size(); ++i) {
      ASSERT_EQ(word >> places[i] & 1, value >> i & 1) << format;
      rest = (rest & ~(1ULL << places[i])) | (word & 1ULL << places[i]);
    }
    ASSERT_EQ(rest, word) << format;  // the other bits are as they were
    ASSERT_EQ(second ? encoding.config : encoding.config1, second ? before.config : before.config1);
  }
}

TEST(EventDevice, Terms_ParsedOrRefused) {
  using Terms = std::vector<std::pair<std::string, std::uint64_t>>;
  EXPECT_EQ(event_terms("event=0xcd,umask=0x1,ldlat=3,edge"),
            (Terms{{"event", 0xcd}, {"umask", 1}, {"ldlat", 3}, {"edge", 1}}));
  EXPECT_EQ(event_terms(""), Terms{});
  for (const char* wrong : {"=1", "a=", "a=x", "a=0x", "a=1 ", ",", "a=99999999999999999999"})
    EXPECT_THROW(event_terms(wrong), terrace::Error) << wrong;
  std::mt19937_64 random(2);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (auto n = random() % 20; n > 0; --n) text += "event=0x,19-:config \n\xff"[random() % 22];
    try {
      for (const auto& [name, value] : event_terms(text)) ASSERT_FALSE(name.empty());
      Encoding encoding;
      place_bits(text, random(), encoding);
    } catch (const terrace::Error& error) {
      ASSERT_EQ(error.code(), terrace::Code::invalid);
    }
  }
}

// libpfm4's tables for other processors, against Intel's published lists of events.
TEST(EventNames, Libpfm_EncodingsEqualVendorLists) {
  setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
  std::string why;
  const auto missed = event_by_name("skl::MEM_LOAD_RETIRED:L3_MISS", why);
  if (!missed) GTEST_SKIP() << why;
  EXPECT_EQ(missed->config & 0xffff, 0x20d1U);
  EXPECT_EQ(event_by_name("bdw::MEM_LOAD_UOPS_RETIRED:L3_MISS", why)->config & 0xffff, 0x20d1U);
  EXPECT_FALSE(event_by_name("skl::NO_SUCH_EVENT", why));
  EXPECT_NE(why.find("NO_SUCH_EVENT"), std::string::npos);
}

TEST(PerfEvents, Blob_RoundTrip) {
  std::mt19937_64 random(3);
  terrace::BlobWriter blob;
  std::vector<PerfEvent> events;
  for (int i = 0; i < 50; ++i) {
    PerfEvent event{static_cast<std::uint32_t>(random()),
                    random(),
                    random(),
                    random(),
                    static_cast<std::uint8_t>(random() % 4),
                    random(),
                    random(),
                    static_cast<AccessFormat>(random() % 3),
                    random() % 2 == 0,
                    random(),
                    static_cast<std::uint8_t>(random()),
                    std::string(random() % 30, 'n'),
                    std::string(random() % 30, 'm')};
    event.to_blob(blob);
    events.push_back(event);
  }
  terrace::BlobReader reader(blob.bytes());
  for (const auto& event : events) EXPECT_EQ(PerfEvent::from_blob(reader), event);
  EXPECT_TRUE(reader.at_end());
  for (std::size_t size = 0; size < blob.bytes().size(); ++size) {
    terrace::BlobReader cut(blob.bytes().first(size));
    EXPECT_THROW(for (;;) PerfEvent::from_blob(cut), terrace::Error);
  }
}

}  // namespace
