// A pass over all events with the weights as they are: memory from zero through the events that are trained on, then
// validation and test are scored, each batch before its events enter memory (decisions T12).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/events/batch_pass.hpp"
#include "harness/files/model_files.hpp"

namespace strobe {

/// What node memory holds behind some events: values as NodeMemory gives them, and its clock, of the case's `data`.
struct MemoryState {
  std::vector<double> memory, mails;
  MemoryClock clock;
};

class EventReplay {
 public:
  EventReplay(const EventCase& c, Device& device) : case_(c), device_(device), walk_(c, c.data, device) {}

  /// Metrics of the weights, those of the validation events with `validation_` in front; empty without values.
  std::map<std::string, double> metrics(const Parameters& parameters);
  /// Likewise from memory that training left behind the events that are trained on.
  std::map<std::string, double> metrics_from(const Parameters& parameters, const MemoryState& state);
  /// Likewise of `batches` consecutive batches of each part, from empty memory; where they begin is drawn by the case's
  /// seed and `number`. Metrics that none of their events has are left out.
  std::map<std::string, double> metrics_of_some(const Parameters& parameters, std::int64_t batches,
                                                std::int64_t number);
  /// Of every event that is judged, validation first: its destination's rank among the candidates (EventTask::ranks).
  std::vector<double> ranks(const Parameters& parameters);
  /// Whether the last evaluation gave all test events the same outputs.
  bool equal_outputs() const { return equal_outputs_; }

  /// Embeddings of every event's source, destination and first negative, [E, 3, F]; of a task without candidates the
  /// negative's are zero. Leaves memory behind the last event.
  std::vector<double> embeddings(const Parameters& parameters);
  /// Behind a pass over all events: `memory` [N, d], `last_update` [N, 1], `mails` [N, 2 d], `mail_time` [N, 1] and
  /// `mail_event` [N, 1], -1 where no mail waits; times in seconds since the first event. Empty without values.
  std::vector<SavedMatrix> memory(const Parameters& parameters);

 private:
  /// Lets the events [first, last) pass into memory.
  void pass_by(const Parameters& parameters, EdgeId first, EdgeId last);
  EventOutputs score(const Parameters& parameters, EdgeId first, EdgeId last);
  /// Adds the metrics of the events [first, last) to `all`, with `prefix` in front.
  void judge(const Parameters& parameters, const char* prefix, EdgeId first, EdgeId last,
             std::map<std::string, double>& all);
  /// Metrics of both parts, as memory stands, and the rules'.
  std::map<std::string, double> judge_both(const Parameters& parameters);
  void score_part(const Parameters& parameters, const BatchWish& wish, EventOutputs& outputs);
  void remember(const Parameters& parameters, EdgeId first, std::int64_t count);
  std::int64_t events_at_once(std::int64_t candidates) const;
  Pass evaluating() const;

  const EventCase& case_;
  Device& device_;
  EventWalk walk_;
  bool equal_outputs_ = false;
};

}  // namespace strobe
