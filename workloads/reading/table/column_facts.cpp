#include "workloads/reading/table/column_facts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <tuple>

#include "workloads/storage/date_time.hpp"

namespace strobe {
namespace {

constexpr std::string_view cell_digits = "0123456789";

bool parse_number(std::string_view cell, double& value) {
  const char* const end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(cell.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
}

bool is_clock(std::string_view cell) {
  return cell.size() >= 4 && cell.size() <= 12 && cell.find(':') != std::string_view::npos &&
         cell.find_first_not_of("0123456789:.") == std::string_view::npos;
}

/// Seconds reach the year 9999 at 2.5e11, so larger numbers are parts of seconds. Each unit covers the years 1973 to
/// 2100.
void settle_unit(ColumnFacts& facts) {
  constexpr double earliest = 1e8, latest = 4.1e9, beyond_seconds = 2.6e11;
  if (!facts.numeric) return;
  double size = 1;
  if (facts.whole && facts.most >= beyond_seconds) {
    facts.unit = facts.most < 1e3 * latest   ? TimeUnit::milliseconds
                 : facts.most < 1e6 * latest ? TimeUnit::microseconds
                                             : TimeUnit::nanoseconds;
    size = facts.unit == TimeUnit::milliseconds ? 1e3 : facts.unit == TimeUnit::microseconds ? 1e6 : 1e9;
  }
  facts.epoch = facts.least >= earliest * size && facts.most <= latest * size;
}

/// How many of the whole numbers in its range a column uses.
double density(const ColumnFacts& facts) {
  return static_cast<double>(facts.distinct.size()) / std::max(1.0, facts.most - facts.least + 1);
}

std::size_t count_shared(const ColumnFacts& a, const ColumnFacts& b) {
  const auto& [small, large] =
      a.distinct.size() < b.distinct.size() ? std::tie(a.distinct, b.distinct) : std::tie(b.distinct, a.distinct);
  return static_cast<std::size_t>(
      std::count_if(small.begin(), small.end(), [&](const std::string& cell) { return large.contains(cell); }));
}

}  // namespace

bool is_number_or_date(std::string_view cell) {
  double value = 0;
  return parse_number(cell, value) || parse_date_time(cell, value);
}

ColumnFacts facts_of(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  ColumnFacts facts;
  facts.least = std::numeric_limits<double>::infinity(), facts.most = -facts.least;
  double before = facts.most;
  for (const auto& row : rows) {
    const std::string& cell = row[column];
    double value = 0;
    const bool number = parse_number(cell, value), date = !number && parse_date_time(cell, value);
    facts.empty_cells |= cell.empty();
    facts.whole &= !cell.empty() && cell.find_first_not_of(cell_digits) == std::string::npos;
    facts.numeric &= number;
    facts.dates &= date;
    facts.clock &= is_clock(cell);
    facts.ascending &= (number || date) && value >= before;
    facts.counter &= number && (facts.distinct.empty() || value == before + 1);
    if (number || date) facts.least = std::min(facts.least, value), facts.most = std::max(facts.most, value);
    before = value;
    facts.distinct.insert(cell);
  }
  settle_unit(facts);
  return facts;
}

double shared_share(const ColumnFacts& a, const ColumnFacts& b) {
  const std::size_t shared = count_shared(a, b);
  return static_cast<double>(shared) / static_cast<double>(a.distinct.size() + b.distinct.size() - shared);
}

bool shares_beyond_chance(const ColumnFacts& a, const ColumnFacts& b) {
  constexpr std::size_t few = 3;
  constexpr double chance = 0.01;
  const std::size_t shared = count_shared(a, b);
  if (shared < few) return false;
  if (!a.whole || !b.whole) return true;
  return std::pow(std::max(density(a), density(b)), static_cast<double>(shared)) < chance;
}

}  // namespace strobe
