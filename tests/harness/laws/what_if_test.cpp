// Random what-ifs: one constant of a described cluster or of a software profile is improved, all else is equal, and no
// epoch gets longer. It holds because streams, hosts and links carry out what the program gives them in its order: each
// time is made of sums and maxima of others. Left out are clusters whose collectives slow compute: there an earlier sum
// may meet an operation that it would have missed. No shipped cluster does. Adjusters and averages by seconds are not
// drawn either, because they choose other work by the clock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "backends/cluster.hpp"
#include "backends/software.hpp"
#include "core/random.hpp"
#include "harness/run/run_case.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "tests/harness/option_settings.hpp"
#include "tests/long.hpp"

namespace strobe {
namespace {

/// A number of a cluster file or of a profile that a what-if changes.
struct Constant {
  std::string key;  // "gpu.launch_seconds"
  double value = 0;
};

/// Whether more of it is better (1), or less of it (-1); 0 where it says how much there is, not how fast it is.
int better(const std::string& key) {
  const auto ends = [&](const char* text) { return key.ends_with(text); };
  if (ends("_per_second") || ends("efficiency") || ends("l2_bytes") || ends(".cores")) return 1;
  const bool cost =
      ends("_seconds") || ends("half_bytes") || ends("_per_entry") || ends("_per_byte") || ends("_per_message");
  return cost ? -1 : 0;
}

void add_constants(const Json& object, const std::string& prefix, std::vector<Constant>& all) {
  for (const auto& [key, quantity] : object.items()) {
    if (!quantity.is_object()) continue;
    const std::string whole = prefix + key;
    if (!quantity.contains("value")) {
      add_constants(quantity, whole + ".", all);
    } else if (quantity["value"].is_number() && better(whole) != 0 && quantity["value"].get<double>() > 0) {
      all.push_back({whole, quantity["value"].get<double>()});
    }
  }
}

std::vector<Constant> constants_of(const Json& object) {
  std::vector<Constant> all;
  add_constants(object, "", all);
  return all;
}

/// Slowest rank of each epoch; empty when the case does not run.
std::vector<double> slowest_epochs(const Json& request, std::string& reason) {
  std::vector<double> slowest;
  try {
    const CaseResult result = run_case(case_from_json(request, ""));
    reason = result.status + ": " + result.reason;
    if (result.status != "ok") return {};
    for (const EpochSample& sample : result.samples) {
      slowest.resize(std::max(slowest.size(), static_cast<std::size_t>(sample.epoch) + 1));
      slowest[sample.epoch] = std::max(slowest[sample.epoch], sample.epoch_seconds);
    }
  } catch (const InvalidRequest& error) {
    reason = error.what();
  } catch (const Unavailable& error) {
    reason = error.what();
  }
  return slowest;
}

/// Draws cases and what-ifs of them.
class WhatIfJudge {
 public:
  WhatIfJudge() {
    for (const char* schedule : {"full_batch", "hybrid_batches", "event_batches"}) {
      const std::vector<test::PairSetting> some = test::settings(schedule);
      settings_.insert(settings_.end(), some.begin(), some.end());
    }
    std::ifstream(STROBE_SOURCE_DIR "/backends/software/pytorch-eager.json") >> profile_;
    visits_ = event_test::random_visits(folder_, 21, 90, 9, 12);
  }

  /// Tries `each` improvements of the case with this number.
  void check(std::uint64_t number, int each) {
    draws_ = RandomStream(number, random_purpose::test, 73);
    drawn_ = 0;
    const Json base = draw_case();
    std::string reason;
    const std::vector<double> before = slowest_epochs(base, reason);
    if (before.empty()) {
      ++refused_[reason];
      return;
    }
    for (int i = 0; i < each; ++i) {
      std::string what;
      const Json better = improved(base, what);
      const std::vector<double> after = slowest_epochs(better, reason);
      ASSERT_EQ(after.size(), before.size()) << what << ": " << reason;
      ++ran_;
      tried_.insert(base["strategy"]["name"].get<std::string>());
      for (std::size_t e = 0; e < before.size(); ++e) {
        // The same sums in another order differ by their rounding.
        EXPECT_LE(after[e], before[e] * (1 + 1e-11))
            << "case " << number << ", epoch " << e << ": " << what << " in " << base.dump();
      }
    }
  }

  int ran() const { return ran_; }
  /// Strategies without a case that ran.
  std::set<std::string> untried() const {
    std::set<std::string> names;
    for (const test::PairSetting& setting : settings_) {
      if (!tried_.contains(setting.strategy)) names.insert(setting.strategy);
    }
    return names;
  }
  std::string refused() const {
    std::string text;
    for (const auto& [reason, count] : refused_) text += fmt::format("{} x {}\n", count, reason);
    return text;
  }

