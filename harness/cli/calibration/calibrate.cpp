// `strobe calibrate`: measures this machine and writes a cluster file for --cluster.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "core/units.hpp"
#include "harness/calibration/batch_making.hpp"
#include "harness/calibration/calibration.hpp"
#include "harness/cli/calibration/calibrate_chunks.hpp"
#include "harness/cli/calibration/calibrate_software.hpp"
#include "harness/cli/command.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/process/signals.hpp"
#include "harness/process/world.hpp"
#include "harness/request/bundled_suite.hpp"
#include "harness/request/typed_settings.hpp"
#include "results/row/statistics.hpp"
#include "results/run/environment.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

constexpr const char* default_cluster_name = "this-machine";

struct CalibrateCommand {
  std::string suite, comm, device, filter, samples, name = default_cluster_name, out, software;
  std::vector<std::string> sets;
  bool quick = false, json = false;
  ChunkOptions chunks;
};

/// Refuses options for machines and chunks together with --software.
void check_software_alone(const CalibrateCommand& command) {
  if (command.suite.empty() && command.comm.empty() && command.filter.empty() && command.samples.empty() &&
      command.sets.empty() && command.device.empty() && command.chunks == ChunkOptions())
    return;
  throw InvalidRequest("--software",
                       "measures a framework on the processor and takes only --name, --out, --quick and --json; leave "
                       "the others out");
}

/// Refuses options for machines together with --chunks, and options for chunks without it.
void check_kind(const CalibrateCommand& command) {
  const ChunkOptions& chunks = command.chunks;
  const bool of_machine = !command.suite.empty() || !command.comm.empty() || !command.filter.empty() ||
                          !command.samples.empty() || !command.sets.empty();
  if (chunks.chunks && of_machine) {
    throw InvalidRequest("--chunks",
                         "takes no suite, --comm, --filter, --samples or --set; its chunks are cut from --graph. Leave "
                         "out either these or --chunks");
  }
  if (!chunks.chunks && chunks != ChunkOptions()) {
    throw InvalidRequest("--chunks",
                         "--model, --precision, --cluster, --graph, --sequence-length, --chunk-count, "
                         "--fewest-cells, --most-cells and --dump-chunks need --chunks; add it, or leave these out");
  }
}

Suite suite_of(const CalibrateCommand& command, const World& world) {
  std::vector<Setting> settings;
  if (!command.device.empty()) settings.push_back({"device", command.device, "--device"});
  if (!command.comm.empty()) settings.push_back({"comm", command.comm, "--comm"});
  for (Setting& setting : set_settings(command.sets)) settings.push_back(std::move(setting));
  const std::string bundled = command.quick ? "calibrate-quick" : "calibrate";
  Suite suite = load_suite(command.suite.empty() ? bundled_suite(bundled) : suite_path(command.suite), settings);
  filter_cases(suite, command.filter);
  if (world.size <= 1) return suite;
  std::vector<Case> fitting;
  for (const Case& c : suite.cases) {
    if (c.cluster.empty() && in_one_process(c)) {
      throw InvalidRequest("--comm", fmt::format("{} processes were started (says {}), but ranks are threads of one; "
                                                 "use --comm mpi or start one process",
                                                 world.size, world.launcher));
    }
    if (c.ranks == world.size) fitting.push_back(c);
  }
  if (fitting.empty()) {
    throw InvalidRequest("SUITE", fmt::format("no case of {} has {} ranks, the number of processes; add --set ranks={} "
                                              "if strategies divide the work",
                                              suite.name, world.size, world.size));
  }
  suite.cases = fitting;
  return suite;
}

std::string out_path(const CalibrateCommand& command) {
  const std::string path = command.out.empty() ? command.name + ".json" : command.out;
  if (std::filesystem::path(path).extension() != ".json") {
    throw InvalidRequest("--out", "a cluster file ends in .json, found " + path);
  }
  check_output_file("--out", path);
  return path;
}

/// `here` is the environment before the measurements.
ClusterDescription description_of(const CalibrateCommand& command, const Json& here, const CalibrationData& data) {
  ClusterDescription about;
  about.name = command.name;
  about.source = here.at("host_class").at("text").get<std::string>();
  about.date = here.at("date_utc").get<std::string>().substr(0, 10);
  about.description =
      fmt::format("{}, measured with device {}, comm {}, {} on {} cases{}; load when it began: {}", about.source,
                  data.device, data.comm, data.precision, data.cases.size(), command.quick ? " (quick)" : "",
                  here.at("load").is_string() ? here.at("load").get<std::string>() : "unknown");
  about.memory_bytes = here.at("memory_bytes").is_number() ? here.at("memory_bytes").get<std::uint64_t>() : 0;
  return about;
}

