// Evaluates the current weights in a pass over all events. Memory starts at zero and takes in the training events. Then
// the validation and test events are scored, each batch before its events enter memory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/event_batches/trainer/batch_pass.hpp"
#include "harness/event_batches/trainer/evaluation_order.hpp"
#include "harness/files/model_files.hpp"
#include "harness/schedule/schedule.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

/// Node memory after some events: its values as in NodeMemory, and its clock over the case's `data`.
struct MemoryState {
  std::vector<double> memory, mails;
  MemoryClock clock;
};

/// Results of an evaluation besides its metrics. They come from the same pass, batches and memory as the metrics.
struct EventViews {
  /// [E, 3, F] embeddings of every event's source, destination and a negative. The negative of a validation or test
  /// event is its first candidate; that of a training event is its first negative in group 0. It is zero for tasks
  /// without candidates, events that are left out of training, and events without a candidate.
  GrowingColumn<double> embeddings;
  /// After the last event: `memory` [N, d], `last_update` [N, 1], `mails` [N, 2 d], `mail_time` [N, 1] and `mail_event`
  /// [N, 1], which is -1 without a waiting mail. Times are in seconds since the first event.
  std::vector<SavedMatrix> memory;
  /// The destination's rank among the candidates for every validation event, then every test event (EventTask::ranks).
  std::vector<double> ranks;
  /// The scores of the judged validation events, then of the test events: each a matrix of write_score_file.
  std::vector<SavedMatrix> scores;
};

/// Which views an evaluation keeps.
struct WantedViews {
  bool embeddings = false, memory = false, ranks = false, scores = false;
};

/// The outputs of judged events as they arrive, step by step.
class ComingOutputs {
 public:
  /// There will be `events` events. Their outputs are shortened (EventTask::shorten) unless `keeps_all`.
  ComingOutputs(const EventTask& task, std::int64_t events, bool keeps_all)
      : task_(&task), events_(events), keeps_all_(keeps_all || task.most_kept() == 0) {}

  /// Appends the outputs of a step, [counts.size(), columns]; `counts`: how many of an event's columns count.
  void add(const double* values, std::int64_t columns, const std::vector<std::int64_t>& counts);
  const EventOutputs& outputs() const { return outputs_; }
  bool all_equal() const;

 private:
  const EventTask* task_;
  std::int64_t events_;
  bool keeps_all_;
  EventOutputs outputs_;
};

/// Adds the metrics of events that have these outputs. Names begin with the events' prefix.
void add_metrics(const EventCase& c, const EvaluatedEvents& events, const EventOutputs& outputs,
                 std::map<std::string, double>& all);

/// The scores of the judged ones of events that have these outputs, as a matrix of write_score_file.
SavedMatrix scores_of(const EventCase& c, const EvaluatedEvents& events, const EventOutputs& outputs);

class EvaluationPass {
 public:
  EvaluationPass(const EventCase& c, Device& device) : case_(c), device_(device), walk_(c, c.data, device) {}

  /// Chooses the views that `metrics_and_views` keeps; none by default.
  void keep(const std::set<std::string>& names) {
    wanted_ = {names.count("embeddings") != 0, names.count("memory") != 0, names.count("ranks") != 0,
               names.count("scores") != 0};
  }
  /// Metrics of the weights. Names of validation metrics begin with `validation_`. Empty without values.
  std::map<std::string, double> metrics(const Parameters& parameters);
  /// Returns the metrics, and keeps the chosen views.
  std::map<std::string, double> metrics_and_views(const Parameters& parameters);
  /// The views of the last evaluation. Evaluates again if the last one kept none. Views are empty without values.
  const EventViews& views(const Parameters& parameters);
  /// The view for the output file `name`, which `views` then lacks; empty for an unknown name.
  OutputContent hand_over(const std::string& name, const Parameters& parameters);
  /// Metrics with the memory that training left after the training events.
  std::map<std::string, double> metrics_from(const Parameters& parameters, const MemoryState& state);
  /// Metrics of `batches` consecutive batches of validation and of test, with empty memory. The case's seed and
  /// `number` choose the first batch. Leaves out metrics that do not exist for any of the events.
  std::map<std::string, double> metrics_of_some(const Parameters& parameters, std::int64_t batches,
                                                std::int64_t number);
  /// Whether the last evaluation gave all test events the same outputs.
  bool equal_outputs() const { return equal_outputs_; }

 private:
  /// Begins a pass with empty memory that keeps `viewed`.
  void start(const WantedViews& viewed);
  /// Puts the events [first, last) into memory without scoring them.
  void pass_by(const Parameters& parameters, EdgeId first, EdgeId last);
  ComingOutputs score(const Parameters& parameters, EdgeId first, EdgeId last);
  /// Scores the events, and adds their metrics to `all`.
  void judge(const Parameters& parameters, const EvaluatedEvents& events, std::map<std::string, double>& all);
  void add_rules(std::map<std::string, double>& all) const;
  /// Metrics of validation and test with the current memory, and those of the rules.
  std::map<std::string, double> judge_both(const Parameters& parameters);
  /// Scores a part of the judged events, and adds its outputs.
  void score_part(const Parameters& parameters, const BatchRequest& request, ComingOutputs& outputs);
  /// Keeps embeddings of a batch of training events.
  void embed_trained(const Parameters& parameters, EdgeId batch, std::int64_t count);
  /// Appends to the view those of one batch.
  void keep_embeddings(const BatchDraw& drawn, const Tensor& embeddings);
  std::vector<SavedMatrix> memory_now();
  void remember(const Parameters& parameters, EdgeId first, std::int64_t count);
  Pass evaluating() const;

  const EventCase& case_;
  Device& device_;
  EventWalk walk_;
  bool equal_outputs_ = false;
  WantedViews wanted_, viewed_;      // chosen by `keep`; kept in the current pass
  std::optional<EventViews> views_;  // of the last evaluation, if it kept them
  std::size_t embedded_ = 0;         // values of embeddings that the current pass has kept
};

}  // namespace strobe
