// Cost O(operations^2), once per model.
#include "models/snapshots/captured_stages.hpp"

#include <algorithm>
#include <set>

namespace strobe {
namespace {

class StageCutter {
 public:
  explicit StageCutter(const CapturedGraph& graph)
      : graph_(graph), weight_(graph.values(), false), late_(weight_), evolving_(weight_), depth_(graph.values(), 0) {
    for (std::size_t v = graph.first_weight(); v < graph.first_result(); ++v) weight_[v] = true;
    for (const std::size_t v : graph.states_of(false)) late_[v] = true;
    for (const std::size_t v : graph.states_of(true)) weight_[v] = evolving_[v] = true;
    find_needed();
  }

  CapturedStages cut() {
    CapturedStages result;
    classify(result);
    const std::size_t deepest = deepest_spatial();
    for (std::size_t d = 0; d <= deepest; ++d) {
      CapturedStage stage{d > 0, spatial_at(d), {}, {}, false, {}};
      find_evolving(stage);
      if (d > 0 || !stage.spatial.empty() || deepest == 0) result.stages.push_back(std::move(stage));
    }
    add_steps(result.stages);
    carry(result.stages);
    result.refused = find_refused();
    return result;
  }

 private:
  const CapturedOperation& operation(std::size_t value) const {
    return graph_.operations[value - graph_.first_result()];
  }

  /// Values that the output or the states need.
  void find_needed() {
    needed_.assign(graph_.values(), false);
    needed_[graph_.output] = true;
    for (const std::size_t next : graph_.next) needed_[next] = true;
    for (std::size_t v = graph_.values(); v-- > graph_.first_result();) {
      if (!needed_[v]) continue;
      for (const std::size_t read : operation(v).reads) needed_[read] = true;
    }
  }

  /// Which values are weights, which run step by step, and after how many products.
  void classify(CapturedStages& result) {
    result.matrix = matrix_of_attention();
    for (std::size_t v = graph_.first_result(); v < graph_.values(); ++v) {
      const CapturedOperation& op = operation(v);
      weight_[v] = std::all_of(op.reads.begin(), op.reads.end(), [&](std::size_t read) { return weight_[read]; });
      late_[v] = std::any_of(op.reads.begin(), op.reads.end(), [&](std::size_t read) { return late_[read]; });
      evolving_[v] = weight_[v] &&
                     std::any_of(op.reads.begin(), op.reads.end(), [&](std::size_t read) { return evolving_[read]; });
      if (!op.reads_neighbours() || late_[v] || !needed_[v]) continue;
      if (result.matrix < 0) result.matrix = op.matrix;
      late_[v] = op.matrix != result.matrix;
    }
    result.precomputed = result.matrix >= 0 && only_products_read_x(result.matrix);
    for (std::size_t v = graph_.first_result(); v < graph_.values(); ++v) {
      for (const std::size_t read : operation(v).reads) depth_[v] = std::max(depth_[v], depth_[read]);
      const bool given = result.precomputed && operation(v).reads[0] == 0;
      if (operation(v).reads_neighbours() && !late_[v] && !given) ++depth_[v];
    }
  }

  /// Attention is only computed in spatial stages, so its matrix is theirs; -1 where there is none.
  int matrix_of_attention() const {
    for (std::size_t v = graph_.first_result(); v < graph_.values(); ++v) {
      if (needed_[v] && operation(v).attends()) return operation(v).matrix;
    }
    return -1;
  }

  bool only_products_read_x(int matrix) const {
    if (graph_.output == 0) return false;
    for (std::size_t v = graph_.first_result(); v < graph_.values(); ++v) {
      const CapturedOperation& op = operation(v);
      if (!needed_[v] || std::find(op.reads.begin(), op.reads.end(), std::size_t{0}) == op.reads.end()) continue;
      if (op.kind != CapturedKind::product || op.matrix != matrix) return false;
    }
    return std::find(graph_.next.begin(), graph_.next.end(), std::size_t{0}) == graph_.next.end();
  }

