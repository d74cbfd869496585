// Names decide where they are sure. Without a header, the only column of dates or of seconds since 1970 is the time,
// and the two columns whose cells are of one kind are the vertices. If other choices are possible, the guess is
// uncertain.
#include "workloads/reading/table/table_guess.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/errors.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::size_t no_csv_column = CsvColumns::none;
constexpr double alike_share = 0.25, apart = 0.1;  // shares of common cells
constexpr std::size_t enough_rows = 8;             // to tell a column that numbers the rows from ids

/// Finds the roles of the columns of one layout.
class Guesser {
 public:
  Guesser(TableLayout layout, bool time_is_last) : time_is_last_(time_is_last) {
    guess_.layout = std::move(layout);
    const TableLayout& table = guess_.layout;
    for (std::size_t c = 0; c < table.columns; ++c) {
      facts_.push_back(facts_of(table.rows, c));
      words_.push_back(table.names.empty() ? ColumnWord() : read_column_word(table.names[c]));
    }
  }

  TableGuess guess() {
    guess_.doubt = guess_.layout.doubt;
    const bool named = !guess_.layout.names.empty();
    if (named) take_names();
    const bool elsewhere =
        std::any_of(facts_.begin(), facts_.end(), [](const ColumnFacts& facts) { return facts.dates || facts.epoch; });
    if (!named && time_is_last_ && facts_.back().numeric && !elsewhere) time_ = facts_.size() - 1;
    if (time_ == no_csv_column) take_time_by_cells();
    if (source_ == no_csv_column || target_ == no_csv_column) take_vertices_by_cells(named);
    if (source_ == no_csv_column || target_ == no_csv_column) doubt("which columns are the vertices is not plain");
    check_cells();
    describe_columns();
    add_options();
    guess_.certain = guess_.doubt.empty();
    return std::move(guess_);
  }

 private:
  void doubt(std::string why) {
    if (guess_.doubt.empty()) guess_.doubt = std::move(why);
  }
  std::string name(std::size_t c) const { return guess_.layout.name(c); }

  /// The only column with this role by a sure word, else by any word.
  std::size_t by_word(ColumnRole role) {
    for (const bool sure : {true, false}) {
      std::vector<std::size_t> found;
      for (std::size_t c = 0; c < words_.size(); ++c)
        if (words_[c].role == role && words_[c].sure == sure) found.push_back(c);
      if (found.size() > 1 && role == ColumnRole::weight) return no_csv_column;
      if (found.size() > 1)
        doubt(fmt::format("'{}' and '{}' may both be the {}", name(found[0]), name(found[1]), role_name(role)));
      if (!found.empty()) return found.front();
    }
    return no_csv_column;
  }

  void take_names() {
    source_ = by_word(ColumnRole::source), target_ = by_word(ColumnRole::target), time_ = by_word(ColumnRole::time);
    weight_ = by_word(ColumnRole::weight);
    if (time_ == no_csv_column) time_ = by_word(ColumnRole::step), stepped_ = time_ != no_csv_column;
    if (source_ == no_csv_column || target_ == no_csv_column) return;
    const ColumnWord &from = words_[source_], &to = words_[target_];
    two_kinds_ = from.actor && (to.thing || (to.sure && to.role == ColumnRole::target));
  }

  void take_time_by_cells() {
    std::vector<std::size_t> dates, ascending, numbers;
    for (std::size_t c = 0; c < facts_.size(); ++c) {
      if (c == source_ || c == target_ || words_[c].role != ColumnRole::none) continue;
      if (facts_[c].dates || facts_[c].epoch) dates.push_back(c);
      if (facts_[c].ascending && facts_[c].distinct.size() > 1) ascending.push_back(c);
      if (facts_[c].numeric) numbers.push_back(c);
    }
    if (dates.size() == 1) {
      time_ = dates.front();
    } else if (dates.size() > 1) {
      time_ = dates.front();
      doubt(fmt::format("{} and {} may both be the time", name(dates[0]), name(dates[1])));
    } else {
      const std::vector<std::size_t>& likely = ascending.empty() ? numbers : ascending;
      time_ = likely.empty() ? no_csv_column : likely.back();
      doubt(time_ == no_csv_column ? "no column looks like a time"
                                   : fmt::format("no column is plainly the time; it may be {}", name(time_)));
    }
  }

  /// Columns whose cells may be ids, in order.
  std::vector<std::size_t> id_columns() const {
    std::vector<std::size_t> found;
    for (std::size_t c = 0; c < facts_.size(); ++c) {
      const ColumnFacts& facts = facts_[c];
      if (c != time_ && (facts.whole || !facts.value()) && !facts.clock && !facts.empty_cells) found.push_back(c);
    }
    return found;
  }

