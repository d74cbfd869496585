// A table of rows for papers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/row/shown_column.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

/// How a column of numbers is written: value x factor, with this number of decimals.
struct NumberStyle {
  double factor = 1;
  std::string unit;  // in LaTeX; "" = none
  int decimals = 0;
  bool deviations = false;
};

struct Prefix {
  double factor;
  const char* unit;
};
constexpr Prefix prefixes_of_seconds[] = {{1, "s"}, {1e3, "ms"}, {1e6, "\\textmu s"}, {1e9, "ns"}};
constexpr Prefix prefixes_of_bytes[] = {{1e-9, "GB"}, {1e-6, "MB"}, {1e-3, "kB"}, {1, "B"}};

/// The first unit in which the largest value is at least 1.
template <std::size_t n>
void choose_unit(NumberStyle& style, const Prefix (&prefixes)[n], double largest) {
  const auto* const found = std::find_if(std::begin(prefixes), std::end(prefixes) - 1,
                                         [&](const Prefix& prefix) { return largest * prefix.factor >= 1; });
  style.factor = found->factor;
  style.unit = found->unit;
}

/// Three digits of the smallest value, but at most four of the largest; none after whole numbers.
int decimals_of(const std::vector<double>& sizes, double factor) {
  double smallest = INFINITY, largest = 0;
  bool whole = true;
  for (const double size : sizes) {
    const double shown = size * factor;
    whole = whole && shown == std::floor(shown) && shown < 1e6;
    if (shown > 0) smallest = std::min(smallest, shown);
    largest = std::max(largest, shown);
  }
  if (whole || largest == 0) return 0;
  const int wanted = 2 - static_cast<int>(std::floor(std::log10(smallest))),
            most = 3 - static_cast<int>(std::floor(std::log10(largest)));
  return std::clamp(std::min(wanted, most), 0, 9);
}

NumberStyle style_of(const ShownColumn& column, const std::vector<std::size_t>& order) {
  NumberStyle style;
  std::vector<double> sizes;
  for (const std::size_t line : order) {
    const Spread& value = column.values[line];
    if (std::isfinite(value.mean)) sizes.push_back(std::abs(value.mean));
    if (value.n > 1 && value.deviation > 0) {
      sizes.push_back(value.deviation);  // a deviation that is rounded away would say that there is none
      style.deviations = true;
    }
  }
  const double largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  if (column.unit == ColumnUnit::seconds) choose_unit(style, prefixes_of_seconds, largest);
  if (column.unit == ColumnUnit::bytes) choose_unit(style, prefixes_of_bytes, largest);
  style.decimals = decimals_of(sizes, style.factor);
  return style;
}

std::string title_of(const ShownColumn& column, const NumberStyle& style) {
  const std::string title = latex_text(column.title) + (style.unit.empty() ? "" : " [" + style.unit + "]");
  return style.deviations ? "\\multicolumn{2}{c}{" + title + "}" : column.number ? "{" + title + "}" : title;
}

std::string cell_of(const ShownColumn& column, const NumberStyle& style, std::size_t line) {
  if (!column.number) return latex_text(column.cells[line]);
  const Spread& value = column.values[line];
  const auto digits = [&](double number) { return fmt::format("{:.{}f}", number * style.factor, style.decimals); };
  std::string cell = std::isfinite(value.mean) ? digits(value.mean) : "--";
  if (cell.starts_with('-') && cell != "--") cell = "$-$" + cell.substr(1);
  if (!style.deviations) return cell;
  return cell + " & " + (value.n > 1 && std::isfinite(value.mean) ? "${}\\pm{}$" + digits(value.deviation) : "");
}

template <class Text>
std::string line_of(std::size_t count, const Text& text) {
  std::string line;
  for (std::size_t i = 0; i < count; ++i) line += (i == 0 ? "" : " & ") + text(i);
  return line + " \\\\\n";
}

}  // namespace

std::string latex_table(const std::vector<ShownColumn>& columns, const std::vector<std::size_t>& order) {
  std::vector<NumberStyle> styles;
  std::string alignment;
  for (const ShownColumn& column : columns) {
    styles.push_back(column.number ? style_of(column, order) : NumberStyle{});
    alignment += styles.back().deviations ? "r@{}l" : column.number ? "r" : "l";
  }
  std::string text = "\\begin{tabular}{" + alignment + "}\n\\toprule\n" +
                     line_of(columns.size(), [&](std::size_t i) { return title_of(columns[i], styles[i]); }) +
                     "\\midrule\n";
  for (const std::size_t line : order)
    text += line_of(columns.size(), [&](std::size_t i) { return cell_of(columns[i], styles[i], line); });
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace strobe
