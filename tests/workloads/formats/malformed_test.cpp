// One named file per way of being wrong. Each must be refused as InvalidInput with the line, the column and the reason.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/errors.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

struct Malformed {
  const char* file;
  const char* format;  // "" = detected
  std::uint64_t line, column;
  const char* fragment;  // of the message
};

const Malformed malformed_files[] = {
    {"empty.txt", "", 0, 0, "the file is empty"},
    {"empty.txt", "snap", 0, 0, "the file is empty"},
    {"empty.txt", "konect", 0, 0, "the file is empty"},
    {"empty.txt", "amlsim", 0, 0, "the file is empty"},
    {"empty.txt", "csv", 0, 0, "the file is empty"},
    {"empty.txt", "strobe-binary", 0, 0, "is not a Strobe binary graph"},
    {"konect-no-header", "konect", 1, 1, "begins with a line like"},
    {"konect-no-header", "", 0, 0, ":columns=source:1/target:2/weight:3/time:4' for source, target, weight and time"},
    {"konect-header-only", "", 0, 0, "no data rows"},
    {"konect-bad-kind", "konect", 1, 3, "sym, asym or bip, found 'directed'"},
    {"konect-one-column", "", 3, 0, "expected 2 to 4 columns (source, target, weight, time), found 1"},
    {"konect-five-columns", "", 2, 0, "found 5"},
    {"konect-changing-columns", "", 3, 0, "the rows before have 4 columns, this one has 3"},
    {"konect-negative-id", "", 3, 1, "source vertex id -4 is negative"},
    {"konect-id-2-to-63", "", 2, 3, "target vertex id 9223372036854775808 does not fit 63 bits"},
    {"konect-fractional-id", "", 2, 3, "target vertex id '2.5' is not a whole number"},
    {"konect-id-trailing-junk", "", 3, 1, "source vertex id '12x' is not a whole number"},
    {"konect-weight-nan", "", 2, 5, "weight nan is not finite"},
    {"konect-weight-beyond-fp32", "", 2, 5, "weight 1e39 does not fit fp32"},
    {"konect-time-infinite", "", 2, 7, "time inf is not finite"},
    {"konect-time-milliseconds", "", 2, 7, "beyond the years 1 to 9999"},
    {"konect-missing-rows", "", 2, 3, "the header states 5 edges, the file has 3"},
    {"konect-comment-between-rows", "", 3, 1, "% line"},
    {"konect-count-not-a-number", "", 2, 3, "number of edges 'many' is not a whole number"},
    {"konect-blank-row", "", 3, 0, "found 0"},
    {"konect-dynamic-three-columns", "", 2, 6, "a dynamic network has 4 columns"},
    {"konect-dynamic-weight-two", "", 3, 5, "has weight 1 (the edge is added) or -1 (removed), found 2"},
    {"mtx-array.mtx", "", 1, 23, "the form 'array' is not read, only coordinate"},
    {"mtx-complex.mtx", "", 1, 34, "the kind of value 'complex' is not read, only pattern, real, integer"},
    {"mtx-hermitian.mtx", "", 1, 39, "the symmetry 'hermitian' is not read, only general, symmetric"},
    {"mtx-entries-missing.mtx", "", 2, 5, "the size line states 3 entries, the file has 2"},
    {"mtx-index-zero.mtx", "", 4, 1, "row 0 is below 1"},
    {"mtx-index-beyond.mtx", "", 3, 3, "column 4 is beyond the 3 of the size line"},
    {"mtx-four-columns.mtx", "", 3, 9, "expected 3 columns (i, j, value), found 4; if they are source"},
    {"mtx-no-size.mtx", "", 0, 0, "the line 'rows columns entries' is missing"},
    {"empty.txt", "matrix-market", 0, 0, "the file is empty"},
    {"empty.txt", "elliptic", 0, 0, "the Elliptic data set's file that ends in _edgelist.csv is missing"},
    {"elliptic-step-differs/elliptic_edgelist.csv", "", 2, 1, "transaction 5 is of step 1, 7 of step 2"},
    {"elliptic-class-word/elliptic_edgelist.csv", "", 2, 3, "a class is 1, 2 or unknown, found 'licit'"},
    {"amlsim-dated-accounts-twice/transactions.csv", "", 3, 1, "account 1 is listed twice"},
    {"snap-two-columns", "", 2, 0, "expected 3 columns (source, target, time), found 2"},
    {"snap-four-columns", "", 2, 0, "found 4"},
    {"snap-time-is-a-word", "", 2, 5, "time 'noon' is not a number"},
    {"snap-negative-id", "", 2, 3, "target vertex id -4 is negative"},
    {"snap-hexadecimal-id", "", 2, 1, "'0x10' is not a whole number"},
    {"snap-plus-sign", "", 2, 1, "'+3' is not a whole number"},
    {"snap-empty-line", "", 2, 0, "the line is empty"},
    {"snap-comments-only", "snap", 0, 0, "no data rows"},
    {"snap-nul-byte", "", 2, 4, "byte 0x00 is not text"},
    {"snap-time-before-year-1", "", 2, 5, "beyond the years 1 to 9999"},
    {"snap-time-beyond-double", "", 2, 5, "time 1e999 is out of a double's range"},
    {"snap-carriage-return-inside", "snap", 1, 6, "byte 0x0d is not text"},
    {"amlsim-header-only.csv", "", 0, 0, "no data rows"},
    {"amlsim-missing-column.csv", "", 3, 0, "expected 4 columns, found 3"},
    {"amlsim-extra-column.csv", "", 2, 0, "expected 4 columns, found 5"},
    {"amlsim-fractional-step.csv", "", 2, 10, "step '1.5' is not a whole number"},
    {"amlsim-negative-step.csv", "", 2, 10, "step -1 is negative"},
    {"amlsim-step-beyond-2-to-31.csv", "", 2, 10, "step 2147483648 is beyond 2^31 - 1"},
    {"amlsim-empty-field.csv", "", 2, 3, "target account '' is not a whole number"},
    {"amlsim-wrong-header.csv", "amlsim", 1, 1, "expected the header sourceNodeId"},
    {"amlsim-tx-ends-before-start.csv", "", 2, 26, "the transaction ends before it starts"},
    {"amlsim-tx-count-zero.csv", "", 2, 15, "transaction count 0 is below 1"},
    {"amlsim-tx-type-missing.csv", "", 2, 9, "the transaction type is missing"},
    {"amlsim-label-not-binary/transactions.csv", "", 3, 3, "isFraud must be 0 or 1, found '2'"},
    {"amlsim-account-missing/transactions.csv", "", 0, 0, "account 2 has transactions but is not listed"},
    {"amlsim-account-twice/transactions.csv", "", 4, 1, "account 1 is listed twice"},
    {"csv-wrong-header.csv", "csv", 1, 0,
     "there is no column 'time' for the time; the columns are 'source', 'target', 'mass'"},
    {"csv-weight-missing.csv", "", 3, 0, "expected 4 columns, found 3"},
    {"csv-step-fraction.csv", "", 3, 5, "step '3.5' is not a whole number"},
    {"csv-trailing-comma.csv", "", 2, 0, "expected 3 columns, found 4"},
    {"signed-three-columns.csv", "", 2, 0, "expected 4 columns (source, target, rating, time), found 3"},
    {"signed-rating-word.csv", "", 2, 5, "rating 'good' is not a number"},
    {"signed-rating-beyond-fp32.csv", "", 2, 5, "rating 1e39 does not fit fp32"},
    {"signed-header-twice.csv", "", 2, 1, "source vertex id 'from' is not a whole number"},
    {"signed-header-only.csv", "", 0, 0, "no data rows"},
    {"signed-negative-id.csv", "", 2, 3, "target vertex id -5 is negative"},
    {"signed-time-nan.csv", "", 2, 7, "time nan is not finite"},
    {"netrepo-two-columns.edges", "", 1, 0, "expected 3 or 4 columns (source, target, [weight,] time), found 2"},
    {"netrepo-five-columns.edges", "", 1, 0, "found 5"},
    {"netrepo-changing-columns.edges", "", 2, 0, "the rows before have 3 columns, this one has 4"},
    {"netrepo-changing-separator.edges", "", 2, 0, "found 1"},
    {"netrepo-comment-between-rows.edges", "", 2, 1, "a comment between rows"},
    {"netrepo-comments-only.edges", "network-repository", 0, 0, "no data rows"},
    {"netrepo-words.edges", "", 1, 1, "source vertex id 'alice' is not a whole number"},
    {"netrepo-time-milliseconds.edges", "", 1, 5, "are these milliseconds?"},
    {"tij_two-columns.dat", "", 2, 0, "expected 3 columns (time, source, target), found 2"},
    {"tij_with-classes.dat", "sociopatterns", 1, 0, "found 5"},
    {"tij_time-word.dat", "sociopatterns", 2, 1, "time 'soon' is not a number"},
    {"tij_fractional-id.dat", "", 2, 6, "target vertex id '6.5' is not a whole number"},
    {"jodie-changing-features.csv", "", 3, 0, "the rows before have 6 columns, this one has 5"},
    {"jodie-three-columns.csv", "", 2, 0, "expected at least 4 columns (user, item, time, label, features), found 3"},
    {"jodie-feature-nan.csv", "", 2, 11, "feature nan is not finite"},
    {"jodie-label-fraction.csv", "", 2, 9, "label 0.5 is not a whole number between -127 and 127"},
    {"jodie-label-large.csv", "", 2, 9, "label 200 is not a whole number"},
    {"jodie-negative-user.csv", "", 2, 1, "user id -1 is negative"},
    {"jodie-short-five-columns.csv", "", 2, 0, "expected 4 columns (user, item, time, label), found 5"},
    {"jodie-short-header-only.csv", "", 0, 0, "no data rows"},
    {"jodie-wrong-header.csv", "jodie", 1, 1, "expected the header user_id"},
    {"jodie-ids-too-large.csv", "", 0, 0, "do not fit 63 bits together"},
    {"movielens-three-columns.csv", "", 2, 0, "expected 4 columns, found 3"},
    {"movielens-rating-empty.csv", "", 2, 6, "rating '' is not a number"},
    {"movielens-movies.csv", "movielens", 1, 1, "expected the header userId,movieId"},
    {"movielens-header-only.csv", "", 0, 0, "no data rows"},
    {"tgn-five-columns.csv", "", 2, 0, "expected 6 columns, found 5"},
    {"tgn-idx-negative.csv", "", 2, 15, "idx -1 is negative"},
    {"tgn-row-number-missing.csv", "", 2, 1, "row number '' is not a whole number"},
    {"tgn-header-only.csv", "", 0, 0, "no data rows"},
    {"tgn-npy-fortran/ml_x.csv", "", 0, 0, "ml_x.npy: the .npy file is in Fortran order"},
    {"tgn-npy-objects/ml_x.csv", "", 0, 0, "elements of type '|O'"},
    {"tgn-npy-truncated/ml_x.csv", "", 0, 0, "truncated: its shape asks for 16 bytes"},
    {"tgn-npy-trailing/ml_x.csv", "", 0, 0, "bytes after the elements"},
    {"tgn-npy-absurd-shape/ml_x.csv", "", 0, 0, "shape of the .npy file is absurd"},
    {"tgn-npy-too-few-rows/ml_x.csv", "", 0, 0, "the array has 1 rows, but idx reaches 1"},
    {"tgn-npy-one-axis/ml_x.csv", "", 0, 0, "expected an array [rows, features], found 1 axes"},
    {"tgn-npy-infinite-feature/ml_x.csv", "", 0, 0, "which is not a finite fp32 number"},
    {"tgn-npy-foreign/ml_x.csv", "", 0, 0, "is not a .npy file"},
    {"tgn-node-too-few-rows/ml_x.csv", "", 0, 0, "the array has 2 rows, but the vertex id reaches 2"},
    {"tgl-roll-three.csv", "", 2, 11, "the roll must be 0, 1 or 2, found 3"},
    {"tgl-int-roll-word.csv", "", 2, 11, "roll 'x' is not a whole number"},
    {"tgl-column-missing.csv", "", 2, 0, "expected 6 columns, found 5"},
    {"tgl-no-row-number.csv", "tgl", 1, 1, "expected the header ,src,dst,time"},
    {"konect-bip-ids-too-large", "", 0, 0, "do not fit 63 bits together"},
    {"empty.txt", "snap-signed", 0, 0, "the file is empty"},
    {"empty.txt", "network-repository", 0, 0, "the file is empty"},
    {"empty.txt", "sociopatterns", 0, 0, "the file is empty"},
    {"empty.txt", "jodie", 0, 0, "the file is empty"},
    {"empty.txt", "movielens", 0, 0, "the file is empty"},
    {"empty.txt", "tgn", 0, 0, "the file is empty"},
    {"empty.txt", "tgl", 0, 0, "the file is empty"},
    {"empty.txt", "amlsim-dated", 0, 0, "the file is empty"},
    {"amlsim-dated-no-such-day.csv", "", 2, 16, "'2017-02-29T00:00:00Z' is not a date"},
    {"amlsim-dated-step.csv", "", 2, 16, "'15' is not a date such as"},
    {"amlsim-dated-flag-word.csv", "", 2, 27, "the flag must be True or False, found 'maybe'"},
    {"amlsim-dated-account-name.csv", "", 2, 3, "source account 'Alice' is not a whole number"},
    {"amlsim-dated-column-missing.csv", "", 2, 0, "expected 8 columns, found 7"},
    {"amlsim-dated-no-amount.csv", "amlsim-dated", 1, 1, "the header has no column base_amt"},
    {"gzip-truncated.gz", "", 0, 0, "the gzip data is truncated"},
    {"gzip-trailing-bytes.gz", "", 0, 0, "there are bytes after the gzip data"},
    {"gzip-wrong-checksum.gz", "", 0, 0, "the gzip data is damaged"},
    {"gzip-damaged.gz", "", 0, 0, "the gzip data is damaged"},
    {"binary-junk.bin", "", 0, 0, "no format recognises this binary file"},
    {"binary-junk.bin", "snap", 1, 0, "is not text"},
    {"not-a-graph.json", "", 0, 0, "no format recognises"},
    {"pyg-no-series.json", "", 1, 1, "the file has edges but no series: FX, X, block or steps with y"},
    {"pyg-truncated.json", "", 2, 4, "is not JSON"},
    {"pyg-vertex-beyond.json", "", 2, 6, "target vertex id 7 is not in 0 ... 1"},
    {"pyg-negative-vertex.json", "", 1, 16, "target vertex id -1 is not in 0 ... 1"},
    {"pyg-id-2-to-63.json", "", 1, 16, "target vertex id 9.223372036854776e+18 is not in"},
    {"pyg-id-fraction.json", "", 1, 13, "source vertex id 0.5 is not a whole number"},
    {"pyg-edge-of-three.json", "", 1, 12, "an edge has 3 elements, expected 2"},
    {"pyg-ragged-series.json", "", 3, 2, "a step has 1 elements, expected 2"},
    {"pyg-weights-missing.json", "", 1, 40, "the list of weights has 1 elements, expected 2"},
    {"pyg-value-nan.json", "", 2, 12, "is not JSON"},
    {"pyg-value-null.json", "", 2, 12, "a value is not a number"},
    {"pyg-value-beyond-fp32.json", "", 1, 31, "a value 1e+39 does not fit fp32"},
    {"pyg-value-beyond-double.json", "", 1, 0, "is not JSON"},
    {"pyg-absurd-steps.json", "", 2, 18, "time_periods 4e+18 is not in"},
    {"pyg-too-many-steps.json", "", 2, 18, "time_periods is 2000000000, but the file has 1 steps"},
    {"pyg-step-missing.json", "", 2, 7, "the file has a step '2', but there are 2 steps"},
    {"pyg-key-twice.json", "", 2, 2, "the key 'edges' is there twice"},
    {"pyg-nested.json", "", 1, 26, "nested more than 16 levels deep"},
    {"pyg-node-twice.json", "", 2, 9, "node '5' is listed twice"},
    {"pyg-link-to-nowhere.json", "", 2, 36, "a link names a node that is not listed"},
    {"pyg-node-without-id.json", "", 1, 30, "a node has no 'bus_stop'"},
    {"pyg-y-too-short.json", "", 2, 7, "y has 1 elements, expected 2"},
    {"tgcn-alone/x_adj.csv", "", 0, 0, "the file that ends in _speed.csv is missing in the same folder"},
    {"empty.txt", "tgcn", 0, 0, "a T-GCN file is called NAME_adj.csv or NAME_speed.csv"},
    {"tgcn-ragged/x_adj.csv", "", 2, 5, "expected 2 columns, found 3"},
    {"tgcn-not-square/x_adj.csv", "", 0, 0, "the matrix has 2 columns, but only 1 rows"},
    {"tgcn-third-row/x_adj.csv", "", 3, 1, "the matrix has 2 columns, this is row 3"},
    {"tgcn-weight-word/x_adj.csv", "", 1, 3, "weight 'x' is not a number"},
    {"tgcn-sensor-twice/x_adj.csv", "", 1, 3, "the sensor 'a' is there twice"},
    {"tgcn-speed-short/x_adj.csv", "", 3, 2, "expected 2 columns, found 1"},
    {"tgcn-speed-nan/x_adj.csv", "", 2, 3, "value nan is not finite"},
    {"tgcn-no-steps/x_adj.csv", "", 0, 0, "the file has no steps"},
    {"empty.txt", "tgb", 0, 0, "the file is empty"},
    {"tgb-unknown-column.csv", "", 1, 12, "the column 'colour' is unknown or given twice"},
    {"tgb-weight-twice.csv", "", 1, 19, "the column 'value' is unknown or given twice"},
    {"tgb-column-missing.csv", "", 2, 6, "expected 4 columns, found 3"},
    {"tgb-column-too-many.csv", "", 2, 9, "expected 4 columns, found 5"},
    {"tgb-name-missing.csv", "", 2, 5, "the target is missing"},
    {"tgb-quote-not-closed.csv", "", 2, 6, "the quote is not closed on its line"},
    {"tgb-after-quote.csv", "", 2, 13, "a comma is missing after the quote"},
    {"tgb-no-such-day.csv", "", 2, 1, "'2019-02-30' is not a date"},
    {"tgb-year-99999.csv", "", 2, 1, "the year 99999 is beyond 9999"},
    {"tgb-time-nan.csv", "", 2, 1, "time nan is not finite"},
    {"tgb-weight-word.csv", "", 2, 7, "weight 'much' is not a number"},
    {"tgb-header-only.csv", "", 0, 0, "no data rows"},
    {"signed-header-only.csv", "tgb", 1, 1, "'from' does not name a time column"},
    {"tgb-labels-alone_node_labels.csv", "", 0, 0, "holds labels; give the edge list"},
    {"tgb-labels-columns/x_edgelist.csv", "", 2, 6, "expected 4 columns, found 3"},
    {"tgb-labels-header/x_edgelist.csv", "", 1, 1, "node labels have four columns"},
    {"tgl-labels-header/edges.csv", "", 1, 1, "expected the header ,node,time,label,ext_roll"},
    {"tgl-label-negative/edges.csv", "", 2, 7, "label -1 is not a whole number from 0 to 2^31 - 1"},
    {"tgl-label-absurd/edges.csv", "", 2, 7, "label 99999999999 is not a whole number"},
    {"tgl-label-columns/edges.csv", "", 2, 8, "expected 5 columns, found 4"},
    {"movielens-movie-twice/ratings.csv", "", 3, 1, "movie 2 is listed twice"},
    {"movielens-movie-absent/ratings.csv", "", 0, 0, "movie 2 has ratings but is not listed"},
    {"movielens-genre-missing/ratings.csv", "", 2, 11, "a genre is missing"},
    {"movielens-title-quote/ratings.csv", "", 2, 3, "the quote is not closed on its line"},
    {"movielens-movies-header/ratings.csv", "", 1, 1, "expected the header movieId,title,genres"},
    {"tgn-node-infinite/ml_x.csv", "", 0, 0, "feature 0 of row 1 is inf, which is not a finite fp32 number"},
    {"strobe-binary-magic-only.bin", "", 0, 0, "truncated in its header"},
    {"strobe-binary-version-9.bin", "", 0, 0, "version 9, this program reads 4"},
    {"strobe-binary-absurd-sizes.bin", "", 0, 0, "the header of the binary graph is damaged"},
    {"strobe-binary-times-outside.bin", "", 0, 0, "the times of the binary graph are damaged"},
    {"strobe-binary-times-of-no-event.bin", "", 0, 0, "the times of the binary graph are damaged"},
    {"strobe-binary-times-digits.bin", "", 0, 0, "the times of the binary graph are damaged"},
    {"strobe-snapshots-magic-only.bin", "", 0, 0, "truncated in its header"},
    {"strobe-snapshots-version-9.bin", "", 0, 0, "version 9, this program reads 1"},
    {"strobe-snapshots-absurd-sizes.bin", "", 0, 0, "the header of the binary snapshots file is damaged"},
    {"strobe-snapshots-truncated.bin", "", 0, 0, "it is truncated"},
    {"strobe-snapshots-column-beyond.bin", "", 0, 0, "is not a sparse matrix of finite values"},
    {"strobe-snapshots-column-twice.bin", "", 0, 0, "is not a sparse matrix of finite values"},
    {"strobe-snapshots-rows-fall.bin", "", 0, 0, "is not a sparse matrix of finite values"},
    {"strobe-snapshots-value-nan.bin", "", 0, 0, "is not a sparse matrix of finite values"},
    {"strobe-snapshots-feature-infinite.bin", "", 0, 0, "a feature of the binary snapshots file is not finite"},
    {"strobe-snapshots-step-without-snapshot.bin", "", 0, 0, "a step of the binary snapshots file has no snapshot"},
    {"strobe-snapshots-steps-fall.bin", "", 0, 0, "are not sorted finite numbers"},
    {"strobe-snapshots-snapshot-outside.bin", "", 0, 0, "lies outside of its section"},
    {"strobe-snapshots-edges-of-no-snapshot.bin", "", 0, 0, "has edges that belong to no snapshot"},
    {"strobe-snapshots-no-steps.bin", "", 0, 0, "the sizes of the binary snapshots file are impossible"},
    {"strobe-snapshots-impossible-sizes.bin", "", 0, 0, "the sizes of the binary snapshots file are impossible"},
    {"strobe-snapshots-negative-vertices.bin", "", 0, 0,
     "the number of vertices in the binary snapshots file is impossible"},
    {"strobe-snapshots-no-description.bin", "", 0, 0, "the description of the binary snapshots file is not readable"},
    {"strobe-snapshots-steps-infinite.bin", "", 0, 0, "the description of the binary snapshots file is not readable"},
    {"strobe-snapshots-features-missing.bin", "", 0, 0,
     "the section features of the binary snapshots file has the wrong size"},
    {"strobe-binary-magic-only.bin", "strobe-snapshots", 0, 0, "is not a Strobe binary snapshots file"},
    {"amlsim-account-twice", "", 0, 0, "is a directory, not a file"},
    {"amlsim-account-twice", "strobe-binary", 0, 0, "is a directory, not a file"},
    {"this-file-does-not-exist", "", 0, 0, "no such file"},
    {"this-file-does-not-exist", "strobe-binary", 0, 0, "no such file"},
};

