// The text of a cluster file as JSON: refuses what is not JSON, naming line and column, and keys that occur twice in
// one object, which the parser would let pass.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/sim/cluster_file.hpp"
#include "core/errors.hpp"

namespace strobe::sim {
namespace {

class DuplicateKeys {
 public:
  bool operator()(Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) levels_.emplace_back();
    if (event == Json::parse_event_t::object_end) levels_.pop_back();
    if (event == Json::parse_event_t::key) {
      Level& level = levels_.back();
      level.current = parsed.get<std::string>();
      if (!level.seen.insert(level.current).second) throw InvalidRequest(pointer(), "this key occurs twice");
    }
    return true;
  }

 private:
  struct Level {
    std::set<std::string> seen;
    std::string current;
  };
  std::string pointer() const {
    std::string path;
    for (const Level& level : levels_) path += "/" + level.current;
    return path;
  }
  std::vector<Level> levels_;
};

}  // namespace

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
  DuplicateKeys duplicates;
  try {
    return Json::parse(
        text, [&duplicates](int, Json::parse_event_t event, Json& parsed) { return duplicates(event, parsed); });
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const std::size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const std::size_t column = newline == std::string::npos ? at + 1 : at - newline;
    throw InvalidInput(file, static_cast<std::uint64_t>(line), column, "this is not JSON");
  }
}

std::shared_ptr<const Cluster> parse_cluster(const std::string& text, const std::string& file) {
  return cluster_from_json(parse_cluster_text(text, file));
}

}  // namespace strobe::sim
