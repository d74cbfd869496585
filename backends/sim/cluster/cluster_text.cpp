// The text of a cluster file as JSON: refuses what is not JSON, naming line and column, and keys that occur twice in
// one object, which the parser would let pass.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <nlohmann/json.hpp>

#include "backends/sim/cluster/cluster_file.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"

namespace strobe::sim {
bool is_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto digits = std::count_if(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (digits != 8) return false;
  const auto number = [&text](std::size_t at, std::size_t length) { return std::stoi(text.substr(at, length)); };
  return std::chrono::year_month_day(std::chrono::year(number(0, 4)),
                                     std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                     std::chrono::day(static_cast<unsigned>(number(8, 2))))
      .ok();
}

Json parse_cluster_text(const std::string& text, const std::string& file) {
  return parse_json(text, file, [](const std::string& pointer, const std::string&) {
    throw InvalidRequest(pointer, "this key occurs twice");
  });
}

std::shared_ptr<const Cluster> parse_cluster(const std::string& text, const std::string& file) {
  return cluster_from_json(parse_cluster_text(text, file));
}

}  // namespace strobe::sim
