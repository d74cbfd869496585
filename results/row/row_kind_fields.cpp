// Keys of rows that only some kinds of training fill: batches of events, exchanges that may be stale, chunks, hybrid
// batches. Null of the others.
#include <nlohmann/json.hpp>
#include <utility>

#include "results/row/row_codec.hpp"

namespace strobe {
namespace {

using namespace row_codec;

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

/// What hybrid batches hold and compute more than once; null of other strategies.
template <auto Member>
RowField redundancy_field(const char* key, const char* unit, Json schema, const char* help) {
  RowField item{key,
                unit,
                help,
                or_null(std::move(schema)),
                [](const Row& row) { return row.batch_redundancy ? encode((*row.batch_redundancy).*Member) : Json(); },
                [](Row& row, const Json& json) {
                  if (json.is_null()) return;
                  if (!row.batch_redundancy) row.batch_redundancy.emplace();
                  decode(json, (*row.batch_redundancy).*Member);
                }};
  item.later = true;
  return item;
}

std::vector<RowField> redundancy_fields() {
  return {
      redundancy_field<&BatchRedundancy::cached_bytes>(
          "cached_bytes", "bytes", list(count()),
          "Of hybrid batches: what the vertices of other ranks take that each rank keeps, so that all its batches find "
          "what they read: row offsets, columns and values of matrices, and features of all training steps."),
      redundancy_field<&BatchRedundancy::distributed_bytes>(
          "distributed_bytes", "bytes", count(),
          "Likewise: what their one distribution before training moves, all ranks together; in no epoch's bytes."),
      redundancy_field<&BatchRedundancy::duplication>("duplication", "1", {{"type", "number"}, {"minimum", 0}},
                                                      "Likewise: vertices of other ranks that ranks keep, over the "
                                                      "vertices that they own; 0: nothing is kept twice."),
      redundancy_field<&BatchRedundancy::redundant_computation>(
          "redundant_computation", "1", {{"type", "number"}, {"minimum", 0}},
          "Likewise: cells that the layers of a batch compute beyond its targets, over the target cells of all layers; "
          "mean of a few batches of the first size, drawn while planning."),
  };
}

}  // namespace

std::vector<RowField> row_codec::fields_of_kinds() {
  std::vector<RowField> fields = batch_fields();
  for (RowField& item : stale_fields()) fields.push_back(std::move(item));
  for (RowField& item : fusion_fields()) fields.push_back(std::move(item));
  for (RowField& item : redundancy_fields()) fields.push_back(std::move(item));
  return fields;
}

}  // namespace strobe
