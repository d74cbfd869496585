#include "models/snapshots/captured_graph.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "models/snapshots/captured_shapes.hpp"

namespace strobe {
namespace {

struct KindWord {
  CapturedKind kind;
  std::size_t least, most;  // values that it reads
  Curve curve = Curve::affine;
};

const std::map<std::string, KindWord>& kind_words() {
  constexpr std::size_t many = 1000;
  static const std::map<std::string, KindWord> all{{"product", {CapturedKind::product, 1, 1}},
                                                   {"attention", {CapturedKind::attention, 3, 3}},
                                                   {"added_attention", {CapturedKind::added_attention, 3, 4}},
                                                   {"dense", {CapturedKind::dense, 2, 3}},
                                                   {"combine", {CapturedKind::combine, 2, 2}},
                                                   {"multiply", {CapturedKind::multiply, 2, 2}},
                                                   {"affine", {CapturedKind::pointwise, 1, 1, Curve::affine}},
                                                   {"sigmoid", {CapturedKind::pointwise, 1, 1, Curve::sigmoid}},
                                                   {"leaky_relu", {CapturedKind::pointwise, 1, 1, Curve::leaky_relu}},
                                                   {"elu", {CapturedKind::pointwise, 1, 1, Curve::elu}},
                                                   {"tanh", {CapturedKind::tanh, 1, 1}},
                                                   {"concat", {CapturedKind::concat, 1, many}},
                                                   {"columns", {CapturedKind::columns, 1, 1}},
                                                   {"rows", {CapturedKind::rows, 1, 1}},
                                                   {"stack", {CapturedKind::stack, 1, many}},
                                                   {"transpose", {CapturedKind::transpose, 1, 1}},
                                                   {"add_row", {CapturedKind::add_row, 2, 2}},
                                                   {"layer_norm", {CapturedKind::layer_norm, 3, 3}},
                                                   {"spread", {CapturedKind::spread, 1, 1}},
                                                   {"head_sums", {CapturedKind::head_sums, 1, 1}},
                                                   {"attend", {CapturedKind::attend, 2, 2}},
                                                   {"found", {CapturedKind::found, 1, 1}}};
  return all;
}

/// Reads the parts of a model in turn; values are found by name.
class GraphReader {
 public:
  explicit GraphReader(std::string source) : source_(std::move(source)) {}

  CapturedGraph read(const Json& json) {
    check_captured_version(json, source_);
    if (json.contains("parts")) refuse("holds parts of a model of events; type --model tgn-attn:path=...");
    only(json, {"format", "version", "features", "matrices", "states", "weights", "operations", "output", "next"});
    if (json.contains("features") && !json["features"].is_null()) graph_.features = positive(json["features"]);
    name("x");
    for (const Json& state : json.value("states", Json::array())) {
      only(state, {"name", "width", "start"});
      graph_.states.push_back({state.contains("start") ? 0 : positive(state.at("width")), 0});
      name(state.at("name"));
    }
    for (const Json& matrix : json.value("matrices", Json::array())) graph_.matrices.push_back(matrix);
    for (const std::string& matrix : graph_.matrices) check_matrix(matrix);
    for (const Json& weight : json.at("weights")) read_weight(weight);
    for (std::size_t s = 0; s < graph_.states.size(); ++s) read_start(json.at("states")[s], graph_.states[s]);
    for (const Json& operation : json.at("operations")) read_operation(operation);
    graph_.output = value(json.at("output"));
    for (const Json& next : json.value("next", Json::array())) graph_.next.push_back(value(next));
    for (const CapturedOperation& operation : graph_.operations) {
      if (is_of_events(operation.kind)) refuse("has an operation that only models of events have");
    }
    if (graph_.next.size() != graph_.states.size()) refuse("must have one entry of 'next' for each state");
    return std::move(graph_);
  }

  /// A part of a model of events. Its first input takes the place of the features, all others those of states.
  CapturedPart read_part(const Json& json) {
    only(json, {"inputs", "weights", "operations", "output"});
    CapturedPart part;
    for (const Json& input : json.at("inputs")) {
      only(input, {"name", "width", "of"});
      const Json of = input.value("of", Json());
      if (!of.is_null() && of != "neighbours") refuse("has an input of " + of.dump() + "; known: neighbours");
      graph_.of_slots.push_back(!of.is_null());
      part.inputs.push_back(input.at("name"));
      name(part.inputs.back());
      part.widths.push_back(positive(input.at("width")));
    }
    if (part.inputs.empty()) refuse("has a part that reads nothing");
    graph_.features = part.widths.front();
    for (std::size_t i = 1; i < part.widths.size(); ++i) graph_.states.push_back({part.widths[i], 0});
    for (const Json& weight : json.at("weights")) read_weight(weight);
    for (const Json& operation : json.at("operations")) read_operation(operation);
    graph_.output = value(json.at("output"));
    part.graph = std::move(graph_);
    part.shapes = captured_shapes(part.graph, part.graph.features, source_);
    return part;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw InvalidInput(source_, 0, 0, why); }

