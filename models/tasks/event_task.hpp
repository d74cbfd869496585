// Task of a model of events. It defines what is learnt from the embeddings of an event's source and of its candidates,
// which events are trained on, and how later events are judged.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/registry.hpp"
#include "models/tape/parameters.hpp"
#include "models/tasks/kept_out.hpp"
#include "models/tasks/reference_levels.hpp"

namespace strobe {

/// The data of a task on one graph.
struct EventTaskData {
  TimeSplit split;
  std::int64_t evaluation_batch = 200;  // events between two refreshes of memory in an evaluation
  /// The candidates from which destinations are separated; null in a task that scores the event alone.
  std::shared_ptr<const EventCandidates> candidates;
  std::int64_t training_negatives = 0;     // of each event
  std::int64_t negative_groups = 1;        // sweeps draw theirs from these in turn
  std::int64_t evaluation_candidates = 0;  // in addition to the true destination; -1 = all
  /// Recent events of each vertex from which the decoder reads a pair's past (pair_codes); 0 = it reads none.
  std::int64_t pair_history = 0;
  bool history_to_event = false;  // that past ends before the event's time, not with the batch before
  VertexFlags kept_out;           // [N] vertices that training must not see; empty = none
  std::vector<char> judged;       // [E] 1 of the events that metrics take; empty = all
  /// The training events where vertices are kept out; null: the events [0, split.train_end).
  std::shared_ptr<const TrainedEvents> trained;
  /// Metrics that no training changes, by name; those of the validation events with `validation_` in front.
  std::map<std::string, double> rules;
  ReferenceLevels levels;
  /// The number of events that a metric or rule uses, by name, where it does not use all events of its part. Names of
  /// validation events begin with `validation_`.
  std::map<std::string, std::int64_t> metric_events;
  std::vector<std::string> notes;

  bool is_judged(EdgeId event) const { return judged.empty() || judged[event] != 0; }
  std::int64_t training_events() const {
    return trained == nullptr ? split.train_end : static_cast<std::int64_t>(trained->numbers.size());
  }
};

/// Outputs of judged events in their order: of event i the `counts[i]` values from `first[i]` on. Shortened outputs
/// (EventTask::shorten) have `reciprocal`, and of each event only the first values.
struct EventOutputs {
  std::vector<double> values;
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> counts;
  std::vector<double> reciprocal{};  // 1 / rank of each event's first value among its values; or empty
  std::int64_t seen = 0;             // values before they were shortened
  bool equal = true;                 // whether all of these are equal
};

/// How a link's candidates become a loss.
enum class LinkLoss : std::uint8_t { cross_entropy, binary_cross_entropy };

class EventTask {
 public:
  virtual ~EventTask() = default;
  /// Splits, draws and evaluates the rules. Throws InvalidRequest when the graph lacks data that the task needs.
  virtual EventTaskData draw(const EventGraph& graph, std::uint64_t seed) const = 0;
  /// Weights of `head` for a graph that `draw` accepts and embeddings `width` wide.
  virtual std::vector<ParameterShape> parameters(const EventGraph& graph, std::int64_t width) const = 0;
  /// Outputs [E, K] from the embeddings of sources [E, F] and of their candidates [E C, F], event by event, the true
  /// destination first: K = C scores, or the classes' logits of a task with C = 1. `codes`: i64 [E C, 1], the codes of
  /// each pair's past; empty where the task reads none.
  virtual Var head(Tape& tape, const Parameters& parameters, const Var& sources, const Var& candidates,
                   std::span<const Tensor> codes) const = 0;
  /// The rank of each judged event's destination among its candidates, from 1; empty for tasks that rank nothing.
  virtual std::vector<double> ranks(const EventOutputs& /*outputs*/) const { return {}; }
  /// The most values of an event that shortened outputs keep; 0: the task reads all, and `shorten` does nothing.
  virtual std::int64_t most_kept() const { return 0; }
  /// Shortens the outputs of the events from number `event` on, the last ones. Ranks and metrics keep their bits.
  virtual void shorten(EventOutputs& /*outputs*/, std::size_t /*event*/) const {}
  /// The correct answer of each of the events [first, first + count), on the device. i32 [E, 1]: the one correct column
  /// of `head`. Or i64 [E, 1]: the set of correct columns, bit c for column c.
  virtual Tensor labels(Device& device, const EventGraph& graph, EdgeId first, std::int64_t count) const = 0;
  /// Adds the loss of E events times `scale` to `loss` (f64 [1, 1]), and starts the backward pass; `labels` as above.
  virtual void add_loss(Tape& tape, const Var& outputs, LinkLoss kind, const Tensor& labels, double scale,
                        const Tensor& loss) const = 0;
  /// Metrics of the events from `first` on, which have the outputs `outputs`. `data` holds the draws of the task on
  /// `graph`. Metrics that use none of these events are left out.
  virtual std::map<std::string, double> metrics(const EventGraph& graph, const EventTaskData& data, EdgeId first,
                                                const EventOutputs& outputs) const = 0;
  /// Names that `metrics` may return for this graph.
  virtual std::vector<std::string> metric_names(const EventGraph& graph) const = 0;
};

struct EventTaskTag {
  static constexpr const char* kind = "task of events";
  using Value = std::unique_ptr<EventTask> (*)(const Json& parameters);
};
using EventTaskRegistry = Registry<EventTaskTag>;

}  // namespace strobe
