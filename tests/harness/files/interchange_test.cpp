// Other programs read the files of weights and embeddings by their formats alone, and find the run's values.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/errors.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "results/run/files.hpp"
#include "tests/results/python.hpp"

namespace strobe {
namespace {

/// PyTorch reads both files with the package `safetensors`.
constexpr const char* with_torch = R"(import numpy, torch, safetensors.torch
weights = safetensors.torch.load_file("model.safetensors")
embeddings = torch.from_numpy(numpy.load("embeddings.npy"))
)";

/// The files as their formats say, with NumPy alone.
constexpr const char* with_numpy = R"(import json, numpy
content = open("model.safetensors", "rb").read()
begin = 8 + int.from_bytes(content[:8], "little")
header = json.loads(content[8:begin])
about = header.pop("__metadata__")
weights = {}
for name, entry in header.items():
    first, last = (begin + offset for offset in entry["data_offsets"])
    kind = {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]
    weights[name] = numpy.frombuffer(content[first:last], kind).reshape(entry["shape"])
embeddings = numpy.load("embeddings.npy")
)";

class Interchange : public testing::Test {
 protected:
  Interchange() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-interchange-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw SystemError("no temporary folder");
    folder_ = pattern;
    ModelOutputs outputs;
    outputs.weights = folder_ + "/model.safetensors";
    outputs.files["embeddings"] = folder_ + "/embeddings.npy";
    const Json request = {{"workload", {{"name", "uniform"}, {"vertices", 30}, {"steps", 7}, {"density", 3}}},
                          {"epochs", 2}};
    const CaseResult result = run_case(case_from_json(request, ""), nullptr, outputs);
    EXPECT_EQ(result.status, "ok") << result.reason;
    for (const SavedMatrix& matrix : read_safetensors(outputs.weights)) {
      if (matrix.name == "layer1.weight") first_ = matrix.values.front();
    }
  }
  ~Interchange() override { std::filesystem::remove_all(folder_); }

  /// Runs the block, then `check`, in the folder of the files.
  void expect_works(const std::string& python, const std::string& block, const std::string& check) const {
    std::ofstream(folder_ + "/block.py") << "import os; os.chdir('" << folder_ << "')\n" << block << check;
    const int status = testing_results::run_program({python, folder_ + "/block.py"}, folder_ + "/log");
    EXPECT_EQ(status, 0) << read_text_file(folder_ + "/log");
  }

  std::string shapes_and_values() const {
    std::ostringstream check;
    check.precision(17);
    check << "assert tuple(weights['layer1.weight'].shape) == (2, 6), weights\n"
          << "assert tuple(weights['head.bias'].shape) == (1, 2)\n"
          << "assert float(weights['layer1.weight'][0][0]) == " << first_ << "\n"
          << "assert tuple(embeddings.shape) == (6, 30, 6), embeddings.shape\n"
          << "assert float(abs(embeddings).max()) > 0\n";
    return check.str();
  }

  std::string folder_;
  double first_ = 0;
};

TEST_F(Interchange, TwoLinesReadBothFilesInPyTorch) {
  const std::string python = testing_results::find_python("safetensors");
  if (python.empty()) GTEST_SKIP() << "no Python here has safetensors";
  if (testing_results::run_program({python, "-c", "import torch, safetensors.torch"}, folder_ + "/log") != 0) {
    GTEST_SKIP() << "the Python with safetensors has no torch";
  }
  expect_works(python, with_torch, shapes_and_values() + "assert torch.is_tensor(embeddings)\n");
}

TEST_F(Interchange, NumpyAloneReadsBothFiles) {
  const std::string python = testing_results::find_python("numpy");
  if (python.empty()) GTEST_SKIP() << "no Python here has numpy";
  expect_works(python, with_numpy,
               shapes_and_values() + "assert about['model'] == 'tm-gcn' and about['epoch'] == '3', about\n");
}

}  // namespace
}  // namespace strobe
