#include "harness/event_batches/batches/static_training.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/random.hpp"
#include "harness/schedule/host_values.hpp"
#include "models/events/static_attention.hpp"
#include "models/ops/ops.hpp"

namespace strobe {
namespace {

constexpr std::int64_t batch_events = 600;                 // per update; the paper's local batch
constexpr std::uint32_t order_of_batches = 44;             // purpose of a random stream
constexpr std::int64_t numbers_of_static_event = 1 << 16;  // stride, so that roots of all events have different numbers

/// The parameters of a node, with its part of the table.
std::vector<ParameterShape> shapes_of(const StaticTrainingSource& c, const StaticMemoryRequest& request,
                                      const VertexShare& share) {
  std::vector<ParameterShape> shapes = static_attention_parameters(request, c.events.graph->vertices);
  if (ParameterShape& table = shapes.front(); share.nodes > 1) {
    table.start = drawn_rows(table, c.seed, share.node, share.nodes);
    table.rows = share.count(table.rows);
  }
  for (ParameterShape& shape : c.task->parameters(*c.events.graph, request.width)) shapes.push_back(std::move(shape));
  return shapes;
}

/// The batches of an epoch in random order.
std::vector<std::int64_t> shuffled(std::int64_t batches, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> order(batches);
  std::iota(order.begin(), order.end(), 0);
  const RandomStream random(seed, order_of_batches, static_cast<std::uint32_t>(epoch));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  return order;
}

Tensor list_on(Device& device, const std::vector<std::int64_t>& list) {
  return device.move_in(list.data(), static_cast<std::int64_t>(list.size()), 1, ElementType::i64);
}

/// Where each node's rows lie when `vertices` are ordered by node.
std::vector<PeerRows> rows_by_node(const std::vector<VertexId>& vertices, std::int64_t nodes) {
  std::vector<PeerRows> rows(static_cast<std::size_t>(nodes));
  for (const VertexId v : vertices) ++rows[static_cast<std::size_t>(v % nodes)].count;
  for (std::size_t node = 1; node < rows.size(); ++node) rows[node].first = rows[node - 1].first + rows[node - 1].count;
  return rows;
}

}  // namespace

StaticTraining::StaticTraining(const StaticTrainingSource& source, Device& device, std::int64_t host_threads,
                               Communicator* column)
    : source_(source),
      device_(device),
      column_(column),
      share_(column == nullptr ? VertexShare() : VertexShare{column->rank(), column->size()}),
      request_(source.model->traits().static_memory),
      workers_(host_threads),
      parameters_(device, shapes_of(source, request_, share_), source.seed),
      optimizer_(OptimizerRegistry::instance().find("adam", "").value({{"name", "adam"}, {"rate", request_.rate}})),
      batch_loss_(device.allocate(1, 1, ElementType::f64)),
      epoch_loss_(device.allocate(1, 1, ElementType::f64)) {}

double StaticTraining::epoch(std::int64_t number) {
  device_.run(Fill{epoch_loss_, 0.0});
  const std::int64_t batches = (source_.training_events() + batch_events - 1) / batch_events;
  for (const std::int64_t batch : shuffled(batches, source_.seed, number)) {
    train(draw(number, batch));
    forget_spans();
  }
  double loss = 0;
  device_.move_out(epoch_loss_, &loss);
  return loss;
}

void StaticTraining::forget_spans() {
  device_.synchronize();
  device_.spans().clear();
  if (column_ == nullptr) return;
  column_->device().synchronize();
  column_->device().spans().clear();
}

void StaticTraining::ask(std::int64_t epoch, Draw& drawn, std::vector<EdgeId>& asked_of) const {
  const EventGraph& graph = *source_.events.graph;
  const EventTaskData& task = *source_.events.task;
  for (std::int64_t i = 0; i < drawn.count; ++i) drawn.roots.push_back(graph.source[drawn.first + i]);
  drawn.candidates = 1 + (task.candidates == nullptr ? 0 : task.training_negatives);
  for (std::int64_t i = 0; i < drawn.count; ++i) {
    const EdgeId e = drawn.first + i;
    drawn.roots.push_back(graph.target[e]);
    for (std::int64_t n = 0; n + 1 < drawn.candidates; ++n)
      drawn.roots.push_back(task.candidates->negative(e, n, epoch % task.negative_groups));
  }
  for (std::int64_t i = 0; i < drawn.count; ++i) asked_of.push_back(drawn.first + i);
  for (std::int64_t i = 0; i < drawn.count * drawn.candidates; ++i)
    asked_of.push_back(drawn.first + i / drawn.candidates);
}

StaticTraining::Draw StaticTraining::draw(std::int64_t epoch, std::int64_t batch) {
  Draw drawn;
  drawn.first = batch * batch_events;
  drawn.count = std::min(batch_events, source_.training_events() - drawn.first);
  std::vector<EdgeId> asked_of;
  ask(epoch, drawn, asked_of);
  const std::size_t roots = drawn.roots.size();
  const std::vector<EdgeId> before(roots, source_.training_events());
  std::vector<std::int64_t> numbers(roots);
  for (std::size_t r = 0; r < roots; ++r)
    numbers[r] = drawn.first * numbers_of_static_event + static_cast<std::int64_t>(r);
  const std::vector<double> moments(roots, 0.0);  // uniform draws ignore times
  NeighbourSample sample;
  // The seed makes the draws of each epoch differ.
  const std::uint64_t seed = source_.seed + (static_cast<std::uint64_t>(epoch + 1) << 32);
  sample_neighbours(*source_.events.graph, *source_.events.neighbours, {drawn.roots, before, numbers, moments},
                    request_.neighbours, Sampling::uniform, seed, workers_, sample);
  // The event to predict is no neighbour: it would reveal its own destination.
  drawn.offsets.push_back(0);
  for (std::size_t r = 0; r < roots; ++r) {
    for (std::size_t s = sample.offsets[r]; s < static_cast<std::size_t>(sample.offsets[r + 1]); ++s)
      if (static_cast<EdgeId>(sample.event[s]) != asked_of[r]) drawn.slots.push_back(sample.vertex[s]);
    drawn.offsets.push_back(static_cast<std::int64_t>(drawn.slots.size()));
  }
  number_vertices(drawn);
  return drawn;
}

void StaticTraining::number_vertices(Draw& drawn) {
  numbers_.clear();
  for (const VertexId v : drawn.roots) drawn.root_rows.push_back(numbers_.of(v));
  for (const VertexId v : drawn.slots) drawn.slot_rows.push_back(numbers_.of(v));
  drawn.vertices = numbers_.vertices();
}

Var StaticTraining::vectors_of(Tape& tape, const std::vector<VertexId>& vertices) {
  const Var& table = parameters_.at("static.table");
  std::vector<std::int64_t> places, rows;  // of this node's vertices, in the batch and in the table
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    if (vertices[i] % share_.nodes != share_.node) continue;
    places.push_back(static_cast<std::int64_t>(i)), rows.push_back(share_.row(vertices[i]));
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  const Tensor listed = list_on(device_, rows);
  if (column_ == nullptr) return gather_rows(tape, table, {listed}, count);
  const Tensor own = device_.allocate(count, request_.width);
  device_.run(CopyRows{table->value, own, listed, {}, count, 0, 0, request_.width, false});
  return tape.record(
      from_nodes(vertices, own), {table},
      [&tape, table, listed, places = list_on(device_, places), count](const Variable& result) {
        const Tensor gradient = tape.added_gradient(table);
        tape.device().run(CopyRows{result.gradient, gradient, places, listed, count, 0, 0, gradient.columns(), true});
      });
}

Tensor StaticTraining::from_nodes(const std::vector<VertexId>& vertices, const Tensor& own) {
  std::vector<std::byte> rows(vertices.size() * own.row_bytes());
  device_.move_out(own, rows.data());
  Device& carrier = column_->device();
  const PartScope part(carrier, MemoryPart::buffers);
  std::vector<PeerRows> by_node = rows_by_node(vertices, share_.nodes);
  const auto count = static_cast<std::int64_t>(vertices.size());
  const Tensor all = carrier.allocate(count, own.columns(), own.type());
  column_->all_gather_v(carrier.move_in(rows.data(), own.rows(), own.columns(), own.type()), all, by_node,
                        Traffic::sampling);
  std::vector<std::byte> came(rows.size());
  carrier.move_out(all, came.data());
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const std::int64_t at = by_node[static_cast<std::size_t>(vertices[i] % share_.nodes)].first++;
    std::copy_n(came.begin() + at * own.row_bytes(), own.row_bytes(), rows.begin() + i * own.row_bytes());
  }
  return device_.move_in(rows.data(), count, own.columns(), own.type());
}