  void name(const std::string& given) {
    if (!numbers_.emplace(given, numbers_.size()).second) refuse("names the value '" + given + "' twice");
  }
  std::size_t value(const Json& given) const {
    const auto found = numbers_.find(given.get<std::string>());
    if (found == numbers_.end()) refuse("reads the value '" + given.get<std::string>() + "' before it exists");
    return found->second;
  }
  /// Refuses misspelt keys, which would otherwise leave a default in place.
  void only(const Json& json, std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, ignored] : json.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) refuse("has the unknown key '" + key + "'");
  }
  std::int64_t whole(const Json& given) const {
    if (!given.is_number_integer()) refuse("has " + given.dump() + " in place of a whole number");
    return given.get<std::int64_t>();
  }
  double number(const Json& json, const char* key, double otherwise) const {
    const Json given = json.value(key, Json(otherwise));
    if (!given.is_number()) refuse("has " + given.dump() + " in place of a number");
    return given.get<double>();
  }
  std::int64_t positive(const Json& given) const {
    const std::int64_t number = whole(given);
    if (number < 1 || number > largest_captured_size) refuse("has the size " + std::to_string(number));
    return number;
  }
  void check_matrix(const std::string& matrix) const {
    try {
      captured_preprocessing(matrix);
    } catch (const InvalidRequest& error) {
      refuse(error.what());
    }
  }
  void read_weight(const Json& json) {
    only(json, {"name", "rows", "columns", "bound", "transposed"});
    CapturedWeight weight{json.at("name"), 0, positive(json.at("columns")), number(json, "bound", -1), {}};
    if (json.at("rows") != "features") weight.rows = positive(json.at("rows"));
    name(weight.name);
    graph_.weights.push_back(std::move(weight));
  }
  void read_start(const Json& json, CapturedState& state) const {
    if (!json.contains("start")) return;
    if (json.contains("width")) refuse("has a state with both a width and a start");
    state.start = value(json["start"]);
    if (state.start < graph_.first_weight()) refuse("has a state that does not start at a weight");
  }
  void read_operation(const Json& json) {
    const auto kind = json.at("kind").get<std::string>();
    const auto word = kind_words().find(kind);
    if (word == kind_words().end()) refuse("has an operation of the unknown kind '" + kind + "'");
    only(json, {"name", "kind", "of", "matrix", "activation", "p", "q", "first", "count", "heads"});
    CapturedOperation operation;
    operation.kind = word->second.kind;
    operation.curve = word->second.curve;
    for (const Json& read : json.at("of")) operation.reads.push_back(value(read));
    if (operation.reads.size() < word->second.least || operation.reads.size() > word->second.most)
      refuse("gives '" + kind + "' " + std::to_string(operation.reads.size()) + " values");
    operation.matrix = operation.reads_neighbours() ? read_matrix(json.value("matrix", Json(0))) : 0;
    operation.p = number(json, "p", operation.kind == CapturedKind::pointwise && kind != "affine" ? 0.0 : 1.0);
    operation.q = number(json, "q", kind == "combine" ? 1.0 : 0.0);
    operation.first = whole(json.value("first", Json(0)));
    operation.count = whole(json.value("count", Json(0)));
    operation.heads = positive(json.value("heads", Json(1)));
    operation.activation = read_activation(json.value("activation", Json("none")));
    if (operation.p < 0 && (kind == "leaky_relu" || kind == "elu")) refuse("gives '" + kind + "' a negative slope");
    graph_.operations.push_back(std::move(operation));
    name(json.at("name"));
  }
  int read_matrix(const Json& json) const {
    const std::int64_t matrix = whole(json);
    const auto matrices = static_cast<std::int64_t>(graph_.matrices.size());
    if (matrices == 0) refuse("has an operation that reads neighbours by a matrix, and no matrices");
    if (matrix < 0 || matrix >= matrices)
      refuse("reads matrix " + std::to_string(matrix) + " of " + std::to_string(matrices));
    return static_cast<int>(matrix);
  }
  Activation read_activation(const Json& json) const {
    if (json != "none" && json != "relu") refuse("has the activation " + json.dump() + "; known: none, relu");
    return json == "relu" ? Activation::relu : Activation::none;
  }

