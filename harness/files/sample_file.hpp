// The samples that a task drew, as a file: positives, negatives and targets, for whoever wants to check them or to
// score the same pairs elsewhere.
#pragma once

#include <string>

#include "models/tasks/task.hpp"

namespace strobe {

/// Writes one line per sample as CSV, training samples first, atomically: split (train or test), step, vertex columns
/// (one, or source and target), label (class; of a pair 1 = edge, 0 = none), value (target of a regression, else
/// empty), weight in the loss (1 where all count alike) and candidate_of (position among the split's samples of the
/// edge that a candidate is ranked against, else empty). Vertices and steps are rows of the embeddings of
/// --dump-embeddings. Behind them the file's own numbers (id, or source_id and target_id) where they differ from the
/// rows, and its names (name, or source_name and target_name) where it has names. Throws SystemError.
void write_samples(const std::string& path, const TaskData& data, const SnapshotGraph& graph);

}  // namespace strobe
