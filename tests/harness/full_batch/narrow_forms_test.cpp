// A run makes the forms of a matrix that the cpu's kernels read. For every register width, a product with narrow rows
// never uses the compressed rows, and its transpose never scatters.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/cpu/register_bytes.hpp"
#include "backends/operations/operations_fused.hpp"
#include "harness/full_batch/block_inputs.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

/// The inputs of a run of a model with layers of `width` columns. Smoothed steps overlap.
struct Inputs {
  std::shared_ptr<const FullBatchPlan> plan;
  std::unique_ptr<Device> device;
  SparseMatrix a;

  /// An edge lasts `life` steps in models that smooth.
  Inputs(const std::string& model, std::int64_t width, const std::string& precision, int life) {
    Json request = {{"workload", {{"name", "uniform"}, {"vertices", 300}, {"steps", 9}, {"density", 3}}},
                    {"model", {{"name", model}, {"hidden", width}}},
                    {"precision", precision},
                    {"strategy", "sequential"}};
    if (model != "t-gcn") request["model"]["output"] = width;
    if (model == "tm-gcn") request["model"]["window"] = life;
    if (model == "evolve-gcn-o") request["model"]["edge_life"] = life;
    plan = test::full_batch_plan(case_from_json(request, ""));
    DeviceRequest of;
    of.precision = precision == "fp32" ? ElementType::f32 : ElementType::f64;
    device = DeviceRegistry::instance().find("cpu").value(of);
    a = bring_inputs(*device, *plan, plan->blocks[0], Visit::lasting).graph.a;
  }

  Tensor dense(std::int64_t rows, std::int64_t columns) const {
    return device->allocate(rows, columns, device->precision());
  }
  template <class Op>
  std::string kernel(const Op& op) const {
    return Kernels<Op>::choose("cpu", op, "").variant;
  }
};

bool made_for_it(const std::string& variant) { return variant == "paired" || variant == "length_sorted"; }

/// Calls body(run, width, whether rows of this width are narrow, description of the case) for every case.
template <class Body>
void for_widths(const std::string& model, const Body& body) {
  for (const std::string precision : {"fp32", "fp64"}) {
    for (const std::int64_t width : {1, 2, 4, 6, 8, 12, 16, 24}) {
      for (const int life : {1, 5}) {
        const std::int64_t bytes = width * (precision == "fp32" ? 4 : 8);
        const Inputs run(model, width, precision, life);
        body(run, width, bytes <= 2 * cpu_register_bytes(),
             model + " of " + std::to_string(width) + " columns, " + precision + ", an edge lives " +
                 std::to_string(life));
      }
    }
  }
}

TEST(NarrowForms, ProductsAndTheirTransposesReadThem) {
  for_widths("tm-gcn", [](const Inputs& run, std::int64_t width, bool narrow, const std::string& where) {
    if (!narrow) return;
    const Tensor x = run.dense(run.a.columns, width), y = run.dense(run.a.rows, width), w = run.dense(width, width);
    EXPECT_TRUE(made_for_it(run.kernel(Spmm{run.a, x, y}))) << where;
    EXPECT_TRUE(made_for_it(run.kernel(GraphConvolution{run.a, x, w, {}, y, Activation::relu}))) << where;
    EXPECT_TRUE(made_for_it(run.kernel(SpmmTransposed{run.a, y, x}))) << where;
  });
}

TEST(NarrowForms, LayersThatAreComputedForEveryEntryReadThem) {
  for_widths("evolve-gcn-o", [](const Inputs& run, std::int64_t width, bool narrow, const std::string& where) {
    if (!narrow) return;
    const std::int64_t features = run.plan->data.graph->feature_width, steps = run.a.steps;
    const Tensor x = run.dense(run.a.columns, features), first = run.dense(steps * features, width);
    const Tensor w = run.dense(steps * width, width), y = run.dense(run.a.rows, width);
    const StepConvolutionOfDense op{run.a, x, first, w, run.a.step_rows, y, y, Activation::relu, Activation::relu};
    EXPECT_TRUE(made_for_it(run.kernel(op))) << where;
  });
  for_widths("t-gcn", [](const Inputs& run, std::int64_t, bool, const std::string& where) {
    const std::int64_t features = run.plan->data.graph->feature_width, width = run.plan->model.layers[1].input_width;
    const Tensor x = run.dense(run.a.columns, features), w = run.dense(features, width);
    const Tensor y = run.dense(run.a.rows, width);
    const bool narrow = width * (run.plan->model.fp64 ? 8 : 4) <= 2 * cpu_register_bytes();
    EXPECT_TRUE(!narrow || made_for_it(run.kernel(SpmmOfDense{run.a, x, w, {}, {}, y, Activation::relu}))) << where;
  });
}

}  // namespace
}  // namespace strobe
