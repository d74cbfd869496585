// Batch graphs against the whole graph: entry by entry, and by what every model makes of them. A target's embedding on
// the batch is its embedding on the whole graph cut to the batch's steps.
#include "harness/batches/batch_graph.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/inputs/cell_rows.hpp"
#include "harness/inputs/step_supports.hpp"
#include "models/snapshots/layer_protocol.hpp"
#include "tests/harness/batches/random_batches.hpp"
#include "tests/harness/fakes.hpp"
#include "tests/models/every_model.hpp"

namespace strobe {
namespace {

using ValuedRow = std::map<VertexId, double>;  // column and value

ValuedRow valued_row(const PreparedGraph& graph, std::int64_t v, std::int64_t t) {
  ValuedRow row;
  const auto first = static_cast<std::size_t>(t * graph.vertices + v);
  for (std::int64_t e = graph.row_offsets[first]; e < graph.row_offsets[first + 1]; ++e) {
    const auto i = static_cast<std::size_t>(e);
    row[graph.columns[i]] = graph.values64.empty() ? graph.values32[i] : graph.values64[i];
  }
  return row;
}

ValuedRow in_field(const ValuedRow& row, const std::vector<VertexId>& field) {
  ValuedRow whole;
  for (const auto& [column, value] : row) whole[field.at(static_cast<std::size_t>(column))] = value;
  return whole;
}

/// Matrix `m` of the batch, whose rows must be those of `whole` where a layer reads them, and empty elsewhere.
void expect_rows(const PreparedGraph& whole, const PreparedGraph& cut, const BatchGraph& batch, std::size_t m) {
  const std::vector<VertexId>& field = batch.frontier.field;
  ASSERT_EQ(cut.vertices, static_cast<std::int64_t>(field.size()));
  ASSERT_EQ(cut.steps, batch.steps.count);
  ASSERT_EQ(cut.row_offsets.size(), static_cast<std::size_t>(batch.rows()) + 1);
  for (std::int64_t t = 0; t < cut.steps; ++t) {
    const StepFrontier& step = batch.frontier.steps[static_cast<std::size_t>(t)];
    const std::set<std::int32_t> with_row(step.rows.begin(), step.rows.begin() + step.with_row[m]);
    for (std::int64_t i = 0; i < cut.vertices; ++i) {
      const ValuedRow row = valued_row(cut, i, t);
      const VertexId v = field[static_cast<std::size_t>(i)];
      const bool wanted = with_row.count(static_cast<std::int32_t>(i)) != 0;
      EXPECT_EQ(in_field(row, field), wanted ? valued_row(whole, v, batch.steps.first + t) : ValuedRow())
          << v << " at " << t;
      const auto columns = test::row_of(cut, i, t);
      EXPECT_TRUE(std::is_sorted(columns.begin(), columns.end()));
    }
  }
}

template <class Value>
void expect_cells(const std::vector<Value>& whole, const std::vector<Value>& cut, const PreparedGraph& graph,
                  const BatchGraph& batch) {
  const std::int64_t width = graph.feature_width;
  ASSERT_EQ(cut.size(), whole.empty() ? 0u : static_cast<std::size_t>(batch.rows() * width));
  std::size_t at = 0;
  for (std::int64_t t = 0; t < batch.steps.count && !whole.empty(); ++t) {
    for (const VertexId v : batch.frontier.field) {
      const std::int64_t cell = (batch.steps.first + t) * graph.vertices + v;
      for (std::int64_t f = 0; f < width; ++f) EXPECT_EQ(cut[at++], whole[static_cast<std::size_t>(cell * width + f)]);
    }
  }
}

void expect_presence(const PreparedGraph& whole, const BatchGraph& batch) {
  ASSERT_EQ(batch.inputs->presence != nullptr, whole.presence != nullptr);
  for (std::int64_t t = 0; t < batch.steps.count && whole.presence != nullptr; ++t) {
    for (std::size_t i = 0; i < batch.frontier.field.size(); ++i) {
      const auto begin = whole.presence->begin(batch.frontier.field[i], static_cast<Step>(batch.steps.first + t));
      const auto cut = batch.inputs->presence->begin(static_cast<VertexId>(i), static_cast<Step>(t));
      EXPECT_EQ(cut, begin < 0 ? -1 : std::max<std::int64_t>(0, begin - batch.steps.first));
    }
  }
}

TEST(BatchGraph, HasTheWholeGraphsRowsWhereTheyAreRead) {
  const LayerReads recurrent{true, {}, LayerReads::all_earlier, 0}, window{true, {}, 1, 0},
      by_step{false, {{0}, {1}}, LayerReads::all_earlier, 0};
  for (unsigned seed = 0; seed < 24; ++seed) {
    test::Draws draw(seed);
    const SnapshotGraph graph = test::random_snapshots(draw, 30, 5, 1);
    const auto presence = presence_of(graph, presence_kinds()[static_cast<std::size_t>(seed % 4)]);
    Preprocessing what;
    what.smooth = seed % 3 == 0 ? "m_product" : "none";
    what.window = 2;
    what.precompute_first_product = seed % 2 == 0;
    what.keep_features = seed % 4 == 0;
    const PreparedGraph inputs = prepare(graph, what, 5, seed % 5 != 0, presence);
    what = {.laplacian = false, .walk = "out", .precompute_first_product = false};
    const PreparedGraph out = prepare(graph, what, 5, seed % 5 != 0, presence);
    what.walk = "in";
    const PreparedGraph in = prepare(graph, what, 5, seed % 5 != 0, presence);
    const BatchSource source{&inputs, {&out, &in}, {by_step, recurrent, window}, FrontierKind::exact};
    BatchScratch scratch(30);
    for (int i = 0; i < 3; ++i) {
      const BatchGraph batch = build_batch_graph(source, test::random_cells(draw, inputs), scratch);
      expect_rows(inputs, *batch.inputs, batch, 0);
      expect_rows(out, *batch.supports.at(0), batch, 1);
      expect_rows(in, *batch.supports.at(1), batch, 2);
      expect_cells(inputs.features32, batch.inputs->features32, inputs, batch);
      expect_cells(inputs.features64, batch.inputs->features64, inputs, batch);
      expect_cells(inputs.products32, batch.inputs->products32, inputs, batch);
      expect_cells(inputs.products64, batch.inputs->products64, inputs, batch);
      EXPECT_EQ(batch.inputs->first_product_done, inputs.first_product_done);
      EXPECT_EQ(batch.inputs->cell_width(), inputs.cell_width());
      expect_presence(inputs, batch);
      EXPECT_EQ(batch.entries(),
                batch.inputs->nonzeros() + batch.supports[0]->nonzeros() + batch.supports[1]->nonzeros());
    }
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

/// One rank that has all cells: no exchange, one segment, no joint forms.
class WholeStages final : public LayerStages {
 public:
  WholeStages(Device& device, const ModelCall& call, const PreparedGraph& graph, const StepSupports& supports)
      : call_(call),
        communicator_(device),
        placement_(by_vertex(std::vector<Rank>(static_cast<std::size_t>(graph.vertices), 0), graph.steps, 1)),
        needs_(no_needs(1, graph.steps)),
        cells_(
            make_spatial_rows(device, placement_, {0, graph.steps, graph.steps, nullptr}, needs_, call.model.traits())),
        local_(build_local_graph(device, graph, 0, placement_, needs_, use())),
        matrices_(step_matrices(device, supports, use(), nullptr)),
        halos_(step_halos(device, supports)),
        whole_{{0, graph.steps}} {
    for (std::int64_t t = 0; t < graph.steps; ++t) one_by_one_.push_back({t, 1});
  }
  SpatialInput spatial_input(int, const Var& x) override {
    return {x, &local_.a, &cells_, &call_.pass, Tape::constant(local_.features)};
  }
  bool own_neighbours() const override { return false; }
  Timelines timelines() const override { return {&cells_, whole_}; }
  Timelines steps() const override { return {&cells_, one_by_one_}; }
  const Neighbours& neighbours(std::int64_t step) override {
    return neighbours_.emplace(matrices_, halos_, communicator_, static_cast<std::size_t>(step));
  }
  Var first_input() const { return Tape::constant(local_.first_input()); }

 private:
  static MatrixUse use() {
    MatrixUse use;
    use.products.push_back({4, true, {}});
    return use;
  }
  const ModelCall& call_;
  test::OnlyRank communicator_;
  Placement placement_;
  HaloNeeds needs_;
  CellRows cells_;
  LocalGraph local_;
  StepMatrices matrices_;
  StepHalos halos_;
  std::vector<TemporalSegment> whole_, one_by_one_;
  std::optional<StepNeighbours> neighbours_;
};

class OneRankSums final : public RankSums {
 public:
  int ranks() const override { return 1; }
  int rank() const override { return 0; }
  Var sum(Tape&, const Var& part) const override { return part; }
};

/// Embeddings [steps * vertices][width] of every cell of a graph.
std::vector<std::vector<double>> embeddings(const Model& model, const PreparedGraph& graph,
                                            const std::vector<std::shared_ptr<const PreparedGraph>>& supports,
                                            std::int64_t width) {
  DeviceRequest request;
  request.precision = ElementType::f64;
  const auto device = DeviceRegistry::instance().find("cpu").value(request);
  const Parameters parameters(*device, model.parameters(width), 7);
  const std::vector<LayerShape> layers = model.layers(width);
  const OneRankSums sums;
  Pass pass;
  pass.training = false;
  pass.ranks = &sums;
  Tape tape(*device);
  const ModelCall call{tape, model, layers, parameters, pass};
  StepSupports by_step;
  const Placement placement = by_vertex(std::vector<Rank>(static_cast<std::size_t>(graph.vertices), 0), graph.steps, 1);
  for (const auto& support : supports) by_step.push_back(split_into_steps(support, 0, placement, {}));
  WholeStages stages(*device, call, graph, by_step);
  const Var y = walk_layers(call, stages, stages.first_input());
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(y->value.rows()));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double* from = y->value.data<double>() + static_cast<std::int64_t>(r) * y->value.columns();
    rows[r].assign(from, from + y->value.columns());
  }
  return rows;
}

/// The whole graph's steps [first, first + count), as they are.
PreparedGraph cut_in_time(const PreparedGraph& graph, strobe::Run steps) {
  PreparedGraph cut = graph;
  const auto first_row = graph.row_offsets.begin() + steps.first * graph.vertices;
  cut.steps = steps.count;
  cut.row_offsets.assign(first_row, first_row + steps.count * graph.vertices + 1);
  const std::int64_t first = cut.row_offsets.front(), last = cut.row_offsets.back();
  for (std::int64_t& offset : cut.row_offsets) offset -= first;
  cut.columns.assign(graph.columns.begin() + first, graph.columns.begin() + last);
  cut.values64.assign(graph.values64.begin() + first, graph.values64.begin() + last);
  const std::int64_t cells = graph.vertices * graph.feature_width;
  for (auto* values : {&cut.features64, &cut.products64}) {
    if (values->empty()) continue;
    const std::vector<double> all = *values;
    values->assign(all.begin() + steps.first * cells, all.begin() + (steps.first + steps.count) * cells);
  }
  return cut;
}

/// What a model makes of a graph, and of batches of it.
class ModelOnBatches {
 public:
  ModelOnBatches(const Model& model, const SnapshotGraph& graph, FrontierKind kind = FrontierKind::exact)
      : model_(model), scratch_(graph.vertices) {
    const Preparation what = model.preparation();
    whole_ = prepare(graph, what.inputs, graph.steps(), true);
    for (const Preprocessing& support : what.supports)
      supports_.push_back(prepare(graph, support, graph.steps(), true));
    source_.inputs = &whole_;
    source_.frontier = kind;
    for (const PreparedGraph& support : supports_) source_.supports.push_back(&support);
    source_.layers = layer_reads(model.layers(graph.feature_width));
  }

