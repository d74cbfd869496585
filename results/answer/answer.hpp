// The one answer to "which is best here, by how much, and how sure is that?". Everything that prints a comparison of
// configurations reads it.
//
// Rows that differ in one field only are one question. A setting that some of them do not have is no difference. Rows
// that differ in their seed are pooled. Times are compared per epoch where all epochs do the same work, otherwise per
// unit of work, otherwise not at all. Where cases train until a metric, the times to it are compared as well, if all
// take it over the same samples. Different models are compared by that time alone, and different tasks not at all.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "results/answer/kind_facts.hpp"
#include "results/answer/metric_level.hpp"
#include "results/answer/question.hpp"
#include "results/answer/time_ratio.hpp"
#include "results/answer/work.hpp"
#include "results/run/loaded_run.hpp"

namespace strobe {

/// One value of the field: the rows that have it, over all seeds.
struct Contender {
  std::string value;                  // "vertex"; with the settings in which contenders of one name differ
  std::vector<std::string> case_ids;  // of all seeds
  std::vector<std::string> runs;      // their folders, each once
  std::vector<std::int64_t> seeds;    // those that are compared, ascending
  int rounds = 0;                     // processes that measured it; 0 for simulated times
  bool simulated = false;             // its times are of a simulation
  EpochWork work;                     // of an epoch, the mean over seeds
  double seconds = std::numeric_limits<double>::quiet_NaN();            // of an epoch
  double unit_seconds = seconds;                                        // per unit of work
  TimeRatio slower;                                                     // than the best, per unit of work
  double until_seconds = std::numeric_limits<double>::quiet_NaN();      // to the metric, the geometric mean over seeds
  int until_reached = 0;                                                // seeds under which the metric was reached
  TimeRatio later;                                                      // than the contender that reaches it first
  MetricLevel metric;                                                   // of the answer's metric, over its seeds
  double draws_first = std::numeric_limits<double>::quiet_NaN();        // in how many common draws it is the fastest
  double draws_until_first = std::numeric_limits<double>::quiet_NaN();  // and reaches the metric first
  std::string note;                                                     // its status, or why it cannot be compared
  const Row* row = nullptr;                                             // one of its rows, for the reasons
  KindFacts facts;                                                      // what its kind of training states
};

/// One question and its answer.
struct Answer {
  std::string field;                   // "strategy", "ranks", "model.hidden"
  std::vector<std::string> common;     // what distinguishes this question from others: "ucsocial", "t-gcn", "ranks 2"
  WorkUnit unit = WorkUnit::none;      // in which times are compared
  std::string apart;                   // "models", "tasks": epochs of different ones are not compared; "" = they are
  std::string until;                   // the metric that training lasts to: "mrr=0.3"; "" = none
  std::size_t draws = 0;               // common draws of all contenders with a time; 0: none
  std::size_t until_draws = 0;         // the same of those that reach the metric
  std::string until_apart;             // why times to it are not compared; "" = they are
  std::string metric;                  // of the test samples, compared over seeds; "" = none, or one seed
  std::vector<Contender> contenders;   // the fastest per unit first, those without a time last
  std::vector<std::string> sentences;  // the answer in words, to be read without the table
  std::string why;                     // phases and bytes that make the difference; "" when they are not known
  std::vector<std::string> facts;      // of kinds of training, where contenders differ: one sentence each, no full stop
};

/// A configuration that no other differs from in the field alone. Its seeds count once.
struct Unpaired {
  std::string case_id;  // of its first row
  std::string nearest;  // in words
};

struct Answers {
  std::string field;
  std::vector<Answer> questions;
  std::vector<Unpaired> alone;
};

/// Answers for the rows of some runs. Throws InvalidRequest("--by") for a field that no case has; NotComparable where
/// no two rows differ in it alone, or where wall times of different machines meet (unless allowed).
Answers answer(const std::vector<LoadedRun>& runs, const std::string& field, const AnswerOptions& options = {});

/// The answer of one question whose contenders are known, such as the best point of each strategy in a plan. They may
/// differ in more than the field.
Answer answer(const Question& question, const std::string& field, const AnswerOptions& options = {});

/// The field to ask for where the user named none: the strategy if it varies, otherwise the only field that does; ""
/// when there is no such field.
std::string natural_field(const std::vector<Row>& rows);

/// The question's common values, without its place, which the first sentence names.
std::string title_of(const Answer& answer);

/// The answer as JSON; docs/reference/compare_json.md describes the keys. Absent values are null.
Json answers_to_json(const Answers& answers);

/// For each question a table and its sentences.
std::string answers_text(const Answers& answers);

}  // namespace strobe
