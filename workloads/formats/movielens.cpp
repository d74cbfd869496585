// MovieLens ratings.csv: header "userId,movieId,rating,timestamp", one row per rating, ordered by user.
// Returns one event user -> movie per row with the rating as weight. Users and movies are numbered apart (two-sided).
// Cost: one pass over the text and a sort by time. Source: Harper and Konstan, The MovieLens Datasets, TiiS 5(4), 2015.
#include "workloads/event_builder.hpp"
#include "workloads/probing.hpp"
#include "workloads/text_reader.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

constexpr std::string_view header = "userId,movieId,rating,timestamp";
constexpr std::size_t columns = 4;

int probe(std::string_view head, std::string_view) { return first_line(head) == header ? 100 : 0; }

EventGraph read(const std::string& path) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  if (reader.line() != header) reader.fail(1, "expected the header " + std::string(header));
  EventBuilder events;
  while (reader.next()) {
    const auto& fields = reader.split_commas();
    if (fields.size() != columns) reader.fail(0, "expected 4 columns, found " + std::to_string(fields.size()));
    const std::int64_t user = reader.whole(fields[0], "user id");
    const std::int64_t movie = reader.whole(fields[1], "movie id");
    events.add(user, movie, reader.seconds(fields[3]));
    events.add_weight(reader.single(fields[2], "rating"));
  }
  EventGraph graph = events.finish(path, "movielens");
  graph.two_sided = true;
  return graph;
}

const Register<FormatTag> registered{{"movielens",
                                      "MovieLens ratings.csv: userId,movieId,rating,timestamp",
                                      "Harper and Konstan, The MovieLens Datasets: History and Context, TiiS 2015",
                                      {},
                                      {probe, read},
                                      {}}};

}  // namespace
}  // namespace strobe
