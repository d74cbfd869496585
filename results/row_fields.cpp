// The field table of a row: each key once, with unit, help, schema and conversion. Reading what was written gives the
// same row, and numbers are written in the shortest form that reads back to the same bits.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/errors.hpp"
#include "results/files.hpp"
#include "results/row_codec.hpp"

namespace strobe {
namespace {

using namespace row_codec;

// The table --------------------------------------------------------------------------------------------------------

template <auto Member>
RowField field(const char* key, const char* unit, Json schema, const char* help) {
  return {key,
          unit,
          help,
          std::move(schema),
          [](const Row& row) { return encode(row.*Member); },
          [](Row& row, const Json& json) { decode(json, row.*Member); }};
}

Json get_exact(const Row& row) { return row.exact ? Json(true) : encode(row.approximations); }
void set_exact(Row& row, const Json& json) {
  row.exact = json.is_boolean();
  row.approximations.clear();
  if (!row.exact) decode(json, row.approximations);
}

RowField band_field() {
  RowField band = field<&Row::epoch_seconds_band90>(
      "epoch_seconds_band90", "s", or_null(band_schema()),
      "Of a predicted time: where 90 % of the measured epochs lay, relative to what was predicted, when predictions "
      "were "
      "held against measurements that they had not seen; the median times those factors.");
  band.later = true;
  return band;
}

/// A key that files of an older version lack.
RowField later(RowField field) {
  field.later = true;
  return field;
}

Json scalar(double value) { return encode(value); }
template <class T>
Json scalar(T value) {
  return value;
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
                  if (json.is_null()) return;
                  if (!row.until) row.until.emplace();
                  decode(json, (*row.until).*Member);
                }};
  item.later = true;
  return item;
}

/// What there is of a property of batches of events; no size is 0.
template <class Value>
Json batch_value(const std::optional<BatchEvents>& batches, Value BatchEvents::*member) {
  if (!batches || (std::is_integral_v<Value> && (*batches).*member == 0)) return nullptr;
  return scalar((*batches).*member);
}

/// A size of batches of events; null where a model has none.
template <auto Member>
RowField batch_field(const char* key, const char* help) {
  RowField item{key,
                "1",
                help,
                or_null(count(1)),
                [](const Row& row) { return batch_value(row.batch_events, Member); },
                [](Row& row, const Json& json) {
                  if (json.is_null()) return;
                  if (!row.batch_events) row.batch_events.emplace();
                  decode(json, (*row.batch_events).*Member);
                }};
  item.later = true;
  return item;
}

/// What batches cost the memory; null for models of snapshots.
template <auto Member>
RowField share_field(const char* key, const char* unit, const char* help) {
  RowField item = batch_field<Member>(key, help);
  item.unit = unit;
  item.schema = number();
  return item;
}

std::vector<RowField> batch_fields() {
  return {
      batch_field<&BatchEvents::local>("local_batch", "Of models of events: events of one update on one rank."),
      batch_field<&BatchEvents::global>("global_batch", "Of models of events: events of one update on all ranks."),
      batch_field<&BatchEvents::evaluation>("evaluation_batch",
                                            "Of future links: events of an evaluation that are scored between two "
                                            "refreshes of the memory, or of the step "
                                            "whose embeddings score them; metrics of two sizes do not compare."),
      share_field<&BatchEvents::mails_lost_share>(
          "mails_lost_share", "1",
          "Of models of events with memory: mails that never reach a memory, because a later event of their batch "
          "leaves one for the same vertex, of all mails of training."),
      share_field<&BatchEvents::mean_staleness_seconds>(
          "mean_staleness_seconds", "s",
          "Of models of events with memory: from the event that an end's memory has last heard of to the end's last "
          "event before the one at hand, mean over the ends of all training events."),
  };
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
                                          "Whether training came to what `until` asks for."),
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
      "By operation of the device and of the host, what its spans in the slowest rank's epoch took, mean over epochs: "
      "whole spans, also where they ran beside others, so they need not add up to the phases. Collectives and "
      "transfers "
      "are none. On device cuda without --trace, operations given to it one after the other are timed together and "
      "share the time equally.");
  operations.later = true;
  return operations;
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

/// Lists by epoch that are null where nothing is stale.
std::vector<RowField> stale_fields() {
  RowField share = later(field<&Row::sent_share>(
      "sent_share", "1", or_null(series()),
      "Where rows of exchanges may be stale, per epoch of the first repetition, warm-up included: bytes that these "
      "exchanges sent, with counts and places of rows, as a share of what the exact run sends through them."));
  share.get = [](const Row& row) { return row.sent_share.empty() ? Json(nullptr) : encode(row.sent_share); };
  share.set = [](Row& row, const Json& json) {
    if (!json.is_null()) decode(json, row.sent_share);
  };
  RowField bytes = later(field<&Row::sent_bytes_by_epoch>(
      "sent_bytes_by_epoch", "bytes", or_null(list(count())),
      "Likewise, bytes of all purposes sent to other ranks in each of these epochs, summed over ranks."));
  bytes.get = [](const Row& row) {
    return row.sent_bytes_by_epoch.empty() ? Json(nullptr) : encode(row.sent_bytes_by_epoch);
  };
  bytes.set = [](Row& row, const Json& json) {
    if (!json.is_null()) decode(json, row.sent_bytes_by_epoch);
  };
  return {share, bytes};
}

