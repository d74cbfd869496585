// Reads printed tables and the descriptions that map them to cases.
// Returns one value per printed cell, in printed order. Invariant: a cell without a case has a reason; a cell that the
// description does not mention is an error of the description. Cost O(cells).
//
// A description has these keys per experiment:
// - `columns`: the quantity of a printed value, its factor to SI units, and a part of the case; or a reason.
// - `labels`: the part of the case that a row's label adds; or a reason. "*" stands for every value of a label, and "$"
//   in its part for that value. Parts override the paper's `defaults`: first those of columns, then those of labels.
// - `rows`: columns of rows that have a name in place of labels.
// - `stated`: rows for values in the paper's text, which no table has. A column here or in `rows` may state its value,
//   in the column's unit.
// - `for`, in a column: another factor or a reason for some values of a label.
// A speed-up or reduction has a term for `each` value of a label. The reference of a term is its own case with the
// parts `over` of label and column, or the cases of the values under `over_each`. A divergence has no reference. A list
// under `over` holds alternatives: the first that runs counts. `over_per_rank` divides it by its ranks. `largest` takes
// the largest term in place of the mean.
#include "harness/validation/published.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/system/program_files.hpp"
#include "harness/request/json_text.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

const fs::path& folder() {
  static const fs::path path = program_folder(STROBE_PUBLISHED_DIR);
  return path;
}

std::string text_of(const Json& json, const char* key) { return json.value(key, std::string()); }

std::string label_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string row_text(const Json& row) {
  if (!row.contains("labels")) return text_of(row, "name");
  std::vector<std::string> parts;
  for (const auto& [key, value] : row.at("labels").items()) parts.push_back(key + "=" + label_text(value));
  return fmt::format("{}", fmt::join(parts, " "));
}

/// Merges `over` into `base`. An object with a name replaces a plug-in with another name, and null removes a key.
void lay(Json& base, const Json& over) {
  for (const auto& [key, value] : over.items()) {
    const bool merge = value.is_object() && base.contains(key) && base.at(key).is_object() &&
                       (!value.contains("name") || value.at("name") == base.at(key).value("name", Json()));
    if (value.is_null()) {
      base.erase(key);
    } else if (merge) {
      lay(base[key], value);
    } else {
      base[key] = value;
    }
  }
}

/// The description of one experiment.
class Experiment {
 public:
  Experiment(const Json& description, const std::string& id, std::string file) : id_(id), file_(std::move(file)) {
    defaults_ = description.value("defaults", Json::object());
    const Json all = description.value("experiments", Json::object());
    if (!all.contains(id)) fail("there is no entry for the experiment " + id);
    text_ = all.at(id);
    lay(defaults_, text_.value("case", Json::object()));
  }

  void add_row(const Json& row, std::vector<PublishedValue>& values) const {
    const Json printed = row.value("values", Json::object());
    const Json named = text_.value("rows", Json::object());
    if (!row.contains("labels") && named.contains(text_of(row, "name"))) {
      return add_named(row, named.at(text_of(row, "name")), values);
    }
    if (!row.contains("labels") || printed.empty() || text_.contains("reason")) {
      values.push_back(blank(row, "", text_.value("reason", "states something in words, no value to predict")));
      return;
    }
    add_columns(row, text_.value("columns", Json::object()), values);
  }

  /// Adds rows from the paper's text, which no table has.
  void add_stated(std::vector<PublishedValue>& values) const {
    for (const Json& row : text_.value("stated", Json::array())) add_named(row, row, values);
  }

 private:
  void add_named(const Json& row, const Json& entry, std::vector<PublishedValue>& values) const {
    const Json columns = entry.value("columns", Json::object());
    if (columns.empty()) fail(fmt::format("{}: nothing is said of the columns of '{}'", id_, text_of(row, "name")));
    add_columns(row, columns, values);
  }

  void add_columns(const Json& row, const Json& columns, std::vector<PublishedValue>& values) const {
    const Json printed = row.value("values", Json::object());
    for (const auto& [column, value] : printed.items()) values.push_back(make(row, columns, column, value));
    for (const auto& [column, entry] : columns.items()) {
      if (printed.contains(column)) continue;
      if (entry.contains("stated")) values.push_back(make(row, columns, column, entry.at("stated")));
      if (entry.value("withheld", false)) values.push_back(make(row, columns, column, Json(nullptr)));
    }
  }

  [[noreturn]] void fail(const std::string& message) const { throw InvalidInput(file_, 0, 0, message); }

  PublishedValue blank(const Json& row, const std::string& column, const std::string& reason) const {
    PublishedValue value;
    value.experiment = id_;
    value.row = row_text(row);
    value.column = column;
    value.reason = reason;
    return value;
  }

