// From text to graphs: parsing, reading, sorting, time-ordered adjacency, opening a binary graph. Rates are of the
// text's or the events' bytes; of_read_bandwidth is the fraction of the machine's measured one that the compulsory
// bytes are. Memory is resident memory beyond what the process had before, so allocator and page tables count.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "bench/measure.hpp"
#include "core/random.hpp"
#include "workloads/continuous/time_csr.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/storage/parallel.hpp"
#include "workloads/workload.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t text_rows = 5'000'000, small_rows = 506'550, small_vertices = 24'818, many = 100'000'000;
constexpr std::uint64_t first_time = 1'254'000'000, span = 203'000'000, ids = 1'000'000;

/// A folder of this process, removed at its end.
const std::string& folder() {
  struct Folder {
    std::string path = (std::filesystem::temp_directory_path() / "strobe-bench-XXXXXX").string();
    Folder() {
      if (mkdtemp(path.data()) == nullptr) std::abort();
    }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder one;
  return one.path;
}

struct Row {
  std::int64_t source, target;
  double time;
};

/// Row i of a stream with ids below a million and times in no order, like SNAP's sx-* files.
Row row(std::uint64_t i) {
  const RandomStream random(3, 1);
  const std::uint64_t bits = random.bits(2 * i), more = random.bits(2 * i + 1);
  return {static_cast<std::int64_t>((bits >> 32) * ids >> 32),
          static_cast<std::int64_t>((bits & 0xffffffff) * ids >> 32),
          static_cast<double>(first_time + ((more >> 32) * span >> 32))};
}

std::string text_of(std::int64_t rows, std::int64_t vertices) {
  std::string text;
  for (std::int64_t i = 0; i < rows; ++i) {
    const Row r = row(static_cast<std::uint64_t>(i));
    text += std::to_string(r.source % vertices) + ' ' + std::to_string(r.target % vertices) + ' ' +
            std::to_string(static_cast<std::int64_t>(r.time)) + '\n';
  }
  return text;
}

const std::string& text_file() {
  static const std::string path = [] {
    std::string name = folder() + "/events.txt";
    std::ofstream(name, std::ios::binary) << text_of(text_rows, ids);
    return name;
  }();
  return path;
}

const std::string& gzip_file() {
  static const std::string path = [] {
    std::string name = folder() + "/events.txt.gz";
    if (const char* given = std::getenv("STROBE_BENCH_EVENTS")) return std::string(given);
    const std::string text = text_of(small_rows, small_vertices);
    gzFile file = gzopen(name.c_str(), "wb6");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return name;
  }();
  return path;
}

/// How a format writes row i.
struct TextFormat {
  const char* name;
  const char* file;
  const char* header;
  std::string (*line)(std::int64_t i, const Row& row);
};

std::string whole(double time) { return std::to_string(static_cast<std::int64_t>(time)); }

const TextFormat text_formats[] = {
    {"snap-fractions", "fractions.txt", "",
     [](std::int64_t i, const Row& r) {
       return std::to_string(r.source) + ' ' + std::to_string(r.target) + ' ' + whole(r.time) + '.' +
              std::to_string(10'000 + i % 90'000) + '\n';
     }},
    {"sociopatterns", "tij_x", "",
     [](std::int64_t i, const Row& r) {
       return std::to_string(20 * (i / 10)) + ' ' + std::to_string(r.source) + ' ' + std::to_string(r.target) + '\n';
     }},
    {"tgl", "edges.csv", ",src,dst,time,ext_roll\n",
     [](std::int64_t i, const Row& r) {
       return std::to_string(i) + ',' + std::to_string(r.source) + ',' + std::to_string(r.target) + ',' +
              whole(r.time) + ",0\n";
     }},
    {"tgn", "ml_x.csv", ",u,i,ts,label,idx\n",
     [](std::int64_t i, const Row& r) {
       return std::to_string(i) + ',' + std::to_string(r.source) + ',' + std::to_string(r.target) + ',' +
              whole(r.time) + ".0,0," + std::to_string(i) + '\n';
     }},
    {"tgb", "x_edgelist.csv", "ts,src,dst,weight\n",
     [](std::int64_t, const Row& r) {
       return whole(r.time) + ",v" + std::to_string(r.source) + ",v" + std::to_string(r.target) + ",0.5\n";
     }},
};

std::string format_file(const TextFormat& format) {
  const std::string path = folder() + '/' + format.file;
  if (std::filesystem::exists(path)) return path;
  std::string text = format.header;
  for (std::int64_t i = 0; i < text_rows; ++i) text += format.line(i, row(static_cast<std::uint64_t>(i)));
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

/// A value in KiB from the kernel's account of this process, in bytes.
double memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) == 0) return 1024.0 * std::atof(line.c_str() + name.size() + 1);
  }
  return 0;
}

