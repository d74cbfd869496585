#include "backends/matrix/host_csr.hpp"

namespace strobe {
namespace {

/// Counting sort.
template <class T>
void transpose_entries(const HostCsr& csr, const std::vector<T>& from, HostCsr& result, std::vector<T>& to) {
  std::vector<std::int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  result.columns.resize(csr.columns.size());
  to.resize(csr.columns.size());
  for (std::size_t row = 0; row + 1 < csr.offsets.size(); ++row) {
    for (std::int64_t e = csr.offsets[row]; e < csr.offsets[row + 1]; ++e) {
      const std::size_t place = next[csr.columns[e]]++;
      result.columns[place] = static_cast<std::int32_t>(row);
      to[place] = from[e];
    }
  }
}

}  // namespace

HostCsr transposed(const HostCsr& csr, std::int64_t columns) {
  HostCsr result;
  result.has_entries = true;
  result.offsets.assign(static_cast<std::size_t>(columns) + 1, 0);
  for (const std::int32_t column : csr.columns) ++result.offsets[static_cast<std::size_t>(column) + 1];
  for (std::size_t c = 1; c < result.offsets.size(); ++c) result.offsets[c] += result.offsets[c - 1];
  if (csr.values64.empty()) {
    transpose_entries(csr, csr.values32, result, result.values32);
  } else {
    transpose_entries(csr, csr.values64, result, result.values64);
  }
  return result;
}

}  // namespace strobe