  /// A vertex column with a sure name stays. One whose name only hints at its role counts like a column without a name.
  void take_vertices_by_cells(bool named) {
    std::vector<std::size_t> ids = id_columns();
    if (named) {
      doubt("the header does not say which columns are the vertices");
      const bool enough = guess_.layout.rows.size() >= enough_rows;
      std::erase_if(
          ids, [&](std::size_t c) { return words_[c].role == ColumnRole::counter || (enough && facts_[c].counter); });
    }
    const std::size_t known = source_ != no_csv_column ? source_ : target_;
    if (known != no_csv_column && words_[known].sure) {
      std::erase(ids, known);
      if (!ids.empty()) (source_ == no_csv_column ? source_ : target_) = ids.front();
      return;
    }
    source_ = target_ = no_csv_column;
    if (ids.size() < 2) return;
    source_ = ids[0], target_ = ids[1];
    // One more column may mean that one of these two is no vertex; common cells decide.
    if (guess_.layout.columns == 3 && ids.size() == 2 && facts_[source_].whole == facts_[target_].whole) return;
    choose_pair(ids);
  }

  /// The first two columns, when the others have too few different cells to be vertices. Relations and heads that are
  /// numbered from 0 have numbers in common, too; but then the tails are many.
  bool are_usual_vertices(const std::vector<std::size_t>& ids) const {
    const ColumnFacts &source = facts_[source_], &target = facts_[target_];
    if (source_ != ids[0] || target_ != ids[1] || source.counter || target.counter) return false;
    const std::size_t few = std::min(source.distinct.size(), target.distinct.size()) / 4;
    return std::all_of(ids.begin() + 2, ids.end(), [&](std::size_t c) { return facts_[c].distinct.size() <= few; });
  }

