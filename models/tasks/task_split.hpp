// The split of a graph's steps by time: training before validation before test, so that nothing is learnt from later
// steps.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/fields.hpp"

namespace strobe {

/// Numbers of consecutive steps: the first `train` are trained on, then come `validation` and `test`.
struct StepSplit {
  std::int64_t train = 0, validation = 0, test = 0;
};

/// Help of the parameter `split`, which every task has.
inline constexpr const char* split_help =
    "shares of the steps for training, validation and test, by time: 70/15/15, or as fractions of 1; empty = none for "
    "validation";

/// The shares of training, validation and test that "A/B/C" says, which sum to 100 or to 1; as parts of 1. Throws
/// InvalidRequest(where, ...) for another text, and for no training or no test.
std::array<double, 3> split_shares(const std::string& split, const std::string& where);

/// `steps` shared out by "A/B/C", which sum to 100 or to 1: training ends at step floor(A T), validation at
/// floor((A + B) T), and each part whose share is not 0 gets a step at least. Throws InvalidRequest("/task/split", ...)
/// for another text, for no training or no test, and InvalidRequest("/workload", ...) when there are fewer steps than
/// parts.
StepSplit split_steps(std::int64_t steps, const std::string& split, const std::string& task);

/// The task's parameters with defaults filled in by its table's `complete`, with changes that keep the ids of older
/// cases. An empty `split` is left out. A given `split` is in per cent and replaces `train_share`, which says the same
/// of training alone. `kept_out` and `self_pairs` appear only where they are not the default. `score_with`, which has
/// one value, never appears. Throws InvalidRequest(pointer + ...) when both `split` and `train_share` are given and
/// differ. A `protocol` fixes other parameters (protocols/protocol.hpp); `protocol` and `negatives_file` appear only
/// where one is named.
Json complete_task_parameters(const std::string& task, const Json& values, const std::string& pointer);

}  // namespace strobe