  PublishedValue make(const Json& row, const Json& columns, const std::string& column, const Json& printed) const {
    if (!columns.contains(column)) fail(fmt::format("{}: nothing is said of the column '{}'", id_, column));
    Json entry = columns.at(column);
    lay_row(row.value("labels", Json::object()), entry);
    PublishedValue value = blank(row, column, text_of(entry, "reason"));
    Json c = defaults_;
    lay(c, entry.value("case", Json::object()));
    take_assumed(entry, value);
    const double divisor = take_labels(row.value("labels", Json::object()), c, value);
    if (value.reason.empty() && row.value("printed", Json::object()).value(column, "") == "N/A")
      value.reason = "printed as not applicable";
    if (!value.reason.empty()) return value;
    if (!entry.contains("quantity")) fail(fmt::format("{}: column '{}' has no quantity", id_, column));
    value.quantity = text_of(entry, "quantity");
    value.times = entry.value("times", 1.0);
    value.at_most = entry.value("at_most", false);
    value.largest = entry.value("largest", false);
    if (value.quantity == "device_bytes") {
      add_mean(entry, c, value);
    } else if (resolve_shape(c); is_mean_of_terms(value.quantity)) {
      add_terms(entry, c, column, value);
    } else {
      value.cases = alternatives(c);
    }
    value.printed = printed_value(row, entry, printed, value.quantity);
    if (value.printed) *value.printed /= divisor;
    return value;
  }

  void take_assumed(const Json& entry, PublishedValue& value) const {
    for (const Json& one : entry.value("assumes", Json::array())) value.assumed.push_back(one.get<std::string>());
  }

  const Json& meaning_of(const std::string& label, const std::string& name) const {
    const Json::json_pointer place("/labels/" + label);
    if (!text_.contains(place)) fail(fmt::format("{}: nothing is said of the label '{}'", id_, label));
    const Json& meanings = text_.at(place);
    const std::string key = meanings.contains(name) ? name : "*";
    if (!meanings.contains(key)) fail(fmt::format("{}: nothing is said of {}={}", id_, label, name));
    return meanings.at(key);
  }

  /// Merges the case of a label's value `text` into `c`.
  void lay_label(const Json& meaning, const Json& text, Json& c) const {
    Json part = meaning.value("case", Json::object());
    for (auto& [setting, given] : part.items()) {
      if (given == "$") given = text;
    }
    lay(c, part);
  }

  /// Returns the divisor of printed numbers that the labels state, such as the rounds of a system.
  double take_labels(const Json& labels, Json& c, PublishedValue& value) const {
    std::vector<std::string> order;
    double divisor = 1;
    for (const auto& [label, text] : labels.items()) {
      const std::string name = label_text(text);
      const Json& meaning = meaning_of(label, name);
      if (meaning.contains("reason") && value.reason.empty()) value.reason = text_of(meaning, "reason");
      lay_label(meaning, text, c);
      take_assumed(meaning, value);
      divisor *= meaning.value("divisor", 1.0);
      if (meaning.value("order", false)) order.push_back(label + "=" + name);
    }
    value.order = fmt::format("{}", fmt::join(order, " "));
    return divisor;
  }

  /// Overrides a column for rows with certain labels.
  static void lay_row(const Json& labels, Json& entry) {
    const Json parts = entry.value("for", Json::object());
    for (const auto& [label, by_value] : parts.items()) {
      const std::string name = labels.contains(label) ? label_text(labels.at(label)) : "";
      if (by_value.contains(name)) lay(entry, by_value.at(name));
    }
  }

  /// Sets the cases of a mean: all combinations of the labels' values under `mean_of`.
  void add_mean(const Json& entry, const Json& c, PublishedValue& value) const {
    std::vector<Json> all = {c};
    for (const auto& [label, names] : entry.at("mean_of").items()) {
      std::vector<Json> more;
      for (const Json& one : all) {
        for (const Json& text : names) {
          more.push_back(one);
          lay_label(meaning_of(label, label_text(text)), text, more.back());
        }
      }
      all = std::move(more);
    }
    for (Json& one : all) resolve_shape(one);
    value.cases = std::move(all);
  }

  /// Calls visit(name, meaning, case) for each value of the label under `key`, with its case merged into `c`.
  template <class Visit>
  void for_each_of(const Json& entry, const char* key, const Json& c, const Visit& visit) const {
    for (const auto& [label, names] : entry.at(key).items()) {
      for (const Json& text : names) {
        const Json& meaning = meaning_of(label, label_text(text));
        Json one = c;
        lay_label(meaning, text, one);
        visit(label + "=" + label_text(text), meaning, one);
      }
    }
  }

