// Writes, reads and matches pledges. Invariant: read_pledge(pledge_text(p)) is p, and a file that differs in any byte
// is refused. Cost: O(points x measured rows) comparisons of cases.
#include "harness/validation/pledge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/cluster.hpp"
#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "core/or_null.hpp"
#include "results/answer/case_difference.hpp"

namespace strobe {
namespace {

constexpr const char* pledge_schema = "strobe pledge 1";
constexpr const char* not_in_pledge =
    "a pledge states the median epoch, its band and phases, bytes and peak memory alone";

/// Settings that say where a case runs, or for how long, and not what it computes.
constexpr const char* free_settings[] = {"device",  "comm",   "cluster", "numerics", "kernels", "draws",
                                         "timeout", "epochs", "warmup",  "repeat",   "until"};

const RowField& field_called(const std::string& key) {
  const auto& fields = row_fields();
  return *std::find_if(fields.begin(), fields.end(), [&key](const RowField& field) { return field.key == key; });
}

Json point_to_json(const PledgedPoint& point) {
  const Row& row = point.row;
  Json json = {{"id", point.id},
               {"cluster", point.cluster},
               {"calibrated_with", or_null(point.calibrated_with)},
               {"status", row.status},
               {"reason", or_null(row.reason)},
               {"epoch_seconds", row.epoch_seconds ? or_null(row.epoch_seconds->median) : Json(nullptr)}};
  Json absent = Json::object();
  for (const char* key : keys_of_a_pledge) {
    json[key] = field_called(key).get(row);
    const std::string pointer = std::string("/") + key;
    if (const auto why = row.absent.find(pointer); why != row.absent.end()) absent[pointer] = why->second;
  }
  json["absent"] = std::move(absent);
  json["case"] = case_json_of(row);
  return json;
}

PledgedPoint point_from_json(const Json& json) {
  const auto text = [&json](const char* key) {
    return json.at(key).is_null() ? std::string() : json.at(key).get<std::string>();
  };
  PledgedPoint point{text("id"), text("cluster"), text("calibrated_with"), {}};
  const Json& epoch = json.at("epoch_seconds");
  const double median = epoch.is_null() ? std::numeric_limits<double>::quiet_NaN() : epoch.get<double>();
  point.row = row_of_median(json.at("case"), point.id, text("status"), text("reason"), median, not_in_pledge);
  for (const char* key : keys_of_a_pledge) {
    if (!json.at(key).is_null()) field_called(key).set(point.row, json.at(key));
    std::erase_if(point.row.absent, [pointer = std::string("/") + key](const auto& entry) {
      return entry.first == pointer || entry.first.starts_with(pointer + "/");
    });
  }
  for (const auto& [pointer, why] : json.at("absent").items()) point.row.absent[pointer] = why.get<std::string>();
  return point;
}

Json pledge_to_json(const Pledge& pledge) {
  Json json = {{"schema", pledge_schema},   {"date_utc", pledge.date},   {"program", pledge.program},
               {"request", pledge.request}, {"clusters", Json::array()}, {"points", Json::array()}};
  for (const PledgedCluster& cluster : pledge.clusters)
    json["clusters"].push_back(
        {{"name", cluster.name}, {"calibrated", cluster.calibrated}, {"sha256", cluster.sha256}});
  for (const PledgedPoint& point : pledge.points) json["points"].push_back(point_to_json(point));
  return json;
}

std::string text_with_digest(Json json) { return with_digest(std::move(json)).dump(2) + "\n"; }

/// Refuses a file that is not, byte for byte, what a pledge with this content is written as.
void check_untouched(const std::string& path, const std::string& text, const Json& json) {
  if (json.value("schema", Json()) != pledge_schema)
    throw InvalidInput(path, 0, 0, fmt::format("not a pledge: its schema is not '{}'", pledge_schema));
  if (text_with_digest(json) == text) return;
  Json content = json;
  content.erase(digest_key);
  const Json named = json.value(digest_key, Json("nothing"));
  throw InvalidInput(path, 0, 0,
                     fmt::format("changed since it was pledged: its content has SHA-256 {}, and the file says {}; take "
                                 "the file as strobe plan --pledge wrote it",
                                 content_digest(content), named.is_string() ? named.get<std::string>() : named.dump()));
}

Pledge pledge_from_json(const Json& json) {
  Pledge pledge{
      json.at("date_utc").get<std::string>(), json.at("program").get<std::string>(), json.at("request"), {}, {}};
  for (const Json& cluster : json.at("clusters"))
    pledge.clusters.push_back({cluster.at("name").get<std::string>(), cluster.at("calibrated").get<bool>(),
                               cluster.at("sha256").get<std::string>()});
  for (const Json& point : json.at("points")) pledge.points.push_back(point_from_json(point));
  pledge.sha256 = json.at(digest_key).get<std::string>();
  return pledge;
}

/// The settings that say what the case computes. A setting that the pledge's revision did not know has its default. A
/// case that this program does not know stays as it is.
Json computed_part(Json json) {
  const auto drop = [&json] {
    for (const char* key : free_settings) json.erase(key);
  };
  drop();
  try {
    json = case_to_json(case_from_json(json, "", CaseRuns::elsewhere));
    drop();
  } catch (const Error&) {
    return json;
  }
  return json;
}

/// A case with the name under which reports know it.
struct KnownCase {
  std::string id;
  Json computed;
};

/// "the nearest, ID, has seed 2 instead of 1"; "" when there are no others.
std::string nearest_of(const Json& computed, const std::vector<KnownCase>& others) {
  const KnownCase* nearest = nullptr;
  std::vector<FieldDifference> found;
  for (const KnownCase& other : others) {
    std::vector<FieldDifference> differences = differences_of(computed, other.computed);
    if (nearest != nullptr && differences.size() >= found.size()) continue;
    nearest = &other;
    found = std::move(differences);
  }
  if (nearest == nullptr) return "";
  std::vector<std::string> words;
  for (const FieldDifference& one : found) words.push_back(fmt::format("{} {} instead of {}", one.field, one.b, one.a));
  constexpr std::size_t most = 3;
  if (words.size() > most) {
    const std::string more = fmt::format("{} more differences", words.size() - most);
    words.resize(most);
    words.push_back(more);
  }
  return fmt::format("; the nearest, {}, has {}", nearest->id, fmt::join(words, ", "));
}

/// The names of the clusters whose points are judged.
std::string chosen_cluster(const Pledge& pledge, const std::string& cluster) {
  std::vector<std::string> names;
  for (const PledgedCluster& one : pledge.clusters) names.push_back(one.name);
  if (cluster.empty() && names.size() == 1) return names.front();
  if (cluster.empty())
    throw InvalidRequest("--cluster",
                         fmt::format("the pledge has predictions for {}; name the cluster that was measured",
                                     fmt::join(names, " and ")));
  if (std::find(names.begin(), names.end(), cluster) != names.end()) return cluster;
  throw InvalidRequest("--cluster", unknown_name_message("cluster of the pledge", cluster, names));
}

/// A measured case.
struct MeasuredRow {
  KnownCase known;
  const Case* request = nullptr;
  const Row* row = nullptr;
  bool pledged = false;
};

/// A row and its prediction, as if both had just been found.
PairResult judged_pair(const MeasuredRow& row, const PledgedPoint& point) {
  PairResult result{{row.known.id, *row.request, *row.request}, {}, {}, {}, {}, {}, 0};
  result.measured.status = row.row->status;
  result.measured.reason = row.row->reason;
  result.earlier = *row.row;
  result.pledged = point.row;
  result.band = band_of(point.row);
  result.baseline_seconds = std::numeric_limits<double>::quiet_NaN();
  return result;
}

/// Adds the point with every row that it predicted, or the reason why it is not judged. Marks these rows.
void add_point(const PledgedPoint& point, const Json& computed, std::vector<MeasuredRow>& rows, PledgedResults& found) {
  bool any = false;
  for (MeasuredRow& row : rows) {
    if (row.known.computed != computed) continue;
    any = row.pledged = true;
    if (point.calibrated_with.empty()) found.results.push_back(judged_pair(row, point));
  }
  if (!point.calibrated_with.empty()) {
    found.left_out.push_back({point.id, "calibration", point.calibrated_with});
  } else if (!any) {
    std::vector<KnownCase> known;
    for (const MeasuredRow& row : rows) known.push_back(row.known);
    found.left_out.push_back(
        {point.id, "not_measured", "no measured row has its settings" + nearest_of(computed, known)});
  }
}

}  // namespace

std::vector<PledgedCluster> clusters_of(const std::vector<PledgedPoint>& points) {
  std::vector<PledgedCluster> clusters;
  std::set<std::string> seen;
  for (const PledgedPoint& point : points) {
    if (!seen.insert(point.cluster).second) continue;
    const auto described = load_cluster(point.cluster);
    clusters.push_back({point.cluster, described->calibrated, content_digest(described->raw)});
  }
  return clusters;
}

std::string pledge_text(const Pledge& pledge) { return text_with_digest(pledge_to_json(pledge)); }

Pledge read_pledge(const std::string& path) {
  const Json json = read_json_object(path);
  check_untouched(path, read_regular_file(path), json);
  try {
    return pledge_from_json(json);
  } catch (const Json::exception& error) {
    throw InvalidInput(path, 0, 0,
                       fmt::format("not a pledge that strobe plan --pledge wrote: {}", json_complaint(error)));
  }
}

PledgedResults match_pledge(const Pledge& pledge, const std::string& cluster, const EarlierCases& measured) {
  PledgedResults found;
  found.cluster = chosen_cluster(pledge, cluster);
  for (const PledgedCluster& one : pledge.clusters)
    if (one.name == found.cluster) found.calibrated = one.calibrated;
  std::vector<MeasuredRow> rows;
  for (const Case& c : measured.suite.cases) {
    const std::string id = case_id(c);
    rows.push_back({{id, computed_part(case_to_json(c))}, &c, &measured.rows.at(id).row});
  }
  std::vector<KnownCase> points;
  for (const PledgedPoint& point : pledge.points) {
    if (point.cluster != found.cluster) {
      found.left_out.push_back({point.id, "other_cluster", "predicted for " + point.cluster});
      continue;
    }
    points.push_back({point.id, computed_part(case_json_of(point.row))});
    add_point(point, points.back().computed, rows, found);
  }
  for (const MeasuredRow& row : rows)
    if (!row.pledged)
      found.left_out.push_back(
          {row.known.id, "not_pledged", "no pledged point has its settings" + nearest_of(row.known.computed, points)});
  return found;
}

}  // namespace strobe
