// The table of rows: its lines, its columns and the notes below. Returns it as text. Cost: rows x columns.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "results/row/shared_notes.hpp"
#include "results/row/shown_column.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

bool in_list(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// Whether a case's id already contains the key.
bool stands_in_id(const std::string& key) {
  return key == "workload" || key == "model" || key == "strategy" || key == "device" || key == "ranks" ||
         key == "time_source";
}

/// The name of a column today: phase `host` was called `sample` in rows of version 1.
std::string name_today(const std::string& name) { return name == "sample" ? "host" : name; }

class RowsTable {
 public:
  RowsTable(const std::vector<Row>& rows, const TableOptions& requests, const std::vector<std::string>& runs)
      : rows_(rows), requests_(requests), quantities_(row_columns(rows)), varied_(varied_keys(rows)) {
    for (std::size_t i = 0; i < runs.size(); ++i) run_of_[&rows[i]] = runs[i];
    several_runs_ = std::set<std::string>(runs.begin(), runs.end()).size() > 1;
    check_keys("--by", requests.by);
    check_keys("--over", requests.over);
    choose_lines();
    choose_columns();
    sort();
  }

  std::string text() {
    SharedNotes notes = share_notes(members());
    add_notes_column(notes);
    if (requests_.format == TableFormat::csv) return csv_table(columns_, order_, requests_.interval);
    if (too_wide() || requests_.format == TableFormat::latex) move_approximations(notes);
    const std::string left_out = fit_width();
    if (requests_.format == TableFormat::latex) return latex_table(columns_, order_) + below(notes, left_out);
    std::vector<TextTable::Column> titles;
    for (const ShownColumn& column : columns_) titles.push_back({column.title, column.number});
    TextTable table(titles);
    for (const std::size_t line : order_) {
      std::vector<std::string> cells;
      for (const ShownColumn& column : columns_) cells.push_back(column.cells[line]);
      table.add(std::move(cells));
    }
    return table.in(requests_.format) + below(notes, left_out);
  }

 private:
  void check_keys(const char* option, const std::vector<std::string>& keys) const {
    std::set<std::string> known;
    for (const Row& row : rows_)
      for (const auto& [key, value] : case_keys_of(row)) known.insert(key);
    for (const std::string& key : keys) {
      if (known.count(key) == 0)
        throw InvalidRequest(option, unknown_name_message("key", key, {known.begin(), known.end()}));
    }
  }

  void choose_lines() {
    over_ = requests_.over;
    if (over_.empty() && requests_.by.empty() && in_list(varied_, "seed")) over_ = {"seed"};
    keys_ = requests_.by;
    if (keys_.empty())
      for (const std::string& key : varied_)
        if (!in_list(over_, key)) keys_.push_back(key);
    averaged_ = !over_.empty() || !requests_.by.empty();
    if (!averaged_) {
      for (const Row& row : rows_) groups_.push_back({{&row}, case_keys_of(row)});
    } else {
      std::vector<std::string> apart = keys_;  // a measured and a predicted row have no mean
      if (!in_list(apart, "time_source") && in_list(varied_, "device")) apart.emplace_back("time_source");
      groups_ = group_rows(rows_, apart);
      if (apart.size() > keys_.size()) keys_.emplace_back("time_source");
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) order_.push_back(i);
  }

  void choose_columns() {
    std::vector<std::string> names = requests_.columns;
    std::transform(names.begin(), names.end(), names.begin(), name_today);
    if (names.empty()) {
      if (several_runs_ && !averaged_) names.emplace_back("run");
      if (!averaged_) names.emplace_back("case");
      names.insert(names.end(), keys_.begin(), keys_.end());
      if (averaged_) names.emplace_back("rows");
      for (const std::string& name : usual_columns(rows_))
        if (!averaged_ || name != "exact" || !all_exact()) names.push_back(name);
    }
    for (const std::string& name : names) add_column(name);
  }

  bool all_exact() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.exact; });
  }

  void add_column(const std::string& name) {
    if (name == "notes") return;  // always the last one
    const auto quantity = std::find_if(quantities_.begin(), quantities_.end(),
                                       [&](const RowColumn& column) { return column.name == name; });
    if (name == "run" || name == "rows") return add_own_column(name);
    if (quantity != quantities_.end()) return add_quantity(*quantity);
    std::set<std::string> known{"rows", "run", "notes"};
    for (const Row& row : rows_)
      for (const auto& [key, value] : case_keys_of(row)) known.insert(key);
    if (known.count(name) != 0) return add_key(name);
    for (const RowColumn& column : quantities_) known.insert(column.name);
    throw InvalidRequest("--columns", unknown_name_message("column", name, {known.begin(), known.end()}));
  }

  void add_own_column(const std::string& name) {
    ShownColumn column{name, name, name, name == "rows", {}, {}, ColumnUnit::none};
    for (const RowGroup& group : groups_) {
      if (name == "run") {
        const auto found = run_of_.find(group.rows.front());
        column.cells.push_back(found == run_of_.end() ? "" : found->second);
        continue;
      }
      const auto ran = std::count_if(group.rows.begin(), group.rows.end(),
                                     [](const Row* row) { return row->epoch_seconds.has_value(); });
      column.cells.push_back(std::to_string(ran));
      column.values.push_back({static_cast<double>(ran), 0, 1});
    }
    columns_.push_back(std::move(column));
  }

  /// The last part of the key suffices, unless another key ends in the same part.
  std::string title_of_key(const std::string& key) const {
    const std::string last = key.substr(key.rfind('.') + 1);
    const auto same = std::count_if(keys_.begin(), keys_.end(), [&](const std::string& other) {
      return other.substr(other.rfind('.') + 1) == last;
    });
    return same > 1 ? key : last;
  }

  void add_key(const std::string& key) {
    ShownColumn column{key, title_of_key(key), key, false, {}, {}, ColumnUnit::none};
    for (const RowGroup& group : groups_) {
      const auto found = group.keys.find(key);
      column.cells.push_back(found == group.keys.end() ? "" : found->second);
    }
    column.number = std::all_of(column.cells.begin(), column.cells.end(), [](const std::string& cell) {
      return !cell.empty() && cell.find_first_not_of("0123456789.") == std::string::npos;
    });
    if (column.number)
      for (const std::string& cell : column.cells) column.values.push_back({std::strtod(cell.c_str(), nullptr), 0, 1});
    columns_.push_back(std::move(column));
  }

  void add_quantity(const RowColumn& quantity) {
    ShownColumn column{quantity.name, quantity.title, quantity.key, quantity.number != nullptr, {}, {}, quantity.unit};
    for (const RowGroup& group : groups_) {
      if (quantity.number == nullptr) {
        std::vector<std::string> words;
        for (const Row* row : group.rows) {
          const std::string word = quantity.word(*row);
          if (!word.empty() && !in_list(words, word)) words.push_back(word);
        }
        column.cells.push_back(words.empty() ? "-" : fmt::format("{}", fmt::join(words, ", ")));
        continue;
      }
      std::vector<double> values;
      for (const Row* row : group.rows) values.push_back(quantity.number(*row));
      Spread spread = spread_of(values, requests_.interval);
      column.cells.push_back(spread.n == 0 ? "-"
                             : spread.n > 1 && spread.deviation > 0
                                 ? quantity.shown(spread.mean) + " ± " + quantity.shown(spread.deviation)
                                 : quantity.shown(spread.mean));
      if (requests_.format == TableFormat::latex && quantity.name == "epoch") take_rounds(group, spread);
      column.values.push_back(spread);
    }
    columns_.push_back(std::move(column));
  }

  /// Gives the epoch of a single row the deviation between its rounds.
  void take_rounds(const RowGroup& group, Spread& spread) {
    if (group.rows.size() != 1 || !group.rows.front()->rounds) return;
    const Spread rounds = spread_of(group.rows.front()->rounds->seconds);
    if (rounds.n < 2) return;
    spread.deviation = rounds.deviation;
    spread.n = rounds.n;
    most_rounds_ = std::max(most_rounds_, rounds.n);
  }

  void sort() {
    if (requests_.sort.empty()) return;
    const bool descending = requests_.sort.front() == '-';
    const std::string name = name_today(descending ? requests_.sort.substr(1) : requests_.sort);
    const std::size_t shown = columns_.size();
    const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const auto& c) { return c.name == name; });
    if (found == columns_.end()) add_column_to_sort(name);
    const ShownColumn column = found == columns_.end() ? columns_.back() : *found;
    columns_.resize(shown);
    const auto before = [&](std::size_t a, std::size_t b) {
      if (column.values.empty()) {
        return descending ? column.cells[b] < column.cells[a] : column.cells[a] < column.cells[b];
      }
      const double x = column.values[a].mean, y = column.values[b].mean;
      if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);  // missing values come last
      return descending ? y < x : x < y;
    };
    std::stable_sort(order_.begin(), order_.end(), before);
  }

  void add_column_to_sort(const std::string& name) {
    try {
      add_column(name);
    } catch (const InvalidRequest& error) {
      throw InvalidRequest("--sort", error.message());
    }
    if (name == "notes") throw InvalidRequest("--sort", "notes have no order");
  }

  std::vector<std::vector<const Row*>> members() const {
    std::vector<std::vector<const Row*>> all;
    for (const std::size_t line : order_) all.push_back(groups_[line].rows);
    return all;
  }

  void add_notes_column(const SharedNotes& notes) {
    if (notes.numbered.empty()) return;
    ShownColumn column{"notes", "notes",         "notes", false, std::vector<std::string>(groups_.size()),
                       {},      ColumnUnit::none};
    for (std::size_t i = 0; i < order_.size(); ++i) {
      std::vector<std::string> words;
      for (const std::size_t number : notes.of_group[i])
        words.push_back(requests_.format == TableFormat::csv ? notes.numbered[number - 1] : std::to_string(number));
      column.cells[order_[i]] = fmt::format("{}", fmt::join(words, requests_.format == TableFormat::csv ? "; " : ","));
    }
    columns_.push_back(std::move(column));
  }

  static std::size_t characters(const std::string& text) {
    const std::string shown = shown_line(text);
    return static_cast<std::size_t>(std::count_if(
        shown.begin(), shown.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  }

  std::size_t width() const {
    std::size_t sum = 0;
    for (const ShownColumn& column : columns_) {
      std::size_t widest = characters(column.title);
      for (const std::string& cell : column.cells) widest = std::max(widest, characters(cell));
      sum += widest + 2;
    }
    return sum < 2 ? 0 : sum - 2;
  }

  void drop(const std::string& name) {
    std::erase_if(columns_, [&](const ShownColumn& column) { return column.name == name; });
  }

  bool too_wide() const {
    return requests_.width != 0 && requests_.format == TableFormat::text && width() > requests_.width;
  }

  /// Says "no" in the column `exact`, and why in a numbered note.
  void move_approximations(SharedNotes& notes) {
    const auto exact = std::find_if(columns_.begin(), columns_.end(), [](const auto& c) { return c.name == "exact"; });
    if (exact == columns_.end()) return;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      std::string& cell = exact->cells[order_[i]];
      if (cell == "yes" || cell == "-") continue;
      const std::string note = "not exact: " + cell;
      const auto known = std::find(notes.numbered.begin(), notes.numbered.end(), note);
      notes.of_group[i].push_back(static_cast<std::size_t>(known - notes.numbered.begin()) + 1);
      if (known == notes.numbered.end()) notes.numbered.push_back(note);
      cell = "no";
    }
    drop("notes");
    add_notes_column(notes);
  }

  /// Shortens words, in their middle, to `most` characters.
  void shorten_words(std::size_t most) {
    for (ShownColumn& column : columns_) {
      if (column.number || column.name == "notes") continue;
      for (std::string& cell : column.cells) {
        const std::string shown = shown_line(cell);
        std::vector<std::size_t> begins;  // of characters, in bytes
        for (std::size_t i = 0; i < shown.size(); ++i)
          if ((static_cast<unsigned char>(shown[i]) & 0xC0) != 0x80) begins.push_back(i);
        if (begins.size() <= most) continue;
        const std::size_t tail = most / 3;
        cell = shown.substr(0, begins[most - tail - 1]) + "…" + shown.substr(begins[begins.size() - tail]);
      }
    }
  }

  std::vector<std::string> names_from_the_right() const {
    std::vector<std::string> names;
    for (std::size_t i = columns_.size(); i-- > 1;)
      if (columns_[i].name != "epoch") names.push_back(columns_[i].name);
    return names;
  }

  /// Drops the columns of these names that are there until the table fits; appends their titles.
  void drop_until_fits(const std::vector<std::string>& names, std::vector<std::string>& left_out) {
    for (const std::string& name : names) {
      if (!too_wide()) break;
      const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const auto& c) { return c.name == name; });
      if (found == columns_.end()) continue;
      left_out.push_back(found->title);
      drop(name);
    }
  }

  /// Shows facts of the id only once. Shortens words and leaves out less important columns until the table fits the
  /// width; returns the titles of those.
  std::string fit_width() {
    const bool chosen = !requests_.columns.empty(), fits = !too_wide() || keys_.empty();
    std::vector<std::string> left_out;
    if (!chosen && !averaged_ && requests_.format == TableFormat::latex && !keys_.empty())
      drop("case");  // papers name what was varied
    else if (!chosen && !averaged_ && (fits || requests_.width == 0))
      drop_what_id_says();
    if (!chosen && !averaged_ && !keys_.empty()) drop_until_fits({"case"}, left_out);
    for (std::size_t most = 40; most >= 16 && too_wide(); most -= 8) shorten_words(most);
    std::vector<std::string> less{"host",        "other",   "wait", "transfer", "busy",
                                  "communicate", "compute", "band", "sent"};
    std::vector<std::string> last;
    for (std::size_t i = columns_.size(); i-- > 1;) {
      const std::string& name = columns_[i].name;
      if (name.ends_with(".n")) less.push_back(name);
      if (name != "epoch" && name != "notes" && name != "loss" && !in_list(keys_, name)) last.push_back(name);
    }
    if (!chosen) drop_until_fits(less, left_out);
    if (too_wide()) shorten_words(12);
    drop_until_fits(last, left_out);
    for (std::size_t most = 10; most >= 6 && too_wide(); most -= 2) shorten_words(most);
    drop_until_fits(names_from_the_right(), left_out);
    return fmt::format("{}", fmt::join(left_out, ", "));
  }

  void drop_what_id_says() {
    std::erase_if(columns_, [](const ShownColumn& column) { return stands_in_id(column.name); });
  }

  std::string below(const SharedNotes& notes, const std::string& left_out) const {
    const std::string mark = requests_.format == TableFormat::latex ? "% " : "";
    std::string text;
    const auto add = [&](const std::string& line) {
      text +=
          mark + wrapped_lines(shown_line(line) + "\n", requests_.format == TableFormat::text ? requests_.width : 0);
    };
    if (requests_.format == TableFormat::markdown) text += "\n";
    if (most_rounds_ > 0)
      add(fmt::format("epoch: median over up to {} rounds (processes) ± their standard deviation", most_rounds_));
    if (averaged_) add(fmt::format("mean ± {} over {}", spread_words(requests_.interval), averaged_over()));
    for (std::size_t i = 0; i < notes.numbered.size(); ++i) add(fmt::format("{}: {}", i + 1, notes.numbered[i]));
    for (const std::string& note : notes.of_all) add(rows_.size() == 1 ? note : "all: " + note);
    if (!left_out.empty())
      add(fmt::format("left out, because the terminal is {} wide: {} (--columns)", requests_.width, left_out));
    return text == "\n" ? "" : text;
  }

  std::string averaged_over() const {
    std::vector<std::string> words;
    for (const std::string& key : varied_)
      if (!in_list(keys_, key)) words.push_back(key);
    return words.empty() ? "rows" : fmt::format("{}", fmt::join(words, ", "));
  }

  const std::vector<Row>& rows_;
  const TableOptions& requests_;
  std::vector<RowColumn> quantities_;
  std::vector<std::string> varied_, keys_, over_;
  std::map<const Row*, std::string> run_of_;
  bool several_runs_ = false, averaged_ = false;
  std::size_t most_rounds_ = 0;  // of a row whose deviation between rounds is shown
  std::vector<RowGroup> groups_;
  std::vector<std::size_t> order_;
  std::vector<ShownColumn> columns_;
};

}  // namespace

std::string rows_table(const std::vector<Row>& rows, const TableOptions& requests,
                       const std::vector<std::string>& runs) {
  return RowsTable(rows, requests, runs).text();
}

}  // namespace strobe
