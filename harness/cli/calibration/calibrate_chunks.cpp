#include "harness/cli/calibration/calibrate_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "core/units.hpp"
#include "harness/calibration/chunks/chunk_calibration.hpp"
#include "harness/full_batch/plan/named_inputs.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/process/signals.hpp"
#include "harness/request/option_text.hpp"
#include "harness/request/typed_settings.hpp"
#include "results/row/table.hpp"
#include "results/run/environment.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

/// Bundled or generated graphs with sparse and dense steps, and long and short timelines.
std::vector<std::string> chunk_graphs(const ChunkOptions& chunks, bool quick) {
  if (!chunks.graphs.empty()) return chunks.graphs;
  std::vector<std::string> graphs{"chess:window=30d", "ucsocial", "power-law:steps=24,vertices=1500,edges=6000",
                                  "dynamic-sbm:steps=20,vertices=800"};
  if (!quick) graphs.push_back("amlsim-20k");
  return graphs;
}

/// Factors for the model's hidden width and the width of the graph's features.
struct Widths {
  std::int64_t hidden = 1, features = 1;
};

Case source_case(const ChunkOptions& chunks, const SharedOptions& shared, const std::string& graph) {
  const bool simulated = shared.device == "sim";
  std::map<std::string, std::string> scalars{{"ranks", "2"}};
  if (!chunks.precision.empty()) scalars["precision"] = chunks.precision;
  if (!shared.device.empty()) scalars["device"] = shared.device;
  if (simulated) scalars["cluster"] = chunks.cluster, scalars["comm"] = "sim", scalars["numerics"] = "none";
  const std::string model = chunks.model.empty() ? "t-gcn" : chunks.model;
  try {
    return suite_from_settings(typed_settings({{"workload", graph}, {"model", model}}, scalars, {})).cases.front();
  } catch (const InvalidRequest& error) {
    if (!error.where().starts_with("--workload")) throw;
    throw InvalidRequest("--graph" + error.where().substr(10), error.message());
  }
}

std::vector<ChunkSource> chunk_sources(const ChunkOptions& chunks, const SharedOptions& shared) {
  std::vector<ChunkSource> sources;
  for (const std::string& graph : chunk_graphs(chunks, shared.quick)) {
    for (const Widths& times : {Widths{1, 1}, Widths{1, 8}, Widths{2, 1}, Widths{4, 4}}) {
      ChunkSource source{source_case(chunks, shared, graph), times.features};
      Json& model = source.request.model;
      if (model.contains("hidden")) model["hidden"] = model.at("hidden").get<std::int64_t>() * times.hidden;
      sources.push_back(std::move(source));
    }
  }
  return sources;
}

std::int64_t whole_number(const std::string& text, const std::string& flag, std::int64_t otherwise,
                          std::int64_t least) {
  if (text.empty()) return otherwise;
  const double value = number_from_text(text, flag);
  if (value >= static_cast<double>(least) && value <= 1e7 && value == std::floor(value))
    return static_cast<std::int64_t>(value);
  throw InvalidRequest(flag, fmt::format("expected a whole number from {} to 10000000, found {}", least, text));
}

void check_chunk_options(const ChunkOptions& chunks, const SharedOptions& shared) {
  const std::string model = chunks.model.substr(0, chunks.model.find(':'));
  if (!model.empty() && ModelRegistry::instance().find(model, "--model").value.family != "snapshots") {
    throw InvalidRequest("--model", fmt::format("chunks are for models of snapshots, but {} reads events; choose a "
                                                "model of snapshots from `strobe list models`",
                                                model));
  }
  const std::string& length = chunks.sequence_length;
  if (!length.empty() && length != "none" && length != "mean" && length != "longest" && length != "both" &&
      length != "rounds")
    throw InvalidRequest("--sequence-length", "expected none, mean, longest, both or rounds, found " + length);
  if (!shared.device.empty()) (void)DeviceRegistry::instance().find(shared.device, "--device");
  if ((shared.device == "sim") != !chunks.cluster.empty())
    throw InvalidRequest("--cluster", "a simulated device needs both --device sim and --cluster NAME; give both");
}

