#include <random>
#include <sstream>

#include "brute_force.hpp"
#include "histories.hpp"

namespace terrace::pim {
namespace {

class History {
 public:
  explicit History(std::uint64_t seed)
      : seed_(seed), dice_(seed), geometry_(geometry()), allocator_(geometry_), truth_(geometry_) {}

  std::string run() {
    const auto length = between(8, 32);
    for (std::uint32_t i = 0; i < length && wrong_.empty(); ++i) {
      if (live_.empty() || dice_() % 8 < 5)
        allocate(request());
      else if (dice_() % 8 == 0 && geometry_.units() <= 80)  // brute force tries all places of all blocks
        allocate_group();
      else
        release();
      if (allocator_.free_units() != truth_.free_units()) complain("the account of what is free");
    }
    while (!live_.empty() && wrong_.empty()) release();
    if (wrong_.empty() && allocator_.free_units() != geometry_.units()) complain("what is free at the end");
    return wrong_;
  }

 private:
  struct Live {
    Handle handle;
    Block block;
  };

  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(dice_() % (high - low + 1));
  }
  Geometry geometry() {
    const bool tall = dice_() % 32 == 0;  // more rows than one or two words of the bitmap
    const auto rows = tall ? between(60, 140) : between(1, 9);
    return {rows, 8, between(1, 4), between(1, 3), dice_() % 4 == 0 ? 2U : 1U};
  }
  Request request() {
    Request request;
    request.dim = dice_() % 2 == 0 ? Dim::horizontal : Dim::vertical;
    request.fit = dice_() % 3 == 0 ? Fit::best : Fit::first;
    request.within = static_cast<Within>(dice_() % 5 < 3 ? 2 : dice_() % 3);
    const auto widest = request.within == Within::subarray ? 1
                        : request.within == Within::bank   ? geometry_.subarrays
                                                           : geometry_.width();
    request.shape = {between(1, dice_() % 3 == 0 ? geometry_.rows : (geometry_.rows + 2) / 3),
                     between(1, dice_() % 3 == 0 ? widest : (widest + 1) / 2)};
    if (dice_() % 4 == 0) request.row_alignment = between(1, 4);
    if (dice_() % 4 == 0) request.subarray_alignment = between(1, 3);
    return request;
  }

  void allocate(Request request) {
    std::optional<Block> beside;
    if (!live_.empty() && dice_() % 4 == 0) {
      const auto& other = live_[dice_() % live_.size()];
      request.beside = other.handle;
      request.share = static_cast<Within>(dice_() % 3);
      beside = other.block;
    }
    const auto expected = choice(request, beside);
    const auto handle = allocator_.allocate(request);
    const auto got = allocator_.block(handle);
    if (got != expected) {
      complain("allocate " + text(request) + ": got " + text(got) + ", brute force has " + text(expected));
      return;
    }
    if (got) keep(handle, *got);
  }

  std::optional<Block> choice(const Request& request, const std::optional<Block>& beside) {
    std::optional<Block> best;
    if (request.fit == Fit::first) {
      truth_.visit(request, beside, [&](const Block& block) { return best = block, true; });
      return best;
    }
    const auto blocks = truth_.candidates(request, beside);
    if (blocks.empty()) return best;
    const bool crossing = truth_.crosses(blocks[0]);
    const bool alone = beside && request.share == Within::subarray;
    std::uint32_t least = 0;
    for (const auto& block : blocks) {
      if (!alone && (truth_.crosses(block) != crossing || (crossing && block.device != blocks[0].device))) break;
      auto first = block.subarray / geometry_.subarrays * geometry_.subarrays;
      auto end = first + geometry_.subarrays;
      if (crossing) first = 0, end = geometry_.width();
      if (alone) first = block.subarray, end = block.subarray + block.shape.subarrays;
      const auto slack = truth_.slack(block, request.dim, first, end);
      if (best && slack >= least) continue;
      best = block;
      least = slack;
    }
    return best;
  }
  // Groups of two or three blocks: brute force tries all combinations recursively.
  void allocate_group() {
    std::vector<Request> requests(between(1, 3));
    for (auto& each : requests) {
      each = request();
      each.fit = Fit::first;
    }
    const auto share = static_cast<Within>(dice_() % 3);
    const auto handles = allocator_.allocate_group(requests, share);
    const bool room = fits(requests, share, std::nullopt);
    if (handles.empty() == room) {
      complain("a group of " + std::to_string(requests.size()) +
               (room ? " found no room" : " should find no room"));
      return;
    }
    std::optional<Block> one;
    for (std::size_t i = 0; i < handles.size(); ++i) {
      const auto block = allocator_.block(handles[i]);
      auto asked = requests[i];
      asked.share = share;
      if (!block || std::ranges::count(truth_.candidates(asked, one), *block) == 0) {
        complain("a group's block " + text(block) + " is not where it may be");
        return;
      }
      if (!one && within(*block, share)) one = block;
      keep(handles[i], *block);
    }
  }
  // Blocks of a group that share a bank do not cross banks.
  [[nodiscard]] bool within(const Block& block, Within share) const {
    return share != Within::bank || !truth_.crosses(block);
  }
  bool fits(std::span<const Request> rest, Within share, const std::optional<Block>& one) {
    if (rest.empty()) return true;
    auto asked = rest[0];
    asked.share = share;
    bool all = false;
    truth_.visit(asked, one, [&](const Block& block) {
      if (!within(block, share)) return false;
      truth_.mark(block, true);
      all = fits(rest.subspan(1), share, one ? one : block);
      truth_.mark(block, false);
      return all;
    });
    return all;
  }

  void keep(Handle handle, const Block& block) {
    truth_.mark(block, true);
    live_.push_back({handle, block});
  }
  void release() {
    const auto at = dice_() % live_.size();
    const auto [handle, block] = live_[at];
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
    truth_.mark(block, false);
    if (allocator_.release(handle) != Released::done) complain("a block cannot be released");
    if (allocator_.release(handle) != Released::already) complain("a second release goes unnoticed");
    if (allocator_.block(handle)) complain("a released block is still there");
    if (allocator_.release({handle.value ^ (std::uint64_t{1} << 60)}) != Released::foreign)
      complain("a foreign handle goes unnoticed");
  }

  static std::string text(const std::optional<Block>& block) {
    if (!block) return "none";
    std::ostringstream out;
    out << block->shape.rows << " x " << block->shape.subarrays << " at device " << block->device << ", row "
        << block->row << ", subarray " << block->subarray;
    return out.str();
  }
  std::string text(const Request& request) const {
    std::ostringstream out;
    out << request.shape.rows << " x " << request.shape.subarrays
        << (request.fit == Fit::best ? " best" : " first")
        << (request.dim == Dim::vertical ? " vertical" : " horizontal") << ", within "
        << static_cast<int>(request.within) << ", aligned to " << request.row_alignment << " and "
        << request.subarray_alignment;
    if (request.beside) out << ", beside another, share " << static_cast<int>(request.share);
    return out.str();
  }
  void complain(const std::string& what) {
    if (wrong_.empty()) wrong_ = "seed " + std::to_string(seed_) + ", " + describe(geometry_) + ": " + what;
  }

  std::uint64_t seed_;
  std::mt19937_64 dice_;
  Geometry geometry_;
  Allocator allocator_;
  BruteForce truth_;
  std::vector<Live> live_;
  std::string wrong_;
};

}  // namespace

std::string sequential_history(std::uint64_t seed) { return History(seed).run(); }

}  // namespace terrace::pim
