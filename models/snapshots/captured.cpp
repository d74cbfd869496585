// A captured model: one time step of a snapshot model as a graph of operations in a file, for example written by
// strobe.from_torch. The operations are run as the file says, by the same tape operations as built-in models. Its
// stages (captured_graph.hpp) are layers. Several states of a vertex lie side by side. A x is computed once where x is
// only read by products. Without a file the model is captured_example().
#include <algorithm>
#include <filesystem>
#include <map>

#include "core/json_reader.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/snapshots/captured_graph.hpp"
#include "models/snapshots/captured_shapes.hpp"
#include "models/snapshots/captured_stages.hpp"
#include "models/snapshots/captured_values.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

class Captured final : public Model {
 public:
  Captured(CapturedGraph graph, std::string source)
      : graph_(std::move(graph)), source_(std::move(source)), cut_(captured_stages(graph_)) {
    refuse();
    shapes_ = captured_shapes(graph_, std::max<std::int64_t>(1, graph_.features), source_);
    wider_ = graph_.features == 0 ? captured_shapes(graph_, 2, source_) : shapes_;
  }

  Preparation preparation() const override {
    Preparation what;
    what.inputs.precompute_first_product = false;
    if (cut_.matrix >= 0) {
      what.inputs = captured_preprocessing(graph_.matrices[static_cast<std::size_t>(cut_.matrix)]);
      what.inputs.precompute_first_product = cut_.precomputed;
    }
    for (const int matrix : supports())
      what.supports.push_back(captured_preprocessing(graph_.matrices[static_cast<std::size_t>(matrix)]));
    return what;
  }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    if (graph_.features != 0 && graph_.features != feature_width)
      throw InvalidRequest("/model/path", "this model reads " + std::to_string(graph_.features) +
                                              " features, and a vertex of the workload has " +
                                              std::to_string(feature_width));
    const std::vector<CapturedShape> shapes = captured_shapes(graph_, feature_width, source_);
    std::vector<LayerShape> layers;
    std::int64_t width = feature_width;
    for (const CapturedStage& stage : cut_.stages) {
      LayerShape layer;
      layer.input_width = width;
      layer.spatial_width = layer.temporal_width = width = widths(shapes, stage.carried);
      layer.reads_neighbours = stage.reads_neighbours;
      if (!stage.evolving.empty()) layer.need = TemporalNeed::weights_only;
      if (stage.steps) add_steps(stage, shapes, layer);
      layers.push_back(layer);
    }
    return layers;
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    std::vector<ParameterShape> shapes;
    for (const CapturedWeight& weight : graph_.weights) {
      shapes.push_back(glorot(weight.name, weight.rows == 0 ? feature_width : weight.rows, weight.columns));
      if (weight.bound >= 0) shapes.back().bound = weight.bound;
      shapes.back().start = weight.start;
    }
    return shapes;
  }

  ModelTraits traits() const override {
    ModelTraits what;
    what.reads_entries = std::any_of(graph_.operations.begin(), graph_.operations.end(),
                                     [](const CapturedOperation& op) { return op.attends(); });
    return what;
  }

  Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const override {
    const CapturedStage& stage = cut_.stages[static_cast<std::size_t>(layer)];
    if (stage.spatial.empty() && carried_before(layer) == stage.carried) return input.x;
    CapturedValues values(tape, graph_, parameters);
    const std::int64_t own = stage.reads_neighbours ? input.a->rows : input.x->value.rows();
    std::vector<Var> all(graph_.values());  // own rows and neighbours'
    give(tape, input.x, carried_before(layer), [&](std::size_t value, const Var& var) {
      all[value] = var;
      values.set(value, slice_rows(tape, var, 0, own));
    });
    const std::map<std::size_t, Var> evolved = evolved_weights(tape, graph_, parameters, stage.evolving, input);
    for (const std::size_t value : stage.spatial) {
      const CapturedOperation& op = graph_.operations[value - graph_.first_result()];
      if (op.kind == CapturedKind::dense && evolved.count(op.reads[1]) > 0) {
        values.set(value, values.dense_of_steps(op, evolved.at(op.reads[1]), input.cells->step_rows_on_device));
      } else if (!op.reads_neighbours()) {
        values.get(value);
      } else if (op.attends()) {
        const bool added = op.kind == CapturedKind::added_attention;
        values.set(value,
                   edge_attention(tape, *input.a, {op.heads, added, op.p}, values.get(op.reads[0]), all[op.reads[1]],
                                  all[op.reads[2]], op.reads.size() == 4 ? values.get(op.reads[3]) : nullptr));
      } else if (cut_.precomputed && op.reads[0] == 0) {
        values.set(value, values.get(0));
      } else {
        values.set(value, spmm(tape, *input.a, all[op.reads[0]]));
      }
    }
    return values.beside(stage.carried);
  }

  /// Empty for a stage without evolving weights.
  std::vector<Var> before_rows(Tape& tape, const Parameters& parameters, int layer,
                               const SpatialInput& all) const override {
    const CapturedStage& stage = cut_.stages[static_cast<std::size_t>(layer)];
    const std::map<std::size_t, Var> evolved = evolved_weights(tape, graph_, parameters, stage.evolving, all);
    std::vector<Var> weights;
    for (const std::size_t value : stage.evolving) weights.push_back(evolved.at(value));
    return weights;
  }

  TemporalOutput step(Tape& tape, const Parameters& parameters, int layer, const StepInput& input) const override {
    const CapturedStage& stage = cut_.stages[static_cast<std::size_t>(layer)];
    CapturedValues values(tape, graph_, parameters);
    const auto set = [&](std::size_t value, const Var& var) { values.set(value, var); };
    give(tape, input.x, stage.carried, set);
    const std::vector<std::size_t> states = graph_.states_of(false);
    std::vector<std::size_t> next;
    for (const std::size_t state : states) next.push_back(graph_.next[state - 1]);
    if (!states.empty()) give(tape, input.state, states, set);
    for (const std::size_t value : stage.stepwise) {
      const CapturedOperation& op = graph_.operations[value - graph_.first_result()];
      if (op.kind == CapturedKind::product)
        values.set(value, input.neighbours->product(tape, support(op.matrix), values.get(op.reads[0])));
      else
        values.get(value);
    }
    return {values.get(graph_.output), states.empty() ? nullptr : values.beside(next)};
  }

 private:
  void refuse() const {
    const std::size_t value = cut_.refused;
    if (value == 0) return;
    const bool attends = graph_.operations[value - graph_.first_result()].attends();
    throw InvalidInput(
        source_, 0, 0,
        "has operation " + std::to_string(value - graph_.first_result() + 1) +
            (attends ? ", an attention that reads a state, or another matrix than the attention before it"
                     : ", which reads an evolving weight other than as the matrix of a product, or with a "
                       "state of vertices"));
  }
  /// The matrices of products that run step by step.
  std::vector<int> supports() const {
    std::vector<int> found;
    for (const CapturedStage& stage : cut_.stages) {
      for (const std::size_t value : stage.stepwise) {
        const CapturedOperation& op = graph_.operations[value - graph_.first_result()];
        if (op.kind == CapturedKind::product && std::find(found.begin(), found.end(), op.matrix) == found.end())
          found.push_back(op.matrix);
      }
    }
    return found;
  }
  int support(int matrix) const {
    const std::vector<int> all = supports();
    return static_cast<int>(std::find(all.begin(), all.end(), matrix) - all.begin());
  }

  static std::int64_t widths(const std::vector<CapturedShape>& shapes, const std::vector<std::size_t>& values) {
    std::int64_t sum = 0;
    for (const std::size_t value : values) sum += shapes[value].columns;
    return sum;
  }

  void add_steps(const CapturedStage& stage, const std::vector<CapturedShape>& shapes, LayerShape& layer) const {
    layer.step_by_step = true;
    layer.temporal_width = shapes[graph_.output].columns;
    if (const std::vector<std::size_t> states = graph_.states_of(false); !states.empty()) {
      layer.need = TemporalNeed::recurrent;
      layer.recurrent_state.width = widths(shapes, states);
    }
    for (const std::size_t value : stage.stepwise) {
      const CapturedOperation& op = graph_.operations[value - graph_.first_result()];
      if (op.kind == CapturedKind::product) layer.products.push_back({support(op.matrix), shapes[op.reads[0]].columns});
    }
  }

  std::vector<std::size_t> carried_before(int layer) const {
    if (layer == 0) return {0};
    return cut_.stages[static_cast<std::size_t>(layer) - 1].carried;
  }

  /// Calls set(value, columns of x) for the values that lie side by side in x.
  template <class Set>
  void give(Tape& tape, const Var& x, const std::vector<std::size_t>& values, const Set& set) const {
    if (values.size() == 1) return set(values[0], x);
    std::int64_t at_least = 0, by_feature = 0;
    for (const std::size_t value : values) at_least += shapes_[value].columns, by_feature += slope(value);
    const std::int64_t more = by_feature == 0 ? 0 : (x->value.columns() - at_least) / by_feature;
    std::int64_t first = 0;
    for (const std::size_t value : values) {
      const std::int64_t width = shapes_[value].columns + more * slope(value);
      set(value, slice_columns(tape, x, first, width));
      first += width;
    }
  }

  /// Columns that a value has more for every feature of a vertex, where a model takes any number of features.
  std::int64_t slope(std::size_t value) const { return wider_[value].columns - shapes_[value].columns; }

  CapturedGraph graph_;
  std::string source_;
  CapturedStages cut_;
  std::vector<CapturedShape> shapes_, wider_;  // with as few features as are possible, and with one more where it may
};

