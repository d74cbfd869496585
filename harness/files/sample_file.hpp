// Writes the samples of a task to a file (positives, negatives, targets), for checks or to score the same pairs
// elsewhere.
#pragma once

#include <string>

#include "models/tasks/task.hpp"

namespace strobe {

/// Writes one line per sample as CSV, training samples first, atomically. Columns:
/// - split: train, validation or test;
/// - step;
/// - the vertex, or source and target;
/// - label: the class; for a pair 1 = edge, 0 = none;
/// - value: the target of a regression, else empty;
/// - weight in the loss, 1 where all samples count alike;
/// - candidate_of: position, in the split, of the edge that a candidate is ranked against; else empty;
/// - id, or source_id and target_id, where the input numbers vertices differently;
/// - name, or source_name and target_name, where vertices have names.
/// Vertices and steps are rows of the embeddings of --dump-embeddings. Throws SystemError.
void write_samples(const std::string& path, const TaskData& data, const SnapshotGraph& graph);

}  // namespace strobe
