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

struct PlainSubset {
  const char* form = "";  // what travels: "bits" in the header alone, "all or none", or a list
  std::size_t bytes = 0;  // of header and list
};

/// The way to say with the fewest bytes which rows come; sent[i] says whether row i does.
inline PlainSubset plain_subset(const std::vector<bool>& sent) {
  const std::size_t bits = sent.size() / 8 + (sent.size() % 8 != 0);
  if (sent.size() <= 64) return {"bits", bits};
  const auto count = std::count(sent.begin(), sent.end(), true);
  if (count == 0 || count == static_cast<std::ptrdiff_t>(sent.size())) return {"all or none", 8};
  const std::size_t come = plain_gap_bytes(sent, true), left_out = plain_gap_bytes(sent, false);
  const std::size_t least = std::min({bits, come, left_out});
  return {least == bits ? "list of bits" : least == come ? "list of rows" : "list of rows left out", 8 + least};
}

}  // namespace strobe::test
