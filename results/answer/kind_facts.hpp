// Facts of kinds of training, by their registered tables (FactsTag): what comparisons say of them without knowing a
// kind.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "results/row/facts.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// By key.
using KindFacts = std::map<std::string, Json>;

/// The facts of rows that differ in their seed: the mean of numbers, and other values if all rows have the same.
KindFacts pooled_facts(const std::vector<const Row*>& rows);

/// The registered facts that at least one of them states, in the order of the tables.
std::vector<FactField> stated_facts(const std::vector<const KindFacts*>& all);

/// For each number that at least two of them state and that is not equal, a sentence such as "mails_lost_share is 0.1
/// for sequential and 0.2 for event_batch".
std::vector<std::string> differing_facts(const std::vector<std::pair<std::string, const KindFacts*>>& named);

}  // namespace strobe