void StaticTraining::train(const Draw& drawn) {
  device_.run(Fill{parameters_.gradients(), 0.0});
  device_.run(Fill{batch_loss_, 0.0});
  Tape tape(device_);
  NeighbourLevel level;
  level.roots = static_cast<std::int64_t>(drawn.roots.size());
  level.root_rows = list_on(device_, drawn.root_rows);
  level.slots = {list_on(device_, drawn.slot_rows), list_on(device_, drawn.offsets)};
  const Var embeddings = static_attention(tape, parameters_, request_, vectors_of(tape, drawn.vertices), level);
  const Var outputs = source_.task->head(tape, parameters_, slice_rows(tape, embeddings, 0, drawn.count),
                                         slice_rows(tape, embeddings, drawn.count, drawn.count * drawn.candidates), {});
  const Tensor labels = source_.task->labels(device_, *source_.events.graph, drawn.first, drawn.count);
  const LinkLoss loss = source_.model->traits().binary_loss ? LinkLoss::binary_cross_entropy : LinkLoss::cross_entropy;
  source_.task->add_loss(tape, outputs, loss, labels, 1.0 / static_cast<double>(drawn.count), batch_loss_);
  tape.backward();
  device_.run(AddScaled{batch_loss_, epoch_loss_,
                        static_cast<double>(drawn.count) / static_cast<double>(source_.training_events())});
  optimizer_->step(device_, parameters_);
}

std::vector<float> StaticTraining::rows() {
  constexpr std::int64_t rows_at_once = 4096;
  const Tensor& table = parameters_.at("static.table")->value;
  const TimeCsr& neighbours = *source_.events.neighbours;
  const auto trained = [&](std::int64_t row) {
    const std::int64_t v = share_.node + row * share_.nodes, first = neighbours.offsets[v];
    return first < neighbours.offsets[v + 1] && neighbours.entries[first].event < source_.training_events();
  };
  std::vector<float> rows(static_cast<std::size_t>(table.elements()), 0.0F);
  for (std::int64_t first = 0; first < table.rows(); first += rows_at_once) {
    const std::int64_t count = std::min(rows_at_once, table.rows() - first);
    const std::vector<double> values = host_values(device_, table.slice_rows(first, count));
    for (std::int64_t i = 0; i < count * request_.width; ++i) {
      if (trained(first + i / request_.width)) rows[first * request_.width + i] = static_cast<float>(values[i]);
    }
  }
  return rows;
}

}  // namespace strobe