std::string folder() { return std::string(STROBE_TEST_DIR) + "/malformed/"; }

class MalformedFile : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedFile, IsRefusedWithItsPlaceAndReason) {
  const Malformed& expected = GetParam();
  try {
    const std::string path = folder() + expected.file;
    const FormatTag::Value& format = find_format(path, expected.format);
    format.read_snapshots != nullptr ? static_cast<void>(format.read_snapshots(path))
                                     : static_cast<void>(read_events(path, expected.format));
    FAIL() << expected.file << " was accepted";
  } catch (const InvalidInput& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(expected.fragment), std::string::npos) << message;
    EXPECT_EQ(error.line(), expected.line) << message;
    EXPECT_EQ(error.column() != 0, error.line() != 0) << "a line comes with its column: " << message;
    if (expected.column != 0) {
      EXPECT_EQ(error.column(), expected.column) << message;
    }
    EXPECT_EQ(message.rfind(error.file(), 0), 0u) << "the message begins with the file";
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, MalformedFile, testing::ValuesIn(malformed_files), [](const auto& test) {
  std::string name = std::string(test.param.file) + "_as_" + (*test.param.format ? test.param.format : "detected");
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

/// Whether the file is read together with the one that the table names.
bool is_companion(const std::string& name) {
  const std::set<std::string> names = {"nodes.csv",
                                       "labels.csv",
                                       "movies.csv",
                                       "x_speed.csv",
                                       "x_node_labels.csv",
                                       "accounts.csv",
                                       "elliptic_features.csv",
                                       "elliptic_classes.csv"};
  return names.count(name) != 0 || name.ends_with(".npy");
}

TEST(MalformedCorpus, EveryFileIsInTheTable) {
  std::set<std::string> listed;
  for (const Malformed& row : malformed_files) listed.insert(row.file);
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder())) {
    if (!entry.is_regular_file() || is_companion(entry.path().filename().string())) continue;
    EXPECT_TRUE(listed.count(std::filesystem::relative(entry.path(), folder()).string())) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 150);
}

}  // namespace
}  // namespace strobe
