#include "harness/cli/inspect/inspect_explain.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/errors.hpp"
#include "core/or_null.hpp"
#include "core/shown_text.hpp"
#include "workloads/reading/table/table_guess.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

std::string name_of(const FormatTag::Value& format) {
  for (const auto& [name, entry] : FormatRegistry::instance().entries())
    if (&entry.value == &format) return name;
  return "";
}

/// The format that reads the file, or the reason why none does.
Json chosen_format(const std::string& path, const Json& parameters) {
  const std::string format = parameters.value("format", ""), columns = parameters.value("columns", "");
  Json facts = {{"format", nullptr}, {"refused", nullptr}};
  try {
    facts["format"] =
        format.empty() && !columns.empty() ? format_of_columns(path, columns) : name_of(find_format(path, format));
  } catch (const InvalidInput& error) {
    facts["refused"] = error.what();
  }
  return facts;
}

std::string form_text(const TableLayout& layout) {
  const std::string header = layout.header_line == 0 ? "no header"
                             : layout.header_in_comment
                                 ? fmt::format("a header in line {} after '{}'", layout.header_line, layout.comment)
                                 : fmt::format("a header in line {}", layout.header_line);
  const std::string comments =
      layout.comment.empty() ? "" : fmt::format(", comments that begin with '{}'", layout.comment);
  return fmt::format("{} columns between {}, {}{}; {} rows looked at", layout.columns, separator_name(layout.separator),
                     header, comments, layout.rows.size());
}

void describe_table(const std::string& path, const TableGuess& guess, Json& facts) {
  facts["form"] = form_text(guess.layout);
  facts["certain"] = guess.certain;
  facts["doubt"] = or_null(guess.doubt);
  facts["columns"] = Json::array();
  for (const ColumnGuess& column : guess.columns)
    facts["columns"].push_back({{"name", column.name}, {"role", role_name(column.role)}, {"reason", column.reason}});
  facts["commands"] = Json::array();
  const bool known = facts["format"].is_string() && facts["format"] != "table";
  for (const std::string& option : guess.options)
    facts["commands"].push_back(inspect_command(path, (known ? "format=table," : "") + option));
}

std::string text_of(const std::string& path, const Json& facts) {
  std::string text = path + "\n";
  if (facts["format"].is_string()) text += "read as   " + facts["format"].get<std::string>() + "\n";
  if (facts["refused"].is_string()) text += "refused   " + facts["refused"].get<std::string>() + "\n";
  if (!facts.contains("form")) return text + "form      no text table with three columns or more\n";
  text += "form      " + facts["form"].get<std::string>() + "\n";
  std::size_t number = 0, width = 0;
  for (const Json& column : facts["columns"]) width = std::max(width, column["name"].get<std::string>().size());
  for (const Json& column : facts["columns"])
    text += fmt::format("{:>6}    {:{}}  {:8}  {}\n", ++number, column["name"].get<std::string>(), width,
                        column["role"].get<std::string>(), column["reason"].get<std::string>());
  if (facts["doubt"].is_string()) text += "uncertain " + facts["doubt"].get<std::string>() + "\n";
  const bool known = facts["format"].is_string() && facts["format"] != "table";
  if (!facts["commands"].empty())
    text += facts["format"].is_string() && !known ? "the same, in full:\n" : "as a table it is read with:\n";
  for (const Json& command : facts["commands"]) text += "  " + command.get<std::string>() + "\n";
  return text;
}

}  // namespace

std::string explain_file(const std::string& path, const Json& parameters, bool json) {
  if (find_dataset(path) != nullptr || !std::filesystem::exists(path))
    throw InvalidRequest("--explain", fmt::format("there is no file '{}'; give the path of one", path));
  Json facts = chosen_format(path, parameters);
  if (const auto guess = guess_table(path)) describe_table(path, *guess, facts);
  return json ? facts.dump(2) + "\n" : shown_lines(text_of(path, facts));
}

}  // namespace strobe
