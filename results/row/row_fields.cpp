// The field table of a row: each key once, with unit, help, schema and conversion. Reading what was written gives the
// same row, and numbers are written in the shortest form that reads back to the same bits.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "results/row/row_codec.hpp"
#include "results/row/value_types.hpp"

namespace strobe {
namespace {

using namespace row_codec;

// The table --------------------------------------------------------------------------------------------------------

Json get_exact(const Row& row) { return row.exact ? Json(true) : encode(row.approximations); }
void set_exact(Row& row, const Json& json) {
  row.exact = json.is_boolean();
  row.approximations.clear();
  if (!row.exact) decode(json, row.approximations);
}

RowField band_field() {
  RowField band = field<&Row::epoch_seconds_band90>(
      "epoch_seconds_band90", "s", or_null(band_schema()),
      "For a predicted time: the range in which 90 % of the measured epochs lay, relative to the prediction, when "
      "predictions were compared with measurements that they had not seen; the median times those factors.");
  band.later = true;
  return band;
}

RowField draws_field() {
  return later(field<&Row::time_draws>(
      "time_draws", "", or_null(draws_schema()),
      "With draws: predicted times in clusters whose uncertain constants were drawn within their bands. "
      "`epoch_seconds` has epoch_seconds.median in each draw, `until_seconds` the key of that name. `of` names the "
      "clusters: rows where it is the same compare draw by draw."));
}

/// A key of how training ended early; null where the case does not ask for that.
template <auto Member>
RowField until_field(const char* key, const char* unit, Json schema, const char* help) {
  RowField item{key,
                unit,
                help,
                std::move(schema),
                [](const Row& row) { return row.until ? scalar((*row.until).*Member) : Json(nullptr); },
                [](Row& row, const Json& json) {
                  if (json.is_null() && !row.until) return;
                  if (!row.until) row.until.emplace();
                  decode(json, (*row.until).*Member);
                }};
  item.later = true;
  return item;
}

/// Not kept apart: the price of the seconds at what a second of an epoch costs.
RowField until_dollars_field() {
  RowField item{"until_dollars",
                "dollars",
                "Price of until_seconds.",
                number(),
                [](const Row& row) {
                  if (!row.until || !row.epoch_seconds) return Json(nullptr);
                  return encode(row.dollars_per_epoch * (row.until->seconds / row.epoch_seconds->mean));
                },
                [](Row&, const Json&) {}};
  item.later = true;
  return item;
}

std::vector<RowField> until_fields() {
  return {
      until_field<&UntilOutcome::reached>("until_reached", "", or_null({{"type", "boolean"}}),
                                          "Whether training reached the goal of `until`."),
      until_field<&UntilOutcome::iterations>(
          "until_iterations", "1", or_null(count()),
          "Updates of the weights (epochs times iterations) of the first repetition until then, or "
          "in all; warm-up counts."),
      until_field<&UntilOutcome::seconds>("until_seconds", "s", number(),
                                          "Their epochs added up, each with its slowest rank; warm-up counts."),
      until_dollars_field(),
  };
}

RowField operations_field() {
  RowField operations = field<&Row::operation_seconds>(
      "operation_seconds", "s", or_null(map_of(number())),
      "By operation of the device and of the host, what its spans in the epoch of phase_seconds' rank took, mean over "
      "epochs: "
      "whole spans, also where they ran at the same time as others, so they need not add up to the phases. It leaves "
      "out collectives and transfers. On device cuda without --trace, operations given to it one after the other are "
      "timed together and "
      "share the time equally.");
  operations.later = true;
  return operations;
}

/// The work that the operations of `operation_seconds` state.
template <auto Member>
RowField operation_work_field(const char* key, const char* unit, const char* help) {
  RowField work = field<Member>(key, unit, or_null(map_of(number())), help);
  work.later = true;
  return work;
}

RowField peaks_field() {
  RowField peaks = field<&Row::device_peaks>(
      "device_peaks", "1/s", or_null(named_group({"flops_per_second", "bytes_per_second"}, number())),
      "What the device of one rank does at most in the row's precision: floating-point operations, and bytes of its "
      "memory.");
  peaks.later = true;
  return peaks;
}

RowField iterations_field() {
  RowField iterations = field<&Row::iterations>("iterations", "1", or_null(count(1)),
                                                "Updates of the weights in one epoch: 1 where it is one full batch.");
  iterations.later = true;
  return iterations;
}

RowField throughput_field() {
  return field<&Row::throughput>(
      "throughput", "1/s", throughput_schema(),
      "Per second of the median epoch, what it works through: edges of the workload in the steps trained on, the same "
      "for every model; cells, which are the vertices of each of these steps; or events; and non-zeros, the stored "
      "entries of that model's prepared matrices. Full batches have edges and cells. Before version 1.2 "
      "edges_per_second counted non-zeros.");
}

RowField threads_field() {
  RowField threads = field<&Row::threads>("threads_per_rank", "", or_null(list(count(1))),
                                          "Threads that each rank's kernels computed with.");
  threads.get = [](const Row& row) { return row.threads.empty() ? Json(nullptr) : encode(row.threads); };
  threads.later = true;
  return threads;
}

std::vector<RowField> identity_fields() {
  return {
      field<&Row::case_id>("case_id", "", text(), "Readable key and hash of the case."),
      field<&Row::status>("status", "", one_of({"ok", "failed", "out_of_memory", "timeout", "skipped", "interrupted"}),
                          "How the case ended."),
      field<&Row::reason>("reason", "", text(), "Why it did not end ok; empty otherwise."),
      field<&Row::workload>("workload", "", plugin(), "The graph: name and every parameter."),
      field<&Row::model>("model", "", plugin(), "The model: name and every parameter."),
      field<&Row::strategy>("strategy", "", plugin(), "The strategy: name and every parameter."),
      field<&Row::task>("task", "", plugin(), "The task: name and every parameter."),
      field<&Row::optimizer>("optimizer", "", plugin(), "The optimiser: name and every parameter."),
      field<&Row::device>("device", "", text(), "Device plug-in."),
      field<&Row::comm>("comm", "", text(), "Communicator plug-in."),
      field<&Row::cluster>("cluster", "", text(), "Simulated cluster; empty on real devices."),
      field<&Row::numerics>("numerics", "", text(), "What computes values: none, cpu or cuda."),
      field<&Row::precision>("precision", "", text(), "Element type of the training: fp32 or fp64."),
      field<&Row::ranks>("ranks", "1", count(1), "Ranks that trained."),
      field<&Row::seed>("seed", "", count(), "Seed of every random choice."),
      field<&Row::settings>("settings", "", any_object(), "The case's remaining scalar settings."),
      field<&Row::time_source>("time_source", "", one_of({"wall", "virtual"}), "Which clock gave the times."),
  };
}

std::vector<RowField> measured_fields() {
  return {
      field<&Row::epoch_seconds>("epoch_seconds", "s", or_null(epoch_schema()),
                                 "Epoch time over all measured epochs, each counted with its slowest rank; ci95 is of "
                                 "the median: with rounds of the spread between them, else by order statistics of "
                                 "one process's epochs, which says nothing about another process; p95 by linear "
                                 "interpolation; n counts epochs."),
      later(field<&Row::rounds>("rounds", "", or_null(rounds_schema()),
                                "With --rounds: the median epoch of each process that measured the case, in order of "
                                "rounds; rows of one session took turns, so their rounds of one number compare.")),
      later(field<&Row::machine>(
          "machine", "", or_null(machine_schema()),
          "Least and largest of what the machine did meanwhile: load, cores that other programs kept busy, share of "
          "time that a hypervisor took, MHz of its clock.")),
      band_field(),
      draws_field(),
      field<&Row::phase_seconds>("phase_seconds", "s", or_null(phase_schema()),
                                 "Mean phases of each epoch's busiest rank, of those that end within 5 % of the "
                                 "slowest, for which it waits; they add up to epoch_seconds.mean."),
      field<&Row::hidden_communicate_seconds>("hidden_communicate_seconds", "s", number(),
                                              "Communication of that rank that overlapped compute; not in the epoch."),
      operations_field(),
      operation_work_field<&Row::operation_flops>("operation_flops", "1",
                                                  "Floating-point operations of the same spans, as the operations "
                                                  "state them from shapes and non-zeros."),
      operation_work_field<&Row::operation_bytes>("operation_bytes", "bytes",
                                                  "Bytes that they have to read and write, each once, stated in the "
                                                  "same way: what a cache reads again is not in it."),
      field<&Row::sent_bytes>("sent_bytes", "bytes", or_null(traffic_schema()),
                              "Bytes sent to other ranks per epoch, summed over ranks, by purpose."),
      field<&Row::transfer_bytes>("transfer_bytes", "bytes", or_null(count()),
                                  "Bytes moved between host and device per epoch, summed over ranks."),
      field<&Row::messages>("messages", "1", or_null(count()), "Messages to other ranks per epoch, summed over ranks."),
      field<&Row::peak_bytes>("peak_bytes", "bytes", or_null(named_group({"host", "device"}, list(count()))),
                              "Peak accounted memory of each rank."),
      field<&Row::imbalance>("imbalance", "1", or_null(named_group({"max_over_min", "max_over_mean"}, number())),
                             "Busy time of ranks in an epoch (epoch minus wait), mean of the ratio over epochs."),
      threads_field(),
  };
}

std::vector<RowField> value_fields() {
  return {
      field<&Row::loss>("loss", "1", or_null(series()),
                        "Training loss per epoch of the first repetition, of the epoch's own pass: before its update."),
      field<&Row::metrics>("metrics", "1", map_of(or_null(series())),
                           "Metrics of the task per epoch, of the weights after its update: the last are those of "
                           "the weights that are left. On test samples; validation_NAME on validation samples."),
      later(field<&Row::metric_samples>("metric_samples", "1", map_of(count()),
                                        "Samples that each metric is taken over, by metric.")),
      later(field<&Row::metric_best_rule>("metric_best_rule", "1", map_of(number()),
                                          "What the best of the task's rules reaches, which learn nothing, by metric; "
                                          "empty where the task has no rule.")),
      later(field<&Row::metric_best_possible>(
          "metric_best_possible", "1", map_of(number()),
          "What no model can exceed but by chance, by metric; empty where the law of the events is not known.")),
      throughput_field(),
      later(field<&Row::epoch_work>(
          "epoch_work", "1", or_null(work_schema()),
          "What one epoch works through, all ranks together: cells and edges of the trained steps, events, and updates "
          "of the weights. Before version 1.11 it follows from throughput times epoch_seconds.median.")),
      iterations_field(),
      field<&Row::roofline>("roofline", "1", or_null(named_group({"flops_fraction", "bandwidth_fraction"}, number())),
                            "Work of the compute operations per mean epoch as a fraction of all ranks' peak."),
      peaks_field(),
      field<&Row::dollars_per_epoch>("dollars_per_epoch", "currency", number(),
                                     "Price of the mean epoch, in the row's currency."),
      later(field<&Row::currency>("currency", "", text(),
                                  "Currency of dollars_per_epoch, ISO 4217; empty without a price. Amounts in two "
                                  "currencies do not compare.")),
      {"exact", "", "True, or the list of approximations in force.", exact_schema(), get_exact, set_exact},
      field<&Row::planned_bytes>("planned_bytes", "bytes", any_object(), "Planned sent bytes per epoch, by purpose."),
      field<&Row::notes>("notes", "", list(text()), "Remarks, such as uncalibrated or extrapolated."),
      field<&Row::absent>("absent", "", map_of(text()), "Why a value is null: JSON pointer in the row to reason."),
  };
}

Json row_schema() {
  Json properties = Json::object();
  for (const RowField& item : row_fields()) {
    Json property{{"description", item.unit.size() < 2 ? item.help : item.help + " [" + item.unit + "]"}};
    property.update(item.schema);
    properties[item.key] = property;
  }
  properties[digest_key] = text();
  properties[digest_key]["description"] = "SHA-256 of the row's other keys as compact JSON, in their order.";
  return group(properties);
}

}  // namespace

const std::vector<RowField>& row_fields() {
  static const std::vector<RowField> table = [] {
    std::vector<RowField> fields = identity_fields();
    for (RowField& item : measured_fields()) fields.push_back(std::move(item));
    for (RowField& item : value_fields()) fields.push_back(std::move(item));
    for (RowField& item : until_fields()) fields.push_back(std::move(item));
    fields.push_back(later(field<&Row::device_memory_share>(
        "device_memory_share", "1", number(), "Peak accounted memory as a share of its limit, of the fullest rank.")));
    fields.push_back(later(field<&Row::memory_bytes>(
        "memory_bytes", "bytes", or_null(memory_schema()),
        "Parts of each rank's memory at its accounted peak; they add up to peak_bytes. `planned`: the same as "
        "--planned-memory plans them. Where each rank is a process, `host`: data that the process holds in addition, "
        "and `process`: the most private memory that it had.")));
    fields.push_back(later(field<&Row::load_seconds>(
        "load_seconds", "s", number(),
        "Time before the first epoch to read and prepare the data and to plan, of the slowest process. In no epoch. "
        "Data "
        "that an earlier case of the same process loaded are not loaded again. With rounds: their median. Of a "
        "predicted time: what the cluster's rates of loading give for one process.")));
    for (RowField& item : fact_fields()) fields.push_back(std::move(item));
    return fields;
  }();
  return table;
}

Json row_to_json(const Row& row) {
  Json result = Json::object();
  for (const RowField& item : row_fields()) result[item.key] = item.get(row);
  return result;
}

Row row_from_json(const Json& json, const std::string& file) {
  Row row;
  if (!json.is_object()) throw InvalidInput(file, 0, 0, "a row is not a JSON object");
  for (const RowField& item : row_fields()) {
    if (item.later && !json.contains(item.key)) continue;
    if (!json.contains(item.key)) throw InvalidInput(file, 0, 0, fmt::format("a row lacks the key '{}'", item.key));
    const auto refuse = [&](const std::string& why) {
      throw InvalidInput(file, 0, 0, fmt::format("the key '{}' of a row is wrong: {}", item.key, why));
    };
    if (const std::string why = type_complaint(json.at(item.key), item.schema); !why.empty()) refuse(why);
    try {
      item.set(row, json.at(item.key));
    } catch (const nlohmann::json::exception& error) {
      refuse(json_complaint(error));
    }
  }
  return row;
}

Json summary_schema() {
  const Json version{{"type", "string"}, {"pattern", "^2\\.[0-9]+\\.[0-9]+$"}};
  const Json rows{{"type", "array"}, {"items", {{"$ref", "#/$defs/row"}}}};
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Strobe summary.json"}};
  schema["description"] = "One row per case of a run directory. Units in brackets; a null has its reason in absent.";
  schema.update(group({{"schema_version", version}, {"plan_hash", text()}, {"rows", rows}}));
  schema["$defs"] = {{"row", row_schema()}};
  return schema;
}

}  // namespace strobe
