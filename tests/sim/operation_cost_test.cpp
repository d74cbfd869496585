// Seconds of one operation: the described model's bounds and metamorphic relations, and the seam of calibrations.
#include "backends/sim/cost/operation_cost.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/operations/operations.hpp"
#include "backends/operations/operations_evolve.hpp"
#include "backends/operations/operations_pair.hpp"
#include "backends/operations/operations_recurrent.hpp"
#include "backends/sim/cluster/calibration.hpp"
#include "core/errors.hpp"
#include "sim_support.hpp"

namespace strobe {
namespace {

using sim::memory_bytes;
using sim::operation_seconds;
using sim::roofline_seconds;
using sim_test::round_cluster;

Tensor shape(std::int64_t rows, std::int64_t columns, ElementType type = ElementType::f32) {
  return Tensor(std::make_shared<Storage>(), rows, columns, type);
}

/// A product over `steps` snapshots of `vertices` vertices with `degree` entries per row.
Spmm product(std::int64_t vertices, std::int64_t steps, std::int64_t degree, std::int64_t width) {
  SparseMatrix a;
  a.rows = a.columns = vertices * steps;
  a.nonzeros = a.rows * degree;
  a.steps = steps;
  a.row_offsets = shape(a.rows + 1, 1, ElementType::i64);
  a.column_indices = shape(a.nonzeros, 1, ElementType::i32);
  a.values = shape(a.nonzeros, 1);
  return {a, shape(a.columns, width), shape(a.rows, width)};
}

GpuModel cached(std::uint64_t l2_bytes) {
  GpuModel gpu = round_cluster().gpu;
  gpu.l2_bytes = l2_bytes;
  return gpu;
}

TEST(OperationCost, IndexedRowsLieBetweenCompulsoryAndOneFetchPerEntry) {
  // 1e6 vertices, degree 10, rows of 32 bytes: windows of 32e6 bytes.
  const Work work = product(1000000, 1, 10, 8).work();
  EXPECT_EQ(work.gather.accessed_bytes, 10e6 * 32);
  EXPECT_EQ(work.gather.distinct_bytes, 1e6 * 32);
  EXPECT_EQ(memory_bytes(cached(0), work), work.bytes());
  EXPECT_EQ(memory_bytes(cached(32000000), work), work.bytes());
  EXPECT_NEAR(memory_bytes(cached(16000000), work), work.bytes() + 0.5 * 9e6 * 32, 1.0);
  EXPECT_NEAR(memory_bytes(cached(1), work), work.bytes() + 9e6 * 32, 100.0);
}

TEST(OperationCost, TheWindowIsOneSnapshot) {
  const Work one = product(1000000, 1, 10, 8).work(), ten = product(100000, 10, 10, 8).work();
  EXPECT_NEAR(one.gather.accessed_bytes, ten.gather.accessed_bytes, 1e-9);
  const GpuModel gpu = cached(4000000);  // all rows of a tenth fit
  EXPECT_GT(memory_bytes(gpu, one), one.bytes());
  EXPECT_EQ(memory_bytes(gpu, ten), ten.bytes());
}

TEST(OperationCost, NarrowRowsWasteTheirSectors) {
  const GpuModel gpu = cached(1);
  const auto per_access = [&](std::int64_t width) {
    const Work work = product(100000, 1, 50, width).work();
    return (memory_bytes(gpu, work) - work.bytes()) / (work.gather.accessed_bytes - work.gather.distinct_bytes);
  };
  EXPECT_NEAR(per_access(8), 1.0, 1e-3);        // 32 of 32 bytes
  EXPECT_NEAR(per_access(6), 32.0 / 24, 1e-3);  // 24 of 32
  EXPECT_NEAR(per_access(1), 8.0, 1e-3);        // 4 of 32
  EXPECT_NEAR(per_access(9), 64.0 / 36, 1e-3);  // 36 of 64
}

TEST(OperationCost, RoundsThatWaitForEachOtherTakeTheirTimeHoweverLittleTheyCompute) {
  LstmSequence lstm;
  lstm.x = shape(64 * 5, 3), lstm.w_x = shape(3, 24), lstm.w_h = shape(6, 24), lstm.bias = shape(1, 24);
  lstm.y = lstm.cells = shape(64 * 5, 6);
  lstm.steps = 64;
  EvolveWeights evolve;
  evolve.wx = evolve.wh = shape(24, 6), evolve.bias = shape(24, 6), evolve.start = shape(6, 6);
  evolve.weights = shape(64 * 6, 6), evolve.kept = shape(64 * 30, 6);
  GpuModel gpu = round_cluster().gpu;
  for (const Work& work : {lstm.work(), evolve.work()}) {
    EXPECT_EQ(work.rounds, 64);
    gpu.round_seconds = 0;
    EXPECT_EQ(roofline_seconds(gpu, work, ElementType::f32), gpu.launch_seconds);
    gpu.round_seconds = 2e-6;
    EXPECT_DOUBLE_EQ(roofline_seconds(gpu, work, ElementType::f32), 64 * 2e-6);
  }
  EXPECT_EQ(product(100, 64, 10, 8).work().rounds, 0) << "the steps of a product do not wait for each other";
}

TEST(OperationCost, ACalibrationKnowsRounds) {
  Cluster cluster = round_cluster();
  cluster.calibration = sim::read_calibration(
      Json::parse(R"({"operations": {"fill": [{"seconds": 1.0, "seconds_per_round": 0.5}]}})"), "/calibration");
  EXPECT_EQ(operation_seconds(cluster, "fill", {0, 0, 0, {}, 8}, ElementType::f32), 5.0);
}

TEST(OperationCost, MoreWorkNeverTakesLessAndMoreHardwareNeverMore) {
  const GpuModel gpu = cached(6000000);
  double before = 0;
  for (const std::int64_t degree : {1, 2, 4, 8, 16, 32, 64}) {
    const double seconds = roofline_seconds(gpu, product(500000, 2, degree, 16).work(), ElementType::f32);
    EXPECT_GE(seconds, before) << "degree " << degree;
    before = seconds;
  }
  const Work work = product(500000, 2, 20, 16).work();
  const double base = roofline_seconds(gpu, work, ElementType::f32);
  GpuModel more_cache = gpu, half_bandwidth = gpu, half_peak = gpu;
  more_cache.l2_bytes *= 2;
  half_bandwidth.memory_bytes_per_second /= 2;
  half_peak.flops_fp32_per_second /= 2;
  EXPECT_LT(roofline_seconds(more_cache, work, ElementType::f32), base);
  EXPECT_NEAR(roofline_seconds(half_bandwidth, work, ElementType::f32), 2 * base, 1e-12);
  EXPECT_GE(roofline_seconds(half_peak, work, ElementType::f32), base);
}

TEST(OperationCost, ACalibrationGoesFirstForTheOperationsThatItKnows) {
  Cluster cluster = round_cluster();
  const Json fits = Json::parse(R"({
    "operations": {"fill": [{"ranks": 4, "seconds": 2e-6, "seconds_per_read_byte": 3e-11,
                             "seconds_per_written_byte": 4e-11, "worst_relative_error": 0.2}],
                   "spmm": [{"seconds_per_flop": 1e-12, "seconds_per_gathered_byte": 1e-11}]},
    "collectives": {"barrier": [{"ranks": 4, "seconds": 1e-5, "seconds_per_message": 1e-6}]}})");
  cluster.calibration = sim::read_calibration(fits, "/calibration");
  const Work work = {5e6, 3e6, 1e6};
  const double fill = 2e-6 + 3e-11 * 3e6 + 4e-11 * 1e6;
  EXPECT_NEAR(operation_seconds(cluster, "fill", work, ElementType::f32), fill, 1e-15);
  EXPECT_EQ(operation_seconds(cluster, "dense", work, ElementType::f32),
            roofline_seconds(cluster.gpu, work, ElementType::f32));
  const Work sparse = product(1000, 1, 10, 8).work();
  EXPECT_NEAR(operation_seconds(cluster, "spmm", sparse, ElementType::f32),
              1e-12 * sparse.flops + 1e-11 * sparse.gather.accessed_bytes, 1e-15);
  const auto outcome = sim_test::simulate(sim_test::request_for(cluster, 4), [](Device& device, Communicator& c) {
    sim_test::work_of_bytes(device, 4000000);
    c.barrier();
  });
  EXPECT_NEAR(outcome.slowest(), 2e-6 + 4e-11 * 4e6 + 1e-5 + 3e-6, 1e-12);
}

TEST(OperationCost, AFitOfNothingButZerosIsStillAFit) {
  Cluster cluster = round_cluster();
  cluster.calibration =
      sim::read_calibration(Json::parse(R"({"operations": {"fill": [{"seconds": 0.0}]}})"), "/calibration");
  EXPECT_EQ(operation_seconds(cluster, "fill", {5e6, 3e6, 1e6}, ElementType::f32), 0);
}

TEST(OperationCost, APairThatACalibrationDoesNotKnowCostsOneOperationOfItsWork) {
  Cluster cluster = round_cluster();
  const auto cost_with = [&](const char* operations) {
    cluster.calibration = sim::read_calibration(Json::parse(operations), "/calibration");
    const Spmm one = product(1000, 1, 10, 8), other = product(500, 1, 10, 8);
    const Work pair = SpmmPair{one, other}.work();
    EXPECT_EQ(pair.flops, one.work().flops + other.work().flops);
    EXPECT_EQ(pair.gather.accessed_bytes, one.work().gather.accessed_bytes + other.work().gather.accessed_bytes);
    return operation_seconds(cluster, "spmm_pair", pair, ElementType::f32) / pair.flops;
  };
  EXPECT_NEAR(cost_with(R"({"operations": {"spmm": [{"seconds_per_flop": 1e-9}]}})"), 1e-9, 1e-18);
  EXPECT_NEAR(cost_with(R"({"operations": {"spmm": [{"seconds_per_flop": 1e-9}],
                                           "spmm_pair": [{"seconds_per_flop": 3e-9}]}})"),
              3e-9, 1e-18);
}