  /// The one pair of columns with cells in common, when no other has any to speak of.
  void choose_pair(const std::vector<std::size_t>& ids) {
    std::vector<std::array<std::size_t, 2>> alike_pairs;
    std::size_t between = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (std::size_t j = i + 1; j < ids.size(); ++j) {
        const double share = shared_share(facts_[ids[i]], facts_[ids[j]]);
        if (share >= alike_share) alike_pairs.push_back({ids[i], ids[j]});
        between += share > apart && share < alike_share;
      }
    }
    const auto reads = [&](std::size_t a, std::size_t b) { source_ = a, target_ = b; };
    if (alike_pairs.size() == 1) reads(alike_pairs[0][0], alike_pairs[0][1]);
    if (alike_pairs.size() == 1 && between == 0 &&
        (are_usual_vertices(ids) || shares_beyond_chance(facts_[source_], facts_[target_])))
      return;
    doubt(fmt::format("{} columns may be vertices, a relation or a weight", ids.size()));
    if (ids.size() < 3) return;
    const bool second = target_ == ids[2];
    guess_.relations = true;
    others_ = {ids[0], second ? ids[1] : ids[2]};
    (second ? other_weight_ : weight_) = ids[2];
  }

  /// Checks that the chosen columns hold ids and times.
  void check_cells() {
    for (const std::size_t c : {source_, target_}) {
      if (c == no_csv_column) continue;
      const ColumnFacts& facts = facts_[c];
      if (facts.empty_cells) doubt(fmt::format("{} has empty cells", name(c)));
      if (facts.value() && !facts.whole) doubt(fmt::format("{} holds numbers or dates that are no ids", name(c)));
    }
    if (time_ == no_csv_column) return;
    if (!facts_[time_].value()) doubt(fmt::format("{} holds what is neither a number nor a date", name(time_)));
    const auto clock = std::find_if(facts_.begin(), facts_.end(), [](const ColumnFacts& facts) { return facts.clock; });
    if (facts_[time_].dates && clock != facts_.end())
      doubt(fmt::format("{} holds the date and {} the time of day; write both in one column, with T between them",
                        name(time_), name(static_cast<std::size_t>(clock - facts_.begin()))));
  }

  std::string cells_text(const ColumnFacts& facts) const {
    static const std::array<const char*, 4> units = {"seconds", "milliseconds", "microseconds", "nanoseconds"};
    const std::string count = fmt::format("{} different", facts.distinct.size());
    if (facts.dates) return "dates, " + count + (facts.ascending ? ", in order" : "");
    if (facts.epoch)
      return fmt::format("{} since 1970", units[static_cast<std::size_t>(facts.unit)]) +
             (facts.ascending ? ", in order" : "");
    if (facts.clock) return "times of day";
    if (facts.whole && facts.counter && facts.distinct.size() > 1) return "whole numbers, each one more than the last";
    const std::string kind = facts.whole ? "whole numbers" : facts.numeric ? "numbers" : "text";
    return fmt::format("{}, {}{}", kind, count, facts.ascending && facts.distinct.size() > 1 ? ", in order" : "");
  }

  ColumnRole likely_role(std::size_t c) const {
    if (c == source_) return ColumnRole::source;
    if (c == target_) return ColumnRole::target;
    if (c == time_) return stepped_ ? ColumnRole::step : ColumnRole::time;
    const ColumnFacts& facts = facts_[c];
    if (words_[c].role != ColumnRole::none) return words_[c].role;
    const bool between = source_ != no_csv_column && c == source_ + 1 && target_ == c + 1;
    if (between && guess_.layout.names.empty()) return ColumnRole::relation;  // head, relation, tail
    if (facts.counter && facts.distinct.size() > 1) return ColumnRole::counter;
    if (facts.numeric && !facts.whole) return ColumnRole::weight;
    const bool few = facts.distinct.size() * 4 <= guess_.layout.rows.size();
    return facts.whole && facts.distinct.size() <= 2 && few ? ColumnRole::label
           : few || !facts.value()                          ? ColumnRole::relation
                                                            : ColumnRole::none;
  }

  void describe_columns() {
    for (std::size_t c = 0; c < facts_.size(); ++c) {
      const ColumnRole role = likely_role(c);
      std::string reason = cells_text(facts_[c]);
      if (words_[c].role == role && role != ColumnRole::none) reason = "by its name; " + reason;
      if ((c == source_ || c == target_) && source_ != no_csv_column && target_ != no_csv_column &&
          words_[c].role != role)
        reason += fmt::format("; {:.0f} % of its ids are in both columns",
                              100 * shared_share(facts_[source_], facts_[target_]));
      guess_.columns.push_back({name(c), role, std::move(reason)});
    }
  }

  /// A column as `columns` names it: by name, or by number where the name could not be typed or means nothing.
  std::string reference(std::size_t c) const {
    const std::vector<std::string>& names = guess_.layout.names;
    constexpr std::string_view typed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. ";
    const bool usable = !names.empty() && !names[c].empty() && names[c].find_first_not_of(typed) == std::string::npos &&
                        std::count(names.begin(), names.end(), names[c]) == 1;
    return usable ? names[c] : std::to_string(c + 1);
  }

  std::string columns_option(std::size_t source, std::size_t target, std::size_t weight) const {
    std::string text = fmt::format("columns=source:{}/target:{}", reference(source), reference(target));
    if (weight != no_csv_column) text += "/weight:" + reference(weight);
    text += fmt::format("/{}:{}", stepped_ ? "step" : "time", reference(time_));
    return text + (two_kinds_ ? ",ids=offset" : "");
  }

  void add_options() {
    if (source_ == no_csv_column || target_ == no_csv_column || time_ == no_csv_column) return;
    const bool weighted = weight_ != no_csv_column && facts_[weight_].numeric;
    guess_.options.push_back(columns_option(source_, target_, weighted ? weight_ : no_csv_column));
    if (others_[0] == no_csv_column) return;
    const bool other_weighted = other_weight_ != no_csv_column && facts_[other_weight_].numeric;
    guess_.options.push_back(columns_option(others_[0], others_[1], other_weighted ? other_weight_ : no_csv_column));
  }

  TableGuess guess_;
  std::vector<ColumnFacts> facts_;
  std::vector<ColumnWord> words_;
  std::size_t source_ = no_csv_column, target_ = no_csv_column, time_ = no_csv_column, weight_ = no_csv_column;
  std::array<std::size_t, 2> others_ = {no_csv_column, no_csv_column};  // vertices of the second likeliest reading
  std::size_t other_weight_ = no_csv_column;
  bool time_is_last_, stepped_ = false, two_kinds_ = false;
};

}  // namespace

std::optional<TableGuess> guess_table(std::string_view head, bool whole, std::string_view name) {
  std::optional<TableLayout> layout = look_at_table(head, whole);
  if (!layout || layout->rows.empty() || layout->columns < 3) return std::nullopt;
  return Guesser(std::move(*layout), has_suffix(name, ".edges")).guess();
}

std::optional<TableGuess> guess_table(const std::string& path) {
  const std::string head = read_head(path, probed_bytes);
  return guess_table(head, head.size() < probed_bytes, std::filesystem::path(path).filename().string());
}

