// Prices of clusters and the bands of predictions on them: what a file may say, and what is left of it when the command
// changes something.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/sim/cluster/cluster_file.hpp"
#include "core/errors.hpp"

namespace strobe {
namespace {

/// A copy of p3dn-v100's file with another day of listing; the file is gone with it.
class ListedOn {
 public:
  explicit ListedOn(const std::string& date)
      : path_(fmt::format("{}/listed-{}-{}.json", testing::TempDir(), getpid(), date)) {
    Json json = load_cluster("p3dn-v100")->raw;
    json["price_per_node_hour"]["date"] = date;
    std::ofstream(path_) << json.dump();
  }
  ~ListedOn() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The day that many days from now, UTC.
std::string days_from_now(int days) {
  const std::time_t then = std::time(nullptr) + std::time_t{86400} * days;
  char text[16];
  std::tm utc{};
  gmtime_r(&then, &utc);
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

TEST(Prices, ThatAreListedInTheFutureAreRefused) {
  for (const std::string& date : {days_from_now(2), days_from_now(400), std::string("9999-12-31")}) {
    const ListedOn file(date);
    try {
      load_cluster(file.path());
      FAIL() << date;
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "/price_per_node_hour/date");
      EXPECT_NE(error.message().find(date + " lies in the future"), std::string::npos) << error.message();
    }
    EXPECT_THROW(load_cluster(file.path() + ":price_per_node_hour=10"), InvalidRequest) << "the file is as wrong";
  }
  for (const std::string& date : {days_from_now(0), days_from_now(-1), std::string("1999-01-01")}) {
    const ListedOn file(date);
    EXPECT_EQ(load_cluster(file.path())->price_date, date);
  }
}

TEST(Prices, AChangedOneWasListedNowhere) {
  const auto listed = load_cluster("p5-h100"), changed = load_cluster("p5-h100:price_per_node_hour=10");
  EXPECT_EQ(price_origin(*listed), "us-east-1, listed 2026-09-25");
  EXPECT_EQ(changed->price_per_node_hour, 10);
  EXPECT_EQ(changed->price_currency, "USD");
  EXPECT_EQ(changed->price_date + changed->price_region, "");
  EXPECT_EQ(price_origin(*changed), "changed by the command, instead of 55.04");
  EXPECT_EQ(price_age_days(*changed, "2026-10-25"), -1);
  EXPECT_FALSE(changed->raw.at("price_per_node_hour").contains("date"));
  EXPECT_EQ(price_origin(*load_cluster("p5-h100:nodes=2")), "us-east-1, listed 2026-09-25");
}

TEST(ClusterBand, IsOfTheUnchangedFileAndOfRanksThatWereMeasured) {
  const auto cluster = load_cluster("p5-h100");
  EXPECT_EQ(cluster->epoch_bands.back().ranks, 1);
  EXPECT_EQ(band_refusal(*cluster, 1), "");
  EXPECT_NE(band_refusal(*cluster, 2).find("measurements on at most 1 rank"), std::string::npos);
  for (const char* change : {"nodes=99999", "inter_node_bytes_per_second=1e9", "gpu.launch_seconds=1e-5"}) {
    const std::string why = band_refusal(*load_cluster(std::string("p5-h100:") + change), 1);
    EXPECT_NE(why.find(std::string("unchanged, not with ") + change), std::string::npos) << why;
  }
  EXPECT_NE(band_refusal(*load_cluster("aimos-v100"), 1).find("not known"), std::string::npos);
  Json json = cluster->raw;
  json["epoch_band_90"]["ranks"] = 4;
  EXPECT_EQ(band_refusal(*sim::cluster_from_json(json), 4), "");
  EXPECT_NE(band_refusal(*sim::cluster_from_json(json), 5), "");
  json["covered_ranks"] = {{"value", 16}, {"source", "a test"}, {"date", "2026-11-28"}};
  EXPECT_EQ(sim::cluster_from_json(json)->covered_ranks, 16) << "as the file says";
  json.erase("covered_ranks");
  EXPECT_EQ(sim::cluster_from_json(json)->covered_ranks, cluster->gpus()) << "all that the sources describe";
  json["epoch_band_90"].erase("ranks");
  EXPECT_NE(band_refusal(*sim::cluster_from_json(json), 2), "") << "one rank, unless the file says more";
}

}  // namespace
}  // namespace strobe
