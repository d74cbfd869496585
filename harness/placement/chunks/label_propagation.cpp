#include "harness/placement/chunks/label_propagation.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/placement/chunks/rows_ahead.hpp"
#include "harness/placement/chunks/seeded_order.hpp"
#include "harness/placement/chunks/sequence_tally.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

using Label = LabelSums::Label;

constexpr NodeId nodes_ahead = 8;  // between a node whose neighbours' labels are asked for, and the current one

class Propagation {
 public:
  Propagation(SuperGraph& graph, std::int64_t max_cells, std::uint64_t seed)
      : graph_(graph), max_cells_(max_cells), order_(seeded_order(graph.sequences.size(), seed, 0)) {
    label_.append(graph.first_labels.data(), graph.first_labels.size());
    graph.first_labels.clear();
    cells_.resize(label_.size()), ask_.resize(label_.size());
    std::fill(cells_.begin(), cells_.end(), 1), std::fill(ask_.begin(), ask_.end(), 1);
    if (whole() > 0) ask_sequence_.assign(order_.size(), 1);
  }

  /// Cells that changed their label.
  std::int64_t round() {
    std::int64_t moved = 0;
    for (const std::uint32_t s : order_) moved += whole() > 0 ? tallied_sequence(s) : listed_sequence(s);
    return moved;
  }

  Column<std::uint32_t> take() { return label_.finish(); }

 private:
  std::int64_t whole() const { return graph_.weights.whole_sequence; }
  bool full(Label label) const { return static_cast<std::int64_t>(cells_[label]) >= max_cells_; }

  std::int64_t listed_sequence(std::uint32_t s) {
    const NodeSequence& sequence = graph_.sequences[s];
    std::int64_t moved = 0;
    const RowsAhead ahead({graph_.offsets.data(), graph_.neighbours.data(), nullptr, label_.data()}, {});
    for (NodeId node = sequence.first; node < sequence.end(); ++node) {
      const NodeId later = node + nodes_ahead;
      if (later < sequence.end() && ask_[later] != 0 && !graph_.offsets.empty()) ahead.ask_for_labels(later);
      if (ask_[node] == 0) continue;
      begin(node, sequence);
      ask_[node] = blocked_ ? 1 : 0;
      if (best_ == label_[node]) continue;
      move(node, sequence);
      ++moved;
    }
    return moved;
  }

  /// The same for models with edges to whole sequences: one changed label asks all cells of its sequence again.
  std::int64_t tallied_sequence(std::uint32_t s) {
    const NodeSequence& sequence = graph_.sequences[s];
    bool all = ask_sequence_[s] != 0, again = false;
    if (!all && !asks_any(sequence)) return 0;
    tally_.clear();
    for (NodeId node = sequence.first; node < sequence.end(); ++node) tally_.add(label_[node], 1);
    std::int64_t moved = 0;
    passed_over_ = false;
    for (NodeId node = sequence.first; node < sequence.end(); ++node) {
      if (!all && ask_[node] == 0) continue;
      const Label own = label_[node];
      tally_.add(own, -1);  // if the label was full and passed over, others find it again
      begin(node, sequence);
      choose_of_tally(own);
      ask_[node] = blocked_ ? 1 : 0;
      if (best_ != own) {
        move(node, sequence);
        ++moved;
        all = again = true;
      }
      tally_.add(label_[node], 1);
    }
    ask_sequence_[s] = again || passed_over_ ? 1 : 0;
    return moved;
  }

  bool asks_any(const NodeSequence& sequence) const {
    for (NodeId node = sequence.first; node < sequence.end(); ++node) {
      if (ask_[node] != 0) return true;
    }
    return false;
  }

  /// Sums the weights of the node's listed edges by label, and finds the best label among them.
  void begin(NodeId node, const NodeSequence& sequence) {
    sums_.clear();
    graph_.for_listed(node, sequence, [this](NodeId other, std::int64_t weight) { sums_.add(label_[other], weight); });
    const Label own = label_[node];
    best_ = own, best_weight_ = own_weight_ = weight_of(own);
    blocked_ = false;
    sums_.for_each([this, own](Label label, std::int64_t sum) { consider(label, sum + whole_weight(label), own); });
  }

  std::int64_t whole_weight(Label label) const { return whole() > 0 ? whole() * tally_.of(label) : 0; }
  std::int64_t weight_of(Label label) const { return sums_.of(label) + whole_weight(label); }

  void consider(Label label, std::int64_t weight, Label own) {
    if (label == own || weight <= own_weight_) return;  // on a tie, the cell keeps its label
    if (full(label)) {
      blocked_ = true;
    } else if (weight > best_weight_ || (weight == best_weight_ && label < best_)) {
      best_ = label, best_weight_ = weight;
    }
  }

  void choose_of_tally(Label own) {
    const Label most = tally_.most([this, own](Label label) {
      if (label == own || !full(label)) return true;
      passed_over_ = true;
      return false;
    });
    if (most != LabelSums::none) consider(most, weight_of(most), own);
  }

  void move(NodeId node, const NodeSequence& sequence) {
    --cells_[label_[node]];
    ++cells_[best_];
    label_[node] = best_;
    graph_.for_listed(node, sequence, [this](NodeId other, std::int64_t) { ask_[other] = 1; });
  }

  const SuperGraph& graph_;
  const std::int64_t max_cells_;
  GrowingColumn<std::uint32_t> label_{}, cells_{};  // of nodes; by label
  GrowingColumn<std::uint8_t> ask_{};               // of nodes: whether the answer may differ from last time
  std::vector<std::uint8_t> ask_sequence_;          // of sequences: the same for all nodes of each
  GrowingColumn<std::uint32_t> order_;              // of sequences
  LabelSums sums_;
  SequenceTally tally_;
  Label best_ = 0;
  std::int64_t best_weight_ = 0, own_weight_ = 0;
  bool blocked_ = false, passed_over_ = false;
};

}  // namespace

PropagatedLabels propagate_labels(SuperGraph& graph, std::int64_t max_cells, std::int64_t rounds, std::uint64_t seed) {
  Propagation propagation(graph, max_cells, seed);
  PropagatedLabels result;
  while (result.rounds < rounds) {
    ++result.rounds;
    result.moved_last = propagation.round();
    if (result.moved_last == 0) break;
  }
  result.label = propagation.take();
  return result;
}

}  // namespace strobe