  void add_terms(const Json& entry, const Json& c, const std::string& column, PublishedValue& value) const {
    if (!entry.contains("each")) fail(fmt::format("{}: the {} '{}' has no `each`", id_, value.quantity, column));
    const bool alone = value.quantity == "divergence", either = entry.contains("over") || entry.contains("over_each");
    if (alone && either) fail(fmt::format("{}: the divergence '{}' is over nothing", id_, column));
    if (!alone && entry.contains("over") == entry.contains("over_each")) {
      fail(fmt::format("{}: the {} '{}' needs either `over` or `over_each`", id_, value.quantity, column));
    }
    for_each_of(entry, "each", c, [&](const std::string& name, const Json& meaning, Json of) {
      take_assumed(meaning, value);
      SpeedupTerm term;
      term.name = name;
      if (entry.contains("over"))
        term.cases.push_back(references(of, meaning.value("over", Json::object()), entry.at("over")));
      resolve_shape(of);
      term.cases.insert(term.cases.begin(), alternatives(of));
      term.over_per_rank = entry.value("over_per_rank", false);
      if (!alone && !entry.contains("over")) {
        for_each_of(entry, "over_each", c,
                    [&](const std::string&, const Json&, const Json& one) { term.cases.push_back(alternatives(one)); });
      }
      value.terms.push_back(std::move(term));
    });
  }

  /// The reference of a case: the case with the label's and the column's part, or with each of the column's in turn.
  std::vector<Json> references(const Json& of, const Json& of_label, const Json& over) const {
    std::vector<Json> all;
    for (const Json& part : over.is_array() ? over : Json::array({over})) {
      Json base = of;
      lay(base, of_label);
      lay(base, part);
      resolve_shape(base);
      for (Json& one : alternatives(base)) all.push_back(std::move(one));
    }
    return all;
  }

  /// Paths of shape files are relative to the description.
  void resolve_shape(Json& c) const {
    if (!c.contains("workload")) fail(id_ + ": a case has no workload");
    const std::string name = text_of(c.at("workload"), "name");
    if (name.rfind("shapes/", 0) == 0) c["workload"]["name"] = (fs::path(file_).parent_path() / name).string();
  }

  /// One case for each number in a list of block counts. The first case that fits the memory counts.
  static std::vector<Json> alternatives(const Json& c) {
    if (!c.contains("nb") || !c.at("nb").is_array()) return {c};
    std::vector<Json> all;
    for (const Json& nb : c.at("nb")) {
      all.push_back(c);
      all.back()["nb"] = nb;
    }
    return all;
  }

  std::optional<double> printed_value(const Json& row, const Json& entry, const Json& printed,
                                      const std::string& quantity) const {
    if (quantity == "out_of_memory") return 1.0;
    if (!printed.is_number()) return std::nullopt;
    double value = printed.get<double>() * entry.value("factor", 1.0) / entry.value("divisor", 1.0);
    if (entry.contains("divide_by")) value /= row.at("values").at(text_of(entry, "divide_by")).get<double>();
    return value;
  }

  std::string id_, file_;
  Json text_, defaults_;
};

}  // namespace

bool is_mean_of_terms(const std::string& quantity) {
  return quantity == "speedup" || quantity == "loading_reduction" || quantity == "loading_speedup" ||
         quantity == "epoch_reduction" || quantity == "divergence";
}

std::vector<std::string> published_names() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder() / "mapping", ignored)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

PublishedPaper read_published(const Json& printed, const Json& description, const std::string& file) {
  PublishedPaper paper;
  paper.name = text_of(description, "paper");
  paper.citation = text_of(description, "citation");
  paper.cluster = description.value("defaults", Json::object()).value("cluster", std::string());
  paper.software = text_of(description, "software");
  for (const Json& one : description.value("assumptions", Json::array())) {
    paper.assumptions.push_back(one.get<std::string>());
  }
  for (const Json& experiment : printed.at("experiments")) {
    const Experiment entry(description, experiment.at("id").get<std::string>(), file);
    for (const Json& row : experiment.at("rows")) entry.add_row(row, paper.values);
    entry.add_stated(paper.values);
  }
  return paper;
}

PublishedPaper load_published(const std::string& name) {
  const std::vector<std::string> names = published_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw InvalidRequest("--published", unknown_name_message("paper", name, names));
  }
  const std::string description = (folder() / "mapping" / (name + ".json")).string();
  return read_published(read_json_file((folder() / (name + ".json")).string()), read_json_file(description),
                        description);
}

}  // namespace strobe
