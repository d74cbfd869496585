// Operations of the host compared with plain loops, and their calibration: a host object that the simulator reads, and
// fits that find planted times again.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/host/gather_rows.hpp"
#include "core/errors.hpp"
#include "core/random.hpp"
#include "core/system/parallel.hpp"
#include "harness/calibration/calibration.hpp"
#include "harness/calibration/disk_rate.hpp"

namespace strobe {
namespace {

std::vector<std::byte> random_bytes(std::int64_t count, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test);
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random.bits(i));
  return bytes;
}

TEST(HostGatherRows, CopiesTheNamedRowsWithAnyNumberOfWorkers) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const RandomStream random(seed, random_purpose::test, 1);
    const std::int64_t rows = 1 + random.below(0, 5000);
    const std::int64_t width = 1 + random.below(1, seed % 3 == 0 ? 9 : 3000);
    const std::int64_t count = random.below(2, 3000);
    const std::vector<std::byte> from = random_bytes(rows * width, seed);
    std::vector<std::int64_t> named(count);
    for (std::size_t i = 0; i < named.size(); ++i)
      named[i] = static_cast<std::int64_t>(random.below(3 + i, static_cast<std::uint64_t>(rows)));
    std::vector<std::byte> expected;
    for (const std::int64_t row : named)
      expected.insert(expected.end(), from.begin() + row * width, from.begin() + (row + 1) * width);
    for (const int threads : {1, 3}) {
      Workers workers(threads);
      std::vector<std::byte> to(expected.size());
      const HostGather op{from.data(), rows, width, named.data(), count, to.data()};
      host_work(op).body(workers);
      EXPECT_EQ(to, expected) << "seed " << seed << ", " << threads << " threads";
    }
  }
}

TEST(HostGatherRows, StatesItsWork) {
  const HostGather op{nullptr, 1000, 16, nullptr, 50, nullptr};
  const HostWork work = host_work(op);
  EXPECT_EQ(work.name, "gather_rows");
  EXPECT_EQ(work.work.bytes_read, 50 * 16 + 50 * 8);
  EXPECT_EQ(work.work.bytes_written, 50 * 16);
  EXPECT_EQ(work.work.gather.accessed_bytes, 50 * 16);
  EXPECT_EQ(work.work.gather.window_bytes, 1000 * 16);
  EXPECT_EQ(work.work.gather.row_bytes, 16);
  const HostGather often{nullptr, 10, 16, nullptr, 50, nullptr};
  EXPECT_EQ(often.work().gather.distinct_bytes, 10 * 16) << "rows that are named again are compulsory once";
}

TEST(HostGatherRows, ARowThatIsNotThereIsRefused) {
  const std::vector<std::byte> from(64);
  std::vector<std::byte> to(32);
  Workers workers(2);
  for (const std::int64_t row : {std::int64_t{-1}, std::int64_t{4}}) {
    const std::vector<std::int64_t> named = {0, row};
    EXPECT_THROW((HostGather{from.data(), 4, 16, named.data(), 2, to.data()}.run(workers)), Error);
  }
}

TEST(HostCopies, CopyInOrderAndStateTheirBytes) {
  for (const std::int64_t bytes : {0, 1, 1000, 262144, 1000003}) {
    const std::vector<std::byte> from = random_bytes(bytes, 5);
    for (const int threads : {1, 4}) {
      std::vector<std::byte> to(from.size());
      Workers workers(threads);
      const HostCopy op{from.data(), to.data(), bytes};
      host_work(op).body(workers);
      EXPECT_EQ(to, from) << bytes;
      EXPECT_EQ(op.work().bytes(), 2.0 * static_cast<double>(bytes));
    }
  }
}

