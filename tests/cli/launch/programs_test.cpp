// Public programs: `strobe calibrate --software` and `strobe validate --programs`, with a program in place of Python
// whose times and numbers are known.
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

/// A shell script that has every module, writes the bundled profile with another launch time, and states 0.5 s epochs.
class Programs : public Program {
 protected:
  void SetUp() override {
    const std::string bundled = std::string(STROBE_SOURCE_DIR) + "/backends/software/pytorch-eager.json";
    write_text(
        path("python"),
        "#!/bin/sh\n"
        "if [ \"$1\" = -c ]; then exit 0; fi\n"
        "case \"$3\" in\n"
        "*/calibrate.py) sed 's/1.57e-05/4.5e-05/' '" +
            bundled +
            "' > \"$5\" ;;\n"
            "*/snapshots.py) case \"$5\" in t-gcn) kernel=0.04;; *) kernel=0.02;; esac\n"
            "  for i in $(seq $STROBE_EPOCHS); do\n"
            "  echo '{\"epoch_seconds\": 0.5, \"edges\": 7, \"metrics\": {\"fixed_kernel_seconds\": '$kernel'}}' "
            ">> $STROBE_EPOCH_FILE; done ;;\n"
            "esac\n");
    fs::permissions(path("python"), fs::perms::owner_all);
    setenv("STROBE_PYTHON", path("python").c_str(), 1);
  }
  void TearDown() override { unsetenv("STROBE_PYTHON"); }
};

TEST_F(Programs, SoftwareIsMeasuredIntoAProfileThatRunTakes) {
  const Outcome made = strobe({"calibrate", "--software", "pytorch", "--out", "here.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("cpu.issue_seconds"), std::string::npos) << made.out;
  const Json profile = read_json(folder_ / "here.json");
  EXPECT_EQ(profile.at("cpu").at("issue_seconds").at("value"), 4.5e-05);
  ASSERT_EQ(strobe({"calibrate", "--software", "pytorch"}).status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "pytorch-here.json"));  // not this-machine.json, which is a cluster's
  const Outcome run =
      strobe({"run", "--workload", "uniform:steps=5,vertices=30", "--device", "sim", "--software", "here.json"});
  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(Programs, WrongRequestsForSoftwareAreRefused) {
  expect_refusal(strobe({"calibrate", "--software", "caffe"}), 2, {"--software pytorch"});
  expect_refusal(strobe({"calibrate", "--software", "pytorch", "--comm", "mpi"}), 2, {"--software", "--name"});
  expect_refusal(strobe({"calibrate", "--software", "pytorch", "--out", "here.txt"}), 2, {"--out", ".json"});
}

TEST_F(Programs, BothHalvesArePrinted) {
  const Outcome outcome = strobe({"validate", "--programs", "mpnn-lstm,t-gcn", "--cluster", "aimos-v100", "--filter",
                                  "small/(alone|ddp-2)", "--out", "v"});
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  for (const char* words : {"held out", "visible", "typical factor", "pss"})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  const Json report = read_json(folder_ / "v" / "validation.json");
  EXPECT_EQ(report.at("overall").at("judged"), 4);
  const Json& halves = report.at("programs").at("halves");
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_EQ(report.at("programs").at("runs").size(), 4u);
  for (const Json& run : report.at("programs").at("runs")) {
    const bool slow = run.at("name").get<std::string>().rfind("t-gcn", 0) == 0;
    EXPECT_NEAR(run.at("drift"), (slow ? 0.04 : 0.02) / 0.03, 1e-12);  // the typical kernel lies between two and two
  }
  double sum = 0;
  for (const Json& one : report.at("cases")) {
    EXPECT_EQ(one.at("measured").at("epoch_seconds"), 0.5);
    sum += std::abs(one.at("predicted").at("epoch_seconds").get<double>() / 0.5 - 1);
  }
  double means = 0;
  for (const Json& half : halves) means += 2 * half.at("epoch").at("mean_absolute").get<double>();
  EXPECT_NEAR(means, sum, 1e-12);
}

TEST_F(Programs, WrongRequestsForProgramsAreRefused) {
  const auto refused = [this](std::vector<std::string> words, const std::vector<std::string>& said) {
    words.insert(words.begin(), "validate");
    expect_refusal(strobe(words), 2, said);
  };
  refused({"--programs", "all"}, {"--cluster"});
  refused({"--programs", "t-gnc"}, {"--programs", "did you mean 't-gcn'?"});
  refused({"--programs", "all", "--cluster", "aimos-v100", "--set", "epochs=2"}, {"--set"});
  refused({"--programs", "all", "--cluster", "aimos-v100", "--filter", "nothing"}, {"--filter"});
  refused({"--programs", "all", "--published", "esdg"}, {"--published"});
  refused({"--programs", "all", "--pledge", "p.json", "--measured", "m"}, {"--pledge"});
  refused({"--software", "pytorch-eager", "--cluster", "aimos-v100"}, {"--programs"});
}

}  // namespace
}  // namespace strobe::cli_test
