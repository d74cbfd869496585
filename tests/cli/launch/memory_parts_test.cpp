// The parts of memory of ranks that are MPI processes: planned and measured, and what the processes really hold.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/cli/launch/mpi_program.hpp"

namespace strobe::cli_test {
namespace {

constexpr const char* parts_of_memory[] = {"state", "graph", "features", "buffers", "samples"};

struct MemoryCase {
  std::string strategy, model, workload, task;
};

/// Names of tests may have letters and digits only.
std::string name_of(const testing::TestParamInfo<std::tuple<MemoryCase, int>>& info) {
  const auto& [of, ranks] = info.param;
  std::string name = of.strategy + of.model + std::to_string(ranks);
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
}

class MemoryParts : public MpiProgram, public testing::WithParamInterface<std::tuple<MemoryCase, int>> {
 protected:
  Json row_of(const MemoryCase& of, int ranks, const std::string& workload, const std::string& out) {
    const std::string count = std::to_string(ranks);
    std::vector<std::string> words = {"run",       "--workload", workload, "--model",          of.model, "--strategy",
                                      of.strategy, "--ranks",    count,    "--comm",           "mpi",    "--epochs",
                                      "2",         "--warmup",   "1",      "--planned-memory", "--out",  path(out)};
    if (!of.task.empty()) words.insert(words.end(), {"--task", of.task});
    const Outcome outcome = mpirun(count, words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Json row = rows(out).at(0);
    EXPECT_EQ(row.at("status"), "ok") << row.at("reason");
    return row;
  }

  static std::uint64_t value(const Json& parts, const std::string& part, int rank) {
    return parts.at(part).at(static_cast<std::size_t>(rank)).get<std::uint64_t>();
  }
  static std::uint64_t sum(const Json& parts, int rank) {
    std::uint64_t all = 0;
    for (const std::string part : parts_of_memory) all += value(parts, part, rank);
    return all;
  }
};

TEST_P(MemoryParts, AddUpToThePeakAndAreAsPlanned) {
  const auto& [of, ranks] = GetParam();
  const Json row = row_of(of, ranks, of.workload, "out");
  const Json& memory = row.at("memory_bytes");
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(sum(memory, rank), row.at("peak_bytes").at("host").at(static_cast<std::size_t>(rank))) << rank;
    for (const std::string part : parts_of_memory) {
      const auto measured = static_cast<double>(value(memory, part, rank));
      const auto planned = static_cast<double>(value(memory.at("planned"), part, rank));
      EXPECT_LE(std::abs(planned - measured), 0.05 * measured)
          << part << " of rank " << rank << ": planned " << planned << ", measured " << measured;
    }
    EXPECT_GT(value(memory, "state", rank), 0u);
    EXPECT_GT(memory.at("process").at(static_cast<std::size_t>(rank)), sum(memory, rank));
  }
  if (ranks == 1 && of.model != "tgn-attn") {
    EXPECT_EQ(value(memory, "buffers", 0), 0u);
  }
}

using SharedMemory = MemoryParts;

/// A process alone holds all samples and owners. Several hold their parts, and share what they have in common as files.
TEST_P(SharedMemory, IsNoMoreTogetherThanAlone) {
  const auto& [of, ranks] = GetParam();
  const Json alone = row_of(of, 1, of.workload, "alone").at("memory_bytes").at("host");
  const Json together = row_of(of, ranks, of.workload, "together").at("memory_bytes").at("host");
  for (const char* part : {"samples", "graph", "features"}) {
    std::uint64_t all = 0;
    for (int rank = 0; rank < ranks; ++rank) all += value(together, part, rank);
    EXPECT_LE(all, value(alone, part, 0)) << part;
    EXPECT_GT(value(alone, part, 0), 0u) << part;
  }
}

constexpr const char* small_graph = "uniform:steps=16,vertices=400,density=4";
constexpr const char* small_events = "bursty_events:vertices=200,events=8000";

INSTANTIATE_TEST_SUITE_P(Processes, MemoryParts,
                         testing::Combine(testing::Values(MemoryCase{"vertex", "t-gcn", small_graph, ""},
                                                          MemoryCase{"snapshot", "t-gcn", small_graph, ""},
                                                          MemoryCase{"chunk", "t-gcn", small_graph, ""},
                                                          MemoryCase{"snapshot_groups", "t-gcn", small_graph, ""},
                                                          MemoryCase{"vertex", "evolve-gcn-o", small_graph, ""},
                                                          MemoryCase{"snapshot", "evolve-gcn-o", small_graph, ""},
                                                          MemoryCase{"chunk", "evolve-gcn-o", small_graph, ""},
                                                          MemoryCase{"pyd", "t-gcn", small_graph, ""},
                                                          MemoryCase{"event_batch", "tgn-attn", small_events, ""},
                                                          MemoryCase{"event_batch:batch=100", "tgn-attn", small_events,
                                                                     ""}),
                                          testing::Values(1, 2, 4, 8)),
                         name_of);

// With units, a rank alone hands states on from one unit to the next, in buffers.
INSTANTIATE_TEST_SUITE_P(Units, MemoryParts,
                         testing::Combine(testing::Values(MemoryCase{"chunk:fusion=none,max_cells=100", "t-gcn",
                                                                     small_graph, ""}),
                                          testing::Values(2, 4, 8)),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Processes, SharedMemory,
                         testing::Combine(testing::Values(MemoryCase{"vertex", "t-gcn", small_graph, ""},
                                                          MemoryCase{"snapshot", "t-gcn", small_graph, ""},
                                                          MemoryCase{"chunk:fusion=none,max_cells=100", "t-gcn",
                                                                     small_graph, ""},
                                                          MemoryCase{"hybrid_batch", "t-gcn", small_graph, ""}),
                                          testing::Values(2, 4)),
                         name_of);

using ProcessMemory = MemoryParts;

/// A larger graph adds to the process as much as to the counted parts.
TEST_P(ProcessMemory, GrowsAsTheCountedParts) {
  const auto& [of, ranks] = GetParam();
  const Json small = row_of(of, ranks, "uniform:steps=16,vertices=200,density=4", "small").at("memory_bytes");
  const Json large = row_of(of, ranks, of.workload, "large").at("memory_bytes");
  for (int rank = 0; rank < ranks; ++rank) {
    const auto counted = [&](const Json& memory) {
      return static_cast<double>(sum(memory, rank) + sum(memory.at("host"), rank));
    };
    const auto process = [&](const Json& memory) {
      return memory.at("process").at(static_cast<std::size_t>(rank)).get<double>();
    };
    const double grown = process(large) - process(small), explained = counted(large) - counted(small);
    EXPECT_LE(std::abs(grown - explained), 0.10 * grown)
        << "rank " << rank << " grew by " << grown << " bytes, its parts by " << explained;
  }
}

INSTANTIATE_TEST_SUITE_P(
    LargerGraph, ProcessMemory,
    testing::Combine(testing::Values(MemoryCase{"vertex", "t-gcn", "uniform:steps=16,vertices=20000,density=4", ""},
                                     MemoryCase{"snapshot", "t-gcn", "uniform:steps=16,vertices=20000,density=4", ""}),
                     testing::Values(1, 2)),
    name_of);

}  // namespace
}  // namespace strobe::cli_test
