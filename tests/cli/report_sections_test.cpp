// The figures of `strobe report`: each shows the values of rows, samples and traces, and works when some are missing.
#include <cmath>

#include "tests/cli/support/report.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class ReportSections : public Report {
 protected:
  /// A run in virtual time with values, a price and a goal, and one on this machine with a trace.
  void run_both() {
    const Outcome priced = strobe({"run",
                                   "--workload",
                                   "uniform:steps=12,vertices=60,density=3",
                                   "--task",
                                   "link-prediction:split=70/15/15",
                                   "--device",
                                   "sim",
                                   "--cluster",
                                   "p3dn-v100",
                                   "--numerics",
                                   "cpu",
                                   "--vary",
                                   "strategy=snapshot,vertex",
                                   "--ranks",
                                   "2",
                                   "--until",
                                   "auc=0.999",
                                   "--epochs",
                                   "6",
                                   "--out",
                                   "priced"});
    ASSERT_EQ(priced.status, 0) << priced.err;
    const Outcome traced = strobe({"run", two_strategies(), "--trace", "--out", "traced"});
    ASSERT_EQ(traced.status, 0) << traced.err;
  }
};

/// The sum of samples over all operations is an independent measure of the same work.
TEST_F(ReportSections, TheWorkOfOperationsIsThatOfTheEpoch) {
  ASSERT_NO_FATAL_FAILURE(run_both());
  for (const char* run : {"priced", "traced"}) {
    std::map<std::string, std::vector<Json>> samples;
    std::istringstream lines(read_text(folder_ / run / "samples.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const Json sample = Json::parse(line);
      if (!sample.at("warmup").get<bool>()) samples[sample.at("case_id")].push_back(sample);
      double flops = 0, bytes = 0;
      for (const auto& [name, value] : sample.at("operation_flops").items()) flops += value.get<double>();
      for (const auto& [name, value] : sample.at("operation_bytes").items()) bytes += value.get<double>();
      EXPECT_NEAR(flops, sample.at("flops").get<double>(), 1e-9 * flops);
      EXPECT_NEAR(bytes, sample.at("read_bytes").get<double>() + sample.at("written_bytes").get<double>(),
                  1e-9 * bytes);
    }
    for (const Json& row : read_json(folder_ / run / "summary.json").at("rows")) {
      if (row.at("ranks") != 1) continue;
      double flops = 0, mean = 0;
      for (const auto& [name, value] : row.at("operation_flops").items()) flops += value.get<double>();
      const auto& own = samples.at(row.at("case_id"));
      for (const Json& sample : own) mean += sample.at("flops").get<double>() / static_cast<double>(own.size());
      EXPECT_GT(flops, 0);
      EXPECT_NEAR(flops, mean, 1e-9 * mean);
    }
  }
}

TEST_F(ReportSections, APageOfGoalsTracesAndPeaksIsWhole) {
  ASSERT_NO_FATAL_FAILURE(run_both());
  ASSERT_EQ(strobe({"report", "priced", "traced", "--cluster", "aimos-v100", "--out", "page.html"}).status, 0);
  const std::string page = read_text(folder_ / "page.html");
  for (const char* part :
       {"Time to what training was to reach", "cost [USD]", "simulated time [", "validation_auc", "not reached",
        "Operations against the roofline", "% of the roof", "Bytes an epoch, by rank and purpose", "Memory over time",
        "Test metric: auc", "<desc>", "flops for a byte"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("No roof is known"), std::string::npos);
  const Outcome checked = python(check_page);
  EXPECT_EQ(checked.status, 0) << checked.err;
  ASSERT_EQ(strobe({"report", "traced", "--out", "page.html"}).status, 0);
  EXPECT_NE(read_text(folder_ / "page.html").find("No roof is known"), std::string::npos);
  expect_refusal(strobe({"report", "traced", "--cluster", "aimos-v10"}), 2, {"--cluster", "aimos-v100"});
}

/// Labels of random rows are equal exactly when the rows differ only in strategy. A label repeats no setting.
TEST_F(ReportSections, LabelsTellApartWhatDiffersAndNoMore) {
  const Outcome outcome = python(R"(
import random
from report import runs
def row(draw, values):
    n = draw.randrange(values)
    return {'case_id': str(draw.random()), 'run': 'r', 'workload': {'name': draw.choice('ab')}, 'ranks': 2 ** n,
            'model': {'name': 'm', 'hidden': draw.randrange(values)}, 'strategy': {'name': draw.choice('st')}, 'seed': 1,
            'settings': {'doubled': 2 * n, 'free': draw.randrange(2), 'one': 7}}
for seed in range(200):
    draw = random.Random(seed)
    rows = runs.Rows([row(draw, draw.randint(1, 3)) for _ in range(draw.randint(2, 25))])
    for i, one in enumerate(rows):
        for other in rows[:i]:
            alike = all(one[key] == other[key] for key in ('workload', 'model', 'ranks', 'settings'))
            assert (runs.rest_label(one, rows) == runs.rest_label(other, rows)) == alike, (seed, one, other)
    assert 'doubled' not in rows.told and 'one' not in rows.told and 'seed' not in rows.told, rows.told
only = lambda strategy, settings: {'case_id': strategy, 'strategy': {'name': strategy}, 'settings': settings}
rows = runs.Rows([only('s', {'inputs': 'streamed'}), only('t', {})])
assert runs.rest_label(rows[0], rows) == runs.rest_label(rows[1], rows), 'a setting that one of them does not have'
rows = runs.Rows([only('s', {'inputs': 'streamed'}), only('s', {'inputs': 'resident'}), only('t', {})])
assert len({runs.rest_label(one, rows) for one in rows}) == 3
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(ReportSections, AGoalIsWhatTrainingWatches) {
  const Outcome outcome = python(R"(
from report import goals
row = lambda until: {'settings': {'until': until}}
assert goals.goal_of(row('auc=0.8')) == ('validation_auc', 0.8)
assert goals.goal_of(row('converged')) == ('loss', None)
assert goals.goal_of(row('converged:metric=loss,patience=10')) == ('loss', None)
assert goals.goal_of(row('converged:metric=mrr')) == ('validation_mrr', None)
assert goals.goal_of(row('validation_rmse=0.5')) == ('validation_rmse', 0.5)
assert goals.goal_of(row('loss=0.5')) == ('loss', 0.5)
assert goals.goal_of(row('')) is None and goals.goal_of({}) is None
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

/// Seconds and cost of a curve end at the row's end of training.
TEST_F(ReportSections, CurvesOfAGoalEndAtItsSecondsAndCost) {
  ASSERT_NO_FATAL_FAILURE(run_both());
  const Outcome outcome = python(R"(
from report import charts, curves, runs
rows, _ = runs.read_runs(['priced'])
charts.start()
body, lines, _ = curves.curves(rows, 'validation_auc', lambda row: row['metrics'].get('validation_auc'), [curves.TIME, curves.COST])
assert len(body.drawn) == 2, 'time and cost'
for row in rows:
    last = [line for line in lines if line[0] == row['case_id']][-1]
    assert abs(last[3] / row['until_seconds'] - 1) < 1e-9, (last, row['until_seconds'])
    assert abs(last[4] / row['until_dollars'] - 1) < 1e-9, (last, row['until_dollars'])
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

/// The table of times to a metric has the numbers of `strobe compare`, and those of the rows.
TEST_F(ReportSections, TimesToAMetricAreThoseOfTheAnswer) {
  ASSERT_NO_FATAL_FAILURE(run_both());
  write_text(folder_ / "answers.json", strobe({"compare", "priced", "--by", "strategy", "--json"}).out);
  const Outcome outcome = python(R"(
import json
from report import answers, runs
rows, _ = runs.read_runs(['priced'])
said = json.load(open('answers.json'))
contenders = {one['value']: one for one in said['questions'][0]['contenders']}
by_strategy = {row['strategy']['name']: row for row in rows}
table, lines = answers.goals(rows, said)
assert len(lines) == 2 and table.head[:2] == ['question', 'until'], (table.head, lines)
for _, until, strategy, reached, updates, seconds, cost in lines:
    row = by_strategy[strategy]
    assert (until, updates, cost) == ('auc=0.999', row['until_iterations'], row['until_dollars'])
    assert reached == contenders[strategy]['until_reached'] == int(row['until_reached'])
    assert seconds == contenders[strategy]['until_seconds']
for one in said['questions'][0]['contenders']: one.update(until_reached=1, until_seconds=0.004 if one['value'] == 'vertex' else 0.002,
                                                          times_the_first={'ratio': 2.0 if one['value'] == 'vertex' else None})
cells = dict(zip(table.head[2:], answers.goals(rows, said)[0].lines[0].cells[1:]))
assert (cells['vertex'].text, cells['snapshot'].text) == ('4 ms (2.00)', '2 ms (1.00)'), cells
assert cells['snapshot'].kind == 'best' and f"{by_strategy['snapshot']['until_iterations']} updates" in cells['snapshot'].small
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

/// Rows of several seeds are one line of a figure, with their mean.
TEST_F(ReportSections, SeedsAreOneCaseInFigures) {
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "2", "--vary", "ranks=1,2", "--vary",
                    "strategy=snapshot,vertex", "--vary", "seed=1..3", "--out", "seeds"})
                .status,
            0);
  const Outcome outcome = python(R"(
from report import charts, runs, sections, curves
rows, _ = runs.read_runs(['seeds'])
charts.start()
assert len(rows) == 12 and len(rows.pooled) == 4
part = sections.scaling(rows, {})
import base64, csv, io
lines = list(csv.DictReader(io.StringIO(base64.b64decode(part.csv).decode())))
assert len(lines) == 4, lines
for line in lines:
    own = [row['epoch_seconds']['median'] for row in rows
           if row['strategy']['name'] == line['strategy'] and row['ranks'] == int(line['ranks'])]
    assert len(own) == 3 and abs(float(line['median_s']) - sum(own) / 3) < 1e-12, (line, own)
assert 'seed' not in sections.bar_name(rows.pooled[0], rows.pooled)
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(ReportSections, RoofsSharesAndThinnedCurvesAreThoseOfTheirDefinitions) {
  const Outcome outcome = python(R"(
import random
from report import charts, operations
row = {'operation_seconds': {'a': 2.0, 'b': 1.0, 'c': 0.0}, 'operation_flops': {'a': 8.0, 'b': 0.0, 'c': 9.0},
       'operation_bytes': {'a': 2.0, 'b': 3.0, 'c': 1.0}, 'precision': 'fp64', 'time_source': 'wall'}
a, b = operations.operations_of(row)
assert (a.name, a.intensity, a.drawn, b.name, b.drawn) == ('a', 4.0, True, 'b', False)
assert operations.peaks_of(row, (7, 10, 5)) == (10, 5) and operations.peaks_of(row, None) is None
assert operations.peaks_of(dict(row, device_peaks={'flops_per_second': 3, 'bytes_per_second': 4}), (7, 10, 5)) == (3, 4)
assert operations.peaks_of(dict(row, time_source='virtual'), (7, 10, 5)) is None
assert operations.roof_share(a, (10, 5)) == 0.4 and operations.roof_share(b, (10, 5)) == 0.6
for seed in range(200):
    draw = random.Random(seed)
    peaks = (draw.uniform(1, 9), draw.uniform(1, 9))
    one = operations.Operation('x', draw.uniform(0.1, 2), draw.uniform(0.1, 9), draw.uniform(0.1, 9))
    share = one.flops / one.seconds / operations.roof_at(one.intensity, peaks)
    assert abs(operations.roof_share(one, peaks) / share - 1) < 1e-12
    points = [(i, draw.gauss(0, 1)) for i in range(draw.randint(1, 2000))]
    kept = charts.thin(points)
    assert len(kept) <= 200 and kept == sorted(kept) and set(kept) <= set(points)
    assert kept[0] == points[0] and kept[-1] == points[-1]
    assert max(kept, key=lambda p: p[1]) == max(points, key=lambda p: p[1]), 'a peak is lost'
    assert min(kept, key=lambda p: p[1]) == min(points, key=lambda p: p[1]), 'a trough is lost'
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

/// With keys missing from rows, or odd values in other files of the run, the page is well-formed and may leave figures
/// out.
TEST_F(ReportSections, WhatIsMissingIsNotDrawn) {
  ASSERT_NO_FATAL_FAILURE(run_both());
  write_text(folder_ / "traced/trace/damaged.json", "{\"otherData\": {\"case_id\": 3}, \"traceEvents\": [{}]}");
  write_text(folder_ / "traced/samples.jsonl", read_text(folder_ / "traced/samples.jsonl") + "{\"case_id\": \"half");
  write_text(folder_ / "check.py", check_page);
  const Outcome outcome = python(R"(
import copy, random
from report import page, runs
kept = {'case_id', 'run', 'status', 'workload', 'model', 'strategy', 'task', 'optimizer', 'ranks'}
rows, environments = runs.read_runs(['priced', 'traced'], '.')
for seed in range(20):
    draw = random.Random(seed)
    own = copy.deepcopy(list(rows))
    for row in own:
        for key in [key for key in row if key not in kept]:
            chance = draw.random()
            if chance < 0.1: del row[key]
            elif chance < 0.2: row[key] = None
        for name in row.get('metrics') or {}:
            if row['metrics'][name] and draw.random() < 0.3: row['metrics'][name][0] = None
    text = page.page(runs.Rows(own, rows.folders, '.'), environments, 'rows with holes')
    with open('page.html', 'w', encoding='utf-8') as file: file.write(text)
    exec(open('check.py').read(), {})
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(ReportSections, BytesByRankAreTheSamplesMeans) {
  ASSERT_NO_FATAL_FAILURE(run_both());
  const Outcome outcome = python(R"(
import json
from report import recorded, runs
import pathlib
rows, _ = runs.read_runs(['traced'])
found = recorded.sent_by_rank(pathlib.Path('traced'), {row['case_id'] for row in rows})
for row in rows:
    totals = {}
    for ranks in found[row['case_id']].values():
        for purpose, count in ranks.items():
            totals[purpose] = totals.get(purpose, 0) + count
    for purpose, count in totals.items():
        assert abs(count - row['sent_bytes'][purpose]) < 1e-6, (row['case_id'], purpose, count, row['sent_bytes'])
live = recorded.live_bytes(pathlib.Path('traced'), {row['case_id'] for row in rows}, 9)
for row in rows:
    peaks = row['peak_bytes']['host']
    for rank, points in live[row['case_id']].items():
        assert 0 < max(value for _, value in points) <= peaks[rank], (row['case_id'], rank)
assert len(recorded.live_bytes(pathlib.Path('traced'), {row['case_id'] for row in rows}, 2)) == 2
)");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(ReportSections, AThousandRowsWithGoalsStayBelowTwoMegabytes) {
  ASSERT_NO_FATAL_FAILURE(run_both());
  make_a_thousand_rows("priced", [](Json& row, std::size_t i) {
    row["until_seconds"] = row.at("until_seconds").get<double>() * (1 + 0.001 * static_cast<double>(i));
  });
  ASSERT_EQ(strobe({"report", "priced", "traced", "--out", "page.html"}).status, 0);
  EXPECT_LT(fs::file_size(folder_ / "page.html"), 2'000'000u);
  EXPECT_NE(read_text(folder_ / "page.html").find("href=\"priced/summary.csv\""), std::string::npos);
  const Outcome checked = python(check_page);
  EXPECT_EQ(checked.status, 0) << checked.err;
}

}  // namespace
}  // namespace strobe::cli_test