namespace {

/// Whether one column but the last is plainly the time, and the last one is not.
bool has_time_elsewhere(const std::vector<ColumnFacts>& facts) {
  const auto is_time = [](const ColumnFacts& column) {
    return column.epoch && (column.ascending || column.unit != TimeUnit::seconds);
  };
  return !facts.back().epoch && std::count_if(facts.begin(), facts.end(), is_time) == 1 &&
         std::count_if(facts.begin(), facts.end(), [](const ColumnFacts& column) { return column.epoch; }) == 1;
}

/// Whether a header, possibly in a comment, calls other columns source, target and time.
bool are_names_elsewhere(const std::vector<std::string>& names) {
  for (std::size_t c = 0; c < names.size(); ++c) {
    const ColumnRole role = read_column_word(names[c]).role;
    if (role == ColumnRole::source && c != 0) return true;
    if (role == ColumnRole::target && c != 1) return true;
    if (role == ColumnRole::time && c + 1 != names.size()) return true;
  }
  return false;
}

/// Whether the third column has the ids of the first one and the second has not, as heads, relations and tails do.
bool has_relations(const std::vector<ColumnFacts>& facts) {
  return facts[2].whole && facts[2].distinct.size() > 1 && shared_share(facts[0], facts[2]) >= alike_share &&
         shared_share(facts[0], facts[1]) <= apart && shared_share(facts[1], facts[2]) <= apart;
}

}  // namespace

bool has_other_order(std::string_view head, bool whole) {
  const std::optional<TableLayout> layout = look_at_table(head, whole);
  if (!layout || layout->rows.empty()) return false;
  if (!layout->names.empty()) return are_names_elsewhere(layout->names);
  std::vector<ColumnFacts> facts;
  for (std::size_t c = 0; c < layout->columns; ++c) facts.push_back(facts_of(layout->rows, c));
  if (layout->columns == 3) return has_time_elsewhere(facts);
  if (layout->columns != 4) return false;
  const bool numbered = facts[0].counter && layout->rows.size() >= enough_rows;
  return numbered || has_relations(facts) || has_time_elsewhere(facts);
}

TableRows table_rows(const std::string& path, const TableLayout& layout, const std::string& columns) {
  std::vector<std::string> header = layout.names;
  for (std::size_t c = header.size(); c < layout.columns; ++c) header.push_back(std::to_string(c + 1));
  const std::map<std::string, std::string> names = column_names(columns, "columns");
  for (const auto& [role, name] : names) {
    const bool number = name.size() < 6 && name.find_first_not_of("0123456789") == std::string::npos;
    const std::size_t c = number ? std::stoul(name) : 0;
    if (c >= 1 && c <= header.size() && std::find(header.begin(), header.end(), name) == header.end())
      header[c - 1] = name;
  }
  TableRows rows;
  rows.columns = find_csv_columns(header, names);
  require_csv_columns(path, header, rows.columns, names);
  for (std::string& ignored : rows.columns.ignored)
    if (layout.names.empty()) ignored = "column " + ignored;
  rows.separator = layout.separator;
  rows.comment = layout.comment;
  const ColumnFacts source = facts_of(layout.rows, rows.columns.source),
                    time = facts_of(layout.rows, rows.columns.time);
  rows.named = !source.whole || !facts_of(layout.rows, rows.columns.target).whole;
  rows.dated = time.dates && !rows.columns.stepped;
  if (!rows.columns.stepped) rows.unit = time.unit;
  return rows;
}

std::string inspect_command(const std::string& path, const std::string& option) {
  std::string quoted;
  for (const char c : path + ":" + option) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "strobe inspect '" + quoted + "'";
}

std::string describe_doubt(const std::string& path, const TableGuess& guess) {
  std::string text;
  if (!guess.layout.names.empty()) {
    constexpr std::size_t most = 20;
    const std::vector<std::string>& names = guess.layout.names;
    const auto shown = static_cast<std::ptrdiff_t>(std::min(most, names.size()));
    text = fmt::format("its columns are {}{}; ", fmt::join(names.begin(), names.begin() + shown, ", "),
                       names.size() > most ? ", ..." : "");
  }
  text += guess.doubt + "; ";
  std::vector<std::string> commands;
  for (const std::string& option : guess.options) commands.push_back(inspect_command(path, option));
  if (commands.empty())
    return text + "say which columns to read, by name or number: " +
           inspect_command(path, "columns=source:FROM/target:TO/time:WHEN");
  if (!guess.relations || commands.size() < 2)
    return text + "if these are the columns to read, type " + fmt::format("{}", fmt::join(commands, ", or "));
  const bool weights_first =
      guess.options[0].find("/weight:") != std::string::npos || guess.options[1].find("/weight:") == std::string::npos;
  return text + fmt::format(
                    "type {} for source, target, weight and time, or {} for facts of a temporal knowledge graph "
                    "(head, relation, tail, time)",
                    commands[weights_first ? 0 : 1], commands[weights_first ? 1 : 0]);
}

}  // namespace strobe
