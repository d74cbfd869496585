// The steps of an evaluation in their order. Each step draws at most one part of a batch that is scored. The last step
// of a batch also puts its events into memory. One rank takes all steps, or ranks take them in turn.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "harness/event_batches/batches/event_case.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"

namespace strobe {

/// Consecutive events that are scored and judged together, or only put into memory.
struct EvaluatedEvents {
  EdgeId first = 0, last = 0;
  bool scored = true;
  const char* prefix = "";  // of the names of their metrics

  std::int64_t count() const { return last - first; }
};

/// The most roots and slots that scoring an event asks for. `candidates` as in BatchRequest.
std::int64_t asked_by_event(const EventCase& c, std::int64_t candidates);
/// The number of events that are scored at once, to limit memory.
std::int64_t events_scored_at_once(const EventCase& c, std::int64_t candidates);

/// Validation and test events, in this order.
std::vector<EvaluatedEvents> judged_events(const EventCase& c);
/// `batches` consecutive batches of validation, and as many of test. The case's seed and `number` choose the first.
std::array<EvaluatedEvents, 2> some_judged_events(const EventCase& c, std::int64_t batches, std::int64_t number);

struct EvaluationStep {
  std::size_t part = 0;  // of `EvaluationOrder::parts`
  bool scores = false;
  std::int64_t passed = 0;  // events that this step puts into memory, from `passed_first` on
  EdgeId passed_first = 0;
  /// Draws of the step: the scored events if there are some, then those that are put into memory.
  std::vector<BatchRequest> requests;
};

class EvaluationOrder {
 public:
  /// Begins with empty memory. Parts that are not scored are left out if the model has no memory. The case must outlive
  /// it.
  EvaluationOrder(const EventCase& c, const std::vector<EvaluatedEvents>& parts);

  const std::vector<EvaluatedEvents>& parts() const { return parts_; }
  std::int64_t steps() const { return first_step_.back(); }
  EvaluationStep step(std::int64_t number) const;
  /// The first event of the batch of `event`, which is in one of the parts.
  EdgeId batch_begin(EdgeId event) const;
  const EventCase& events() const { return case_; }

 private:
  std::int64_t steps_of_batch(std::int64_t count, bool scored) const;

  const EventCase& case_;
  std::vector<EvaluatedEvents> parts_;
  std::int64_t batch_, at_once_;
  bool has_memory_;
  std::vector<std::int64_t> first_step_{0};  // of each part, and the number of steps
};

/// Training events, then those of validation and test.
EvaluationOrder whole_evaluation(const EventCase& c);

/// The moments of an evaluation's steps.
class EvaluationMoments final : public MemoryMoments {
 public:
  /// `order` must outlive it.
  explicit EvaluationMoments(const EvaluationOrder& order) : order_(order) {}
  bool scores(std::int64_t sequence) const override { return order_.step(sequence).scores; }
  TakenEvents taken(std::int64_t sequence) const override {
    return {order_.parts().front().first, order_.step(sequence).requests.front().batch_first};
  }
  EdgeId batch_begin(EdgeId event) const override { return order_.batch_begin(event); }

 private:
  const EvaluationOrder& order_;
};

/// The state of drawing an evaluation's steps.
struct EvaluationState final : WalkState {
  explicit EvaluationState(const EvaluationOrder& of) : WalkState(of.events(), of.events().data), order(of) {}
  void move_to(std::int64_t sequence, const EventData& data) override;

  const EvaluationOrder& order;
  std::int64_t next = 0;  // the first step that the clock has not passed
};

}  // namespace strobe
