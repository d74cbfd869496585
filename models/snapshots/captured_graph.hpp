// A captured model: the operations of one time step as plain data, read from a file. docs/howto/own_pytorch_model.md
// describes the file. Values are numbered: the features x, then recurrent states, then weights, then the results of
// operations in order. A value of cells has a row for each vertex; a value of weights has rows of its own.
//
// The operations fall into stages, which become layers (models/snapshots/captured.cpp). Operations that read no state
// are spatial: they run for all steps at once. A spatial stage begins with sparse products and attention, so a stage is
// as deep as the longest chain of these before it. Spatial stages read one matrix only. Operations that read a state,
// or another matrix, run step by step in the last stage. Attention cannot run there.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/safetensors.hpp"
#include "models/ops/ops_pointwise.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

enum class CapturedKind {
  product,          // matrix `matrix` times a value of cells
  attention,        // for each row of `matrix`, values v of its entries, weighted by softmax(p q k) per head
  added_attention,  // the same with the scores w LeakyReLU(q + k), w optional
  dense,            // activation(a b + c), c optional
  combine,          // p a + q b
  multiply,         // a b, value by value
  pointwise,        // a curve of each value
  tanh,
  concat,      // side by side
  columns,     // columns [first, first + count)
  rows,        // rows [first, first + count) of weights
  stack,       // weights one below the other
  transpose,   // of weights
  add_row,     // a + the row b
  layer_norm,  // of a, with gain b and shift c
  // Only models of events have these. Their values have a row for each root or for each slot of a root (RootSlots):
  spread,     // of roots, to their slots
  head_sums,  // sums of `count` equal blocks of columns
  attend,     // sums of b over a root's slots, weighted by a softmax of a; a column of a for each head of b
  found,      // of roots, 0 where a root has no slots
};

/// Whether only models of events can run the operation.
inline bool is_of_events(CapturedKind kind) { return kind >= CapturedKind::spread; }

struct CapturedOperation {
  CapturedKind kind = CapturedKind::product;
  std::vector<std::size_t> reads;  // values
  int matrix = 0;
  Activation activation = Activation::none;
  Curve curve = Curve::affine;
  double p = 1, q = 0;
  std::int64_t first = 0, count = 0;
  std::int64_t heads = 1;

  bool attends() const { return kind == CapturedKind::attention || kind == CapturedKind::added_attention; }
  bool reads_neighbours() const { return kind == CapturedKind::product || attends(); }
};

inline constexpr std::int64_t largest_captured_size = 1'000'000;  // rows or columns of a value

/// Rows and columns of a value. rows = 0 for a value of cells or roots, slot_rows for one of slots.
struct CapturedShape {
  static constexpr std::int64_t slot_rows = -1;
  std::int64_t rows = 0, columns = 0;
  bool operator==(const CapturedShape&) const = default;
};

/// A weight; `rows` is 0 where the file says "features": as many as a vertex has.
struct CapturedWeight {
  std::string name;
  std::int64_t rows = 0, columns = 0;
  double bound = -1;          // random values lie within +- bound; -1: Glorot and Bengio's
  std::vector<double> start;  // empty: drawn from the seed
};

/// A state: of cells, zero at first, or of weights, which begins as the weight `start`.
struct CapturedState {
  std::int64_t width = 0;  // of cells
  std::size_t start = 0;   // a value; 0: a state of cells
  bool of_weights() const { return start != 0; }
};

struct CapturedGraph {
  std::int64_t features = 0;          // 0: any number
  std::vector<std::string> matrices;  // kinds, see captured_preprocessing
  std::vector<CapturedState> states;
  std::vector<CapturedWeight> weights;
  std::vector<CapturedOperation> operations;
  std::size_t output = 0;
  std::vector<std::size_t> next;  // the states after the step
  std::vector<bool> of_slots;     // of a part of a model of events: its inputs that have a row for each slot

  std::size_t first_weight() const { return 1 + states.size(); }
  std::size_t first_result() const { return first_weight() + weights.size(); }
  std::size_t values() const { return first_result() + operations.size(); }
  bool is_state(std::size_t value) const { return value > 0 && value < first_weight(); }
  /// The values that are states of cells, or of weights.
  std::vector<std::size_t> states_of(bool of_weights) const;
};

/// A part of a model of events, such as its message function (models/events/event_parts.hpp). In its graph, the first
/// input takes the place of the features and the others those of states.
struct CapturedPart {
  CapturedGraph graph;
  std::vector<std::string> inputs;
  std::vector<std::int64_t> widths;   // of inputs
  std::vector<CapturedShape> shapes;  // of all values
  std::int64_t output_width() const { return shapes[graph.output].columns; }
};

/// Throws InvalidInput unless `json`, of the file `source`, is a captured model of a version that can be read.
void check_captured_version(const Json& json, const std::string& source);

/// Reads a part from its JSON value in the file `source`. Throws InvalidInput.
CapturedPart read_captured_part(const Json& json, const std::string& source);

/// Reads a captured model from its JSON text. `source` names the text in messages. Throws InvalidInput for what is no
/// such model.
CapturedGraph read_captured_graph(const std::string& text, const std::string& source);

/// Puts the values of `matrices` into the weights. Throws InvalidInput(source, ...) when names or shapes differ.
void set_captured_weights(CapturedGraph& graph, const std::vector<SavedMatrix>& matrices, const std::string& source);

/// How a matrix is prepared: laplacian = D^-1/2 (A + I) D^-1/2; sum = A, each row lists the sources of a vertex's
/// edges; mean = A with rows of sum 1; out_mean = the same of A^T; mean_transposed and out_mean_transposed; symmetric
/// and out_symmetric = D^-1/2 A D^-1/2, D the sums of A's rows or columns. Throws InvalidRequest for another name.
Preprocessing captured_preprocessing(const std::string& matrix);

/// The model that is used without a file: a graph convolution, then a GRU along each vertex's timeline, width 6.
const std::string& captured_example();

}  // namespace strobe
