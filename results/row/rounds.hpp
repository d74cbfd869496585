// Rounds: fresh processes of all cases in turn. A drift of the machine then falls on all cases equally, and the spread
// between processes is visible. `repetition` of a sample counts on over all rounds of its case: round r of a case that
// repeats k times has the repetitions r k to r k + k - 1.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/row/machine_reading.hpp"
#include "results/row/row.hpp"
#include "results/row/statistics.hpp"

namespace strobe {

/// The result of one process of a case: a line of rounds.jsonl, written after its samples.
struct RoundRecord {
  std::string case_id;
  int round = 0;
  std::string session;  // of the processes that took turns; rounds of one number and session ran at the same time
  MachineState machine;
  Row row;  // of this process alone
};

Json round_to_json(const RoundRecord& record);
/// The records of a rounds.jsonl by case, in order of rounds. A cut-off last line is ignored; any other malformed line
/// is an InvalidInput.
std::map<std::string, std::vector<RoundRecord>> read_rounds(const std::string& path);

/// Repetitions of one process of the row's case.
int repetitions_of(const Row& row);

/// Gives samples of one process their round's repetitions.
void number_repetitions(std::vector<EpochSample>& samples, int round, int repetitions);

/// Seconds of the measured epochs of each round that has some, by round.
std::map<int, std::vector<double>> seconds_by_round(const std::vector<EpochSample>& samples, const Row& row);

/// The inverse of `summarise`: the result from which it made the row. Samples are not in the row and are given
/// separately.
CaseResult result_of_row(const Row& row, std::vector<EpochSample> samples);

/// The row of a case from the records of its rounds (at least one) and the samples of all of them. It has the facts of
/// the first round, the times of all, their interval from the spread between rounds, and the machine's activity. Status
/// is that of the first round that is not ok; `interrupted` while fewer than `wanted` rounds are there and all are ok.
Row row_of_rounds(const std::vector<RoundRecord>& records, const std::vector<EpochSample>& samples, int wanted);

/// Stores the machine's activity during the measurement in the row, and adds remarks where it changed.
void note_machine(Row& row, const MachineState& state, const std::string& where);

}  // namespace strobe