  /// The largest difference of a wanted cell's embedding, and whether some vertex was left out of the batch.
  double difference(const BatchCells& cells, bool& smaller) {
    std::vector<std::shared_ptr<const PreparedGraph>> supports;
    for (const PreparedGraph& support : supports_)
      supports.push_back(std::make_shared<const PreparedGraph>(cut_in_time(support, cells.steps)));
    const auto judge = embeddings(model_, cut_in_time(whole_, cells.steps), supports, 2);
    const BatchGraph batch = build_batch_graph(source_, cells, scratch_);
    const auto made = embeddings(model_, *batch.inputs, batch.supports, 2);
    smaller = smaller || static_cast<std::int64_t>(batch.frontier.field.size()) < whole_.vertices / 2;
    double most = 0;
    for (std::int64_t t = 0; t < cells.steps.count; ++t) {
      std::vector<VertexId> wanted = cells.targets;
      if (!cells.others.empty()) wanted.insert(wanted.end(), cells.others[t].begin(), cells.others[t].end());
      for (const VertexId v : wanted) {
        const auto width = static_cast<std::int64_t>(batch.frontier.field.size());
        const auto& of_batch = made.at(static_cast<std::size_t>(t * width + scratch_.place(v)));
        const auto& of_whole = judge.at(static_cast<std::size_t>(t * whole_.vertices + v));
        for (std::size_t f = 0; f < of_whole.size(); ++f) most = std::max(most, std::abs(of_batch.at(f) - of_whole[f]));
      }
    }
    return most;
  }