/// How chunks were walked; null of strategies without chunks.
std::vector<RowField> fusion_fields() {
  RowField units = field<&Row::fusion_units>(
      "fusion_units", "1", or_null(list(count())),
      "Of strategies with chunks: units of chunks that each rank's spatial stages walk one by one; 1: all together.");
  units.get = [](const Row& row) { return row.fusion_units.empty() ? Json(nullptr) : encode(row.fusion_units); };
  units.set = [](Row& row, const Json& json) {
    if (!json.is_null()) decode(json, row.fusion_units);
  };
  std::vector<RowField> fields = {
      units,
      field<&Row::loaded_bytes>("loaded_bytes", "bytes", or_null(count()),
                                "Likewise, per epoch and summed over ranks: rows of A, and of the inputs of layers "
                                "that read neighbours, that "
                                "spatial stages load in forward passes, each as often as a unit loads it."),
      field<&Row::padded_share>("padded_share", "1", number(),
                                "Likewise, of the rows of lanes that recurrences and attentions over time walk, those "
                                "that only fill lanes up; 0 where timelines are rectangles."),
      field<&Row::device_memory_share>("device_memory_share", "1", number(),
                                       "Peak accounted memory as a share of its limit, of the fullest rank.")};
  for (RowField& item : fields) item.later = true;
  return fields;
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
                                 "the median, by order statistics; p95 by linear interpolation; n counts epochs."),
      band_field(),
      field<&Row::phase_seconds>("phase_seconds", "s", or_null(phase_schema()),
                                 "Mean phases of the slowest rank of each epoch; they add up to epoch_seconds.mean."),
      field<&Row::hidden_communicate_seconds>("hidden_communicate_seconds", "s", number(),
                                              "Communication of that rank that ran beside compute; not in the epoch."),
      operations_field(),
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
      throughput_field(),
      iterations_field(),
      field<&Row::roofline>("roofline", "1", or_null(named_group({"flops_fraction", "bandwidth_fraction"}, number())),
                            "Work of the compute operations per mean epoch, as a fraction of all ranks' peak."),
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
  return group(properties);
}

}  // namespace

const std::vector<RowField>& row_fields() {
  static const std::vector<RowField> table = [] {
    std::vector<RowField> fields = identity_fields();
    for (RowField& item : measured_fields()) fields.push_back(std::move(item));
    for (RowField& item : value_fields()) fields.push_back(std::move(item));
    for (RowField& item : until_fields()) fields.push_back(std::move(item));
    for (RowField& item : batch_fields()) fields.push_back(std::move(item));
    for (RowField& item : stale_fields()) fields.push_back(std::move(item));
    for (RowField& item : fusion_fields()) fields.push_back(std::move(item));
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
    try {
      item.set(row, json.at(item.key));
    } catch (const nlohmann::json::exception& error) {
      throw InvalidInput(file, 0, 0, fmt::format("the key '{}' of a row is wrong: {}", item.key, error.what()));
    }
  }
  return row;
}

Json summary_schema() {
  const Json version{{"type", "string"}, {"pattern", "^1\\.[0-9]+\\.[0-9]+$"}};
  const Json rows{{"type", "array"}, {"items", {{"$ref", "#/$defs/row"}}}};
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Strobe summary.json"}};
  schema["description"] = "One row per case of a run directory. Units in brackets; a null has its reason in absent.";
  schema.update(group({{"schema_version", version}, {"plan_hash", text()}, {"rows", rows}}));
  schema["$defs"] = {{"row", row_schema()}};
  return schema;
}

Json summary_to_json(const Summary& summary) {
  Json rows = Json::array();
  for (const Row& row : summary.rows) rows.push_back(row_to_json(row));
  return {{"schema_version", summary_schema_version}, {"plan_hash", summary.plan_hash}, {"rows", rows}};
}

Summary read_summary(const std::string& path) {
  const Json json = Json::parse(read_text_file(path), nullptr, false);
  if (!json.is_object() || !json.contains("rows") || !json.contains("schema_version") || !json["rows"].is_array() ||
      !json["schema_version"].is_string()) {
    throw InvalidInput(path, 0, 0, "not a summary.json: schema_version or rows are missing");
  }
  const std::string version = json["schema_version"].get<std::string>(), known = summary_schema_version;
  if (version.substr(0, version.find('.')) != known.substr(0, known.find('.'))) {
    throw InvalidInput(path, 0, 0,
                       fmt::format("schema version {} cannot be read; this program knows {}", version, known));
  }
  Summary summary;
  summary.plan_hash = json.value("plan_hash", "");
  for (const Json& row : json["rows"]) summary.rows.push_back(row_from_json(row, path));
  return summary;
}

}  // namespace strobe