/// Peak and remaining memory beyond what there was at the begin.
class Memory {
 public:
  Memory() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak
    begin_ = memory("VmRSS");
  }
  void report(benchmark::State& state, double events) const {
    state.counters["building_B_per_event"] = (memory("VmHWM") - begin_) / events;
    malloc_trim(0);
    state.counters["after_B_per_event"] = (memory("VmRSS") - begin_) / events;
  }

 private:
  double begin_ = 0;
};

void report_rate(benchmark::State& state, double bytes, int threads) {
  const double all = bytes * static_cast<double>(state.iterations());
  state.counters["MB_per_s"] = benchmark::Counter(all * 1e-6, benchmark::Counter::kIsRate);
  state.counters["MB_per_s_thread"] = benchmark::Counter(all * 1e-6 / threads, benchmark::Counter::kIsRate);
  state.counters["of_read_bandwidth"] =
      benchmark::Counter(all / machine().read_bytes_per_second, benchmark::Counter::kIsRate);
}

void add_rows(TextReader& lines, EventBuilder& rows) {
  while (lines.next()) {
    const auto& fields = lines.split_blanks();
    if (fields.size() != 3) lines.fail(0, "expected 3 columns");
    const std::int64_t source = lines.whole(fields[0], "source"), target = lines.whole(fields[1], "target");
    rows.add(source, target, lines.seconds(fields[2]));
  }
}

/// Text to rows, by threads.
void parse(benchmark::State& state) {
  const std::string& path = text_file();
  const int threads = static_cast<int>(state.range(0));
  limit_workload_threads(threads);
  for (auto _ : state) {
    TextReader reader(path);
    EventBuilder rows;
    parse_rows(reader, rows, add_rows);
    benchmark::DoNotOptimize(rows.rows());
  }
  limit_workload_threads(0);
  report_rate(state, static_cast<double>(std::filesystem::file_size(path)), threads);
}

/// Text to an event graph: parsing, SHA-256, numbering, sorting, counting duplicates.
void read(benchmark::State& state) {
  const std::string& path = text_file();
  const int threads = static_cast<int>(state.range(0));
  limit_workload_threads(threads);
  const Memory used;
  EventGraph graph;
  for (auto _ : state) graph = read_events(path, "snap");
  limit_workload_threads(0);
  used.report(state, text_rows);
  report_rate(state, static_cast<double>(std::filesystem::file_size(path)), threads);
}

/// The same for formats that keep more of a line than an event.
void read_format(benchmark::State& state) {
  const TextFormat& format = text_formats[state.range(0)];
  const std::string path = format_file(format);
  const int threads = static_cast<int>(state.range(1));
  limit_workload_threads(threads);
  EventGraph graph;
  for (auto _ : state) graph = read_events(path);
  limit_workload_threads(0);
  state.SetLabel(format.name);
  state.counters["column_B_per_event"] =
      8 + static_cast<double>(graph.time.bytes()) / static_cast<double>(graph.events());
  report_rate(state, static_cast<double>(std::filesystem::file_size(path)), threads);
}

/// Gzip to 30-day snapshots.
void gzip_to_snapshots(benchmark::State& state) {
  const std::string& path = gzip_file();
  std::int64_t events = 0;
  for (auto _ : state) {
    const EventGraph graph = read_events(path, "snap");
    events = graph.events();
    benchmark::DoNotOptimize(make_snapshots(graph, {.duration = "30d"}).edges());
  }
  state.counters["events"] = static_cast<double>(events);
}

/// Rows in no order to columns in time order.
void sort_events(benchmark::State& state) {
  const std::int64_t events = state.range(0);
  const std::string path = folder() + "/hashed";
  std::ofstream(path) << "not read";
  const Memory used;
  EventBuilder rows;
  for (std::int64_t i = 0; i < events; ++i) {
    const Row r = row(static_cast<std::uint64_t>(i));
    rows.add(r.source, r.target, r.time);
  }
  EventGraph graph;
  for (auto _ : state) graph = rows.finish(path, "bench");
  used.report(state, static_cast<double>(events));
  report_rate(state, 12.0 * static_cast<double>(events), workload_threads());
}