/// The raw samples, one JSON object per line.
std::string sample_lines(const std::vector<OperationTiming>& operations,
                         const std::vector<CollectiveTiming>& collectives) {
  std::string lines;
  for (const OperationTiming& s : operations) {
    lines += Json{{"operation", s.operation},
                  {"case_id", s.configuration},
                  {"ranks", s.ranks},
                  {"calls", s.calls},
                  {"seconds", s.seconds},
                  {"flops", s.work.flops},
                  {"read_bytes", s.work.bytes_read},
                  {"written_bytes", s.work.bytes_written},
                  {"gathered_bytes", s.work.gather.accessed_bytes}}
                 .dump() +
             "\n";
  }
  for (const CollectiveTiming& s : collectives) {
    lines += Json{{"collective", s.collective}, {"ranks", s.ranks},     {"bytes", s.bytes},
                  {"messages", s.messages},     {"seconds", s.seconds}, {"flight_seconds", s.flight_seconds},
                  {"workload", s.workload}}
                 .dump() +
             "\n";
  }
  return lines;
}

std::string host_line(const HostRates& host) {
  const std::string disk = host.disk_bytes_per_second > 0 ? fmt::format("{:.3g} GB/s", host.disk_bytes_per_second / 1e9)
                                                          : "not measured (" + host.no_disk + ")";
  return fmt::format(
      "host: {} core{}, each {:.3g} GOp/s and {:.3g} GB/s, together {:.3g} GB/s; {} from a random row to the next; "
      "disk {}\n"
      "loading: text {:.3g} MB/s, binary {:.3g} MB/s, generated {:.3g} M entries/s, prepared {:.3g} M entries/s and "
      "{:.3g} M features/s\n",
      host.cores, host.cores == 1 ? "" : "s", host.core_operations_per_second / 1e9, host.core_bytes_per_second / 1e9,
      host.memory_bytes_per_second / 1e9, format_seconds(host.random_access_seconds), disk,
      host.load.text_bytes_per_second / 1e6, host.load.binary_bytes_per_second / 1e6,
      host.load.made_entries_per_second / 1e6, host.load.prepared_entries_per_second / 1e6,
      host.load.prepared_features_per_second / 1e6);
}

/// A line on an operation's fit: ranks and number of samples, `share` of the measured time, and errors of the fit.
std::string fit_line(const std::string& name, const std::string& share, const Json& fit) {
  return fmt::format("{:<30} {:>5} {:>7} {:>9} {:>8.1f}% {:>8.1f}%\n", name, fit.at("ranks").get<int>(),
                     fit.at("samples").get<int>(), share, 100 * fit.at("median_relative_error").get<double>(),
                     100 * fit.at("p95_relative_error").get<double>());
}

