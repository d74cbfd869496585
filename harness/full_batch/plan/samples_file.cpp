#include "harness/full_batch/plan/samples_file.hpp"

#include <fmt/format.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "workloads/storage/binary_file.hpp"

namespace strobe {
namespace {

constexpr BinaryKind samples_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'S', '\n'}, 1, "samples"};

/// The three parts of a task's data by name.
template <class Data, class Visit>
void for_parts(Data& data, const Visit& visit) {
  visit("train", data.train), visit("validation", data.validation), visit("test", data.test);
}

/// The arrays of one part, by position, so that a new one cannot be left out.
template <class Part, class Visit>
void for_arrays(Part& part, const Visit& visit) {
  auto& [arity, vertices, step, label, value, weight, baseline, candidate_of, memory, codes] = part;
  visit("vertices", vertices), visit("step", step), visit("label", label), visit("value", value);
  visit("weight", weight), visit("baseline", baseline);
  visit("candidate_of", candidate_of), visit("memory", memory);
  visit("codes", codes);
}

}  // namespace

void write_samples_file(const TaskData& data, const std::string& path) {
  const auto& [steps, train, test, validation, notes, absent, rules, levels, negatives] = data;
  std::deque<std::string> names;  // sections point to them
  std::vector<BinarySection> sections;
  Json about = {{"steps", steps},
                {"notes", notes},
                {"absent", absent},
                {"rules", Json::array()},
                {"negatives_sha256", negatives}};
  for_parts(data, [&](const char* name, const Samples& part) {
    about[name] = {{"arity", part.arity}};
    for_arrays(part, [&](const char* array, const auto& column) {
      about[name][array] = column.size();
      add_section(sections, names.emplace_back(fmt::format("{}.{}", name, array)).c_str(), column);
    });
  });
  std::vector<double> values;  // may be NaN, which JSON has not
  for (const auto& [name, value] : rules) about["rules"].push_back(name), values.push_back(value);
  about["best_rule"] = levels.best_rule, about["best_possible"] = levels.best_possible, about["rule"] = levels.rule;
  add_section(sections, "rules", values);
  write_binary_file(samples_kind, std::move(about), sections, path, Keeping::passing);
}

TaskData read_samples_file(const std::string& path, std::shared_ptr<const void> keeper) {
  const BinaryFile file(samples_kind, path, std::move(keeper));
  const Json& about = file.description();
  TaskData data;
  about.at("steps").get_to(data.steps);
  about.at("notes").get_to(data.notes);
  about.at("absent").get_to(data.absent);
  about.at("negatives_sha256").get_to(data.negatives_sha256);
  for_parts(data, [&](const char* name, Samples& part) {
    about.at(name).at("arity").get_to(part.arity);
    for_arrays(part, [&]<class T>(const char* array, Column<T>& column) {
      const auto count = about.at(name).at(array).get<std::int64_t>();
      column = file.column<T>(fmt::format("{}.{}", name, array).c_str(), count, true);
    });
  });
  const std::vector<std::string> rules = about.at("rules");
  const Column<double> values = file.column<double>("rules", static_cast<std::int64_t>(rules.size()), true);
  for (std::size_t i = 0; i < rules.size(); ++i) data.rules[rules[i]] = values[i];
  about.at("best_rule").get_to(data.levels.best_rule);
  about.at("best_possible").get_to(data.levels.best_possible);
  about.at("rule").get_to(data.levels.rule);
  return data;
}

}  // namespace strobe
