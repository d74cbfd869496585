// Training from a mapped file, under a limit of host memory: the same bits as from memory, and pages that come before
// their use and go after it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/full_batch/inputs/file_rows.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "tests/full_batch_strategies.hpp"
#include "tests/harness/limited_store.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/storage/mapped_file.hpp"
#include "workloads/storage/pages.hpp"

namespace strobe {
namespace {

Json request_of(const std::string& strategy, int ranks, const std::string& precision) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 300}, {"steps", 9}, {"density", 3}}},
          {"model", ranks % 2 == 0 ? "tm-gcn" : "evolve-gcn-o"},
          {"strategy", strategy},
          {"ranks", ranks},
          {"epochs", 2},
          {"precision", precision}};
}

/// Losses of the case from memory, and from a file.
void expect_equal_bits(Json request, const std::string& folder) {
  const CaseResult from_memory = run_case(case_from_json(request, ""));
  ASSERT_EQ(from_memory.status, "ok") << request << from_memory.reason;
  request["host_memory_limit_gib"] = 64;
  const DataCache cache(test::store_in(folder));
  const Case limited = case_from_json(request, "");
  EXPECT_TRUE(full_batch(*make_plan(limited, PlanUse::run, cache)).data.graph->columns.is_view());
  const CaseResult from_file = run_case(limited, nullptr, {}, cache);
  ASSERT_EQ(from_file.status, "ok") << request << from_file.reason;
  EXPECT_EQ(from_file.loss.per_epoch, from_memory.loss.per_epoch) << request;
  for (const auto& [name, series] : from_memory.metrics)
    EXPECT_EQ(from_file.metrics.at(name).per_epoch, series.per_epoch) << request << name;
}

TEST(FromFile, EveryStrategyHasTheBitsOfTrainingFromMemory) {
  const test::TemporaryFolder folder;
  for (const std::string& strategy : test::full_batch_strategies()) {
    for (const int ranks : {1, 2, 4}) {
      if (strategy == "sequential" && ranks > 1) continue;
      for (const std::string precision : {"fp32", "fp64"}) {
        const Json whole = request_of(strategy, ranks, precision);
        expect_equal_bits(whole, folder.file(""));
        Json blocks = whole;
        blocks["nb"] = "3";
        try {
          make_plan(case_from_json(blocks, ""));
        } catch (const InvalidRequest&) {
          continue;  // some strategies cannot go in blocks
        }
        expect_equal_bits(blocks, folder.file(""));
      }
    }
  }
}

TEST(FromFile, EveryTransferHasTheBitsOfTrainingFromMemory) {
  const test::TemporaryFolder folder;
  for (const char* transfer : {"full", "difference", "changed", "least"}) {
    Json request = request_of("snapshot", 2, "fp32");
    request["transfer"] = transfer, request["nb"] = "3";
    expect_equal_bits(request, folder.file(""));
  }
}

TEST(FromFile, RowsReadHoldEveryOwnRowAndMeetNoOther) {
  for (int seed = 1; seed <= 200; ++seed) {
    std::mt19937 draw(seed);
    const int ranks = 1 + draw() % 4, vertices = 1 + draw() % 20, steps = 1 + draw() % 5, first = draw() % 3;
    Placement placement{ranks, vertices, {}, {}};
    for (int t = 0; t < steps; ++t) {
      std::vector<Rank> owner(vertices);
      for (Rank& rank : owner) rank = draw() % ranks;
      placement.maps.push_back(vertex_map(owner, ranks));
      placement.map_of_step.push_back(t);
    }
    for (Rank rank = 0; rank < ranks; ++rank) {
      const std::vector<GraphRows> rows = rows_read(placement, rank, first);
      const auto covers = [&](std::int64_t row) {
        return std::any_of(rows.begin(), rows.end(), [&](auto& some) { return some.first <= row && row < some.end; });
      };
      for (int t = 0; t < steps; ++t) {
        for (VertexId v = 0; v < vertices; ++v) {
          if (placement.owner(v, t) == rank) {
            EXPECT_TRUE(covers((first + t) * vertices + v)) << seed;
          }
        }
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(placement.owner(rows[i].first % vertices, rows[i].first / vertices - first), rank);
        EXPECT_EQ(placement.owner((rows[i].end - 1) % vertices, (rows[i].end - 1) / vertices - first), rank);
        if (i > 0) {
          EXPECT_LT(rows[i - 1].end, rows[i].first);
        }
      }
    }
  }
}

/// Pages of the mapping that the system holds in memory.
std::size_t held_pages(std::string_view bytes) {
  std::vector<unsigned char> held((bytes.size() + 4095) / 4096);
  EXPECT_EQ(mincore(const_cast<char*>(bytes.data()), bytes.size(), held.data()), 0);
  return std::count_if(held.begin(), held.end(), [](unsigned char page) { return (page & 1) != 0; });
}

/// Writes a file whose pages the system need not hold.
void write_unheld(const std::string& path, std::size_t bytes) {
  std::ofstream(path) << std::string(bytes, 'x');
  const int file = open(path.c_str(), O_RDONLY);
  ASSERT_EQ(fsync(file), 0);
  ASSERT_EQ(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
  close(file);
}

TEST(FromFile, PagesAreReadAheadWithoutBeingTouched) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("pages");
  constexpr std::size_t bytes = std::size_t{16} << 20;
  write_unheld(path, bytes);
  const MappedFile mapped(path);
  if (held_pages(mapped.bytes()) > 0) GTEST_SKIP() << "the folder's file system keeps its pages in memory";
  read_pages_ahead(mapped.bytes().data() + bytes / 2, bytes / 2);
  for (int i = 0; i < 1000 && held_pages(mapped.bytes().substr(bytes / 2)) < bytes / 2 / 4096; ++i) usleep(10'000);
  EXPECT_EQ(held_pages(mapped.bytes().substr(bytes / 2)), bytes / 2 / 4096);
  EXPECT_LT(held_pages(mapped.bytes().substr(0, bytes / 2)), bytes / 2 / 4096 / 2);
}

TEST(FromFile, BroughtPagesAreInMemoryAtOnce) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("pages");
  constexpr std::size_t bytes = (std::size_t{5} << 20) + 4097;
  write_unheld(path, bytes);
  const MappedFile mapped(path);
  if (held_pages(mapped.bytes()) > 0) GTEST_SKIP() << "the folder's file system keeps its pages in memory";
  bring_pages(mapped.bytes().data(), bytes);
  EXPECT_EQ(held_pages(mapped.bytes()), (bytes + 4095) / 4096);
  bring_pages(path.data(), path.size());  // private memory is left alone
}

}  // namespace
}  // namespace strobe
