#include "harness/placement/chunks/synchronous_propagation.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "core/random.hpp"
#include "harness/placement/chunks/label_sums.hpp"
#include "workloads/partitioners/packed_values.hpp"

namespace strobe {
namespace {

using Label = LabelSums::Label;

/// Cells, in groups that are sequences.
struct CellNodes {
  const SuperGraphShare& share;
  std::size_t groups() const { return share.graph.sequences.size(); }
  const NodeSequence& group(std::size_t g) const { return share.graph.sequences[g]; }
  std::int64_t whole_group() const { return share.graph.weights.whole_sequence; }
  std::int64_t cells(NodeId) const { return 1; }
  template <class Visit>
  void for_edges(NodeId node, const NodeSequence& sequence, const Visit& visit) const {
    share.graph.for_listed(node, sequence, visit);
  }
};

/// Chunks, each a group of its own.
struct ChunkNodes {
  const ChunkGraphShare& share;
  std::size_t groups() const { return share.graph.cells.size(); }
  NodeSequence group(std::size_t g) const { return {static_cast<NodeId>(g), 1, 0}; }
  std::int64_t whole_group() const { return 0; }
  std::int64_t cells(NodeId chunk) const { return share.graph.cells[chunk]; }
  template <class Visit>
  void for_edges(NodeId chunk, const NodeSequence&, const Visit& visit) const {
    for (std::int64_t e = share.graph.offsets[chunk]; e < share.graph.offsets[chunk + std::size_t{1}]; ++e)
      visit(share.graph.neighbours[e], share.graph.traffic[e]);
  }
};

/// A node that wants a label.
struct LabelRequest {
  std::int64_t gain = 0, cells = 0;
  Label label = 0;
  NodeId node = 0;  // of the whole graph
};

/// A label whose cells changed, by how many or to how many.
struct LabelCells {
  std::int64_t cells = 0;
  std::int64_t label = 0;
};

template <class Nodes>
class SynchronousPropagation {
 public:
  SynchronousPropagation(const Nodes& nodes, std::uint32_t level, const PropagationLimits& limits,
                         const ShareHolders& holders, SharedLabels first)
      : nodes_(nodes),
        limits_(limits),
        holders_(holders),
        result_(std::move(first)),
        coins_(limits.seed, random_purpose::partition, 0x10000 + level),
        ask_(own(), 1) {}

  SharedLabels run() {
    publish_first();
    while (result_.rounds < limits_.rounds) {
      ++result_.rounds;
      result_.moved_last = 0;
      std::int64_t wanted = 0;
      for (const bool gains : {false, true}) {
        sub_round(gains);
        wanted += totals_[0];
        result_.moved_last += totals_[1];
      }
      if (wanted == 0) break;
    }
    return std::move(result_);
  }

 private:
  using Messages = std::vector<std::string>;
  const NodeShares& shares() const { return nodes_.share.shares; }
  const RemoteNodes& remote() const { return nodes_.share.remote; }
  NodeId first() const { return shares().first[holders_.rank]; }
  std::size_t own() const { return result_.label.size() - remote().count(); }
  Label first_counted() const { return result_.counted.first[holders_.rank]; }

  /// Whether the label may gain nodes in this sub-round. Otherwise it may lose some.
  bool gains(Label label) const {
    const auto round = static_cast<std::uint64_t>(result_.rounds);
    return ((coins_.bits(round << 32 | label) & 1) != 0) == gaining_coin_;
  }
  bool has_room(Label label, std::int64_t cells) const { return nearly_full_.of(label) + cells <= limits_.max_cells; }

  void sub_round(bool gaining_coin) {
    gaining_coin_ = gaining_coin;
    Messages received = holders_.exchange([this] { return choose_all(); });
    received = holders_.exchange([&] { return grant(received); });
    received = holders_.exchange([&] { return move_granted(received); });
    take(holders_.exchange([&] { return take_moves(received); }));
  }

  Messages choose_all() {
    wanted_ = 0;
    requests_.assign(holders_.size, {});
    for (std::size_t g = 0; g < nodes_.groups(); ++g) {
      const NodeSequence group = nodes_.group(g);
      bool counted = false;
      for (NodeId node = group.first; node < group.end(); ++node) {
        if (ask_[node] == 0 || gains(result_.label[node])) continue;
        if (nodes_.whole_group() > 0 && !counted) count_group(group);
        counted = true;
        choose(node, group);
      }
    }
    return packed_each(requests_);
  }

  /// The group's labels, those of most cells first, then the smallest.
  void count_group(const NodeSequence& group) {
    in_group_.clear();
    for (NodeId node = group.first; node < group.end(); ++node) in_group_.add(result_.label[node], 1);
    most_.clear();
    in_group_.for_each([this](Label label, std::int64_t sum) { most_.emplace_back(-sum, label); });
    std::sort(most_.begin(), most_.end());
  }

