// How much memory the reading of a file may take, and where rows go that do not fit.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "core/ids.hpp"
#include "workloads/storage/column.hpp"

namespace strobe {

/// A bound for the rows and ids of a file that is read. The program itself and the text of each thread need some ten
/// MiB more.
struct ReadingBound {
  ReadingBound(std::uint64_t most, std::string aside) : bytes(most), folder(std::move(aside)) {}

  std::uint64_t bytes;
  std::string folder;                          // rows that do not fit go into temporary files here
  mutable std::atomic<bool> exceeded = false;  // set when rows went into files

  /// Rows in memory when the first of them go into files.
  std::uint64_t most_bytes() const { return bytes / 3; }
  /// Rows that are sorted at once from then on.
  std::uint64_t run_bytes() const { return bytes / 8; }
};

/// While one lives, readings that this thread begins keep to the bound; the innermost counts.
class BoundedReading {
 public:
  /// Rows beyond `bytes` go into files of `folder`.
  BoundedReading(std::uint64_t bytes, std::string folder);
  ~BoundedReading();
  BoundedReading(const BoundedReading&) = delete;
  BoundedReading& operator=(const BoundedReading&) = delete;

 private:
  ReadingBound bound_;
  const ReadingBound* outer_;
};

/// The bound of this thread; null without one.
const ReadingBound* reading_bound();

/// Sends lines of progress of long readings to `say`, from any thread. Call it before the first reading.
void report_readings_to(std::function<void(const std::string& line)> say);
void report_reading(const std::string& line);

/// Half of the memory that this process may take.
std::uint64_t default_reading_bytes();

/// The entries in `numbers` of all vertices of `ends`, in new pages.
Column<VertexId> renumbered(const Column<VertexId>& ends, std::span<const VertexId> numbers);

/// Replaces every vertex of `ends` by its entry in `numbers`. Large columns go into a file under a bound.
void renumber_ends(Column<VertexId>& ends, std::span<const VertexId> numbers);

}  // namespace strobe