/// Events with random ends, one a second.
EventGraph ordered_events(std::int64_t events) {
  EventGraph graph;
  graph.vertices = ids;
  graph.source.resize(events);
  graph.target.resize(events);
  const std::span<VertexId> source = graph.source.edit(), target = graph.target.edit();
  for (std::size_t e = 0; e < source.size(); ++e) {
    const Row r = row(e);
    source[e] = static_cast<VertexId>(r.source);
    target[e] = static_cast<VertexId>(r.target);
  }
  graph.time = PackedTimes::pack(graph.source.size(), [](std::size_t first, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(first + i);
  });
  return graph;
}

/// Time-ordered adjacency in both directions.
void time_csr(benchmark::State& state) {
  const std::int64_t events = state.range(0);
  const EventGraph graph = ordered_events(events);
  const Memory used;
  TimeCsr csr;
  for (auto _ : state) csr = make_time_csr(graph);
  used.report(state, static_cast<double>(events));
  report_rate(state, 24.0 * static_cast<double>(events), workload_threads());  // ends once, two entries
}

/// Batches of ten most recent neighbours at random vertices and times.
void most_recent_neighbours(benchmark::State& state) {
  const EventGraph graph = ordered_events(state.range(0));
  const TimeCsr csr = make_time_csr(graph);
  std::uint64_t i = 0;
  for (auto _ : state) {
    const Row r = row(i++);
    const auto before = static_cast<EdgeId>(i * 7919 % static_cast<std::uint64_t>(graph.events()));
    benchmark::DoNotOptimize(most_recent(csr, static_cast<VertexId>(r.source), before, 10).data());
  }
  state.SetItemsProcessed(state.iterations());
}

/// Opening a binary graph that was written here.
void open_binary(benchmark::State& state) {
  const std::string path = folder() + "/graph.strobe";
  EventGraph graph = ordered_events(state.range(0));
  graph.original_id.resize(ids);
  write_binary_graph(graph, path);
  for (auto _ : state) benchmark::DoNotOptimize(read_binary_graph(path, state.range(1) != 0).events());
  state.counters["file_MB"] = static_cast<double>(std::filesystem::file_size(path)) * 1e-6;
  std::filesystem::remove(path);
}

void define() {
  const auto timed = [](const char* name, void (*body)(benchmark::State&), benchmark::TimeUnit unit) {
    return register_guarded(name, body)->Unit(unit)->UseRealTime()->MeasureProcessCPUTime();
  };
  auto* const parsing = timed("ingest/parse", parse, benchmark::kMillisecond)->ArgName("threads");
  auto* const reading = timed("ingest/read", read, benchmark::kMillisecond)->ArgName("threads");
  limit_workload_threads(0);
  for (int threads = 1; threads < 2 * workload_threads(); threads *= 2) {
    parsing->Arg(std::min(threads, workload_threads()));
    reading->Arg(std::min(threads, workload_threads()));
  }
  auto* const formats = timed("ingest/read_format", read_format, benchmark::kMillisecond);
  formats->ArgNames({"format", "threads"});
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(std::size(text_formats)); ++i)
    formats->Args({i, 1})->Args({i, workload_threads()});
  timed("ingest/gzip_to_snapshots", gzip_to_snapshots, benchmark::kMillisecond);
  timed("ingest/sort", sort_events, benchmark::kMillisecond)
      ->ArgName("events")
      ->Arg(many / 10)
      ->Arg(many)
      ->Iterations(1);
  timed("ingest/time_csr", time_csr, benchmark::kMillisecond)
      ->ArgName("events")
      ->Arg(many / 10)
      ->Arg(many)
      ->Iterations(1);
  timed("ingest/most_recent", most_recent_neighbours, benchmark::kNanosecond)->ArgName("events")->Arg(many / 10);
  timed("ingest/open_binary", open_binary, benchmark::kMicrosecond)
      ->ArgNames({"events", "verify"})
      ->Args({many / 10, 0})
      ->Args({many / 10, 1});
}

const bool defined = (define(), true);

}  // namespace
}  // namespace strobe::bench
