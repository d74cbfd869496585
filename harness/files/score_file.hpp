// The file of --dump-scores: what a model gives each judged event and its candidates, for other evaluators.
#pragma once

#include <string>
#include <vector>

#include "core/safetensors.hpp"

namespace strobe {

/// Writes an .npz archive with the arrays that tgb.linkproppred.evaluate.Evaluator (package py-tgb) reads, in f8. Each
/// of `parts` holds the values of append_scores (models/tasks/future_links/ranking.hpp) for events in time order. It
/// has two arrays, whose names begin with its own:
///   y_pred_pos [E]      the score of the true destination
///   y_pred_neg [E, C]   those of the candidates; -inf, which ties with no score, where an event has fewer than C
/// Throws SystemError.
void write_score_file(const std::string& path, const std::vector<SavedMatrix>& parts);

}  // namespace strobe
