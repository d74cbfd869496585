// Which rows are one question: those that are equal except for one field, their seed, settings that --tune chose, and
// settings that not all of them have.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/run/loaded_run.hpp"

namespace strobe {

/// A row, its run, and its case as JSON.
struct PlacedRow {
  const LoadedRun* run = nullptr;
  const Row* row = nullptr;
  Json json;
};

/// The rows of one configuration, which differ in their seed only.
struct Candidate {
  std::string label;  // the shortest text that distinguishes it from the others of its question
  std::vector<PlacedRow> rows;
};

struct Question {
  std::vector<Candidate> candidates;
  std::vector<std::string> common;  // what distinguishes it from other questions
};

/// The rows of all runs as questions about `field`, in the order of their first rows. Throws InvalidRequest("--by") for
/// a field that no row has. Rows without the field belong to no question.
std::vector<Question> questions_of(const std::vector<LoadedRun>& runs, const std::string& field);

/// "On 2 ranks", "On 16 GPUs of p4d-a100 (simulated)"; "" when the question is about the number of ranks or the
/// cluster.
std::string place_of(const Question& question, const std::string& field);

}  // namespace strobe
