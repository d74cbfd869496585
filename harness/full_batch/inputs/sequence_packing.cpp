#include "harness/full_batch/inputs/sequence_packing.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace strobe {
namespace {

/// Pieces of one length that wait for a place.
struct Waiting {
  std::vector<std::size_t> pieces;
  std::size_t next = 0;
};

}  // namespace

SequencePacking pack_sequences(const std::vector<std::int32_t>& lengths) {
  std::map<std::int32_t, Waiting> waiting;
  for (std::size_t i = 0; i < lengths.size(); ++i) waiting[lengths[i]].pieces.push_back(i);
  SequencePacking packing;
  if (waiting.empty()) return packing;
  packing.steps = waiting.rbegin()->first;
  std::vector<std::pair<std::int64_t, std::int64_t>> at(lengths.size());  // step and bin
  while (!waiting.empty()) {
    for (std::int64_t step = 0; step < packing.steps;) {
      auto fits = waiting.upper_bound(static_cast<std::int32_t>(packing.steps - step));
      if (fits == waiting.begin()) break;
      --fits;
      at[fits->second.pieces[fits->second.next++]] = {step, packing.bins};
      step += fits->first;
      if (fits->second.next == fits->second.pieces.size()) waiting.erase(fits);
    }
    ++packing.bins;
  }
  for (const auto& [step, bin] : at) packing.first_row.push_back(step * packing.bins + bin);
  return packing;
}

SequencePacking pad_sequences(const std::vector<std::int32_t>& lengths) {
  SequencePacking packing;
  packing.bins = static_cast<std::int64_t>(lengths.size());
  if (!lengths.empty()) packing.steps = *std::max_element(lengths.begin(), lengths.end());
  for (std::int64_t bin = 0; bin < packing.bins; ++bin) packing.first_row.push_back(bin);
  return packing;
}

}  // namespace strobe