 private:
  const Model& model_;
  PreparedGraph whole_;
  std::vector<PreparedGraph> supports_;
  BatchSource source_;
  BatchScratch scratch_;
};

/// Models that take something from all rows at once, which are the batch's.
bool reads_all_rows(const std::string& name) {
  return name.find("evolve-gcn-h") == 0 ||
         (name.find("mpnn-lstm") == 0 && name.find("batch_norm") == std::string::npos);
}

TEST(BatchGraph, GivesTargetsWhatTheGraphCutToItsStepsGives) {
  int judged = 0;
  for (const NamedModel& named : every_model()) {
    if (reads_all_rows(named.name)) continue;
    bool smaller = false;
    for (unsigned seed = 0; seed < 3; ++seed) {
      test::Draws draw(seed);
      const SnapshotGraph graph = test::random_snapshots(draw, 120, 5, 2, 12);
      ModelOnBatches batches(*named.model, graph);
      for (int i = 0; i < 2; ++i) {
        const BatchCells cells = test::random_cells(draw, prepare(graph, {}, 5, true));
        EXPECT_LT(batches.difference(cells, smaller), 1e-12) << named.name << " seed " << seed;
      }
    }
    EXPECT_TRUE(smaller) << named.name << ": every batch held half of the vertices";
    ++judged;
  }
  EXPECT_GT(judged, 20);
}

TEST(BatchGraph, OfTheLayersAloneIsExactWhereNothingStandsBetweenProducts) {
  const auto worst = [](const std::string& name, const Json& options) {
    const auto model = ModelRegistry::instance().find(name).value(options);
    double most = 0;
    bool smaller = false;
    for (unsigned seed = 0; seed < 4; ++seed) {
      test::Draws draw(seed);
      const SnapshotGraph graph = test::random_snapshots(draw, 60, 5, 1);
      ModelOnBatches batches(*model, graph, FrontierKind::layers);
      const BatchCells cells{test::random_vertices(draw, 3, 60), {1, 4}, {}};
      most = std::max(most, batches.difference(cells, smaller));
    }
    return most;
  };
  EXPECT_LT(worst("evolve-gcn-o", {{"precompute", false}}), 1e-12);  // weights evolve, vertices do not
  EXPECT_LT(worst("t-gcn", {{"precompute", false}}), 1e-12);         // the recurrence reads targets alone
  EXPECT_GT(worst("cd-gcn", {{"precompute", false}}), 1e-6);         // one stands between two products
  EXPECT_GT(worst("dcrnn", Json::object()), 1e-6);                   // products read the state
}

/// D^-1/2 (A + I) D^-1/2 of the rows that a batch has, by degrees of these rows.
void expect_normalised(const BatchGraph& raw, const BatchGraph& made) {
  for (std::int64_t t = 0; t < raw.steps.count; ++t) {
    const auto degree = [&](std::int64_t v) {
      double sum = 1;
      for (const auto& [column, value] : valued_row(*raw.inputs, v, t)) sum += value;
      return sum;
    };
    for (std::int64_t v = 0; v < raw.inputs->vertices; ++v) {
      ValuedRow judge = valued_row(*raw.inputs, v, t);
      judge[static_cast<VertexId>(v)] += 1;
      const ValuedRow row = valued_row(*made.inputs, v, t);
      ASSERT_EQ(row.size(), judge.size());
      for (const auto& [u, value] : judge) EXPECT_NEAR(row.at(u), value / std::sqrt(degree(v) * degree(u)), 1e-12);
    }
  }
}

TEST(BatchGraph, HasDegreesOfItsOwnWhereAsked) {
  const Preparation what{{.smooth = "m_product", .window = 2}, {{.laplacian = false, .walk = "out"}}};
  for (unsigned seed = 0; seed < 6; ++seed) {
    test::Draws draw(seed);
    const SnapshotGraph graph = test::random_snapshots(draw, 40, 4, 1);
    const PreparedGraph plain = prepare(graph, before_cutting(what.inputs), 4, true);
    const BatchSource source{&plain, {}, {LayerReads{true, {}, 0, 0}, LayerReads{true, {}, 0, 0}}, FrontierKind::exact};
    BatchScratch scratch(40);
    const BatchGraph raw = build_batch_graph(source, test::random_cells(draw, plain), scratch);
    const BatchGraph made = normalised_in_batch(raw, what, true);
    expect_normalised(raw, made);
    EXPECT_TRUE(made.inputs->first_product_done);
    ASSERT_EQ(made.supports.size(), 1u);
    EXPECT_EQ(made.frontier.field, raw.frontier.field);
  }
}

TEST(BatchGraph, OfAllVerticesIsNormalisedAsTheGraphIs) {
  for (const NamedModel& named : every_model()) {
    test::Draws draw(3);
    const SnapshotGraph graph = test::random_snapshots(draw, 20, 4, 2);
    const Preparation what = named.model->preparation();
    const PreparedGraph plain = prepare(graph, before_cutting(what.inputs), 4, true);
    const BatchSource source{&plain, {}, {LayerReads{true, {}, 0, 0}}, FrontierKind::exact};
    BatchScratch scratch(20);
    BatchCells cells{{}, {1, 3}, {}};
    for (VertexId v = 0; v < 20; ++v) cells.targets.push_back(v);
    const BatchGraph made = normalised_in_batch(build_batch_graph(source, cells, scratch), what, true);
    const auto expect_near = [&](const std::vector<double>& left, const std::vector<double>& right) {
      ASSERT_EQ(left.size(), right.size()) << named.name;
      for (std::size_t i = 0; i < left.size(); ++i) EXPECT_NEAR(left[i], right[i], 1e-12) << named.name;
    };
    const PreparedGraph whole = cut_in_time(prepare(graph, what.inputs, 4, true), cells.steps);
    EXPECT_EQ(made.inputs->columns, whole.columns) << named.name;
    expect_near(made.inputs->values64, whole.values64);
    expect_near(made.inputs->features64, whole.features64);
    expect_near(made.inputs->products64, whole.products64);
    EXPECT_EQ(made.supports.size(), what.supports.size());
  }
}

}  // namespace
}  // namespace strobe
