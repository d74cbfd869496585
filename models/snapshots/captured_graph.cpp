#include "models/snapshots/captured_graph.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/errors.hpp"
#include "core/json_reader.hpp"

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
                                                   {"layer_norm", {CapturedKind::layer_norm, 3, 3}}};
  return all;
}

constexpr std::int64_t largest_size = 1'000'000;  // rows or columns of a value

/// Reads the parts of a model in turn; values are found by name.
class GraphReader {
 public:
  explicit GraphReader(std::string source) : source_(std::move(source)) {}

  CapturedGraph read(const Json& json) {
    if (json.value("format", Json()) != "strobe.captured" || json.value("version", Json()) != 1)
      refuse("is no captured model of version 1");
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
    if (graph_.next.size() != graph_.states.size()) refuse("must have one entry of 'next' for each state");
    return std::move(graph_);
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
    if (number < 1 || number > largest_size) refuse("has the size " + std::to_string(number));
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

/// Checks the shapes that one operation reads, and gives that of its result.
class ShapeRules {
 public:
  explicit ShapeRules(const std::vector<CapturedShape>& shapes) : shapes_(shapes) {}

  CapturedShape result(const CapturedOperation& operation) const {
    const CapturedShape first = shape(operation, 0);
    switch (operation.kind) {
      case CapturedKind::product:
        need(first.rows == 0);
        return first;
      case CapturedKind::attention:
      case CapturedKind::added_attention:
        return attention(operation);
      case CapturedKind::dense:
        return dense(operation);
      case CapturedKind::combine:
      case CapturedKind::multiply:
        need(first == shape(operation, 1));
        return first;
      case CapturedKind::pointwise:
      case CapturedKind::tanh:
        return first;
      case CapturedKind::concat:
      case CapturedKind::stack:
        return joined(operation);
      case CapturedKind::columns:
        need(operation.first >= 0 && operation.count > 0 && operation.first <= first.columns - operation.count);
        return {first.rows, operation.count};
      case CapturedKind::rows:
        need(operation.first >= 0 && operation.count > 0 && operation.first <= first.rows - operation.count);
        return {operation.count, first.columns};
      case CapturedKind::transpose:
        need(first.rows > 0);
        return {first.columns, first.rows};
      case CapturedKind::add_row:
        need(shape(operation, 1) == CapturedShape{1, first.columns});
        return first;
      case CapturedKind::layer_norm:
        need(shape(operation, 1) == CapturedShape{1, first.columns} && shape(operation, 2) == shape(operation, 1));
        return first;
    }
    return first;
  }

 private:
  static void need(bool fits) {
    if (!fits) throw Error("shapes do not fit");
  }
  CapturedShape shape(const CapturedOperation& operation, std::size_t i) const { return shapes_[operation.reads[i]]; }

  CapturedShape dense(const CapturedOperation& operation) const {
    const CapturedShape x = shape(operation, 0), w = shape(operation, 1);
    need(w.rows > 0 && x.columns == w.rows);
    need(operation.reads.size() == 2 || shape(operation, 2) == CapturedShape{1, w.columns});
    return {x.rows, w.columns};
  }

  CapturedShape attention(const CapturedOperation& operation) const {
    const CapturedShape q = shape(operation, 0), v = shape(operation, 2);
    need(q.rows == 0 && q == shape(operation, 1) && v.rows == 0);
    need(q.columns % operation.heads == 0 && v.columns % operation.heads == 0);
    need(operation.reads.size() == 3 || shape(operation, 3) == CapturedShape{1, q.columns});
    return v;
  }

  CapturedShape joined(const CapturedOperation& operation) const {
    const bool below = operation.kind == CapturedKind::stack;
    CapturedShape sum = shape(operation, 0);
    need(!below || sum.rows > 0);
    for (std::size_t i = 1; i < operation.reads.size(); ++i) {
      const CapturedShape part = shape(operation, i);
      need(below ? part.columns == sum.columns && part.rows > 0 : part.rows == sum.rows);
      (below ? sum.rows : sum.columns) += below ? part.rows : part.columns;
      need(sum.rows <= largest_size && sum.columns <= largest_size);
    }
    return sum;
  }

  const std::vector<CapturedShape>& shapes_;
};

}  // namespace

std::vector<std::size_t> CapturedGraph::states_of(bool of_weights) const {
  std::vector<std::size_t> found;
  for (std::size_t s = 0; s < states.size(); ++s) {
    if (states[s].of_weights() == of_weights) found.push_back(1 + s);
  }
  return found;
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

std::vector<CapturedShape> captured_shapes(const CapturedGraph& graph, std::int64_t features,
                                           const std::string& source) {
  std::vector<CapturedShape> shapes{{0, features}};
  const auto weight_shape = [&](const CapturedWeight& weight) {
    return CapturedShape{weight.rows == 0 ? features : weight.rows, weight.columns};
  };
  for (const CapturedState& state : graph.states) {
    shapes.push_back(state.of_weights() ? weight_shape(graph.weights[state.start - graph.first_weight()])
                                        : CapturedShape{0, state.width});
  }
  for (const CapturedWeight& weight : graph.weights) shapes.push_back(weight_shape(weight));
  const auto refuse = [&](const std::string& why) { throw InvalidInput(source, 0, 0, why); };
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    try {
      shapes.push_back(ShapeRules(shapes).result(graph.operations[i]));
    } catch (const Error&) {
      refuse("has operation " + std::to_string(i + 1) + ", whose shapes do not fit each other");
    }
  }
  if (shapes[graph.output].rows != 0) refuse("has an output that is no value of vertices");
  for (std::size_t s = 0; s < graph.next.size(); ++s) {
    if (shapes[graph.next[s]] != shapes[1 + s]) refuse("hands on a state of another width than it reads");
  }
  return shapes;
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