/// One line for each operation's fit, sorted by the operation's share of the measured time, largest first.
std::string report(const CalibrationData& data, const Json& cluster, const std::vector<HeldOutEpoch>& held_out) {
  std::map<std::string, double> seconds;
  double all = 0;
  for (const OperationTiming& s : data.operations) {
    seconds[s.operation] += s.seconds * s.calls;
    all += s.seconds * s.calls;
  }
  std::vector<std::pair<std::string, double>> order(seconds.begin(), seconds.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text =
      fmt::format("{:<30} {:>5} {:>7} {:>9} {:>9} {:>9}\n", "operation", "ranks", "samples", "of time", "error", "p95");
  for (const auto& [name, spent] : order) {
    for (const Json& fit : cluster.at("calibration").at("operations").at(name))
      text += fit_line(name, fmt::format("{:.1f}%", 100 * spent / all), fit);
  }
  for (const auto& [name, fits] : cluster.at("calibration").at("host_operations").items()) {
    for (const Json& fit : fits) text += fit_line(name + " (host)", "-", fit);
  }
  text += fmt::format("peaks: {:.3g} GFLOP/s fp32, {:.3g} fp64; memory {:.3g} GB/s\n",
                      data.rates.flops_fp32_per_second / 1e9, data.rates.flops_fp64_per_second / 1e9,
                      data.rates.memory_bytes_per_second / 1e9);
  text += host_line(data.host.rates);
  if (held_out.empty()) return text + "band: none, because it needs at least three workloads\n";
  std::vector<double> errors, distances;
  for (const HeldOutEpoch& epoch : held_out) {
    errors.push_back(1 / epoch.ratio() - 1);
    distances.push_back(std::abs(errors.back()));
  }
  text += fmt::format(
      "epochs of workloads left out of the fit ({}): mean error {:.1f} %, largest {:.1f} %, bias {:+.1f} %\n",
      held_out.size(), 100 * mean(distances), 100 * *std::max_element(distances.begin(), distances.end()),
      100 * mean(errors));
  const Json& bands = cluster.at("epoch_band_90");
  for (const Json& band : bands.is_array() ? bands : Json::array({bands}))
    text += fmt::format("90 % band: {:.2f} to {:.2f} times the prediction, on up to {}\n",
                        band.at("low_factor").get<double>(), band.at("high_factor").get<double>(),
                        counted(band.at("ranks").get<std::size_t>(), "rank"));
  return text;
}

/// `samples` is the file of raw samples; "" = none. It is written after every case, so that a kill keeps finished
/// cases.
CalibrationListener listener_of(Progress& progress, const std::string& samples, const World& world) {
  CalibrationListener listener{
      [&progress](const std::string& id) { progress.begin(id); },
      [&progress](const std::string& id, const std::string& time, const std::string& status,
                  const std::string& reason) { progress.finish(id, time.empty() ? "-" : time, status, reason); }};
  if (samples.empty() || world.rank != 0) return listener;
  listener.keep = [&samples, &world, begun = false](const auto& operations, const auto& collectives) mutable {
    alone_in_world(world, [&] {
      if (!begun) write_file_atomically(samples, "");  // a refused request leaves an older file as it was
      begun = true;
      append_durably(samples, sample_lines(operations, collectives));
    });
  };
  return listener;
}

/// Adds the cost of making hybrid batches. A cluster file is valid without it.
void add_batch_making(bool quick, CalibrationData& data) {
  narrate("making hybrid batches");
  const DataCache cache;
  for (const BatchGround& ground : batch_grounds(quick)) {
    for (const Case& c : batch_making_cases(ground)) {
      try {
        const std::vector<OperationTiming> samples = measure_batch_making(c, cache);
        data.host.operations.insert(data.host.operations.end(), samples.begin(), samples.end());
      } catch (const Error& error) {
        data.failed.push_back(error.what());
      }
    }
  }
}

int calibrate(const CalibrateCommand& command) {
  if (!command.software.empty()) {
    check_software_alone(command);
    const std::string name = command.name == default_cluster_name ? "" : command.name;
    return calibrate_software(command.software, name, command.out, command.quick, command.json);
  }
  check_kind(command);
  const World world = launched_world();
  if (command.chunks.chunks && world.size > 1)
    throw InvalidRequest("--chunks", "chunks are measured by one process; start it without a launcher");
  if (command.chunks.chunks) {
    return calibrate_chunks(command.chunks, {command.device, command.name, command.out, command.quick, command.json});
  }
  const Suite suite = suite_of(command, world);
  const std::string path = world.rank == 0 ? out_path(command) : "";
  if (!command.samples.empty() && world.rank == 0) check_replaced_file("--samples", command.samples);
  install_signal_handlers();
  const Json here = environment();
  Progress progress(suite.cases.size(), world.rank != 0);
  const CalibrationListener listener = listener_of(progress, command.samples, world);
  CalibrationData data = measure_calibration(suite, listener);
  if (world.rank != 0) return 0;
  narrate("measuring the host");
  const std::string folder = std::filesystem::path(path).parent_path().string();
  data.host = measure_host(folder.empty() ? "." : folder);
  add_batch_making(command.quick || !command.suite.empty(), data);  // the large graphs take most of a minute
  if (listener.keep) listener.keep(data.host.operations, {});
  const ClusterDescription about = description_of(command, here, data);
  Json cluster = calibrated_cluster(data, about);
  narrate("predicting each workload from the others");
  const std::vector<HeldOutEpoch> held_out = held_out_epochs(data, about);
  add_bands(held_out, data.device, about.date, cluster);
  write_file_atomically(path, with_digest(cluster).dump(1) + "\n");
  print_data(command.json ? cluster.dump(2) + "\n" : shown_lines(report(data, cluster, held_out)));
  for (const std::string& failure : data.failed) narrate("left out: " + failure);
  narrate(fmt::format("wrote {}; use it as --device sim --cluster {}", path, path));
  return data.failed.empty() ? 0 : 1;
}

CommandAction define_calibrate(CommandOptions& options) {
  const auto command = std::make_shared<CalibrateCommand>();
  options.positional("suite", command->suite,
                     "what to run: a suite file, or a name from `strobe list suites` (default calibrate)");
  options.toggle("--quick", command->quick, "a smaller grid, in about a minute: the bundled calibrate-quick");
  options.text("--device", command->device, "device that the cases run on (default cpu)", "NAME");
  options.text("--comm", command->comm, "communicator of the cases (default local; mpi under mpirun)", "NAME");
  options.repeated("--set", command->sets, "key.path=value for every case, such as epochs=3", "KEY=VALUE");
  options.text("--filter", command->filter, "keep the cases whose id matches this expression; -EXPR drops them",
               "EXPR");
  options.text("--name", command->name, "name of the cluster (default this-machine)", "NAME");
  options.text("--out", command->out, "cluster file to write (default NAME.json)", "FILE");
  options.text("--samples", command->samples,
               "also keep the raw samples here, one JSON object a line, case by case as they are measured", "FILE");
  options.text(
      "--software", command->software,
      "measure an installed framework instead, and write a profile for --software (default pytorch-here.json): "
      "pytorch",
      "NAME");
  options.toggle("--json", command->json, "print the file instead of the table");
  define_chunk_options(options, command->chunks);
  options.example(
      "Exits with 1 when a case failed; it is left out of the fit.\n"
      "Examples: strobe calibrate --quick\n"
      "          strobe calibrate --chunks --quick --model dysat\n"
      "          strobe calibrate --software pytorch --out pytorch-here.json\n"
      "          mpirun -n 2 strobe calibrate --comm mpi --out two-processes.json");
  return [command] { return calibrate(*command); };
}

const Register<CommandTag> calibrate_registered{
    {"calibrate", "measure this machine and write it as a cluster file for --cluster", "", {}, define_calibrate, {}}};

}  // namespace
}  // namespace strobe
