// The past of a pair as the decoder of future links reads it: when the source last hit the candidate, when the
// candidate last hit the source, and when anyone last hit the candidate. Embeddings of two vertices do not show whether
// the two have met. DyGFormer counts each other's appearances among recent neighbours (Yu et al., NeurIPS'23, section
// 4.1); here they are ranks by recency, crossed as in the wide part of Wide & Deep (Cheng et al., DLRS'16).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/tape/parameters.hpp"
#include "workloads/continuous/time_csr.hpp"

namespace strobe {

/// The codes of one pair, and the number of values of each.
using PairCodes = std::array<std::int32_t, 2>;
inline constexpr std::int32_t recency_places = 16, hit_ages = 41;
inline constexpr std::array<std::int32_t, 2> pair_code_values{recency_places * recency_places, hit_ages};

/// The codes of `source` with each of `candidates`, from the events [0, before). Each vertex counts with the `last`
/// most recent events in which it is at either end; `adjacency` has both ends of `events`. Code 0 is 16 p + q. p is the
/// place of the candidate among the distinct vertices that the source hit, the most recent first; q its place among
/// those that hit the source. Places are 0 (never), 1, 2, 3, 4, 5-6, 7-8, 9-12, 13-16, 17-24, 25-32, 33-48, 49-64,
/// 65-96, 97-128 and later ones. Code 1 is floor(2 log2(n)), at most 39, for n events since one hit the candidate (1:
/// the last one did); 40 = none did. Cost: O(last) for the source and for each candidate.
std::vector<PairCodes> pair_codes(const EventGraph& events, const TimeCsr& adjacency, VertexId source, EdgeId before,
                                  std::int64_t last, std::span<const VertexId> candidates);

/// `decoder.pair` [256, F] and `decoder.recency` [41, F], rows that codes 0 and 1 choose.
std::vector<ParameterShape> pair_code_parameters(std::int64_t width);

/// `hidden` [n, F] plus the rows that the codes choose; `codes`: i64 [n, 1] of each table. No codes: `hidden`.
Var with_pair_codes(Tape& tape, const Parameters& parameters, Var hidden, std::span<const Tensor> codes);

}  // namespace strobe