  std::int64_t weight_of(Label label, Label own_label) const {
    if (nodes_.whole_group() == 0) return sums_.of(label);
    return sums_.of(label) + nodes_.whole_group() * (in_group_.of(label) - (label == own_label ? 1 : 0));
  }

  void choose(NodeId node, const NodeSequence& group) {
    sums_.clear();
    nodes_.for_edges(node, group,
                     [this](NodeId other, std::int64_t weight) { sums_.add(result_.label[other], weight); });
    const Label own_label = result_.label[node];
    const std::int64_t cells = nodes_.cells(node), own_weight = weight_of(own_label, own_label);
    Label best = own_label;
    std::int64_t best_weight = own_weight;
    bool blocked = false;
    /// Whether the label has room.
    const auto consider = [&](Label label) {
      const std::int64_t weight = weight_of(label, own_label);
      if (label == own_label || weight <= own_weight) return true;
      if (!has_room(label, cells)) return !(blocked = true);
      if (weight > best_weight || (weight == best_weight && label < best)) best = label, best_weight = weight;
      return true;
    };
    sums_.for_each([&](Label label, std::int64_t) { consider(label); });
    if (nodes_.whole_group() > 0) {
      for (const auto& [count, label] : most_)
        if (label != own_label && consider(label)) break;
    }
    ask_[node] = blocked || best != own_label ? 1 : 0;
    if (best == own_label) return;
    ++wanted_;
    if (gains(best))
      requests_[result_.counted.owner(best)].push_back({best_weight - own_weight, cells, best, first() + node});
  }

  /// Answers the requests of each process in their order: 1 for granted ones.
  Messages grant(const Messages& received) {
    std::vector<std::vector<LabelRequest>> requests;
    std::vector<std::vector<std::uint8_t>> granted;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // process, place
    for (const std::string& bytes : received) {
      requests.push_back(Unpacker(bytes).next<LabelRequest>());
      granted.emplace_back(requests.back().size(), 0);
      for (std::uint32_t i = 0; i < requests.back().size(); ++i)
        order.emplace_back(static_cast<std::uint32_t>(requests.size() - 1), i);
    }
    const auto key = [&](const auto& at) {
      const LabelRequest& request = requests[at.first][at.second];
      return std::tuple(request.label, -request.gain, request.node);
    };
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    for (const auto& [process, place] : order) {
      const LabelRequest& request = requests[process][place];
      std::int64_t& cells = result_.cells[request.label - first_counted()];
      if (cells + request.cells > limits_.max_cells) continue;
      cells += request.cells;
      changed_.push_back(request.label);
      granted[process][place] = 1;
    }
    return packed_each(granted);
  }

  Messages move_granted(const Messages& received) {
    moved_ = 0;
    std::vector<std::vector<LabelCells>> left(holders_.size);
    std::vector<std::uint8_t> new_label(own(), 0);
    remote_asked_.assign(remote().count(), 0);
    for (int process = 0; process < holders_.size; ++process) {
      const std::vector<std::uint8_t> granted = Unpacker(received[process]).next<std::uint8_t>();
      for (std::size_t i = 0; i < granted.size(); ++i) {
        if (granted[i] == 0) continue;
        const LabelRequest& request = requests_[process][i];
        const NodeId node = request.node - first();
        const Label old = std::exchange(result_.label[node], request.label);
        left[result_.counted.owner(old)].push_back({request.cells, old});
        new_label[node] = 1;
        ++moved_;
      }
    }
    requests_.clear();
    ask_neighbours(new_label);
    Messages messages = packed_each(left);
    for (int process = 0; process < holders_.size; ++process) pack_moves(process, new_label, messages[process]);
    return messages;
  }

  void ask_neighbours(const std::vector<std::uint8_t>& new_label) {
    for (std::size_t g = 0; g < nodes_.groups(); ++g) {
      const NodeSequence group = nodes_.group(g);
      bool any = false;
      for (NodeId node = group.first; node < group.end(); ++node) {
        if (new_label[node] == 0) continue;
        any = true;
        nodes_.for_edges(node, group, [this](NodeId other, std::int64_t) {
          if (other < own())
            ask_[other] = 1;
          else
            remote_asked_[other - own()] = 1;
        });
      }
      if (any && nodes_.whole_group() > 0)
        std::fill(ask_.begin() + group.first, ask_.begin() + group.end(), std::uint8_t{1});
    }
  }

