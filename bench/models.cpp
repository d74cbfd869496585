// One epoch of every registered model without task and optimiser: forward through all layers, backward from a given
// gradient of the embeddings, on ESDG's shape (N = 16384, T = 64, f = 3, w = 5, width 6) and a wide one (N = 4096,
// T = 32, f = 8, w = 5, width 64), with 2 input features. A model that precomputes A~ X is given it; one that goes step
// by step multiplies with each step's matrix, and for a second support with its transpose; terms of features over
// several hops are as precomputed as A~ X.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/graph.hpp"
#include "bench/measure.hpp"
#include "models/ops/ops.hpp"
#include "models/snapshots/layer_protocol.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t feature_width = 2;
constexpr int epochs_before = 4;  // the one whose operations are timed: by then all memory has been touched

class OneRank final : public RankSums {
 public:
  int ranks() const override { return 1; }
  int rank() const override { return 0; }
  Var sum(Tape&, const Var& part) const override { return part; }
};

/// The matrices of one step, [supports], for models that go step by step.
class OneStep final : public Neighbours {
 public:
  OneStep(Device& device, const HostMatrix& graph, std::int64_t step, std::size_t supports) {
    for (std::size_t s = 0; s < supports; ++s)
      matrices_.push_back(upload(device, one_step(graph, step, s == 1), true, device.narrow_bytes() > 0));
  }
  Var product(Tape& tape, int support, const Var& x) const override { return spmm(tape, matrices_[support], x); }
  std::vector<Var> products(Tape& tape, std::span<const SupportProduct> wanted) const override {
    if (wanted.size() != 2) return Neighbours::products(tape, wanted);
    const auto a = static_cast<std::size_t>(wanted[0].support), b = static_cast<std::size_t>(wanted[1].support);
    const auto both = spmm_pair(tape, matrices_[a], wanted[0].x, matrices_[b], wanted[1].x);
    return {both[0], both[1]};
  }

 private:
  std::vector<SparseMatrix> matrices_;
};

/// Everything that an epoch starts from, all of it on one rank.
struct Subject final : LayerStages {
  std::unique_ptr<Device> device;
  SparseMatrix a;
  CellRows cells;
  OneRank one;
  Pass pass;
  std::unique_ptr<Model> model;
  std::vector<LayerShape> layers;
  std::unique_ptr<Parameters> parameters;
  std::vector<OneStep> matrices;  // [steps]
  Tensor x, dy;
  Var features;
  TemporalSegment all_steps;

  Subject(const HostMatrix& graph, const std::string& name, const Json& options) : device(make_device("")) {
    Device& d = *device;
    cells.steps = cells.all_steps = cells.trained_steps = all_steps.steps = graph.steps;
    cells.vertices = graph.step_rows;
    std::vector<std::int64_t> step_rows;
    for (std::int64_t t = 0; t <= graph.steps; ++t) step_rows.push_back(t * graph.step_rows);
    cells.step_rows = step_rows;
    cells.step_rows_on_device = d.move_in(step_rows.data(), graph.steps + 1, 1, ElementType::i64);
    std::vector<std::int64_t> ids(graph.rows);
    std::iota(ids.begin(), ids.end(), 0);
    cells.ids = d.move_in(ids.data(), graph.rows, 1, ElementType::i64);
    pass.ranks = &one;
    model = ModelRegistry::instance().find(name).value(options);
    const std::size_t supports = model->preparation().supports.size();
    if (supports == 0) a = upload(d, graph, true, d.narrow_bytes() > 0);
    for (std::int64_t t = 0; supports > 0 && t < graph.steps; ++t) matrices.emplace_back(d, graph, t, supports);
    layers = model->layers(feature_width);
    parameters = std::make_unique<Parameters>(d, model->parameters(feature_width), 1);
    x = varied(d, graph.rows, layers[0].input_width, -0.3f);
    dy = varied(d, graph.rows, layers.back().temporal_width, -0.3f);
  }

  void epoch() {
    device->run(Fill{parameters->gradients(), 0.0});
    Tape tape(*device);
    features = Tape::constant(x);
    const Var h = walk_layers({tape, *model, layers, *parameters, pass}, *this, features);
    // Steps that go one by one add to its rows.
    const bool keeps = std::none_of(layers.begin(), layers.end(), [](const LayerShape& l) { return l.step_by_step; });
    h->gradient = keeps ? dy : copied(dy);
    tape.backward();
  }

  Tensor copied(const Tensor& from) const {
    const Tensor to = device->allocate(from.rows(), from.columns());
    device->run(CopyRows{from, to, {}, {}, from.rows(), 0, 0, from.columns(), false});
    return to;
  }

  SpatialInput spatial_input(int, const Var& h) override { return {h, &a, &cells, &pass, features}; }
  Timelines timelines() const override { return {&cells, {&all_steps, 1}}; }
  const Neighbours& neighbours(std::int64_t step) override { return matrices[step]; }
};

/// Every width of the model set to `width`.
Json options_of(const std::string& name, std::int64_t width) {
  Json options = Json::object();
  for (const Field& field : ModelRegistry::instance().find(name).parameters.fields()) {
    if (field.unit == "features") options[field.name] = width;
  }
  return options;
}

/// The work of one epoch; each operation's milliseconds become a counter of the benchmark.
Work account(benchmark::State& state, const SpanRecorder& spans) {
  Work work;
  for (const Span& span : spans.spans()) {
    work = {work.flops + span.work.flops, work.bytes_read + span.work.bytes_read,
            work.bytes_written + span.work.bytes_written};
    state.counters["ms_" + std::string(span.name)] += 1e3 * (span.end_seconds - span.begin_seconds);
  }
  return work;
}

void model_epoch(benchmark::State& state, const std::string& name, bool is_wide) {
  if (!ModelRegistry::instance().contains(name)) return state.SkipWithError("this model is not registered");
  Subject subject(is_wide ? wide_graph() : standard_graph(), name, options_of(name, is_wide ? 64 : 6));
  Device& device = *subject.device;
  for (int i = 0; i < epochs_before; ++i) {
    subject.epoch();
    device.synchronize();
    device.spans().clear();
  }
  subject.epoch();
  device.synchronize();  // a GPU knows its times then
  const Work work = account(state, device.spans());
  device.time_each_operation(false);
  report(state, work, repeat(state, device, [&] { subject.epoch(); }));
}

const Registration registered{[] {
  for (const std::string name :
       {"tm-gcn", "cd-gcn", "evolve-gcn-o", "evolve-gcn-h", "t-gcn", "dysat", "mpnn-lstm", "dcrnn"}) {
    for (const bool is_wide : {false, true}) {
      const auto run = [=](benchmark::State& state) { model_epoch(state, name, is_wide); };
      timed(register_guarded(("model/" + name + (is_wide ? "/wide" : "/narrow")).c_str(), run),
            benchmark::kMillisecond);
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
