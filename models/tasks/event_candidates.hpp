// The candidates from which a model must separate the destination of an event: negatives of training, in groups that
// are used again, and the candidates of an evaluation. Draws depend on (graph, options, seed, the event's number) only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/tasks/given_candidates.hpp"
#include "workloads/continuous/time_split.hpp"
#include "workloads/graph/graph.hpp"

namespace strobe {

class FirstMeetings;

/// Whether an event's source may be a candidate of its destination in an evaluation.
enum class SelfPairs : std::uint8_t { allowed, left_out };

/// From which destinations the candidates of an evaluation are drawn (Poursafaei et al., NeurIPS'22 Datasets and
/// Benchmarks; DyGLib). Random: from all. Historical: those that the event's source hit in a training event. Inductive:
/// those that it hit in an earlier batch of the event's part, validation or test, and never before that part.
enum class NegativeSampling : std::uint8_t { random, historical, inductive };

/// How candidates of an evaluation are sampled. Batches of `batch` events begin at both ends of the split.
struct EvaluationSampling {
  NegativeSampling kind = NegativeSampling::random;
  TimeSplit split;
  std::int64_t batch = 200;
};

/// Draws for one graph, which must outlive it. Candidates of an evaluation exclude the vertices that the same source
/// really hits at the same time (TGB's rule, which has no other). Negatives of training are never an end of their
/// event.
class EventCandidates {
 public:
  /// `negatives`: sides = the targets of a two-sided graph, targets = vertices that are the target of some event, any =
  /// all vertices; auto = sides where the graph has them, else targets. Throws InvalidRequest("/task/negatives", ...)
  /// when the graph has no sides, or fewer than two vertices could be drawn.
  EventCandidates(const EventGraph& graph, const std::string& negatives, std::uint64_t seed,
                  SelfPairs self_pairs = SelfPairs::allowed);

  /// Draws from `pool`, ascending, which holds two vertices at least.
  EventCandidates(const EventGraph& graph, const std::vector<VertexId>& pool, std::uint64_t seed);

  /// Negatives of training that others have drawn, the same in every group: of event e the vertices `given[e]`.
  EventCandidates(const EventGraph& graph, std::vector<std::vector<VertexId>> given)
      : graph_(graph), seed_(0), given_(std::move(given)) {}

  /// From now on candidates of validation and test events are sampled this way. O(E).
  void sample(const EvaluationSampling& sampling);
  /// From now on, `evaluation` returns these candidates and draws none; null: it draws.
  void give(std::shared_ptr<const GivenCandidates> candidates) { of_others_ = std::move(candidates); }
  bool are_given() const { return of_others_ != nullptr; }
  /// The SHA-256 of the file of given candidates; "" without one.
  std::string negatives_sha256() const { return of_others_ == nullptr ? "" : of_others_->sha256(); }

  /// Bytes on the host of the tables from which candidates are drawn, without files.
  std::uint64_t own_bytes() const;

  /// The vertices that may be drawn, ascending. Under a bound of memory, they lie in a file.
  const Column<VertexId>& pool() const { return pool_; }

  /// Negative `n` of `event` in group `group` of training; may repeat another one of the event. Throws
  /// InvalidRequest("/task/negatives", ...) when the event leaves none.
  VertexId negative(EdgeId event, std::int64_t n, std::int64_t group) const;

  /// min(wanted, number of candidates) distinct candidates in addition to the true destination, uniform over the pool
  /// without excluded vertices; all of them for `wanted` < 0. The first one is the negative of average precision, for
  /// every `wanted`. Historical and inductive candidates come first, uniform over theirs; where they are too few, the
  /// others fill up. For given candidates, it returns the first `wanted`. Cost: O(wanted) expected where the pool is
  /// larger, else O(pool), and O(pairs of the source) where candidates are not random.
  std::vector<VertexId> evaluation(EdgeId event, std::int64_t wanted) const;

 private:
  /// Destinations that the source of `event` hits at its time, the event's own among them, and the source where self
  /// pairs are left out; ascending, distinct.
  std::vector<VertexId> excluded(EdgeId event) const;
  /// The historical or inductive candidates of `event`, but none of `excluded`: `wanted` of them at most, drawn.
  std::vector<VertexId> preferred(EdgeId event, std::int64_t wanted, const std::vector<VertexId>& excluded) const;
  /// Candidates of `event` from the pool without `excluded`.
  std::vector<VertexId> from_pool(EdgeId event, std::int64_t wanted, const std::vector<VertexId>& excluded) const;

  const EventGraph& graph_;
  std::uint64_t seed_;
  SelfPairs self_pairs_ = SelfPairs::allowed;
  Column<VertexId> pool_;
  std::vector<std::vector<VertexId>> given_;  // [E] or empty
  EvaluationSampling sampling_;
  std::shared_ptr<const FirstMeetings> meetings_;  // null where candidates are random
  std::shared_ptr<const GivenCandidates> of_others_;
};

}  // namespace strobe
