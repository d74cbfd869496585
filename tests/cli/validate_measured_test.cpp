// `strobe validate --measured` compares predictions with earlier measurements, and measures nothing.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/program.hpp"
#include "tests/cli/support/edited_json.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* measured_cases = R"({"name": "few", "defaults": {"workload": {"name": "uniform", "steps": 9,
  "vertices": 60}, "epochs": 3, "repeat": 2}, "cases": [{"strategy": "sequential"}, {"strategy": "snapshot", "ranks": 2}]})";

class ValidateMeasured : public Program {
 protected:
  /// A validation that measures, into the folder v.
  Json run_for_real() {
    const Outcome outcome = strobe({"validate", suite(measured_cases), "--cluster", "aimos-v100", "--out", "v"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return read_json(folder_ / "v" / "validation.json");
  }

  Outcome judge(const std::string& measured, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"validate", "--measured", measured, "--cluster", "aimos-v100"};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
};

/// Measured over predicted epoch times of one rank, on a GPU that was measured earlier.
std::vector<double> ratios_of(const Json& validation) {
  std::vector<double> ratios;
  for (const Json& one : validation.at("cases")) {
    const double measured = one.at("measured").at("epoch_seconds"), predicted = one.at("predicted").at("epoch_seconds");
    ratios.push_back(measured / predicted);
  }
  return ratios;
}

// A band may not be tested with the data that made it. So the band in each GPU's description is tested with the epochs
// of the other GPU.
TEST_F(ValidateMeasured, TheBandsOfTwoGpusHoldEachOthersEpochs) {
  const fs::path source = STROBE_SOURCE_DIR;
  const auto judged = [&](const std::string& folder, const std::string& cluster) {
    const std::string file = (source / "results" / "measured" / folder / "validation.csv").string();
    const Outcome outcome = strobe({"validate", "--measured", file, "--set", "device=cuda", "--set", "repeat=1",
                                    "--cluster", cluster, "--filter", "r1#", "--out", folder, "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return ratios_of(Json::parse(outcome.out));
  };
  const auto held = [&](const std::vector<double>& ratios, const std::string& cluster) {
    const Json band = read_json(source / "backends" / "clusters" / (cluster + ".json")).at("epoch_band_90");
    EXPECT_EQ(band.at("ranks"), 1);
    return std::count_if(ratios.begin(), ratios.end(), [&](double ratio) {
      return ratio >= band.at("low_factor").get<double>() && ratio <= band.at("high_factor").get<double>();
    });
  };
  // The H100's machine had another link than the file states.
  const std::vector<double> h100 = judged("nvidia-h100-2026-11-26", "p5-h100:host_to_device_bytes_per_second=53e9");
  const std::vector<double> h200 = judged("nvidia-h200-2026-11-26", "p5en-h200");
  ASSERT_EQ(h100.size() + h200.size(), 26u);
  const auto inside = held(h100, "p5en-h200") + held(h200, "p5-h100");
  EXPECT_GE(inside, 21) << "of 26";
  EXPECT_LE(inside, 25) << "a band that holds all is too wide";
}

TEST_F(ValidateMeasured, RowsOfARunGiveTheReportThatTheRunGave) {
  const Json then = run_for_real();
  const Outcome outcome = judge("v/measured", {"--out", "w", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json now = Json::parse(outcome.out);
  for (const char* key : {"overall", "goals", "groups", "left_out"}) EXPECT_EQ(now.at(key), then.at(key)) << key;
  ASSERT_EQ(now.at("cases").size(), 2u);
  for (const std::size_t i : {0u, 1u}) {
    for (const auto& [key, value] : then.at("cases")[i].items()) {
      if (key == "explanation") continue;
      EXPECT_EQ(now.at("cases")[i].at(key), value) << key;
    }
    EXPECT_TRUE(now.at("cases")[i].at("explanation").empty());
  }
  const Json environment = read_json(folder_ / "v" / "measured" / "env.json");
  const Json& from = now.at("measured_elsewhere");
  EXPECT_EQ(from.at("path"), "v/measured");
  EXPECT_EQ(from.at("machine"), environment.at("host_class").at("text"));
  EXPECT_EQ(from.at("date_utc"), environment.at("date_utc").get<std::string>().substr(0, 10));
  EXPECT_TRUE(now.at("machine").is_null());
  EXPECT_NE(now.at("absent").at("/machine").get<std::string>().find("nothing was run"), std::string::npos);
  // Only the simulations were run, and the samples are the earlier ones.
  EXPECT_EQ(outcome.err.find("/cpu/r"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("/sim/r2"), std::string::npos) << outcome.err;
  for (const char* file : {"summary.json", "env.json"})
    EXPECT_EQ(read_text(folder_ / "w" / "measured" / file), read_text(folder_ / "v" / "measured" / file)) << file;
  // Rounds and cases have different orders.
  const auto samples = [this](const char* run) {
    std::istringstream text(read_text(folder_ / run / "measured" / "samples.jsonl"));
    std::multiset<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.insert(line);
    return lines;
  };
  EXPECT_EQ(samples("v").size(), 2u * (1 + 3) * (1 + 2));
  EXPECT_TRUE(samples("w") == samples("v"));
  EXPECT_EQ(judge("v/measured/summary.json", {"--filter", "r2#"}).status, 0);
}

TEST_F(ValidateMeasured, LinesOfACsvGiveTheSameErrorsAndSayWhatTheyLack) {
  const Json then = run_for_real();
  const Outcome outcome =
      strobe({"validate", "suite.json", "--measured", "v/validation.csv", "--cluster", "aimos-v100", "--out", "w"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words : {"measured elsewhere: v/validation.csv, ", "the measurements state no bytes",
                            "rows keep no operations", "2 judged"})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  const Json now = read_json(folder_ / "w" / "validation.json");
  EXPECT_EQ(now.at("overall").at("epoch_error"), then.at("overall").at("epoch_error"));
  EXPECT_EQ(now.at("overall").at("memory_error").at("count"), 0);
  const Json row = read_json(folder_ / "w" / "measured" / "summary.json").at("rows")[1];
  EXPECT_EQ(row.at("epoch_seconds").at("median"), then.at("cases")[1].at("measured").at("epoch_seconds"));
  for (const char* key : {"phase_seconds", "sent_bytes", "peak_bytes"}) {
    EXPECT_TRUE(row.at(key).is_null()) << key;
    EXPECT_TRUE(row.at("absent").contains(std::string("/") + key)) << key;
  }
  // The kept measurements can be used again.
  EXPECT_EQ(judge("w/measured").status, 0);
}

TEST_F(ValidateMeasured, AnH100IsJudgedWhereThereIsNone) {
  const fs::path folder = fs::path(STROBE_SOURCE_DIR) / "results" / "measured" / "nvidia-h100-2026-11-26";
  const std::vector<std::string> common = {"validate", "--measured",  (folder / "validation.csv").string(),
                                           "--set",    "device=cuda", "--set",
                                           "repeat=1", "--cluster",   "p5-h100",
                                           "--json",   "--filter",    "ucsocial/tm-gcn/.*r[14]#"};
  const Outcome outcome = strobe(common);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  ASSERT_EQ(report.at("cases").size(), 1u);
  EXPECT_EQ(report.at("cases")[0].at("case_id"), "ucsocial/tm-gcn/sequential/cuda/r1#3a070b");
  EXPECT_NEAR(report.at("cases")[0].at("measured").at("epoch_seconds").get<double>(), 0.000682377, 1e-9);
  EXPECT_EQ(report.at("measured_elsewhere").at("machine").get<std::string>().find("Intel(R) Xeon(R)"), 0u);
  EXPECT_EQ(report.at("left_out").size(), 4u);  // no case on four ranks was measured
  for (const Json& one : report.at("left_out")) EXPECT_EQ(one.at("cause"), "not_measured");
}

TEST_F(ValidateMeasured, OneCardsCalibrationIsComparedWithAnothersEpochs) {
  // The values of docs/studies/2026-11-26_other_gpu.md. The bounds allow for changed kernels, not for a changed cost
  // model.
  const fs::path kept = fs::path(STROBE_SOURCE_DIR) / "results" / "measured";
  const auto errors = [&](const std::string& calibrated, const std::string& measured) {
    const Outcome outcome = strobe(
        {"validate", "--measured", (kept / ("nvidia-" + measured + "-2026-11-26") / "validation.csv").string(), "--set",
         "device=cuda", "--set", "repeat=1", "--cluster",
         (kept / ("nvidia-" + calibrated + "-2026-11-26") / "cluster.json").string(), "--json", "--filter", "r1#"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Json overall = Json::parse(outcome.out).at("overall");
    EXPECT_EQ(overall.at("judged"), 13) << calibrated << " for " << measured;
    EXPECT_GT(overall.at("tau_b").get<double>(), 0.5);
    return overall.at("epoch_error").at("mean_absolute").get<double>();
  };
  EXPECT_NEAR(errors("h100", "h200"), 0.258, 0.08);
  EXPECT_NEAR(errors("h200", "h100"), 0.182, 0.08);
}

TEST_F(ValidateMeasured, OtherBytesEndWithStatusOne) {
  run_for_real();
  Json summary = read_json(folder_ / "v" / "measured" / "summary.json");
  summary["rows"][1]["sent_bytes"]["redistribute"] = 1;
  write_text(folder_ / "summary.json", without_digests(summary).dump());
  const Outcome outcome = judge("summary.json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("bytes differ: redistribute"), std::string::npos) << outcome.out;
}

TEST_F(ValidateMeasured, RefusesWhatIsNoMeasurement) {
  run_for_real();
  fs::create_directories(folder_ / "empty");
  write_text(folder_ / "events.csv", "source,target\n1,2\n");
  write_text(folder_ / "other.json", "{\"a\": 1}");
  expect_refusal(judge("nowhere"), 2, {"--measured", "nowhere does not exist"});
  expect_refusal(judge("empty"), 2, {"--measured", "holds no run"});
  expect_refusal(judge("v"), 2, {"--measured", "its folder measured has one"});
  expect_refusal(judge("events.csv"), 2, {"events.csv:1", "neither a run directory"});
  expect_refusal(judge("other.json"), 2, {"other.json", "not a summary.json"});
  expect_refusal(judge("v/measured", {"suite.json"}), 2, {"SUITE", "--filter"});
  expect_refusal(judge("v/measured", {"--set", "epochs=2"}), 2, {"--set", "--filter"});
  expect_refusal(judge("v/measured", {"--filter", "nothing-like-it"}), 2, {"--filter"});
  expect_refusal(judge("v/predicted"), 2, {"--measured", "itself a prediction"});
  expect_refusal(judge("v/validation.csv", {"suite.json", "--set", "epochs=2"}), 2, {"no case in common"});
  expect_refusal(strobe({"validate", "--published", "esdg", "--measured", "v/measured"}), 2, {"--measured"});
  expect_refusal(strobe({"validate", "--measured", "v/measured"}), 2, {"--cluster"});
  EXPECT_FALSE(fs::exists(folder_ / "runs"));
}

}  // namespace
}  // namespace strobe::cli_test
