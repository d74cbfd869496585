// The 90 % band of predicted epochs, compared with the validations in results/measured. The powers that turn a
// calibration's band into one for real graphs come from the other machines, and are tested on each machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "harness/calibration/calibration.hpp"

namespace strobe {
namespace {

/// The measured and predicted epochs of one validation, by ranks, as log(measured / predicted), and the logarithms of
/// the calibration's factors.
struct KeptValidation {
  std::string folder, machine;
  double low = 0, high = 0;
  std::map<int, std::vector<double>> ratios;
};

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream text(line);
  for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
  return fields;
}

KeptValidation read_validation(const std::filesystem::path& folder) {
  KeptValidation kept{folder.filename().string(), folder.filename().string().substr(0, 9), 0, 0, {}};
  const Json cluster = Json::parse(std::ifstream(folder / "cluster.json"));
  const Json& band = cluster.at("epoch_band_90");
  kept.low = std::log(band.at("low_factor").get<double>());
  kept.high = std::log(band.at("high_factor").get<double>());
  std::ifstream file(folder / "validation.csv");
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = fields_of(line);
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const std::size_t id = column("case_id"), measured = column("measured_seconds"),
                    predicted = column("predicted_seconds");
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = fields_of(line);
    const std::size_t ranks = fields.at(id).rfind("/r") + 2;
    kept.ratios[std::stoi(fields.at(id).substr(ranks))].push_back(
        std::log(std::stod(fields.at(measured)) / std::stod(fields.at(predicted))));
  }
  return kept;
}

/// The validations of processors: folders with a calibration and its predictions. A folder's name begins with its
/// machine.
std::vector<KeptValidation> kept_validations() {
  std::vector<KeptValidation> all;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(STROBE_SOURCE_DIR) + "/results/measured")) {
    if (!std::filesystem::exists(entry.path() / "validation.csv")) continue;
    const Json cluster = Json::parse(std::ifstream(entry.path() / "cluster.json"));
    if (cluster.at("calibration").at("device") == "cpu") all.push_back(read_validation(entry.path()));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.folder < b.folder; });
  return all;
}

/// The k-th smallest that bounds the next one with this probability.
double bound_of(std::vector<double> scores, double probability) {
  std::sort(scores.begin(), scores.end());
  const auto k = static_cast<std::size_t>(std::ceil(probability * static_cast<double>(scores.size() + 1)));
  return scores.at(std::min(k, scores.size()) - 1);
}

BandPowers powers_from(const std::vector<KeptValidation>& kept, int ranks, const std::string& without) {
  std::vector<double> below, above;
  for (const KeptValidation& one : kept) {
    if (one.machine == without) continue;
    for (const double ratio : one.ratios.at(ranks)) below.push_back(ratio / one.low), above.push_back(ratio / one.high);
  }
  return {bound_of(below, 0.95), bound_of(above, 0.95)};
}

/// The number of the validation's epochs in the band that these powers make from its calibration's band.
std::size_t covered(const KeptValidation& one, int ranks, const BandPowers& powers) {
  const std::vector<double>& ratios = one.ratios.at(ranks);
  return static_cast<std::size_t>(std::count_if(ratios.begin(), ratios.end(), [&](double ratio) {
    return powers.low * one.low <= ratio && ratio <= powers.high * one.high;
  }));
}

// The band for a machine's epochs is computed without that machine.
TEST(EpochBand, HoldsNineOfTenEpochsOfMachinesThatHadNoPartInIt) {
  const std::vector<KeptValidation> kept = kept_validations();
  ASSERT_EQ(kept.size(), 7u);
  std::size_t all_inside = 0, all_wide = 0, all = 0;
  for (const int ranks : {1, 2, 4}) {
    std::size_t inside = 0, wide = 0, count = 0;
    double widths = 0, wide_widths = 0;
    for (const KeptValidation& one : kept) {
      const BandPowers powers = powers_from(kept, ranks, one.machine);
      inside += covered(one, ranks, powers), wide += covered(one, ranks, {1, 1});
      count += one.ratios.at(ranks).size();
      widths += powers.high * one.high - powers.low * one.low, wide_widths += one.high - one.low;
    }
    const double share = static_cast<double>(inside) / static_cast<double>(count);
    EXPECT_GE(share, 0.85) << ranks << " ranks";
    EXPECT_LE(share, 0.95) << ranks << " ranks";
    EXPECT_LT(widths, 0.8 * wide_widths) << "it is narrower than that of workloads left out of the fit";
    RecordProperty(fmt::format("covered_per_mille_{}", ranks), static_cast<int>(std::lround(1000 * share)));
    all_inside += inside, all_wide += wide, all += count;
  }
  EXPECT_EQ(all, 532u);
  EXPECT_GT(static_cast<double>(all_wide) / static_cast<double>(all), 0.98) << "which hold too many";
  const double share = static_cast<double>(all_inside) / static_cast<double>(all);
  EXPECT_TRUE(share >= 0.85 && share <= 0.95) << share;
  RecordProperty("covered_of_532", static_cast<int>(all_inside));
  RecordProperty("covered_before_of_532", static_cast<int>(all_wide));
}

// The powers that calibrations use are those of all kept validations.
TEST(EpochBand, PowersAreThoseOfTheKeptValidations) {
  const std::vector<KeptValidation> kept = kept_validations();
  for (const auto& [ranks, given] :
       {std::pair{1, powers_of_one_rank}, {2, powers_of_measured_ranks}, {4, powers_of_twice_the_ranks}}) {
    const BandPowers found = powers_from(kept, ranks, "");
    EXPECT_NEAR(given.low, found.low, 0.005) << ranks;
    EXPECT_NEAR(given.high, found.high, 0.005) << ranks;
  }
}

TEST(EpochBand, AProcessorsCalibrationWritesOneForEachNumberOfRanks) {
  std::vector<HeldOutEpoch> epochs;
  for (int i = 1; i <= 39; ++i) epochs.push_back({std::to_string(i), 0.01 * i / 20, 0.01, i % 2 + 1});
  Json cluster = Json::object();
  add_bands(epochs, "cpu", "2026-01-31", cluster);
  const Json& bands = cluster.at("epoch_band_90");
  ASSERT_EQ(bands.size(), 3u);
  const double low = 2.0 / 20, high = 38.0 / 20;
  const BandPowers powers[] = {powers_of_one_rank, powers_of_measured_ranks, powers_of_twice_the_ranks};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(bands[i].at("ranks"), 1 << i);
    EXPECT_NEAR(bands[i].at("low_factor").get<double>(), std::pow(low, powers[i].low), 1e-12);
    EXPECT_NEAR(bands[i].at("high_factor").get<double>(), std::pow(high, powers[i].high), 1e-12);
    EXPECT_NE(bands[i].at("source").get<std::string>().find("to the powers"), std::string::npos);
  }
  EXPECT_NE(bands[2].at("source").get<std::string>().find("twice the ranks"), std::string::npos);
  add_bands(epochs, "cuda", "2026-01-31", cluster);
  EXPECT_TRUE(cluster.at("epoch_band_90").is_object()) << "no validations say what of it holds on GPUs";
}

}  // namespace
}  // namespace strobe