TEST(DiskRates, LeaveNoFileAndSayWhyThereIsNone) {
  const std::string folder = fmt::format("{}/strobe-disk-test-{}", testing::TempDir(), getpid());
  std::filesystem::create_directory(folder);
  double read = 0;
  const auto planted = [&](HostWork work) {
    Workers workers(1);
    work.body(workers);
    read = work.disk_bytes;
    return 0.5;
  };
  const std::int64_t bytes = (std::int64_t{3} << 20) + 17;
  const DiskRate rate = disk_rate(folder, bytes, planted);
  if (rate.absent.empty()) {
    EXPECT_EQ(rate.bytes_per_second, 2.0 * static_cast<double>(bytes));
    EXPECT_EQ(read, static_cast<double>(bytes));
  } else {
    EXPECT_EQ(rate.bytes_per_second, 0) << "there is no rate of what lies in memory";
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  const DiskRate failed = disk_rate(folder, bytes, [](HostWork) -> double { throw SystemError("the disk is gone"); });
  EXPECT_EQ(failed.bytes_per_second, 0);
  EXPECT_FALSE(failed.absent.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
  const DiskRate nowhere = disk_rate(folder, bytes, planted);
  EXPECT_EQ(nowhere.bytes_per_second, 0);
  EXPECT_NE(nowhere.absent.find("no file could be made"), std::string::npos) << nowhere.absent;
}

OperationTiming planted_sample(const char* operation, const Work& work, double seconds) {
  OperationTiming sample;
  sample.operation = operation;
  sample.work = work;
  sample.seconds = seconds;
  sample.calls = 1;
  return sample;
}

/// A machine whose copies take 1 us plus a nanosecond for 4 bytes. Gathers take the same plus 50 ns for each row.
CalibrationData planted_data() {
  CalibrationData data;
  data.device = "cpu";
  data.comm = "local";
  data.precision = "fp32";
  data.cores = 2;
  data.rates = {1e9, 1e9, 1e9, false, true, 64};
  data.cases.push_back({case_from_json({{"workload", "chess"}}, ""), "c", "w", 1, 0});
  data.operations.push_back(planted_sample("fill", {0, 0, 100}, 1e-6));
  data.host.rates = {2, 2e9, 4e9, 6e9, 1e-7, 3e8, ""};
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 20; bytes *= 4) {
    const double copied = 1e-6 + 0.5e-9 * static_cast<double>(bytes);
    data.host.operations.push_back(planted_sample("copy_in_order", HostCopy{nullptr, nullptr, bytes}.work(), copied));
    for (const std::int64_t width : {16, 256}) {
      const HostGather gather{nullptr, (std::int64_t{64} << 20) / width, width, nullptr, bytes / width, nullptr};
      data.host.operations.push_back(
          planted_sample("gather_rows", gather.work(), copied + 50e-9 * static_cast<double>(bytes / width)));
    }
  }
  return data;
}

std::shared_ptr<const Cluster> written_cluster(const CalibrationData& data) {
  const std::string path = fmt::format("{}/calibrated-host-{}.json", testing::TempDir(), getpid());
  std::ofstream(path) << calibrated_cluster(data, {"c", "planted", "2026-11-27", "m", std::uint64_t{1} << 30}).dump();
  auto cluster = load_cluster(path);
  std::filesystem::remove(path);
  return cluster;
}

TEST(CalibratedHost, IsReadBackWithItsFits) {
  const CalibrationData data = planted_data();
  const auto cluster = written_cluster(data);
  EXPECT_EQ(cluster->host.cores, 2);
  EXPECT_EQ(cluster->host.core_operations_per_second, 2e9);
  EXPECT_EQ(cluster->host.core_bytes_per_second, 4e9);
  EXPECT_EQ(cluster->host.memory_bytes_per_second, 6e9);
  EXPECT_EQ(cluster->host.random_access_seconds, 1e-7);
  EXPECT_EQ(cluster->host.disk_bytes_per_second, 3e8);
  EXPECT_EQ(cluster->host.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(cluster->raw.at("host").at("cores").at("date"), "2026-11-27");
  for (const OperationTiming& sample : data.host.operations) {
    EXPECT_NEAR(cluster->calibration->host_seconds(sample.operation, sample.work) / sample.seconds, 1, 0.02)
        << sample.operation;
  }
  EXPECT_LT(cluster->calibration->host_seconds("draw_neighbours", {}), 0) << "it was not fitted";
  EXPECT_LT(cluster->calibration->operation_seconds("copy_in_order", {}, ElementType::f32, 1), 0)
      << "the host's operations are not the device's";
  for (const Json& fits : cluster->raw.at("calibration").at("host_operations"))
    EXPECT_GE(fits.front().at("median_relative_error").get<double>(), 0);
}

TEST(CalibratedHost, RatesOfLoadingAreReadBackAndMayBeAbsent) {
  CalibrationData data = planted_data();
  EXPECT_EQ(written_cluster(data)->host.text_bytes_per_second, 0);
  data.host.rates.load = {1e8, 2e8, 3e7, 4e7, 5e7};
  const HostModel host = written_cluster(data)->host;
  EXPECT_EQ(host.text_bytes_per_second, 1e8);
  EXPECT_EQ(host.binary_bytes_per_second, 2e8);
  EXPECT_EQ(host.made_entries_per_second, 3e7);
  EXPECT_EQ(host.prepared_entries_per_second, 4e7);
  EXPECT_EQ(host.prepared_features_per_second, 5e7);
}

TEST(CalibratedHost, ADiskThatCouldNotBeMeasuredSaysWhy) {
  CalibrationData data = planted_data();
  data.host.rates.disk_bytes_per_second = 0;
  data.host.rates.no_disk = "the folder is full";
  const auto cluster = written_cluster(data);
  EXPECT_EQ(cluster->host.disk_bytes_per_second, 0);
  EXPECT_EQ(cluster->raw.at("host").at("disk_bytes_per_second").at("reason"), "strobe calibrate: the folder is full");
}

TEST(CalibratedHost, IsAbsentWhereNobodyMeasuredIt) {
  CalibrationData data = planted_data();
  data.host = {};
  const auto cluster = written_cluster(data);
  EXPECT_FALSE(cluster->raw.contains("host"));
  EXPECT_LT(cluster->calibration->host_seconds("copy_in_order", {}), 0);
}

}  // namespace
}  // namespace strobe
