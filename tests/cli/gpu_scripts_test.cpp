// The scripts for GPUs on a machine without a GPU: their messages, and the files that they do not touch.
#include <utility>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class GpuScripts : public Program {
 protected:
  /// Runs a script with `settings` (shell assignments) before it; the folder `bin` is first in PATH.
  Outcome script(const std::string& settings, const std::string& words) {
    return finish(start_shell("cd '" + folder_.string() +
                              "' && unset LOCAL_RANK OMPI_COMM_WORLD_LOCAL_RANK SLURM_LOCALID "
                              "CUDA_VISIBLE_DEVICES && export PATH='" +
                              path("bin") + "':$PATH " + settings + " && exec '" + STROBE_SOURCE_DIR + "/scripts/" +
                              words));
  }
  /// A program of this name that prints `text` and ends with `status`.
  void pretend(const std::string& name, const std::string& text, int status) {
    std::filesystem::create_directories((folder_ / "bin" / name).lexically_normal().parent_path());
    std::filesystem::create_directories(folder_ / "bin");
    write_text(folder_ / "bin" / name,
               "#!/bin/sh\nprintf '%b\\n' '" + text + "'\nexit " + std::to_string(status) + "\n");
    std::filesystem::permissions(folder_ / "bin" / name, std::filesystem::perms::owner_all);
  }
};

TEST_F(GpuScripts, ReportWithoutAGpuMeasuresNothing) {
  pretend("nvidia-smi", "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.", 9);
  const Outcome report = script("", "gpu_report' --out here");
  EXPECT_EQ(report.status, 5) << report.err;
  EXPECT_NE(report.err.find("no GPU: nothing measured (NVIDIA-SMI has failed"), std::string::npos) << report.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "here"));
}

TEST_F(GpuScripts, ReportSaysForEveryStepWhatCouldNotBeDone) {
  pretend("nvidia-smi", "NVIDIA Imaginary, 999.1, 81559 MiB", 0);
  const Outcome report = script("", "gpu_report' --no-build --build nothing --quick --out here");
  EXPECT_EQ(report.status, 1) << report.err;  // a missing build folder counts as failed tests
  std::string table;
  for (const auto& folder : std::filesystem::directory_iterator(folder_ / "here")) {
    EXPECT_EQ(folder.path().filename().string().rfind("nvidia-imaginary-", 0), 0u);
    table = read_text(folder.path() / "README.md");
  }
  for (const std::string step :
       {"tests labelled gpu", "compute-sanitizer racecheck | not done | --quick", "operations | not done",
        "epochs | not done", "prediction | not done", "PyTorch | not done", "PyTorch, every model | not done"}) {
    EXPECT_NE(table.find("| " + step), std::string::npos) << step << " is not in\n" << table;
  }
}

TEST_F(GpuScripts, ReportCountsTheTests) {
  pretend("nvidia-smi", "NVIDIA Imaginary, 999.1, 81559 MiB", 0);
  pretend(
      "../build/tests/test_cuda",
      "[ RUN      ] A.0\\n[       OK ] A.0 (1 ms)\\n[ RUN      ] B.0\\n[  SKIPPED ] B.0 (0 ms)\\n[ RUN      ] C.0\\n"
      "[  FAILED  ] C.0 (2 ms)\\n[ RUN      ] D.0\\n[  FAILED  ] C.0",
      1);
  EXPECT_EQ(script("", "gpu_report' --no-build --build build --only tests --out here").status, 1);
  const std::string table = read_text(std::filesystem::directory_iterator(folder_ / "here")->path() / "README.md");
  const std::string row = "tests labelled gpu | FAILED | 1 passed, 1 failed, 1 skipped, 1 not ended |";
  EXPECT_NE(table.find(row), std::string::npos) << table;
}

TEST_F(GpuScripts, ReportOfSomeStepsLeavesTheOthersInTheTable) {
  pretend("nvidia-smi", "NVIDIA Imaginary, 999.1, 81559 MiB", 0);
  const std::string some = "gpu_report' --build nothing --out here --quick --only ";
  EXPECT_EQ(script("", some + "operations,sanitizers").status, 0);
  EXPECT_EQ(script("", some + "epochs --seconds 0").status, 0);
  const auto folder = std::filesystem::directory_iterator(folder_ / "here")->path();
  const std::string table = read_text(folder / "README.md");
  for (const std::string row : {"compute-sanitizer memcheck | not done | --quick", "operations | not done | bench",
                                "epochs | not done | the report's 0 s were over"}) {
    EXPECT_NE(table.find("| " + row), std::string::npos) << row << " is not in\n" << table;
  }
  EXPECT_EQ(table.find("PyTorch"), std::string::npos) << table;
  expect_refusal(script("", some + "nonesuch"), 2, {"nonesuch", "operations"});
}