ChunkCalibration chunk_calibration(const ChunkOptions& chunks, const SharedOptions& shared) {
  check_chunk_options(chunks, shared);
  ChunkCalibration how;
  how.trained = whole_number(chunks.chunk_count, "--chunk-count", shared.quick ? 5000 : 50000, 100);
  how.held_out = std::min<std::int64_t>(1000, how.trained / 2);
  how.fewest_cells = whole_number(chunks.fewest_cells, "--fewest-cells", how.fewest_cells, 1);
  how.most_cells =
      whole_number(chunks.most_cells, "--most-cells", std::max(how.most_cells, how.fewest_cells), how.fewest_cells);
  if (!chunks.sequence_length.empty()) how.sequence_length = chunks.sequence_length;
  if (shared.device == "sim") how.runs = 1;  // virtual time is the same in each run
  how.sources = chunk_sources(chunks, shared);
  return how;
}

Json chunk_report(const ChunkCalibration& how, const LearnedChunks& result) {
  Json graphs = Json::array(), errors = Json::array();
  for (const ChunkSource& source : how.sources) {
    if (graphs.empty() || graphs.back() != source.request.workload) graphs.push_back(source.request.workload);
  }
  for (const ChunkError& error : result.errors) {
    errors.push_back({{"cost", error.cost},
                      {"mean_relative_error", error.mean},
                      {"median_relative_error", error.median},
                      {"factor", error.factor}});
  }
  const Json here = environment();
  return {{"date_utc", here.at("date_utc")},
          {"machine", here.at("host_class").at("text")},
          {"load", here.at("load")},
          {"chunks_trained", result.trained},
          {"chunks_held_out", result.held_out},
          {"chunks_left_out", result.left_out},
          {"left_out_below_seconds", how.shortest_seconds},
          {"runs_of_a_chunk", how.runs},
          {"epochs", how.training.epochs},
          {"batch", how.training.batch},
          {"seed", how.training.seed},
          {"shortest_seconds", result.shortest_seconds},
          {"median_seconds", result.median_seconds},
          {"longest_seconds", result.longest_seconds},
          {"repeat_mean_relative_error", result.repeat_error},
          {"structure_mean_relative_error", result.structure_error},
          {"time_mean_relative_error", result.time_error},
          {"held_out_errors", errors},
          {"graphs", graphs}};
}

/// A line for each held-out chunk, in their order.
std::string chunks_as_csv(const ChunkCalibration& how, const std::vector<HeldOutChunk>& chunks) {
  std::string text = "workload,hidden,feature_copies,cells,edges,structure_seconds,time_seconds,predicted_seconds\n";
  for (const HeldOutChunk& chunk : chunks) {
    const ChunkSource& source = how.sources[chunk.source];
    text +=
        fmt::format("{},{},{},{},{},{},{},{}\n", csv_for_people(source.request.workload.at("name").get<std::string>()),
                    source.request.model.value("hidden", std::int64_t{0}), source.feature_copies, chunk.cells,
                    chunk.edges, chunk.structure_seconds, chunk.time_seconds, chunk.predicted_seconds);
  }
  return text;
}

std::string chunk_table(const ChunkCalibration& how, const LearnedChunks& result) {
  std::string text = fmt::format("{:<12} {:>10} {:>10} {:>12}\n", "cost", "mean", "median", "times");
  for (const ChunkError& error : result.errors) {
    text += fmt::format("{:<12} {:>9.1f}% {:>9.1f}% {:>12}\n", error.cost, 100 * error.mean, 100 * error.median,
                        error.cost == "mlp" ? "-" : fmt::format("{:.3g}", error.factor));
  }
  return text +
         fmt::format(
             "errors |predicted / measured - 1| of {} chunks that nobody trained on; counting costs times the factor "
             "that suits them best\nmlp: structure encoders {:.1f} %, time encoders {:.1f} %; trained on {} chunks\n"
             "chunks of {} to {}, median {}; {} below {:.0f} us left out; measured a second time, they differ by "
             "{:.1f} %\n",
             result.held_out, 100 * result.structure_error, 100 * result.time_error, result.trained,
             format_seconds(result.shortest_seconds), format_seconds(result.longest_seconds),
             format_seconds(result.median_seconds), result.left_out, 1e6 * how.shortest_seconds,
             100 * result.repeat_error);
}

}  // namespace

