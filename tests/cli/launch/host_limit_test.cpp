// The limit of host memory, with real processes: what is planned is what they take.
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/launch/mpi_program.hpp"
#include "tests/cli/launch/private_memory.hpp"

namespace strobe::cli_test {
namespace {

struct LimitedCase {
  std::string strategy, comm;
  int ranks = 1, epochs = 2;
  std::string workload = "uniform:vertices=60000,steps=12,density=8", model = "t-gcn", task{};
  std::vector<std::string> files{};  // flags of output files
  std::string precision = "fp32", nb = "1";
  std::string limit = "8";  // GiB
};

/// The same with a limit under which the content of large files lies on the disk.
LimitedCase with_content_on_disk(LimitedCase of) {
  of.limit = "0.6";
  return of;
}

LimitedCase events_under_limit(const std::string& model, const std::string& strategy, const std::string& task,
                               int ranks = 1, const std::vector<std::string>& files = {}) {
  return {strategy, "local", ranks, 2, "bursty_events:vertices=200000,events=100000", model, task, files};
}

/// Few vertices and long histories, so that what goes into files takes most of the memory.
LimitedCase files_under_limit(const std::string& model, const std::string& events, const std::string& precision,
                              const std::vector<std::string>& files, int candidates = 9) {
  const std::string workload = "bursty_events:vertices=5000,events=" + events,
                    task = "future-links:candidates=" + std::to_string(candidates);
  return {"sequential:batch=600", "local", 1, 1, workload, model, task, files, precision};
}

std::string name_of_limited(const testing::TestParamInfo<LimitedCase>& info) {
  std::string name = info.param.strategy + std::to_string(info.param.ranks) + info.param.comm;
  if (!info.param.task.empty()) name += info.param.model + info.param.task;
  for (const std::string& file : info.param.files) name += file;
  if (info.param.precision != "fp32") name += info.param.precision;
  if (info.param.limit != "8") name += "limit" + info.param.limit;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
}

class HostLimit : public MpiProgram, public testing::WithParamInterface<LimitedCase> {
 protected:
  /// The most private bytes of each process of a command, added up.
  double most_bytes_of(pid_t command, Outcome& outcome) {
    double sum = 0;
    for (const auto& [rank, bytes] : most_private_bytes(command, [&] { outcome = finish(command); })) sum += bytes;
    return sum;
  }

  std::vector<std::string> words_of(const LimitedCase& of, const std::string& out) const {
    const std::string count = std::to_string(of.ranks);
    std::vector<std::string> words;
    if (of.comm == "mpi") words = {"mpirun", "-n", count};
    words.insert(words.end(), {STROBE_BINARY, "run",        "--workload", of.workload,
                               "--model",     of.model,     "--strategy", of.strategy,
                               "--ranks",     count,        "--comm",     of.comm,
                               "--threads",   "1",          "--epochs",   std::to_string(of.epochs),
                               "--precision", of.precision, "--warmup",   "0",
                               "--out",       out});
    if (!of.limit.empty()) words.insert(words.end(), {"--host-memory-limit-gib", of.limit});
    if (of.nb != "1") words.insert(words.end(), {"--nb", of.nb});
    if (!of.task.empty()) words.insert(words.end(), {"--task", of.task});
    for (const std::string& file : of.files) words.insert(words.end(), {file, out + file});
    return words;
  }

