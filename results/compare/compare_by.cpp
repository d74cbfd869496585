// A group consists of cases that are equal once the field is removed. Within a group, every case is compared with the
// fastest, with the same intervals as in a comparison of two runs. Cost: one comparison for each case.
#include "results/compare/compare_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/or_null.hpp"
#include "core/units.hpp"
#include "results/compare/case_difference.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

/// A row where it lies.
struct PlacedRow {
  const LoadedRun* run;
  const Row* row;
  Json json;
};

using GroupedRows = std::vector<std::vector<PlacedRow>>;

std::vector<PlacedRow> entries_of(const std::vector<LoadedRun>& runs) {
  std::vector<PlacedRow> entries;
  for (const LoadedRun& run : runs)
    for (const Row& row : run.summary.rows) entries.push_back({&run, &row, case_json_of(row)});
  return entries;
}

GroupedRows grouped(const std::vector<PlacedRow>& entries, const std::string& field) {
  GroupedRows groups;
  std::map<std::string, std::size_t> places;
  for (const PlacedRow& entry : entries) {
    value_at(entry.json, field);  // refuses a field that there is not
    const auto [place, is_new] = places.emplace(without_field(entry.json, field).dump(), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(entry);
  }
  return groups;
}

bool has_time(const PlacedRow& entry) { return entry.row->status == "ok" && entry.row->epoch_seconds.has_value(); }

double median_of(const PlacedRow& entry) { return has_time(entry) ? entry.row->epoch_seconds->median : INFINITY; }

/// The shortest text that distinguishes the values of a group: parameters only where names do not suffice.
std::vector<std::string> values_of(const std::vector<PlacedRow>& group, const std::string& field) {
  std::vector<std::string> names, all;
  for (const PlacedRow& entry : group) {
    names.push_back(value_at(entry.json, field, false));
    all.push_back(value_at(entry.json, field, true));
  }
  std::vector<std::string> values;
  for (std::size_t i = 0; i < group.size(); ++i) {
    bool unique = true, unique_with_all = true;
    for (std::size_t k = 0; k < group.size(); ++k) {
      unique = unique && (k == i || names[k] != names[i]);
      unique_with_all = unique_with_all && (k == i || all[k] != all[i]);
    }
    values.push_back(unique ? names[i] : unique_with_all ? all[i] : all[i] + " in " + group[i].run->folder);
  }
  return values;
}

void refuse_mixed_clocks(const std::vector<PlacedRow>& group, const CompareOptions& options) {
  for (const PlacedRow& entry : group) {
    const bool wall = entry.row->time_source == "wall" && group.front().row->time_source == "wall";
    if (wall && entry.run != group.front().run && !options.allow_different_host)
      refuse_different_hosts(*group.front().run, *entry.run);
  }
}

GroupMember member_of(const PlacedRow& entry, const PlacedRow& fastest, std::string value,
                      const CompareOptions& options) {
  GroupMember member;
  member.value = std::move(value);
  member.case_id = entry.row->case_id;
  member.run = entry.run->folder;
  if (entry.row->until && entry.row->until->reached) member.until_seconds = entry.row->until->seconds;
  if (!has_time(entry)) {
    member.note = entry.row->reason.empty() ? entry.row->status : entry.row->status + ": " + entry.row->reason;
    return member;
  }
  member.seconds = entry.row->epoch_seconds->median;
  if (entry.row == fastest.row) return member;
  member.slower = compare_rows(*fastest.run, *fastest.row, *entry.run, *entry.row, options);
  member.note = member.slower.note;
  if (entry.row->time_source != fastest.row->time_source)
    member.note += std::string(member.note.empty() ? "" : "; ") + "one time is measured, the other predicted";
  return member;
}

std::string best_of(const std::vector<GroupMember>& members) {
  std::string unsure, same;
  for (std::size_t i = 1; i < members.size(); ++i) {
    const std::string& verdict = members[i].slower.verdict;
    if (!std::isfinite(members[i].seconds) || verdict == "SLOWER") continue;
    std::string& names = verdict == "SAME" ? same : unsure;
    names += (names.empty() ? "" : ", ") + members[i].value;
  }
  const std::string& first = members.front().value;
  if (!std::isfinite(members.front().seconds)) return "no case has a time";
  if (unsure.empty() && same.empty()) return first + " is the fastest";
  std::string text = first;
  if (!same.empty()) text += fmt::format(" is as fast as {} within the threshold", same);
  if (!unsure.empty()) text += fmt::format("{} cannot be distinguished from {}", same.empty() ? "" : ", and", unsure);
  return text;
}

double sent(const Row& row) { return row.sent_bytes ? static_cast<double>((*row.sent_bytes)[traffic_count]) : 0; }

/// "sends 241 kB an epoch against 4.82 MB"; "" where that is nearly the same.
std::string bytes_text(const Row& fast, const Row& slow) {
  constexpr double much = 1.1;
  const double a = sent(fast), b = sent(slow);
  if (std::max(a, b) <= much * std::min(a, b)) return "";
  return fmt::format("; it sends {} an epoch against {}", format_bytes(a), format_bytes(b));
}

/// The phases that make most of the difference of two epochs, the largest first.
std::string phases_text(const Row& fast, const Row& slow) {
  if (!fast.phase_seconds || !slow.phase_seconds) return "";
  const double total = slow.epoch_seconds->mean - fast.epoch_seconds->mean;
  std::vector<std::pair<double, std::size_t>> differences;
  for (std::size_t i = 0; i < phase_count; ++i)
    differences.emplace_back((*slow.phase_seconds)[i] - (*fast.phase_seconds)[i], i);
  std::stable_sort(differences.begin(), differences.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  constexpr double least_share = 0.2;
  std::string text;
  for (const auto& [seconds, phase] : differences) {
    if (std::abs(seconds) < least_share * std::abs(total) || seconds == 0) break;
    text += fmt::format("{} {} {} ({} against {})", text.empty() ? "" : ",", format_seconds(std::abs(seconds)),
                        (seconds > 0 ? "less " : "more ") + std::string(phase_names[phase]),
                        format_seconds((*fast.phase_seconds)[phase]), format_seconds((*slow.phase_seconds)[phase]));
  }
  return text;
}

/// Why the fastest is faster than the slowest that has a time, from the differences of their phases.
std::string why_of(const std::vector<PlacedRow>& group, const std::vector<GroupMember>& members) {
  std::size_t last = members.size();
  while (last > 1 && !std::isfinite(members[last - 1].seconds)) --last;
  if (last < 2) return "";
  const Row &fast = *group.front().row, &slow = *group[last - 1].row;
  const std::string phases = phases_text(fast, slow);
  if (phases.empty()) return "";
  return fmt::format("an epoch of {} has, compared with {},{}{}", members.front().value, members[last - 1].value,
                     phases, bytes_text(fast, slow));
}

CaseGroup group_of(std::vector<PlacedRow> entries, const std::string& field, const CompareOptions& options) {
  refuse_mixed_clocks(entries, options);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const PlacedRow& a, const PlacedRow& b) { return median_of(a) < median_of(b); });
  const std::vector<std::string> values = values_of(entries, field);
  CaseGroup group;
  for (std::size_t i = 0; i < entries.size(); ++i)
    group.members.push_back(member_of(entries[i], entries.front(), values[i], options));
  group.best = best_of(group.members);
  group.why = why_of(entries, group.members);
  return group;
}