TEST_F(GpuScripts, ComparisonOfModelsNamesAWrongArgument) {
  const std::pair<std::string, std::string> wrong[] = {
      {"--models tm-gcn,nonesuch", "no PyTorch form of model 'nonesuch'"},
      {"--shapes tall", "no shape 'tall'"},
      {"--device tpu", "no device 'tpu'"},
      {"--rounds 0", "--rounds must be at least 1"},
      {"no-program", "no-program is not a program"},
      {"--vertices 64 /bin/true", "do not go with it"},
      {"--json no/folder/file", "no/folder/file cannot be written"},
  };
  for (const auto& [words, message] : wrong) {
    const Outcome refused = script("", "../bench/peers/gpu_models.py' " + words);
    EXPECT_EQ(refused.status, 2) << words;
    EXPECT_NE(refused.err.find(message), std::string::npos) << refused.err;
  }
}

TEST_F(GpuScripts, ComparisonOfModelsWithoutAGpuMeasuresNothing) {
  const Outcome absent = script("CUDA_VISIBLE_DEVICES=", "../bench/peers/gpu_models.py' --json here.json");
  EXPECT_EQ(absent.status, 5) << absent.err;
  EXPECT_NE(absent.err.find("PyTorch not measured: "), std::string::npos) << absent.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "here.json"));
}

TEST_F(GpuScripts, BindingGivesEachRankItsGpu) {
  EXPECT_EQ(script("LOCAL_RANK=1 CUDA_VISIBLE_DEVICES=3,5", "launch/bind_gpu' printenv CUDA_VISIBLE_DEVICES").out,
            "5\n");
  EXPECT_EQ(script("SLURM_LOCALID=3 SLURM_GPUS_PER_TASK=1 CUDA_VISIBLE_DEVICES=0",
                   "launch/bind_gpu' printenv CUDA_VISIBLE_DEVICES")
                .out,
            "0\n");
  const Outcome too_many = script("LOCAL_RANK=2 CUDA_VISIBLE_DEVICES=3,5", "launch/bind_gpu' true");
  EXPECT_EQ(too_many.status, 5);
  EXPECT_NE(too_many.err.find("finds 2 GPUs"), std::string::npos) << too_many.err;
  EXPECT_EQ(script("", "launch/bind_gpu' true").status, 2);  // without a launcher
}

TEST_F(GpuScripts, BundleIsNotWrittenOverSomethingElse) {
  if (std::system("command -v dpkg-deb > /dev/null && command -v apt-get > /dev/null") != 0)
    GTEST_SKIP() << "not Debian";
  std::filesystem::create_directories(folder_ / "mine");
  write_text(folder_ / "mine" / "file", "kept");
  const Outcome refused = script("", "bundle_deps' --out mine");
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("not a bundle"), std::string::npos) << refused.err;
  EXPECT_EQ(read_text(folder_ / "mine" / "file"), "kept");
}

TEST_F(GpuScripts, TheBundlesRevisionIsThatOfTheSource) {
  const std::string tree = path("tree");
  const auto git = [&](const std::string& words) {
    return std::system(("git -C '" + tree + "' -c user.name=n -c user.email=e " + words + " > /dev/null 2>&1").c_str());
  };
  std::filesystem::create_directories(tree);
  if (git("init") != 0) GTEST_SKIP() << "no git";
  write_text(folder_ / "tree" / "file", "text");
  ASSERT_EQ(git("add file"), 0);
  ASSERT_EQ(git("commit -m first"), 0);
  const std::string clean = script("", "source_revision' tree").out;
  EXPECT_EQ(clean.size(), 41u) << clean;
  write_text(folder_ / "tree" / "file", "other text");
  EXPECT_EQ(script("", "source_revision' tree").out, clean.substr(0, 40) + "-dirty\n");
  EXPECT_EQ(script("", "source_revision' bin").status, 1) << "no .git";
}

}  // namespace
}  // namespace strobe::cli_test
