// Returns copies, byte for byte, whatever the number of workers. Tasks are pieces of the result of some 256 KiB, so
// that each is worth its hand-over and a worker that is held up leaves the rest to the others. Cost: the bytes, once; a
// gather whose rows lie beyond the caches asks for the row some places ahead, which hides part of the memory's latency.
#include "backends/host/gather_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"
#include "core/system/parallel.hpp"

namespace strobe {
namespace {

constexpr std::int64_t piece_bytes = std::int64_t{256} << 10;
constexpr std::int64_t rows_ahead = 8;

double as_double(std::int64_t n) { return static_cast<double>(n); }

void prefetch(const std::byte* memory) {
#if defined(__GNUC__)
  __builtin_prefetch(memory);
#else
  static_cast<void>(memory);
#endif
}

/// Rows [first, last) of the result.
void gather_piece(const HostGather& op, std::int64_t first, std::int64_t last) {
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t row = op.rows[i];
    if (row < 0 || row >= op.from_rows) throw Error(fmt::format("row {} is gathered of {}", row, op.from_rows));
    if (i + rows_ahead < last) {
      const std::int64_t ahead = op.rows[i + rows_ahead];
      if (ahead >= 0 && ahead < op.from_rows) prefetch(op.from + ahead * op.row_bytes);
    }
    std::memcpy(op.to + i * op.row_bytes, op.from + row * op.row_bytes, static_cast<std::size_t>(op.row_bytes));
  }
}

}  // namespace

Work HostGather::work() const {
  const double row = as_double(row_bytes), accessed = as_double(count) * row, all = as_double(from_rows) * row;
  const double distinct = std::min(accessed, all);
  return {0, distinct + 8.0 * as_double(count), accessed, {accessed, distinct, all, row}};
}

void HostGather::run(Workers& workers) const {
  if (count == 0 || row_bytes == 0) return;
  const std::int64_t per_piece = std::max<std::int64_t>(1, piece_bytes / row_bytes);
  workers.run((count + per_piece - 1) / per_piece, [&](std::int64_t piece) {
    gather_piece(*this, piece * per_piece, std::min(count, (piece + 1) * per_piece));
  });
}

Work HostCopy::work() const { return {0, as_double(bytes), as_double(bytes)}; }

void HostCopy::run(Workers& workers) const {
  workers.run((bytes + piece_bytes - 1) / piece_bytes, [&](std::int64_t piece) {
    const std::int64_t first = piece * piece_bytes, last = std::min(bytes, first + piece_bytes);
    std::memcpy(to + first, from + first, static_cast<std::size_t>(last - first));
  });
}

}  // namespace strobe