/// Adds to each group its workload and model, and its values of the other fields in which groups differ.
void tell_common(const std::vector<std::vector<PlacedRow>>& entries, const std::string& field, ByReport& report) {
  std::vector<std::string> differing;
  const Json first = without_field(entries.front().front().json, field);
  for (const std::vector<PlacedRow>& group : entries)
    for (const FieldDifference& difference : differences_of(first, without_field(group.front().json, field)))
      if (std::find(differing.begin(), differing.end(), difference.field) == differing.end())
        differing.push_back(difference.field);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Json& json = entries[i].front().json;
    report.groups[i].common.push_back(value_at(json, "workload", false) + ", " + value_at(json, "model", false));
    for (const std::string& name : differing)
      if (name != "workload" && name != "model")
        report.groups[i].common.push_back(name + " " + value_at(json, name, false));
  }
}

std::vector<Row> rows_but(const std::vector<LoadedRun>& runs, const Row* one) {
  std::vector<Row> rows;
  for (const LoadedRun& run : runs)
    for (const Row& row : run.summary.rows)
      if (&row != one) rows.push_back(row);
  return rows;
}

}  // namespace

ByReport compare_by(const std::vector<std::string>& paths, const std::string& field, const CompareOptions& options) {
  std::vector<LoadedRun> runs;
  for (const std::string& path : paths) runs.push_back(load_run(path));
  ByReport report;
  report.field = field;
  std::vector<std::vector<PlacedRow>> together;
  for (const std::vector<PlacedRow>& entries : grouped(entries_of(runs), field)) {
    if (entries.size() > 1)
      together.push_back(entries);
    else
      report.alone.push_back(
          {entries.front().row->case_id, nearest_text(*entries.front().row, rows_but(runs, entries.front().row))});
  }
  if (together.empty()) {
    const std::string nearest = report.alone.empty() ? "" : report.alone.front().nearest;
    throw NotComparable(
        fmt::format("no two cases differ in {} alone{}", field,
                    nearest.empty() ? "" : fmt::format("; of {}: {}", report.alone.front().case_id, nearest)));
  }
  for (const std::vector<PlacedRow>& entries : together) report.groups.push_back(group_of(entries, field, options));
  tell_common(together, field, report);
  return report;
}

