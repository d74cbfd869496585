// A pass over all events with the weights as they are: memory from zero through the events that are trained on, then
// validation and test are scored, each batch before its events enter memory (decisions T12).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/event_batches/trainer/batch_pass.hpp"
#include "harness/files/model_files.hpp"
#include "harness/schedule/schedule.hpp"

namespace strobe {

/// What node memory holds behind some events: values as NodeMemory gives them, and its clock, of the case's `data`.
struct MemoryState {
  std::vector<double> memory, mails;
  MemoryClock clock;
};

/// What an evaluation shows in addition to its metrics. Both come from one pass, so from the same batches and memory.
struct EventViews {
  /// [E, 3, F] of every event's source, destination and a negative: the first candidate of a judged event, and of an
  /// event that is trained on its first negative in group 0. Zero where nothing was drawn: of tasks without candidates,
  /// of events that are left out of training, and of those that leave no candidate.
  std::vector<double> embeddings;
  /// As the last event leaves it: `memory` [N, d], `last_update` [N, 1], `mails` [N, 2 d], `mail_time` [N, 1] and
  /// `mail_event` [N, 1], -1 where no mail waits; times in seconds since the first event.
  std::vector<SavedMatrix> memory;
  /// Of every event that is judged, validation first: its destination's rank among the candidates (EventTask::ranks).
  std::vector<double> ranks;
};

/// Which views an evaluation keeps.
struct WantedViews {
  bool embeddings = false, memory = false, ranks = false;
};

class EventReplay {
 public:
  EventReplay(const EventCase& c, Device& device) : case_(c), device_(device), walk_(c, c.data, device) {}

  /// What `metrics_and_views` keeps; nothing unless told.
  void keep(const std::set<std::string>& names) {
    wanted_ = {names.count("embeddings") != 0, names.count("memory") != 0, names.count("ranks") != 0};
  }
  /// Metrics of the weights, those of the validation events with `validation_` in front; empty without values.
  std::map<std::string, double> metrics(const Parameters& parameters);
  /// The metrics, too; keeps the views that are wanted.
  std::map<std::string, double> metrics_and_views(const Parameters& parameters);
  /// What the last evaluation kept; it is made now where that was another one. Each is empty without values.
  const EventViews& views(const Parameters& parameters);
  /// The view that a file of this name holds; empty of another name.
  OutputContent content(const std::string& name, const Parameters& parameters);
  /// Metrics from the memory that training left after the events that it trains on.
  std::map<std::string, double> metrics_from(const Parameters& parameters, const MemoryState& state);
  /// Metrics of `batches` consecutive batches of each part, from empty memory; where they begin is drawn by the case's
  /// seed and `number`. Metrics that none of their events has are left out.
  std::map<std::string, double> metrics_of_some(const Parameters& parameters, std::int64_t batches,
                                                std::int64_t number);
  /// Whether the last evaluation gave all test events the same outputs.
  bool equal_outputs() const { return equal_outputs_; }

 private:
  /// From empty memory, keeping what is viewed.
  void start(const WantedViews& viewed);
  /// Lets the events [first, last), which are not judged, pass into memory.
  void pass_by(const Parameters& parameters, EdgeId first, EdgeId last);
  EventOutputs score(const Parameters& parameters, EdgeId first, EdgeId last);
  /// Adds the metrics of the events [first, last) to `all`, with `prefix` in front.
  void judge(const Parameters& parameters, const char* prefix, EdgeId first, EdgeId last,
             std::map<std::string, double>& all);
  /// Metrics of both parts, as memory stands, and the rules'.
  std::map<std::string, double> judge_both(const Parameters& parameters);
  void score_part(const Parameters& parameters, const BatchWish& wish, EventOutputs& outputs);
  /// Keeps embeddings of a batch that is not judged.
  void embed_trained(const Parameters& parameters, EdgeId batch, std::int64_t count);
  void keep_embeddings(const BatchDraw& drawn, const Tensor& embeddings);
  std::vector<SavedMatrix> memory_now();
  void remember(const Parameters& parameters, EdgeId first, std::int64_t count);
  std::int64_t events_at_once(std::int64_t candidates) const;
  Pass evaluating() const;

  const EventCase& case_;
  Device& device_;
  EventWalk walk_;
  bool equal_outputs_ = false;
  WantedViews wanted_, viewed_;      // when all is kept; in the pass under way
  std::optional<EventViews> views_;  // of the last evaluation, where it kept them
};

}  // namespace strobe