  std::string source_;
  CapturedGraph graph_;
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace

std::vector<std::size_t> CapturedGraph::states_of(bool of_weights) const {
  std::vector<std::size_t> found;
  for (std::size_t s = 0; s < states.size(); ++s) {
    if (states[s].of_weights() == of_weights) found.push_back(1 + s);
  }
  return found;
}

void check_captured_version(const Json& json, const std::string& source) {
  if (json.value("format", Json()) != "strobe.captured" || json.value("version", Json()) != 1)
    throw InvalidInput(source, 0, 0, "is no captured model of version 1");
}

CapturedPart read_captured_part(const Json& json, const std::string& source) {
  return read_json_values(source, [&] { return GraphReader(source).read_part(json); });
}

CapturedGraph read_captured_graph(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source);
  if (!json.is_object()) throw InvalidInput(source, 0, 0, "is no captured model");
  return read_json_values(source, [&] { return GraphReader(source).read(json); });
}

void set_captured_weights(CapturedGraph& graph, const std::vector<SavedMatrix>& matrices, const std::string& source) {
  if (matrices.size() != graph.weights.size())
    throw InvalidInput(source, 0, 0,
                       "has " + std::to_string(matrices.size()) + " weights, and the model has " +
                           std::to_string(graph.weights.size()));
  for (CapturedWeight& weight : graph.weights) {
    const auto found = std::find_if(matrices.begin(), matrices.end(),
                                    [&](const SavedMatrix& matrix) { return matrix.name == weight.name; });
    if (found == matrices.end()) throw InvalidInput(source, 0, 0, "has no weight '" + weight.name + "'");
    const std::int64_t rows = weight.rows == 0 ? graph.features : weight.rows;
    if (found->rows != rows || found->columns != weight.columns)
      throw InvalidInput(source, 0, 0, "has weight '" + weight.name + "' in another shape than the model");
    if (!std::all_of(found->values.begin(), found->values.end(), [](double value) { return std::isfinite(value); }))
      throw InvalidInput(source, 0, 0, "has a value in weight '" + weight.name + "' that is no finite number");
    weight.start = found->values;
  }
}

Preprocessing captured_preprocessing(const std::string& matrix) {
  static const std::map<std::string, std::string> walks{{"sum", "none"},
                                                        {"mean", "in"},
                                                        {"out_mean", "out"},
                                                        {"mean_transposed", "in_transposed"},
                                                        {"out_mean_transposed", "out_transposed"},
                                                        {"symmetric", "symmetric"},
                                                        {"out_symmetric", "out_symmetric"}};
  Preprocessing what;
  what.precompute_first_product = false;
  if (matrix == "laplacian") return what;
  const auto walk = walks.find(matrix);
  if (walk == walks.end()) throw InvalidRequest("/model/path", "no matrix is called '" + matrix + "'");
  what.laplacian = false;
  what.walk = walk->second;
  return what;
}

const std::string& captured_example() {
  static const std::string text = R"({"format": "strobe.captured", "version": 1, "matrices": ["laplacian"],
"states": [{"name": "h", "width": 6}],
"weights": [{"name": "conv.weight", "rows": "features", "columns": 6}, {"name": "conv.bias", "rows": 1, "columns": 6},
  {"name": "gates.weight", "rows": 12, "columns": 12}, {"name": "gates.bias", "rows": 1, "columns": 12},
  {"name": "candidate.weight", "rows": 12, "columns": 6}, {"name": "candidate.bias", "rows": 1, "columns": 6}],
"operations": [
  {"name": "ax", "kind": "product", "of": ["x"], "matrix": 0},
  {"name": "c", "kind": "dense", "of": ["ax", "conv.weight", "conv.bias"], "activation": "relu"},
  {"name": "ch", "kind": "concat", "of": ["c", "h"]},
  {"name": "opening", "kind": "dense", "of": ["ch", "gates.weight", "gates.bias"]},
  {"name": "gates", "kind": "sigmoid", "of": ["opening"]},
  {"name": "r", "kind": "columns", "of": ["gates"], "first": 0, "count": 6},
  {"name": "u", "kind": "columns", "of": ["gates"], "first": 6, "count": 6},
  {"name": "rh", "kind": "multiply", "of": ["r", "h"]},
  {"name": "crh", "kind": "concat", "of": ["c", "rh"]},
  {"name": "n", "kind": "dense", "of": ["crh", "candidate.weight", "candidate.bias"]},
  {"name": "candidate", "kind": "tanh", "of": ["n"]},
  {"name": "kept", "kind": "multiply", "of": ["u", "h"]},
  {"name": "open", "kind": "affine", "of": ["u"], "p": -1, "q": 1},
  {"name": "new", "kind": "multiply", "of": ["open", "candidate"]},
  {"name": "next", "kind": "combine", "of": ["kept", "new"]}],
"output": "next", "next": ["next"]})";
  return text;
}

}  // namespace strobe