Json by_to_json(const ByReport& report) {
  Json groups = Json::array();
  for (const CaseGroup& group : report.groups) {
    Json members = Json::array();
    for (const GroupMember& member : group.members) {
      members.push_back({{"value", member.value},
                         {"case_id", member.case_id},
                         {"run", member.run},
                         {"seconds", or_null(member.seconds)},
                         {"times_the_fastest", or_null(member.slower.ratio)},
                         {"ci99_low", or_null(member.slower.ci99_low)},
                         {"ci99_high", or_null(member.slower.ci99_high)},
                         {"until_seconds", or_null(member.until_seconds)},
                         {"note", member.note}});
    }
    groups.push_back({{"common", group.common}, {"cases", members}, {"best", group.best}, {"why", group.why}});
  }
  Json alone = Json::array();
  for (const UnpairedCase& single : report.alone)
    alone.push_back({{"case_id", single.case_id}, {"nearest", single.nearest}});
  return {{"by", report.field}, {"groups", groups}, {"alone", alone}};
}

std::string by_text(const ByReport& report) {
  std::string text;
  for (const CaseGroup& group : report.groups) {
    std::string heading;
    for (const std::string& part : group.common) heading += (heading.empty() ? "" : ", ") + part;
    const bool has_until = std::any_of(group.members.begin(), group.members.end(),
                                       [](const GroupMember& member) { return std::isfinite(member.until_seconds); });
    std::vector<TextTable::Column> columns{
        {report.field, false}, {"epoch", true}, {"times the fastest", true}, {"99 % interval", false}};
    if (has_until) columns.push_back({"to the metric", true});
    columns.push_back({"note", false});
    TextTable table(columns);
    for (const GroupMember& member : group.members) {
      const Comparison& slower = member.slower;
      const bool first = &member == &group.members.front() && std::isfinite(member.seconds);
      std::vector<std::string> cells{
          member.value, std::isfinite(member.seconds) ? format_seconds(member.seconds) : "-",
          first                         ? "1"
          : std::isfinite(slower.ratio) ? fmt::format("{:.3f}", slower.ratio)
                                        : "-",
          std::isfinite(slower.ci99_low) ? fmt::format("{:.3f} .. {:.3f}", slower.ci99_low, slower.ci99_high) : "-"};
      if (has_until)
        cells.push_back(std::isfinite(member.until_seconds) ? format_seconds(member.until_seconds) : "not reached");
      cells.push_back(member.note);
      table.add(cells);
    }
    text += fmt::format("{}{}:\n{}{}\n", text.empty() ? "" : "\n", heading, table.text(), group.best);
    if (!group.why.empty()) text += group.why + "\n";
  }
  for (const UnpairedCase& single : report.alone)
    text += fmt::format("\n{} has no case to compare with: {}\n", single.case_id, single.nearest);
  return text;
}

}  // namespace strobe
