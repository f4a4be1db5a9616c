// Who decides which spilled chunks are in memory: what comes in next, and what leaves for it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/identifiers.hpp"
#include "core/units.hpp"

namespace terrace::transfer {

// Where a spilled chunk is, as far as decisions are concerned.
enum class Residence : std::uint8_t {
  none,   // it has no content: nobody ever touched it, or it is zero
  quiet,  // at its place: who touches it is not noticed
  fixed,  // the same, and it does not leave
  ready,  // in memory or on its way there, and a touch is noticed
  disk    // in the file, or on its way there
};

// What a forecast of time needs, as measured since the beginning.
struct SpillMeasured {
  Seconds now;                   // by the clock; when the latest touch came
  std::size_t room = 0;          // chunks that may be in memory, beside the pages that are kept
  std::size_t kept = 0;          // for what leaves
  std::size_t under_way = 0;     // reads and writes
  std::uint64_t moved = 0;       // chunks that were read or written
  Seconds busy;                  // in which some were
  std::uint64_t foreseen = 0;    // chunks that were read before they were touched
  std::uint64_t demanded = 0;    // and after
  std::uint64_t unexpected = 0;  // of those
  std::uint64_t written = 0;     // chunks
  std::uint64_t clean = 0;       // that left and had not to be written
  std::uint64_t served = 0;      // touches of what was in memory
  Seconds serving;               // for which those waited
};

// Stretches of a thread: the seconds that were predicted when each began, and those that it took.
struct Predicted {
  Seconds predicted, measured;
  std::uint64_t stretches = 0;
};

// What a plan says of a chunk: it stays in memory, or leaves it before others.
enum class Preference : std::uint8_t { none, stay, leave };

// What became of the plan: the share of time that it saved, once that was tried, and whether it is undone.
struct Verdict {
  std::optional<double> gain;
  bool undone = false;
};

// Called by one thread.
class Foresight {
 public:
  struct Choice {
    ChunkId chunk = 0;
    double when = 0;  // it is expected to be used; of two, the lesser is sooner
  };
  virtual ~Foresight() = default;
  // A thread touched a chunk that was not quiet. `worked`: the time since its touch before, less what it waited.
  // True where that was to be expected.
  virtual bool touched(ChunkId chunk, std::uint32_t thread, Seconds worked) noexcept = 0;
  // After each touch, before anything else: how long it was expected to take until then, and took. Nothing that is
  // measured after a stretch began changes what was predicted for it.
  virtual Predicted predicted(const SpillMeasured& measured) noexcept = 0;
  virtual void moved(ChunkId chunk, Residence to) noexcept = 0;
  // The chunk on disk that is used next, as far as that is known.
  virtual std::optional<Choice> next_load() noexcept = 0;
  // A quiet chunk whose touch would say how far the program is, where many quiet ones are used one after the
  // other; each is named once.
  virtual std::optional<ChunkId> next_mark() noexcept = 0;
  // The chunk in memory that can be missed best. Who is asked again without a move in between names another one.
  virtual std::optional<Choice> next_victim() noexcept = 0;
  // Chunks from `first` on. Who knows of no plan does nothing.
  virtual void prefer(ChunkId /*first*/, std::uint32_t /*count*/, Preference) noexcept {}
  [[nodiscard]] virtual Verdict verdict() const noexcept { return {}; }
};

}  // namespace terrace::transfer
