// How a Matrix Market file is known from others whose comments begin with % as well.
#pragma once

#include <string_view>

namespace strobe {

/// Whether the first line of a file is Matrix Market's: the word with one % or two before it.
inline bool is_matrix_market(std::string_view line) {
  for (const std::string_view word : {"%%MatrixMarket", "%MatrixMarket"})
    if (line.starts_with(word)) return true;
  return false;
}

}  // namespace strobe
