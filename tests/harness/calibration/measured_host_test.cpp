// The measured host of this machine: on every machine, all of its values are there.
#include <gtest/gtest.h>

#include <map>

#include "harness/calibration/host_rates.hpp"

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

}  // namespace
}  // namespace strobe
