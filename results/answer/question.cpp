// A field that only some rows have cannot separate questions, since the others would belong to each of them. So rows
// are first grouped by the fields that all of them have, and each group then by the fields that all of its rows have.
#include "results/answer/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/errors.hpp"
#include "results/answer/case_difference.hpp"

namespace strobe {
namespace {

using Rows = std::vector<PlacedRow>;

bool has_field(const Json& json, const std::string& field) {
  try {
    return value_at(json, field) != "-";
  } catch (const InvalidRequest&) {
    return false;
  }
}

Rows rows_with(const std::vector<LoadedRun>& runs, const std::string& field) {
  Rows all, with;
  for (const LoadedRun& run : runs)
    for (const Row& row : run.summary.rows) all.push_back({&run, &row, case_json_of(row)});
  for (const PlacedRow& one : all)
    if (has_field(one.json, field)) with.push_back(one);
  if (with.empty() && !all.empty()) value_at(all.front().json, field);  // refuses it, with the fields that there are
  return with;
}

/// The case without the field, its seed and the settings that --tune chose, which are part of what is compared.
Json context_of(const PlacedRow& one, const std::string& field) {
  Json context = without_field(untuned_case_of(*one.row), field);
  context.erase("seed");
  return context;
}

std::set<std::string> common_keys(const Rows& rows, const std::string& field) {
  std::map<std::string, std::size_t> counts;
  for (const PlacedRow& one : rows) {
    const Json context = context_of(one, field);
    for (const auto& [key, value] : context.items()) ++counts[key];
  }
  std::set<std::string> common;
  for (const auto& [key, count] : counts)
    if (count == rows.size()) common.insert(key);
  return common;
}

Json restricted(const Json& context, const std::set<std::string>& keys, bool inside) {
  Json part = Json::object();
  for (const auto& [key, value] : context.items())
    if ((keys.count(key) != 0) == inside) part[key] = value;
  return part;
}

std::vector<Rows> split_by(const Rows& rows, const std::string& field) {
  const std::set<std::string> keys = common_keys(rows, field);
  std::vector<Rows> groups;
  std::map<std::string, std::size_t> places;
  for (const PlacedRow& one : rows) {
    const auto [place, is_new] = places.emplace(restricted(context_of(one, field), keys, true).dump(), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(one);
  }
  return groups;
}

/// The field, the settings that not all rows of the question have, and those that --tune chose. A case that several
/// runs hold is a candidate in each.
struct Identity {
  Json configuration;
  std::string run;
};

Identity identity_of(const PlacedRow& one, const std::string& field, const std::set<std::string>& common,
                     bool several_runs) {
  const std::size_t dot = field.find('.');
  const std::string slot = field.substr(0, dot);
  Identity identity{restricted(context_of(one, field), common, false), several_runs ? one.run->folder : ""};
  const Json tuned = tuned_settings(*one.row);
  for (const auto& [path, value] : tuned.items()) identity.configuration[path] = value;
  identity.configuration[slot] = dot == std::string::npos ? one.json.at(slot) : Json(value_at(one.json, field));
  return identity;
}

/// Names first; where they are equal, the settings in which the candidates of that name differ; at last the run.
std::string label_of(std::size_t own, const std::vector<Identity>& all, const std::vector<std::string>& names) {
  std::vector<std::string> settings;
  bool other_run = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == own || names[i] != names[own]) continue;
    other_run = other_run || all[i].run != all[own].run;
    for (const FieldDifference& difference : differences_of(all[own].configuration, all[i].configuration)) {
      const std::string setting = difference.field.substr(difference.field.find('.') + 1) + "=" + difference.a;
      if (difference.a != "-" && std::find(settings.begin(), settings.end(), setting) == settings.end())
        settings.push_back(setting);
    }
  }
  std::string label = names[own];
  for (const std::string& setting : settings) label += " " + setting;
  return other_run ? label + " in " + all[own].run : label;
}

bool repeats_cases(const Rows& rows) {
  std::map<std::string, std::string> run_of;
  return std::any_of(rows.begin(), rows.end(), [&](const PlacedRow& one) {
    const auto [place, is_new] = run_of.emplace(one.row->case_id, one.run->folder);
    return !is_new && place->second != one.run->folder;
  });
}

Question question_of(const Rows& rows, const std::string& field) {
  const std::set<std::string> common = common_keys(rows, field);
  const bool several_runs = repeats_cases(rows);
  Question question;
  std::vector<Identity> identities;
  std::vector<std::string> names;
  std::map<std::string, std::size_t> places;
  for (const PlacedRow& one : rows) {
    Identity identity = identity_of(one, field, common, several_runs);
    const auto [place, is_new] =
        places.emplace(identity.configuration.dump() + identity.run, question.candidates.size());
    if (is_new) {
      question.candidates.emplace_back();
      identities.push_back(std::move(identity));
      names.push_back(value_at(one.json, field, false));
    }
    question.candidates[place->second].rows.push_back(one);
  }
  for (std::size_t i = 0; i < identities.size(); ++i) question.candidates[i].label = label_of(i, identities, names);
  return question;
}

/// Adds to each question its workload and model, and its values of the other fields in which questions differ.
void name_questions(const std::string& field, std::vector<Question>& questions) {
  const auto context = [&](const Question& question) {
    return context_of(question.candidates.front().rows.front(), field);
  };
  std::vector<std::string> differing;
  for (const Question& question : questions)
    for (const FieldDifference& difference : differences_of(context(questions.front()), context(question)))
      if (std::find(differing.begin(), differing.end(), difference.field) == differing.end())
        differing.push_back(difference.field);
  for (Question& question : questions) {
    const Json& json = question.candidates.front().rows.front().json;
    for (const char* slot : {"workload", "model"})
      if (field != slot) question.common.push_back(value_at(json, slot, false));
    for (const std::string& name : differing)
      if (name != "workload" && name != "model" && has_field(json, name))
        question.common.push_back(name + " " + value_at(json, name, false));
  }
}

}  // namespace

std::vector<Question> questions_of(const std::vector<LoadedRun>& runs, const std::string& field) {
  std::vector<Question> questions;
  for (const Rows& group : split_by(rows_with(runs, field), field))
    for (const Rows& rows : split_by(group, field)) questions.push_back(question_of(rows, field));
  if (!questions.empty()) name_questions(field, questions);
  return questions;
}

std::string place_of(const Question& question, const std::string& field) {
  const Row& row = *question.candidates.front().rows.front().row;
  if (field == "ranks" || field == "cluster" || field == "device") return "";
  if (row.cluster.empty()) return fmt::format("On {} {}", row.ranks, row.ranks == 1 ? "rank" : "ranks");
  return fmt::format("On {} {} of {} (simulated)", row.ranks, row.ranks == 1 ? "GPU" : "GPUs", row.cluster);
}

}  // namespace strobe