  bool is_spatial(std::size_t value) const {
    return value >= graph_.first_result() && needed_[value] && !weight_[value] && !late_[value];
  }
  std::size_t deepest_spatial() const {
    std::size_t deepest = 0;
    for (std::size_t v = 0; v < graph_.values(); ++v) {
      if (is_spatial(v)) deepest = std::max(deepest, depth_[v]);
    }
    return deepest;
  }
  std::vector<std::size_t> spatial_at(std::size_t depth) const {
    std::vector<std::size_t> found;
    for (std::size_t v = 0; v < graph_.values(); ++v) {
      if (is_spatial(v) && depth_[v] == depth) found.push_back(v);
    }
    return found;
  }

  /// The weights of each step that the stage multiplies by.
  void find_evolving(CapturedStage& stage) const {
    std::set<std::size_t> found;
    for (const std::size_t v : stage.spatial) {
      for (const std::size_t read : operation(v).reads) {
        if (evolving_[read]) found.insert(read);
      }
    }
    stage.evolving.assign(found.begin(), found.end());
  }

  std::size_t find_refused() const {
    for (std::size_t v = graph_.first_result(); v < graph_.values(); ++v) {
      if (!needed_[v] || weight_[v]) continue;
      const CapturedOperation& op = operation(v);
      if (op.attends() && late_[v]) return v;
      for (std::size_t i = 0; i < op.reads.size(); ++i) {
        if (evolving_[op.reads[i]] && (late_[v] || op.kind != CapturedKind::dense || i != 1)) return v;
      }
    }
    return 0;
  }

  /// Puts operations of single steps after the last spatial stage, in a layer of their own where that reads neighbours
  /// or multiplies by weights that evolve.
  void add_steps(std::vector<CapturedStage>& stages) const {
    std::vector<std::size_t> stepwise;
    for (std::size_t v = graph_.first_result(); v < graph_.values(); ++v) {
      if (needed_[v] && !weight_[v] && late_[v]) stepwise.push_back(v);
    }
    if (stepwise.empty() && graph_.states_of(false).empty()) return;
    if (stages.back().reads_neighbours || !stages.back().evolving.empty()) stages.push_back({});
    stages.back().steps = true;
    stages.back().stepwise = std::move(stepwise);
  }

  /// Gives every stage the values that later ones read.
  void carry(std::vector<CapturedStage>& stages) const {
    std::set<std::size_t> wanted;
    const auto want = [&](std::size_t value) {
      if (!weight_[value] && !graph_.is_state(value)) wanted.insert(value);
    };
    const auto made = [&](const std::vector<std::size_t>& values) {
      for (auto v = values.rbegin(); v != values.rend(); ++v) {
        wanted.erase(*v);
        for (const std::size_t read : operation(*v).reads) want(read);
      }
    };
    want(graph_.output);
    if (stages.back().steps) {
      for (const std::size_t next : graph_.next) want(next);
    }
    for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
      made(stage->stepwise);
      if (wanted.empty()) wanted.insert(0);  // a layer has at least one column
      stage->carried.assign(wanted.begin(), wanted.end());
      made(stage->spatial);
    }
  }

  const CapturedGraph& graph_;
  std::vector<bool> weight_, late_, evolving_, needed_;
  std::vector<std::size_t> depth_;
};

}  // namespace

CapturedStages captured_stages(const CapturedGraph& graph) { return StageCutter(graph).cut(); }

std::vector<std::size_t> states_behind(const CapturedGraph& graph, std::vector<std::size_t> values) {
  std::set<std::size_t> seen;
  while (!values.empty()) {
    const std::size_t value = values.back();
    values.pop_back();
    if (!seen.insert(value).second) continue;
    if (value >= graph.first_result()) {
      const std::vector<std::size_t>& reads = graph.operations[value - graph.first_result()].reads;
      values.insert(values.end(), reads.begin(), reads.end());
    } else if (graph.is_state(value)) {
      values.push_back(graph.next[value - 1]);
    }
  }
  std::vector<std::size_t> states;
  for (const std::size_t value : seen) {
    if (graph.is_state(value)) states.push_back(value);
  }
  return states;
}

}  // namespace strobe
