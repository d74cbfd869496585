// MovieLens ratings.csv: header "userId,movieId,rating,timestamp", one row per rating, ordered by user. Returns one
// event user -> movie per row with the rating as weight. Users and movies are numbered apart (two-sided). A file
// movies.csv or movies.csv.gz in the same folder ("movieId,title,genres", genres between |) gives vertex features of
// the movies: one column per genre in alphabetical order, 1 where the movie has it. Its titles become names of
// vertices.
// Cost: one pass over each file and a sort by time.
// Source: Harper and Konstan, The MovieLens Datasets, TiiS 5(4), 2015.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>

#include "core/errors.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/events/vertex_data.hpp"
#include "workloads/reading/ids/vertex_names.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::string_view header = "userId,movieId,rating,timestamp";
constexpr std::string_view movie_header = "movieId,title,genres";
constexpr std::string_view no_genre = "(no genres listed)";
constexpr std::size_t movielens_columns = 4;
constexpr std::size_t most_genres = 1024;

int probe_movielens(std::string_view head, std::string_view) {
  return header_names(first_line(head)) == header ? 100 : 0;
}

/// The table of movies in the folder of the ratings, or "".
std::string movie_table(const std::string& path) {
  for (const char* name : {"movies.csv", "movies.csv.gz"}) {
    const auto candidate = std::filesystem::path(path).parent_path() / name;
    if (input_exists(candidate.string())) return candidate.string();
  }
  return {};
}

std::vector<std::string> companions_movielens(const std::string& path) {
  const std::string file = movie_table(path);
  return file.empty() ? std::vector<std::string>() : std::vector{file};
}

/// Vertices by genre, sorted by genre.
using Genres = std::map<std::string, std::vector<VertexId>, std::less<>>;

void add_genres(const TextReader& reader, const Token& token, VertexId movie, Genres& genres) {
  for (std::size_t begin = 0; begin <= token.text.size();) {
    const std::size_t end = std::min(token.text.find('|', begin), token.text.size());
    const std::string_view genre = without_blanks(token.text.substr(begin, end - begin));
    if (genre.empty()) reader.fail(token.column + begin, "a genre is missing");
    if (genre != no_genre) {
      auto& movies = genres.try_emplace(std::string(genre)).first->second;
      if (movie >= 0) movies.push_back(movie);
    }
    if (genres.size() > most_genres)
      reader.fail(token.column, fmt::format("there are more than {} genres", most_genres));
    begin = end + 1;
  }
}

void set_genre_features(const Genres& genres, EventGraph& graph) {
  const std::size_t width = genres.size();
  std::vector<float> features(static_cast<std::size_t>(graph.vertices) * width, 0.0f);
  std::size_t column = 0;
  std::vector<std::string_view> names;
  for (const auto& [genre, movies] : genres) {
    for (const VertexId movie : movies) features[static_cast<std::size_t>(movie) * width + column] = 1;
    names.push_back(genre);
    ++column;
  }
  graph.vertex_feature_width = static_cast<std::int64_t>(width);
  graph.vertex_features = std::move(features);
  graph.provenance.notes.push_back(fmt::format("vertex features of the movies are genres: {}", fmt::join(names, ", ")));
}

void read_movies(const std::string& path, EventGraph& graph) {
  TextReader reader(path);
  QuotedCsv csv;
  if (!reader.next()) reader.fail_file("the file is empty");
  if (header_names(reader.line()) != movie_header) reader.fail(1, "expected the header " + std::string(movie_header));
  Genres genres;
  std::vector<bool> listed(graph.vertices, false);
  std::vector<std::string> titles(graph.vertices);
  std::int64_t unrated = 0;
  while (reader.next()) {
    const auto& fields = csv.split(reader);
    if (fields.size() != 3)
      reader.fail(misplaced_column(reader.line(), fields, 3),
                  fmt::format("expected 3 columns, found {}", fields.size()));
    const std::int64_t id = reader.whole(fields[0], "movie id");
    const VertexId movie = find_vertex(graph, id);
    if (movie < 0)
      ++unrated;
    else if (listed[movie])
      reader.fail(fields[0].column, fmt::format("movie {} is listed twice", id));
    else
      listed[movie] = true;
    if (movie >= 0) titles[movie] = fields[1].text;
    add_genres(reader, fields[2], movie, genres);
  }
  for (const VertexId movie : graph.target) {
    if (listed[movie]) continue;
    const std::int64_t id = graph.original_id[movie];
    throw InvalidInput(path, 0, 0, fmt::format("movie {} has ratings but is not listed", id));
  }
  set_genre_features(genres, graph);
  name_targets(titles, graph);
  if (unrated > 0)
    graph.provenance.notes.push_back(fmt::format("{} movies of the table share no id with the ratings", unrated));
}

EventGraph read_movielens(const std::string& path) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  if (header_names(reader.line()) != header) reader.fail(1, "expected the header " + std::string(header));
  EventBuilder events;
  parse_rows(reader, events, [](TextReader& lines, EventBuilder& rows) {
    while (lines.next()) {
      const auto& fields = lines.split_commas();
      if (fields.size() != movielens_columns)
        lines.fail(misplaced_column(lines.line(), fields, movielens_columns),
                   "expected 4 columns, found " + std::to_string(fields.size()));
      const std::int64_t user = lines.whole(fields[0], "user id");
      const std::int64_t movie = lines.whole(fields[1], "movie id");
      rows.add(user, movie, lines.seconds(fields[3]));
      rows.add_weight(lines.within_single(fields[2], "rating"));
    }
  });
  EventGraph graph = events.finish(path, "movielens");
  graph.two_sided = true;
  const std::string movies = movie_table(path);
  if (!movies.empty()) read_movies(movies, graph);
  return graph;
}

const Register<FormatTag> movielens_registered{
    {"movielens",
     "MovieLens ratings.csv: userId,movieId,rating,timestamp, with movies.csv in the same folder",
     "Harper and Konstan, The MovieLens Datasets: History and Context, TiiS 2015",
     {},
     {probe_movielens, read_movielens, nullptr, companions_movielens},
     {}}};

}  // namespace
}  // namespace strobe