TEST(OperationCost, TheFitOfTheNearestRanksIsTakenAndRanksBeyondTheCoresTakeTurns) {
  Cluster cluster = round_cluster();
  cluster.calibration = sim::read_calibration(Json::parse(R"({
    "cores": 2,
    "operations": {"fill": [{"ranks": 1, "precision": "fp32", "seconds": 1.0},
                            {"ranks": 2, "precision": "fp32", "seconds": 3.0}]},
    "collectives": {"barrier": [{"ranks": 2, "seconds": 5.0}]}})"),
                                              "/calibration");
  const auto seconds = [&](int ranks) { return operation_seconds(cluster, "fill", {}, ElementType::f32, ranks); };
  EXPECT_EQ(seconds(1), 1.0);
  EXPECT_EQ(seconds(2), 3.0);
  EXPECT_EQ(seconds(3), 4.5);  // three ranks on two cores
  EXPECT_EQ(seconds(4), 6.0);
  EXPECT_EQ(operation_seconds(cluster, "fill", {}, ElementType::f64, 2),
            roofline_seconds(cluster.gpu, {}, ElementType::f64));  // not fitted in that precision
  EXPECT_EQ(cluster.calibration->collective_seconds("barrier", 4, 0, 0), 10.0);
  EXPECT_LT(cluster.calibration->collective_seconds("broadcast", 4, 0, 0), 0.0);
}

