#include "harness/measure/rounds.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/units.hpp"
#include "harness/request/option_text.hpp"
#include "results/run/environment.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr int most_rounds = 1000;

bool is_virtual(const Json& case_json) { return !case_json.value("cluster", "").empty(); }

class RoundRun {
 public:
  RoundRun(std::vector<RoundSide>& sides, const RoundPlan& plan)
      : sides_(sides), plan_(plan), progress_(left(), false) {
    for (const RoundSide& side : sides_)
      for (const RoundCase& c : side.cases) anything_ran_ = anything_ran_ || !c.records.empty() || c.over;
  }

  bool run() {
    for (int round = 0; round < plan_.rounds; ++round) {
      std::vector<std::pair<std::size_t, std::size_t>> turns = turns_of_a_round();
      if (round % 2 == 1) std::reverse(turns.begin(), turns.end());
      for (const auto& [side, index] : turns) {
        if (index < sides_[side].cases.size()) take_turn(sides_[side], sides_[side].cases[index], round);
      }
    }
    bool all_ok = true;
    for (const RoundSide& side : sides_) {
      std::set<std::string> took_turns;
      for (const RoundCase& c : side.cases) took_turns.insert(c.id);
      for (const Row& row : side.directory->rows())
        all_ok = all_ok && (row.status == "ok" || !took_turns.contains(row.case_id));
    }
    return all_ok;
  }

 private:
  int wanted(const RoundCase& c) const { return is_virtual(c.json) ? 1 : plan_.rounds; }

  bool is_missing(const RoundCase& c, int round) const {
    if (c.over || round >= wanted(c)) return false;
    return std::none_of(c.records.begin(), c.records.end(),
                        [&](const RoundRecord& record) { return record.round == round; });
  }

  std::size_t left() const {
    std::size_t count = 0;
    for (const RoundSide& side : sides_)
      for (const RoundCase& c : side.cases)
        for (int round = 0; round < plan_.rounds; ++round) count += is_missing(c, round) ? 1 : 0;
    return count;
  }

  /// Puts the sides of one case next to each other: A1 B1 A2 B2.
  std::vector<std::pair<std::size_t, std::size_t>> turns_of_a_round() const {
    std::size_t most = 0;
    for (const RoundSide& side : sides_) most = std::max(most, side.cases.size());
    std::vector<std::pair<std::size_t, std::size_t>> turns;
    for (std::size_t index = 0; index < most; ++index)
      for (std::size_t side = 0; side < sides_.size(); ++side) turns.emplace_back(side, index);
    return turns;
  }

  void take_turn(RoundSide& side, RoundCase& c, int round) {
    if (!is_missing(c, round)) return;
    const std::string name = fmt::format("{}{} round {}", side.label, c.id, round + 1);
    progress_.begin(name);
    watch_.look();
    const std::string folder = side.directory->file("process");
    Json outputs = side.outputs;
    if (round > 0) outputs.erase("trace"), outputs.erase("planned_memory");  // once is enough
    ProcessOutcome outcome = run_in_process(side.process, c.json, c.id, outputs, folder);
    refuse_wrong_request(c, outcome);
    keep(side, c, {c.id, round, plan_.session, watch_.look(), outcome.row}, std::move(outcome));
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    const Row& row = c.records.back().row;
    progress_.finish(name, row.epoch_seconds ? format_seconds(row.epoch_seconds->median) : "-", row.status, row.reason);
  }

  /// Throws only before anything has run. Later, a wrong request becomes a row, so that the other cases are kept.
  void refuse_wrong_request(const RoundCase& c, const ProcessOutcome& outcome) {
    constexpr int wrong_request = 2;
    if (!anything_ran_ && outcome.status == wrong_request && outcome.row.status == "failed")
      throw InvalidRequest("", fmt::format("{}: {}", c.id, outcome.row.reason));
    anything_ran_ = true;
  }

  void keep(RoundSide& side, RoundCase& c, RoundRecord record, ProcessOutcome&& outcome) {
    record.row.case_id = c.id;
    number_repetitions(outcome.samples, record.round, repetitions_of(record.row));
    if (!outcome.trace.empty()) {
      std::error_code ignored;  // if the trace cannot be moved, it is lost; only the round matters
      fs::rename(outcome.trace, side.directory->file("trace/" + file_name_of_case(c.id) + ".json"), ignored);
    }
    side.directory->append_round(record, outcome.samples);
    c.samples.insert(c.samples.end(), outcome.samples.begin(), outcome.samples.end());
    c.over = record.row.status != "ok";
    c.records.push_back(std::move(record));
    side.directory->add_row(row_of_rounds(c.records, c.samples, wanted(c)));
  }

  std::vector<RoundSide>& sides_;
  const RoundPlan& plan_;
  MachineWatch watch_;
  bool anything_ran_ = false;
  Progress progress_;
};

}  // namespace

void take_left_rounds(RoundSide& side) {
  for (RoundCase& c : side.cases) {
    c.over = side.directory->finished(c.id);
    c.records = side.directory->left_rounds(c.id);
    if (!c.records.empty()) c.samples = side.directory->left_samples(c.id);
  }
}

bool run_rounds(std::vector<RoundSide>& sides, const RoundPlan& plan) { return RoundRun(sides, plan).run(); }

std::string new_session(const std::string& folder) {
  return sha256_hex(environment().dump() + folder + std::to_string(::getpid())).substr(0, 12);
}

int number_of_rounds(const std::string& text) {
  if (text.empty()) return 1;
  const double rounds = number_from_text(text, "--rounds");
  if (rounds >= 1 && rounds <= most_rounds && rounds == std::floor(rounds)) return static_cast<int>(rounds);
  throw InvalidRequest("--rounds", fmt::format("expected a whole number from 1 to {}, found {}", most_rounds, text));
}

}  // namespace strobe