  /// The number of bytes that follows `words` in a note, such as "planned to take 193 MB"; 0 without them.
  static double bytes_after(const std::string& words, const Json& row) {
    for (const Json& note : row.at("notes")) {
      const std::string text = note.get<std::string>();
      const std::size_t at = text.find(words);
      if (at == std::string::npos) continue;
      std::istringstream rest(text.substr(at + words.size()));
      double number = 0;
      std::string unit;
      rest >> number >> unit;
      return number * (unit == "GB" ? 1e9 : unit == "MB" ? 1e6 : 1e3);
    }
    return 0;
  }
  static double planned_bytes(const Json& row) {
    return std::max(bytes_after("planned to take ", row), bytes_after("measures chunks takes ", row));
  }
};

TEST_P(HostLimit, PlannedBytesAreThoseThatProcessesTake) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  Outcome outcome;
  const double measured = most_bytes_of(start(words_of(GetParam(), path("out"))), outcome);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const double planned = planned_bytes(rows("out").at(0));
  EXPECT_LE(std::abs(measured - planned), 0.05 * measured) << "planned " << planned << ", measured " << measured;
}

/// Its static memory takes more while it is trained than some batches do.
constexpr const char* pretrained = "tgn-attn:memory=16,time=16,neighbours=5,static=pretrained,static_epochs=1";

/// Threads alone: between processes, channels to daemons lie in shared memory, which is not private.
INSTANTIATE_TEST_SUITE_P(
    OfEvents, HostLimit,
    testing::Values(
        events_under_limit("jodie:memory=16,time=16", "sequential:batch=1000", "future-links:candidates=19"),
        events_under_limit("tgn-attn:memory=16,time=16,neighbours=5", "sequential:batch=600",
                           "future-links:candidates=9"),
        events_under_limit("tgat:hidden=16,time=16,neighbours=5", "sequential:batch=600", "future-links:candidates=9"),
        events_under_limit("jodie:memory=16,time=16", "event_batch:batch=600", "future-links:candidates=19", 2),
        events_under_limit("tgn-attn:memory=16,time=16,neighbours=5", "event_batch:batch=600,i=2",
                           "future-links:candidates=9", 2),
        events_under_limit("tgn-attn:memory=16,time=16,neighbours=5",
                           "event_batch:batch=600,i=2,memory_layout=distributed,nodes=2", "future-links:candidates=9",
                           2),
        events_under_limit(pretrained, "sequential:batch=600", "future-links:candidates=9"),
        events_under_limit(pretrained, "event_batch:batch=600,i=2", "future-links:candidates=9", 2),
        events_under_limit(pretrained, "event_batch:batch=600,i=2,memory_layout=distributed,nodes=2",
                           "future-links:candidates=9", 2),
        events_under_limit("jodie:memory=16,time=16", "sequential:batch=1000,evaluate_batches=20",
                           "future-links:candidates=19"),
        events_under_limit("tgn-attn:memory=16,time=16,neighbours=5", "event_batch:batch=600,i=2,evaluate_batches=20",
                           "future-links:candidates=9", 2),
        files_under_limit("jodie:memory=32,time=16", "100000", "fp64", {"--dump-embeddings"}),
        files_under_limit("tgn-attn:memory=32,time=16,neighbours=5", "120000", "fp64", {"--dump-embeddings"}),
        with_content_on_disk(files_under_limit("tgn-attn:memory=32,time=16,neighbours=5", "60000", "fp64",
                                               {"--dump-embeddings"})),
        files_under_limit("jodie:memory=8,time=8", "240000", "fp32", {"--dump-scores"}, 99),
        events_under_limit("jodie:memory=16,time=16", "sequential:batch=1000", "future-links:candidates=19", 1,
                           {"--dump-embeddings", "--dump-memory"}),
        events_under_limit("jodie:memory=16,time=16", "sequential:batch=1000", "future-links:candidates=99", 1,
                           {"--dump-scores"}),
        events_under_limit("jodie:memory=16,time=16", "sequential:batch=1000",
                           "future-links:candidates=19,pair_history=200"),
        events_under_limit("tgn-attn:memory=16,time=16,neighbours=5",
                           "event_batch:batch=600,i=2,memory_layout=distributed,nodes=2", "future-links:candidates=9",
                           2, {"--dump-embeddings"})),
    name_of_limited);

/// Steps without many edges, so that the embeddings that rank 0 writes take most of the memory.
LimitedCase embeddings_under_limit(const std::string& strategy, const std::string& comm, int ranks,
                                   const std::string& precision = "fp32") {
  const std::string workload = "uniform:vertices=40000,steps=24,density=1", nb = strategy == "hybrid_batch" ? "1" : "8";
  return {strategy, comm, ranks, 1, workload, "t-gcn:hidden=16", "", {"--dump-embeddings"}, precision, nb};
}

/// Its first epoch, which measures chunks, takes more than training does.
constexpr const char* measured_chunks = "chunk:fusion_memory=measured,fusion_gib=0.1";

INSTANTIATE_TEST_SUITE_P(
    Processes, HostLimit,
    testing::Values(LimitedCase{"vertex:partitioner=hash", "local", 1},
                    LimitedCase{"vertex:partitioner=hash", "local", 2},
                    LimitedCase{"vertex:partitioner=hash", "local", 4}, LimitedCase{"snapshot", "local", 2},
                    LimitedCase{"snapshot", "local", 4}, LimitedCase{"chunk", "local", 2},
                    LimitedCase{"chunk", "local", 4}, LimitedCase{"vertex:partitioner=hash", "mpi", 2},
                    LimitedCase{"snapshot", "mpi", 2}, LimitedCase{"chunk", "mpi", 2},
                    LimitedCase{measured_chunks, "local", 2}, LimitedCase{measured_chunks, "mpi", 2},
                    LimitedCase{"hybrid_batch", "local", 1}, LimitedCase{"hybrid_batch", "local", 2},
                    LimitedCase{"hybrid_batch", "mpi", 2}, LimitedCase{"hybrid_batch:reservoir_start=full", "local", 1},
                    LimitedCase{"hybrid_batch:evaluate_every=1,reservoir=false", "local", 1, 3},
                    embeddings_under_limit("sequential", "local", 1, "fp64"),
                    embeddings_under_limit("vertex:partitioner=hash", "local", 2),
                    embeddings_under_limit("vertex:partitioner=hash", "mpi", 2),
                    embeddings_under_limit("hybrid_batch", "local", 1),
                    with_content_on_disk(embeddings_under_limit("sequential", "local", 1, "fp64")),
                    with_content_on_disk(embeddings_under_limit("vertex:partitioner=hash", "mpi", 2)),
                    with_content_on_disk(embeddings_under_limit("hybrid_batch", "local", 2)),
                    with_content_on_disk(embeddings_under_limit("hybrid_batch", "mpi", 2))),
    name_of_limited);

class ContentOnDisk : public HostLimit {};

TEST_P(ContentOnDisk, GivesTheFileThatMemoryGives) {
  LimitedCase of = GetParam();
  std::vector<std::string> files;
  for (const std::string& limit : {std::string("0.6"), std::string()}) {
    of.limit = limit;
    const std::string out = path("out" + limit);
    Outcome outcome = finish(start(words_of(of, out)));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    files.push_back(read_text(out + of.files.at(0)));
  }
  EXPECT_GT(files[0].size(), 15'000'000u) << "smaller content stays in memory";
  EXPECT_TRUE(files[0] == files[1]);
}

INSTANTIATE_TEST_SUITE_P(
    Files, ContentOnDisk,
    testing::Values(embeddings_under_limit("sequential", "local", 1),
                    embeddings_under_limit("vertex:partitioner=hash", "local", 3),
                    embeddings_under_limit("snapshot", "mpi", 2), embeddings_under_limit("pss", "mpi", 2),
                    embeddings_under_limit("hybrid_batch", "local", 2),
                    files_under_limit("jodie:memory=32,time=16", "60000", "fp32", {"--dump-embeddings"}),
                    events_under_limit("tgn-attn:memory=16,time=16,neighbours=5",
                                       "event_batch:batch=600,i=2,memory_layout=distributed,nodes=2",
                                       "future-links:candidates=9", 2, {"--dump-embeddings"})),
    name_of_limited);

using HostLimitOfMetis = MpiProgram;

/// A limit that is far above what training takes, and below what METIS takes while it cuts the graph of cells.
TEST_F(HostLimitOfMetis, RefusesWhatPlanningTook) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const auto run = [&](const std::string& assign) {
    return strobe({"run",
                   "--workload",
                   "uniform:vertices=30000,steps=8,density=4",
                   "--model",
                   "t-gcn:hidden=2",
                   "--strategy",
                   "chunk:assign=" + assign,
                   "--ranks",
                   "2",
                   "--epochs",
                   "1",
                   "--nb",
                   "4",
                   "--threads",
                   "1",
                   "--warmup",
                   "0",
                   "--host-memory-limit-gib",
                   "0.085",
                   "--out",
                   path(assign)});
  };
  const Outcome chunks = run("lpt"), cut = run("metis");
  EXPECT_EQ(chunks.status, 0) << chunks.err;
  if (cut.err.find("without METIS") != std::string::npos) GTEST_SKIP() << cut.err;
  expect_refusal(cut, 2, {"--host-memory-limit-gib", "planning took"});
}

