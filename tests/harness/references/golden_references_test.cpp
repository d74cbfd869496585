// The serial references, compared with the independent PyTorch forms of tests/golden: embeddings of the same weights on
// a graph whose vertices appear and disappear.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/files/model_files.hpp"
#include "harness/request/json_text.hpp"
#include "tests/harness/references/references.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using reference::Matrix;
using reference::Weights;

const std::string golden = std::string(STROBE_TEST_DIR) + "/golden/";

/// Whether the case has the model's default options. The references support only these, with any number of positions.
bool is_default(const Json& one) {
  Json model = one.at("model");
  model.erase("name");
  model.erase("positions");
  return one.contains("presence") && model.empty();
}

TEST(References, AgreeWithPyTorchOnCellsThatExist) {
  const SnapshotGraph graph = load_workload(golden + "sparse.csv", {{"feature_scale", "none"}}, 1);
  std::map<std::string, int> compared;
  const Json all = read_json_file(golden + "cases.json");
  for (const Json& one : all.at("cases")) {
    if (!is_default(one)) continue;
    const std::string name = one.at("name"), model = one.at("model").at("name");
    std::map<std::string, SavedMatrix> fixture;
    Weights weights;
    for (SavedMatrix& matrix : read_safetensors(golden + name + ".safetensors")) {
      for (std::int64_t i = 0; matrix.name.rfind("weight.", 0) == 0 && i < matrix.rows; ++i) {
        const auto row = matrix.values.begin() + i * matrix.columns;
        weights[matrix.name.substr(7)].emplace_back(row, row + matrix.columns);
      }
      fixture[matrix.name] = std::move(matrix);
    }
    const reference::Cells cells(graph, one.at("presence"));
    const SavedMatrix& expected = fixture.at("embeddings");
    const std::int64_t steps = expected.rows / graph.vertices;
    const std::vector<Matrix> found = reference::models().at(model)(graph, steps, weights, cells);
    for (std::size_t i = 0; i < static_cast<std::size_t>(expected.rows); ++i) {
      const std::size_t n = static_cast<std::size_t>(graph.vertices), t = i / n, v = i % n;
      ASSERT_EQ(cells.exists(v, t), fixture.at("exists").values[i] == 1) << name << " vertex " << v << " step " << t;
      for (std::size_t f = 0; cells.exists(v, t) && f < found[t][v].size(); ++f)
        EXPECT_NEAR(found[t][v][f], expected.values[i * found[t][v].size() + f], 1e-11) << name;
    }
    ++compared[model];
  }
  for (const auto& [model, embed] : reference::models())
    EXPECT_GE(compared[model], model == "captured" ? 1 : 3) << model;  // PyTorch judges each captured model by itself
}

}  // namespace
}  // namespace strobe
