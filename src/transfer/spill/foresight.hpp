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
  ready,  // in memory or on its way there, and a touch is noticed
  disk    // in the file, or on its way there
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
  virtual void moved(ChunkId chunk, Residence to) noexcept = 0;
  // The chunk on disk that is used next, as far as that is known.
  virtual std::optional<Choice> next_load() noexcept = 0;
  // A quiet chunk whose touch would say how far the program is, where many quiet ones are used one after the
  // other; each is named once.
  virtual std::optional<ChunkId> next_mark() noexcept = 0;
  // The chunk in memory that can be missed best. Who is asked again without a move in between names another one.
  virtual std::optional<Choice> next_victim() noexcept = 0;
};

}  // namespace terrace::transfer