class LimitedDryRun : public MpiProgram {
 protected:
  Outcome under(const std::string& gib, const std::string& nb, const std::vector<std::string>& more) {
    std::vector<std::string> words{"run",
                                   "--workload",
                                   "uniform:vertices=20000,steps=12,density=8",
                                   "--model",
                                   "t-gcn",
                                   "--strategy",
                                   "vertex",
                                   "--epochs",
                                   "1",
                                   "--nb",
                                   nb,
                                   "--json",
                                   "--host-memory-limit-gib",
                                   gib};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
  /// The note "nb=auto chose 2 blocks: ..." of an output; "" without one.
  static std::string choice_in(const std::string& text) {
    const std::size_t at = text.find("nb=auto chose");
    return at == std::string::npos ? "" : text.substr(at, text.find(':', at) - at);
  }
};

TEST_F(LimitedDryRun, ShowsThePlanOfTheRun) {
  const Outcome run = under("0.08", "auto", {"--out", path("out")}), dry = under("0.08", "auto", {"--dry-run"});
  ASSERT_EQ(run.status, 0) << run.err;
  ASSERT_EQ(dry.status, 0) << dry.err;
  EXPECT_NE(choice_in(run.out), "") << run.out;
  EXPECT_EQ(choice_in(dry.out), choice_in(run.out));
  EXPECT_NE(dry.out.find("planned to take"), std::string::npos);
}

TEST_F(LimitedDryRun, RefusesWhatTheRunRefuses) {
  for (const char* const gib : {"0.001", "0.05"}) {
    expect_refusal(under(gib, "1", {"--out", path("refused")}), 2, {"--host-memory-limit-gib"});
    expect_refusal(under(gib, "1", {"--dry-run"}), 2, {"--host-memory-limit-gib"});
  }
}

}  // namespace
}  // namespace strobe::cli_test