struct CapturedParameters {
  std::string path;
};

const FieldTable& captured_fields() {
  static const FieldTable table = make_fields<CapturedParameters>().text(
      "path", &CapturedParameters::path,
      "folder with model.json and weights.safetensors, or a model.json alone; empty = an example, a graph convolution "
      "and a GRU");
  return table;
}

std::unique_ptr<Model> make_captured(const std::string& path) {
  namespace files = std::filesystem;
  if (path.empty())
    return std::make_unique<Captured>(read_captured_graph(captured_example(), "the example"), "the example");
  const bool folder = files::is_directory(path);
  const std::string file = folder ? (files::path(path) / "model.json").string() : path;
  if (!files::exists(file)) throw InvalidRequest("/model/path", "there is no file '" + file + "'");
  CapturedGraph graph = read_captured_graph(read_regular_file(file), file);
  const std::string weights = (files::path(path) / "weights.safetensors").string();
  if (folder && files::exists(weights)) set_captured_weights(graph, read_safetensors(weights), weights);
  return std::make_unique<Captured>(std::move(graph), file);
}

const Register<ModelTag> captured_registered{{
    "captured",
    "a model from a file, for example one of PyTorch; without a file a graph convolution and a GRU",
    "strobe.from_torch of the Python package",
    captured_fields(),
    [](const Json& parameters) -> std::unique_ptr<Model> {
      return make_captured(from_json<CapturedParameters>(captured_fields(), parameters, "/model").path);
    },
    {},
}};

}  // namespace
}  // namespace strobe
