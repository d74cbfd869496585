// The bytes that a subset of rows takes, from its definition, form by form, without the encoder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace strobe::test {

/// Bytes of the distances between rows whose entry is `which`: 7 bits a byte.
inline std::size_t plain_gap_bytes(const std::vector<bool>& sent, bool which) {
  std::size_t bytes = 0, gap = 0;
  for (const bool row : sent) {
    if (row != which) {
      ++gap;
      continue;
    }
    bytes += gap < 128 ? 1 : gap < 16384 ? 2 : gap < 2097152 ? 3 : 4;
    gap = 0;
  }
  return bytes;
}

/// Bytes of header and list; sent[i] says whether row i comes.
inline std::size_t plain_subset_bytes(const std::vector<bool>& sent) {
  const std::size_t bits = sent.size() / 8 + (sent.size() % 8 != 0);
  if (sent.size() <= 64) return bits;
  const auto count = std::count(sent.begin(), sent.end(), true);
  if (count == 0 || count == static_cast<std::ptrdiff_t>(sent.size())) return 8;
  return 8 + std::min({bits, plain_gap_bytes(sent, true), plain_gap_bytes(sent, false)});
}

}  // namespace strobe::test