  /// New labels of own nodes that the process needs, and its nodes that must be asked again, by their places.
  void pack_moves(int process, const std::vector<std::uint8_t>& new_label, std::string& message) const {
    std::vector<std::pair<std::uint32_t, Label>> labels;
    std::vector<std::uint32_t> asked;
    const std::vector<std::uint32_t>& needed = remote().needed_by(process);
    for (std::uint32_t i = 0; i < needed.size(); ++i)
      if (new_label[needed[i]] != 0) labels.emplace_back(i, result_.label[needed[i]]);
    const Run run = remote().of(process);
    for (std::int64_t i = 0; i < run.count; ++i)
      if (remote_asked_[run.first + i] != 0) asked.push_back(static_cast<std::uint32_t>(i));
    pack(message, labels);
    pack(message, asked);
  }

  /// Returns the counted labels whose cells are news to others, and what happened here.
  Messages take_moves(const Messages& received) {
    for (int process = 0; process < holders_.size; ++process) {
      Unpacker message(received[process]);
      for (const LabelCells& left : message.next<LabelCells>()) {
        result_.cells[left.label - first_counted()] -= left.cells;
        changed_.push_back(static_cast<Label>(left.label));
      }
      for (const auto& [place, label] : message.next<std::pair<std::uint32_t, Label>>())
        result_.label[own() + remote().of(process).first + place] = label;
      for (const std::uint32_t place : message.next<std::uint32_t>()) ask_[remote().needed_by(process)[place]] = 1;
    }
    return published({wanted_, moved_});
  }

  /// A label is published while it has no room for the largest node.
  Messages published(const std::vector<std::int64_t>& totals) {
    std::vector<LabelCells> news;
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const Label label : changed_) {
      const std::int64_t cells = result_.cells[label - first_counted()];
      const std::int64_t now = cells + largest_ > limits_.max_cells ? cells : 0;
      if (const std::int64_t before = nearly_full_.of(label); now != before) news.push_back({now - before, label});
    }
    changed_.clear();
    std::string message;
    pack(message, totals);
    pack(message, news);
    return Messages(holders_.size, message);
  }

  void publish_first() {
    std::int64_t own_largest = 0;
    for (NodeId node = 0; node < own(); ++node) own_largest = std::max(own_largest, nodes_.cells(node));
    largest_ = limits_.max_cells + 1;  // none is published
    take(holders_.exchange([&] { return published({own_largest}); }), true);
    largest_ = totals_[0];
    take(holders_.exchange([this] {
      for (std::size_t i = 0; i < result_.cells.size(); ++i)
        if (result_.cells[i] + largest_ > limits_.max_cells)
          changed_.push_back(first_counted() + static_cast<Label>(i));
      return published({});
    }));
  }

  /// Sums totals, or finds their maximum.
  void take(const Messages& received, bool maximum = false) {
    totals_.clear();
    for (const std::string& bytes : received) {
      Unpacker message(bytes);
      const auto totals = message.next<std::int64_t>();
      totals_.resize(totals.size(), 0);
      for (std::size_t i = 0; i < totals.size(); ++i)
        totals_[i] = maximum ? std::max(totals_[i], totals[i]) : totals_[i] + totals[i];
      for (const LabelCells& news : message.next<LabelCells>())
        nearly_full_.add(static_cast<Label>(news.label), news.cells);
    }
  }

  const Nodes nodes_;
  const PropagationLimits limits_;
  const ShareHolders& holders_;
  SharedLabels result_;
  const RandomStream coins_;
  bool gaining_coin_ = false;
  std::vector<std::uint8_t> ask_;  // of own nodes: whether the answer may differ from last time
  std::vector<std::uint8_t> remote_asked_;
  std::vector<Label> changed_;  // counted labels whose cells changed
  LabelSums nearly_full_, sums_, in_group_;
  std::vector<std::pair<std::int64_t, Label>> most_;
  std::vector<std::vector<LabelRequest>> requests_;  // by counting process
  std::vector<std::int64_t> totals_;
  std::int64_t wanted_ = 0, moved_ = 0, largest_ = 0;
};

}  // namespace

SharedLabels propagate_together(SuperGraphShare& share, const PropagationLimits& limits, const ShareHolders& holders) {
  SharedLabels first{share.graph.first_labels.release(), NodeShares(share.shares.nodes(), holders.size), {}, 0, 0};
  first.cells.assign(first.counted.count(holders.rank), 1);
  return SynchronousPropagation<CellNodes>({share}, 0, limits, holders, std::move(first)).run();
}

SharedLabels propagate_together(const ChunkGraphShare& share, std::uint32_t level, const PropagationLimits& limits,
                                const ShareHolders& holders) {
  std::vector<std::uint32_t> numbers(share.graph.cells.size());
  std::iota(numbers.begin(), numbers.end(), share.shares.first[holders.rank]);
  const std::vector<std::uint32_t> remote = share.remote.fetch(holders, numbers);
  numbers.insert(numbers.end(), remote.begin(), remote.end());
  return SynchronousPropagation<ChunkNodes>({share}, level, limits, holders,
                                            {std::move(numbers), share.shares, share.graph.cells.copy(), 0, 0})
      .run();
}

}  // namespace strobe