 private:
  std::uint64_t draw(std::uint64_t n) { return draws_.below(drawn_++, n); }
  template <class T>
  const T& one_of(const std::vector<T>& some) {
    return some[draw(some.size())];
  }

  Json draw_case() {
    const test::PairSetting& setting = one_of(settings_);
    const bool events = setting.schedule == "event_batches";
    Json request = {{"model", {{"name", setting.model}}},
                    {"strategy", setting.stance},
                    {"ranks", setting.ranks},
                    {"device", "sim"},
                    {"numerics", "none"},
                    {"cluster", draw_cluster(setting.ranks)},
                    {"software", one_of(std::vector<std::string>{"strobe", "pytorch-eager"})},
                    {"epochs", 2},
                    {"warmup", 0}};
    request["strategy"]["name"] = setting.strategy;
    if (events) return with_events(request);
    request["workload"] = {
        {"name", "uniform"}, {"vertices", 40 + draw(400)}, {"steps", 4 + draw(12)}, {"density", 1 + draw(8)}};
    request["seed"] = draw(1000);
    if (setting.schedule == "hybrid_batches") {
      request["strategy"]["adjuster"] = "none";
      request["strategy"]["generator"] = one_of(std::vector<std::string>{"inline", "pipelined"});
      return request;
    }
    const auto gpus = static_cast<std::uint64_t>(load_cluster(request["cluster"].get<std::string>())->gpus());
    if (setting.stance.empty() && setting.ranks > 1) request["ranks"] = 2 + draw(std::min<std::uint64_t>(gpus, 20) - 1);
    request["inputs"] = one_of(std::vector<std::string>{"streamed", "resident"});
    request["nb"] = std::to_string(1 + draw(3));
    request["overlap"] = one_of(std::vector<int>{1, 1, 2, 3});
    if (request["inputs"] == "streamed") request["transfer"] = one_of(std::vector<std::string>{"direct", "difference"});
    return request;
  }

  Json with_events(Json request) {
    request["workload"] = visits_;
    request["strategy"]["batch"] = 4 + draw(12);
    return request;
  }

  std::string draw_cluster(int ranks) {
    while (true) {
      const std::string name = one_of(cluster_names());
      const std::shared_ptr<const Cluster> cluster = load_cluster(name);
      if (cluster->gpus() >= ranks && cluster->compute_slowdown_factor == 1) return name;
    }
  }

  /// The request with one constant better by a factor of 1.1 to 16.
  Json improved(Json request, std::string& what) {
    const std::string cluster = request["cluster"];
    const bool framework = request["software"] != "strobe" && draw(3) == 0;
    const Constant constant = one_of(constants_of(framework ? profile_ : load_cluster(cluster)->raw));
    const double factor = std::exp2(0.14 + 3.86 * draws_.uniform(drawn_++));
    double value = constant.value * (better(constant.key) > 0 ? factor : 1 / factor);
    if (constant.key.ends_with("efficiency")) value = std::min(value, 1.0);
    if (constant.key.ends_with("l2_bytes") || constant.key.ends_with("cores")) value = std::floor(value);
    what = fmt::format("{} {} instead of {}", constant.key, value, constant.value);
    if (framework) {
      request["software"] = profile_with(constant.key, value);
    } else {
      request["cluster"] = change_cluster(cluster, constant.key, fmt::format("{}", value));
    }
    return request;
  }

  std::string profile_with(const std::string& key, double value) const {
    Json changed = profile_;
    const std::size_t point = key.find('.');
    changed[key.substr(0, point)][key.substr(point + 1)]["value"] = value;
    return folder_.write("profile.json", changed.dump());
  }

  test::TemporaryFolder folder_;
  std::vector<test::PairSetting> settings_;
  Json profile_;
  std::string visits_;
  RandomStream draws_{0, 0};
  std::uint64_t drawn_ = 0;
  int ran_ = 0;
  std::set<std::string> tried_;
  std::map<std::string, int> refused_;  // cases by the reason
};

void check_what_ifs(std::uint64_t first, int count) {
  constexpr int each = 5;
  WhatIfJudge judge;
  for (std::uint64_t number = first; judge.ran() < count; ++number) {
    judge.check(number, each);
    if (testing::Test::HasFatalFailure()) return;
    ASSERT_LT(number, first + static_cast<std::uint64_t>(count)) << "too many cases were refused:\n" << judge.refused();
  }
  if (test::is_long()) {
    EXPECT_EQ(judge.untried(), std::set<std::string>()) << judge.refused();
  }
}

TEST(RandomWhatIfs, AHundredImprovementsLengthenNoEpoch) { check_what_ifs(0, 100); }

TEST(LongRandomWhatIfs, AThousandImprovementsLengthenNoEpoch) { check_what_ifs(1000, 1000); }

}  // namespace
}  // namespace strobe
