// Names are those of data sets in use: SNAP, KONECT, Netzschleuder, JODIE, TGB, MOOC, ICEWS, GDELT, Bitcoin, Elliptic.
#include "workloads/reading/table/column_words.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace strobe {
namespace {

using Words = std::vector<std::string_view>;

const Words sure_sources = {"source", "src", "from", "u", "head", "subject", "sender", "fromnode", "sourcenode"};
const Words sure_targets = {"target",    "tgt",    "dst",        "dest",           "destination",
                            "to",        "v",      "tail",       "object",         "receiver",
                            "recipient", "tonode", "targetnode", "destinationnode"};
const Words likely_sources = {"i",        "node1",  "vertex1", "person1",  "id1",  "caller",
                              "follower", "citing", "author",  "creditor", "payer"};
const Words likely_targets = {"j",        "node2", "vertex2",  "person2", "id2",   "callee",
                              "followee", "cited", "followed", "seller",  "payee", "merchant"};
const Words sure_times = {"time", "timestamp", "ts", "datetime", "unixts", "unixtime", "date", "timestampms"};
const Words step_words = {"step", "snapshot"};
const Words weight_words = {"weight", "w", "value", "amount", "count", "rating", "score", "strength"};
const Words labels = {"label", "statelabel", "class", "y", "isfraud", "fraud"};
const Words relations = {"relation", "rel", "predicate", "edgetype", "relationtype", "type", "r"};
const Words features = {"properties", "features", "feature", "msg"};
const Words counters = {"id", "idx", "index", "action", "edge", "row", "event", "post"};
const Words actors = {"user", "customer", "buyer", "reviewer", "reader", "member", "student", "listener", "viewer"};
const Words things = {"item",     "product",   "movie",   "song",  "track", "artist",
                      "business", "subreddit", "page",    "paper", "book",  "video",
                      "course",   "community", "channel", "tag",   "genre", "activity"};

/// Lower case letters and digits only, without an id at the end.
std::string plain_word(std::string_view name) {
  std::string word;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word.size() > 2 && word.ends_with("id")) word.resize(word.size() - 2);
  return word;
}

bool among(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_numbered_feature(std::string_view word) {
  if (!word.starts_with('f')) return false;
  word.remove_prefix(word.starts_with("feature") ? 7 : word.starts_with("feat") ? 4 : 1);
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

const char* role_name(ColumnRole role) {
  switch (role) {
    case ColumnRole::source:
      return "source";
    case ColumnRole::target:
      return "target";
    case ColumnRole::time:
      return "time";
    case ColumnRole::step:
      return "step";
    case ColumnRole::weight:
      return "weight";
    case ColumnRole::label:
      return "label";
    case ColumnRole::feature:
      return "feature";
    case ColumnRole::relation:
      return "relation";
    default:
      return "not read";
  }
}

ColumnWord read_column_word(std::string_view name) {
  const std::string word = plain_word(name);
  if (among(sure_sources, word)) return {ColumnRole::source, true};
  if (among(sure_targets, word)) return {ColumnRole::target, true};
  if (among(sure_times, word)) return {ColumnRole::time, true};
  if (among(step_words, word)) return {ColumnRole::step, true};
  if (among(weight_words, word)) return {ColumnRole::weight, word == "weight"};
  if (among(relations, word)) return {ColumnRole::relation, word.starts_with("rel") || word == "predicate"};
  if (among(likely_sources, word)) return {ColumnRole::source};
  if (among(likely_targets, word)) return {ColumnRole::target};
  if (among(counters, word)) return {ColumnRole::counter};
  if (among(actors, word)) return {ColumnRole::source, false, true, false};
  if (among(things, word)) return {ColumnRole::target, false, false, true};
  if (among(features, word) || is_numbered_feature(word)) return {ColumnRole::feature};
  if (among(labels, word) || word.ends_with("label") || word.ends_with("sentiment")) return {ColumnRole::label};
  if (word.starts_with("source") || word.starts_with("src") || word.starts_with("from")) return {ColumnRole::source};
  if (word.starts_with("target") || word.starts_with("dst") || word.starts_with("dest")) return {ColumnRole::target};
  if (word.ends_with("time") || word.ends_with("timestamp") || word.ends_with("date") || word == "t" ||
      word == "when" || word == "day" || word == "sentat" || word == "created" || word == "createdat")
    return {ColumnRole::time};
  return {};
}

}  // namespace strobe