void define_chunk_options(CommandOptions& options, ChunkOptions& chunks) {
  options.toggle("--chunks", chunks.chunks,
                 "instead, learn how long chunks of a model take, for strategy chunk with cost=mlp "
                 "(docs/howto/learn_chunk_workloads.md)");
  options.text("--model", chunks.model, "with --chunks: the model, NAME or NAME:key=value,... (default t-gcn)", "NAME");
  options.text("--precision", chunks.precision, "with --chunks: fp32 or fp64 (default fp32)", "fp32|fp64");
  options.text("--cluster", chunks.cluster, "with --chunks and --device sim: the cluster that is simulated",
               "NAME|FILE");
  options.repeated("--graph", chunks.graphs, "with --chunks: a workload to cut chunks from; several times for several",
                   "NAME");
  options.text("--sequence-length", chunks.sequence_length,
               "with --chunks: lengths of sequences that the predictor reads: none, mean, longest, both (mean and "
               "longest), or rounds (both, how many rounds walk the chunk, and their steps; the default)",
               "none|mean|longest|both|rounds");
  options.text("--chunk-count", chunks.chunk_count,
               "with --chunks: chunks to train on (default 50000, with --quick 5000); 1000 more are held out", "N");
  options.text("--fewest-cells", chunks.fewest_cells, "with --chunks: cells of the smallest chunk (default 4)", "N");
  options.text("--most-cells", chunks.most_cells, "with --chunks: cells of the largest chunk (default 16384)", "N");
  options.text("--dump-chunks", chunks.dump,
               "with --chunks: write the held-out chunks to this .csv file (workload, hidden, "
               "feature_copies, cells, edges, structure_seconds, time_seconds, predicted_seconds)",
               "FILE");
}

int calibrate_chunks(const ChunkOptions& chunks, const SharedOptions& shared) {
  ChunkCalibration how = chunk_calibration(chunks, shared);
  const Case& any = how.sources.front().request;
  const bool simulated = !any.cluster.empty();
  const std::string beside = simulated ? any.cluster : shared.name + ".json";
  const std::string path =
      shared.out.empty() ? workload_file(beside, any.model.at("name").get<std::string>()) : shared.out;
  if (std::filesystem::path(path).extension() != ".json")
    throw InvalidRequest("--out", "a file of workloads ends in .json, found " + path);
  check_output_file("--out", path);
  if (!chunks.dump.empty()) check_output_file("--dump-chunks", chunks.dump);
  install_signal_handlers();
  Progress progress(how.sources.size(), false);
  how.measured = [&progress](const std::string& id, double seconds) {
    progress.finish(id, format_seconds(seconds), "ok", "");
  };
  LearnedChunks result = learn_chunks(how);
  result.learned.cluster = simulated ? load_cluster(any.cluster)->name : shared.name;
  result.learned.report = chunk_report(how, result);
  write_file_atomically(path, learned_to_json(result.learned).dump(1) + "\n");
  if (!chunks.dump.empty()) write_file_atomically(chunks.dump, chunks_as_csv(how, result.chunks));
  print_data(shared.json ? result.learned.report.dump(2) + "\n" : shown_lines(chunk_table(how, result)));
  narrate(fmt::format("wrote {}; use it as --strategy chunk:cost=mlp,workloads={}", path, path));
  return 0;
}

}  // namespace strobe