TEST(OperationCost, ImpossibleFitsAreRefusedWithTheirPointer) {
  const auto place_of = [](const char* fits) -> std::string {
    try {
      sim::read_calibration(Json::parse(fits), "/calibration");
    } catch (const InvalidRequest& error) {
      return error.where();
    }
    return "accepted";
  };
  EXPECT_EQ(place_of(R"({"operations": {"fill": [{"seconds": -1.0}]}})"), "/calibration/operations/fill/0/seconds");
  EXPECT_EQ(place_of(R"({"operations": {"fill": [{}, {"seconds_per_read_byte": "few"}]}})"),
            "/calibration/operations/fill/1/seconds_per_read_byte");
  EXPECT_EQ(place_of(R"({"operations": {"fill": [{"ranks": 0}]}})"), "/calibration/operations/fill/0/ranks");
  EXPECT_EQ(place_of(R"({"operations": {"fill": [{"precision": "fp16"}]}})"),
            "/calibration/operations/fill/0/precision");
  EXPECT_EQ(place_of(R"({"operations": {"fill": {"seconds": 1}}})"), "/calibration/operations/fill");
  EXPECT_EQ(place_of(R"({"collectives": {"barrier": 3}})"), "/calibration/collectives/barrier");
  EXPECT_EQ(place_of(R"({"cores": 0})"), "/calibration/cores");
  EXPECT_EQ(place_of("[]"), "/calibration");
}

}  // namespace
}  // namespace strobe
