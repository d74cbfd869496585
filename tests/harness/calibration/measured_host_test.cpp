// The measured host of this machine: on every machine, all of its values are there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/system/parallel.hpp"
#include "harness/calibration/host_rates.hpp"
#include "harness/calibration/load_rates.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

TEST(MeasuredHosts, HaveRatesAndSamplesOfEveryOperation) {
  const HostMeasurement host = measure_host(testing::TempDir());
  EXPECT_GE(host.rates.cores, 1);
  EXPECT_GT(host.rates.core_operations_per_second, 1e7);
  EXPECT_GT(host.rates.core_bytes_per_second, 1e7);
  EXPECT_GE(host.rates.memory_bytes_per_second, host.rates.core_bytes_per_second);
  EXPECT_GT(host.rates.random_access_seconds, 1e-10);
  EXPECT_EQ(host.rates.disk_bytes_per_second > 0, host.rates.no_disk.empty());
  for (const double rate : {host.rates.load.text_bytes_per_second, host.rates.load.binary_bytes_per_second,
                            host.rates.load.made_entries_per_second, host.rates.load.prepared_entries_per_second,
                            host.rates.load.prepared_features_per_second}) {
    EXPECT_GT(rate, 1e4);
    EXPECT_LT(rate, 1e12);
  }
  std::map<std::string, int> samples;
  for (const OperationTiming& sample : host.operations) {
    EXPECT_GT(sample.seconds, 0) << sample.operation;
    EXPECT_EQ(sample.configuration, "host");
    ++samples[sample.operation];
  }
  EXPECT_EQ(samples.size(), 2u);
  EXPECT_GE(samples["gather_rows"], 20);
  EXPECT_GE(samples["copy_in_order"], 4);
}

TEST(MeasuredHosts, LoadRatesLeaveNoFiles) {
  const test::TemporaryFolder folder, cache;
  const char* const before = std::getenv("STROBE_CACHE_DIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("STROBE_CACHE_DIR", cache.file("").c_str(), 1);
  int calls = 0;
  Workers workers(1);
  measure_load_rates(folder.file(""), [&](HostWork work) {
    work.body(workers);
    return 1.0 + ++calls;
  });
  before == nullptr ? unsetenv("STROBE_CACHE_DIR") : setenv("STROBE_CACHE_DIR", kept.c_str(), 1);
  EXPECT_GT(calls, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("")));
  EXPECT_TRUE(std::filesystem::is_empty(cache.file("")));
}

}  // namespace
}  // namespace strobe
