// samples.jsonl: one JSON object per case, repetition, epoch and rank. Rows can be made again from them.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/row/sample.hpp"

namespace strobe {

/// One line of samples.jsonl as an object; units are in the keys.
Json sample_to_json(const std::string& case_id, const EpochSample& sample);

/// Reads such an object back exactly; one of an older version lacks operations and kinds of traffic. Throws nlohmann's
/// exception when a key is missing or of another type.
EpochSample sample_from_json(const Json& json);

/// The lines of one case, each ended by a newline; with a `round` from 0 on, each line names it.
std::string sample_lines(const std::string& case_id, const std::vector<EpochSample>& samples, int round = -1);

/// Samples of every case in a samples.jsonl, by case id, in file order. A last line that was cut off by a crash (no
/// newline at its end) is ignored; any other malformed line is an InvalidInput with its line number.
std::map<std::string, std::vector<EpochSample>> read_samples(const std::string& path);

/// The text of samples.jsonl with only those lines for whose case and round `keep` returns true (-1: the line names no
/// round), and without a cut-off last line. Throws InvalidInput like `read_samples`.
std::string kept_sample_lines(const std::string& path, const std::function<bool(const std::string&, int)>& keep);

}  // namespace strobe
