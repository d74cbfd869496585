// The guide to deciding and its figure, from rows small enough to count by hand.
#include <gtest/gtest.h>

#include "tests/results/figure_scripts.hpp"
#include "workloads/generators/event_generation.hpp"
#include "workloads/graph/file_options.hpp"

namespace strobe {
namespace {

class WhoWins : public StudyFigures {
 protected:
  /// Runs `text` with rows made by row(strategy, seconds, draws, ...).
  int guide(const std::string& text) const {
    return check(
        "from strobe_figures import winners as w, checks\n"
        "import who_wins\n"
        "def row(strategy, seconds, draws=None, until='mrr=0.3', seed=1, clock='virtual', ranks=8, of='x', task='t',\n"
        "        graph='g', model='m', cells=5):\n"
        "    return {'case_id': f'{strategy}/{seed}/{until}', 'status': 'ok', 'workload': {'name': graph},\n"
        "            'model': {'name': model}, 'strategy': {'name': strategy}, 'task': {'name': task},\n"
        "            'optimizer': {'name': 'o'}, 'ranks': ranks, 'seed': seed, 'notes': [], 'time_source': clock,\n"
        "            'cluster': 'c' if clock == 'virtual' else '', 'settings': {'until': until} if until else {},\n"
        "            'until_reached': (seconds is not None) if until else None, 'until_seconds': seconds,\n"
        "            'loss': [1.0], 'metrics': {}, 'epoch_seconds': {'median': seconds or 1.0, 'ci95_low': None,\n"
        "            'ci95_high': None}, 'phase_seconds': {'compute': 1.0},\n"
        "            'epoch_work': {'cells': cells, 'edges': 9, 'events': None, 'updates': 1},\n"
        "            'time_draws': None if draws is None else {'of': of, 'epoch_seconds': draws,\n"
        "                                                      'until_seconds': draws if until else None}}\n"
        "def says(rows, graphs={}):\n"
        "    questions = w.questions_of(rows)\n"
        "    return questions, who_wins.guide(questions, graphs)\n"
        "def refused(rows):\n"
        "    try:\n"
        "        w.questions_of(rows)\n"
        "    except r.Refused as refusal:\n"
        "        return str(refusal)\n"
        "    raise AssertionError('not refused')\n" +
        text);
  }
};

TEST_F(WhoWins, APredictionIsAsSureAsItsShareOfCommonDraws) {
  EXPECT_EQ(
      guide("rows = [row('vertex', 1.0, [1.0] * 9 + [1.3]), row('snapshot', 1.2, [1.2] * 10),\n"
            "        row('pss', 2.0, [0.1] * 10), row('chunk', None)]\n"
            "(one,), text = says(rows)\n"
            "assert [c.kind for c in one.contenders] == ['vertex', 'snapshot'], 'each kind enters with its "
            "soonest case'\n"
            "assert [c.first for c in one.contenders] == [9.0, 1.0] and one.of == 10 and one.decided()\n"
            "assert 'take vertex (m). It is first in 9 of 10 draws, and snapshot (m) takes 1.2 times as long.' in "
            "text, text\n"
            "assert 'Not at the target: chunk.' in text and '| hybrid batch, node memory | 4 | 1 |' in text, "
            "text\n"
            "(one,), text = says([row('vertex', 1.0, [1.0] * 5), row('snapshot', 1.1, [1.1] * 4 + [0.9])])\n"
            "assert one.decided() is False and 'undecided. vertex (m) is first in 4 of 5 draws only' in text\n"
            "(one,), text = says([row('vertex', 1.0, [1.0]), row('snapshot', 1.002, [1.1])])\n"
            "assert 'snapshot (m) takes 0.2 % longer.' in text and '1 times' not in text, text\n"),
      0)
      << output();
}

TEST_F(WhoWins, WithoutCommonDrawsOrWithOneSeedItSaysThatSurenessIsNotKnown) {
  EXPECT_EQ(guide("for other in ([1.0] * 4, None):\n"
                  "    (one,), text = says([row('vertex', 1.0, [1.0] * 4), row('snapshot', 1.5, other, of='y')])\n"
                  "    assert one.decided() is None and 'is not known: no common draws' in text, text\n"
                  "(one,), text = says([row('vertex', 1.0, clock='wall'), row('snapshot', 1.5, clock='wall')])\n"
                  "assert one.decided() is None and 'is not known: fewer than two common seeds' in text, text\n"),
            0)
      << output();
}

TEST_F(WhoWins, AMeasurementIsAsSureAsItsSeedsAndTheirInterval) {
  EXPECT_EQ(guide("import math, statistics\n"
                  "def rows(other):\n"
                  "    return [row('vertex', 1.0 + s / 10, seed=s, clock='wall') for s in (1, 2, 3)] + [\n"
                  "        row('snapshot', seconds, seed=s, clock='wall') for s, seconds in zip((1, 2, 3), other)]\n"
                  "(one,), text = says(rows((1.6, 1.7, 1.8)))\n"
                  "logs = [math.log(b / a) for a, b in zip((1.1, 1.2, 1.3), (1.6, 1.7, 1.8))]\n"
                  "half = 4.302653 * statistics.stdev(logs) / math.sqrt(3)\n"
                  "assert abs(one.ratio[0] - math.exp(statistics.fmean(logs))) < 1e-12\n"
                  "assert abs(one.ratio[1] - half) < 1e-5, 'Student with two degrees of freedom'\n"
                  "assert one.decided() and 'It is first in 3 of 3 seeds' in text, text\n"
                  "(one,), text = says(rows((1.11, 1.9, 1.31)))\n"
                  "assert one.contenders[0].first == 3 and one.decided() is False, 'the interval holds 1'\n"),
            0)
      << output();
}

TEST_F(WhoWins, TiesAreSaidAndDecideNothing) {
  EXPECT_EQ(guide("(one,), text = says([row('vertex', 1.0, [1.0] * 3), row('snapshot', 1.0, [1.0] * 3)])\n"
                  "assert [c.first for c in one.contenders] == [1.5, 1.5] and one.decided() is False\n"
                  "assert 'take the same time' in text and 'undecided' not in text.split('|')[0], text\n"
                  "assert sum(c.first for c in one.contenders) == one.of\n"),
            0)
      << output();
}

TEST_F(WhoWins, UnlikeWorkIsRefusedOrAnotherQuestion) {
  EXPECT_EQ(guide("a = row('vertex', 1.0)\n"
                  "assert 'other targets, mrr=0.5 and mrr=0.3' in refused([a, row('snapshot', 1.0, until='mrr=0.5')])\n"
                  "assert 'other tasks' in refused([a, row('snapshot', 1.0, task='u')])\n"
                  "assert 'no two parallelisms' in refused([a, row('vertex', 2.0)])\n"
                  "assert 'no two parallelisms' in refused([a, row('snapshot', 1.0, ranks=16)])\n"
                  "epochs = [row('vertex', 1.0, until=''), row('snapshot', 2.0, until='', cells=6)]\n"
                  "assert 'no two parallelisms' in refused(epochs), 'epochs of other work do not compare'\n"
                  "(one,), text = says(epochs + [row('chunk', 3.0, until='')])\n"
                  "assert [c.kind for c in one.contenders] == ['vertex', 'chunk'] and 'per epoch of m' in text\n"),
            0)
      << output();
}

TEST_F(WhoWins, OptionsForStepsDoNotMakeAnotherGraph) {
  std::string parameters = "'steps': '3:9', 'feature_scale': 'max'";
  for (const Field& field : file_option_fields().fields())
    if (is_step_option(field.name) && field.name != "steps") parameters += ", '" + field.name + "': 'other'";
  EXPECT_EQ(
      guide("steps = {'name': 'g', " + parameters +
            "}\n"
            "rows = [row('vertex', 1.0), {**row('event_batch', 2.0), 'workload': {'name': 'g', 'ids': 'auto'}}]\n"
            "rows[0]['workload'] = {**steps, 'ids': 'auto'}\n"
            "(one,), text = says(rows)\n"
            "assert [c.kind for c in one.contenders] == ['vertex', 'node memory'], one.contenders\n"
            "assert '| g | c | 8 |' in text and 'node memory' not in text.split('| 2 | 1 |')[0].split('takes')[1]\n"
            "rows[0]['workload']['steps'] = 9\n"
            "assert 'no two parallelisms' in refused(rows), 'a number of steps is a size of the graph'\n"),
      0)
      << output();
}

TEST_F(WhoWins, GraphsAndClustersAreToldApartInWords) {
  EXPECT_EQ(
      guide(
          "def pair(workload, cluster, ranks=8):\n"
          "    return [{**row(name, seconds, ranks=ranks), 'workload': {'name': 'b', **workload}, 'cluster': cluster}\n"
          "            for name, seconds in (('vertex', 1.0), ('snapshot', 2.0))]\n"
          "def words(*pairs):\n"
          "    questions, text = says(sum(pairs, []))\n"
          "    plt = looks.start_matplotlib()\n"
          "    figure = who_wins.draw(questions, plt)\n"
          "    looks.lay_out(figure)\n"
          "    found = checks.complaints(figure)\n"
          "    assert found == [], found\n"
          "    assert len({label.get_text() for label in figure.axes[0].get_yticklabels()}) == len(pairs)\n"
          "    return [(one.graph, one.place) for one in questions]\n"
          "slow = 'c:inter_node_bytes_per_second=1.25e9'\n"
          "assert words(pair({'like': 'x', 'window': '1d'}, 'c'), pair({'like': 'y'}, slow)) == [\n"
          "    ('b like x', 'c'), ('b like y', 'c, 10 Gb/s')]\n"
          "assert words(pair({'like': 'none', 'n': 1}, 'c:a=1'), pair({'like': 'none', 'n': 2}, 'c:a=2')) == [\n"
          "    ('b (n=1)', 'c:a=1'), ('b (n=2)', 'c:a=2')], 'what short words would mix up has long ones'\n"
          "assert words(pair({}, 'c:a=1')) == [('b', 'c')]\n"
          "assert words(*(pair({'like': 'a-shape'}, 'p3dn-v100' + slow[1:], ranks) for ranks in (8, 16, 32, 64, "
          "128)))\n"
          "questions = w.questions_of(pair({'n': 1}, 'c') + pair({'n': 2}, 'c'))\n"
          "try:\n"
          "    who_wins.guide(questions, {'b': (1, 2, 3)})\n"
          "    assert False\n"
          "except r.Refused as refusal:\n"
          "    assert 'b is several graphs here: b (n=1), b (n=2)' in str(refusal), refusal\n"),
      0)
      << output();
}

TEST_F(WhoWins, TheCommandReadsSeveralRunsAndGraphsAndItsBarsAreTheShares) {
  const std::string folder = "sys.argv[1] = '" + folder_.file(".") + "'\n";
  EXPECT_EQ(
      guide(folder + "import json\n"
                     "rows = [row('vertex', 1.0, [1.0, 1.1, 0.9, 1.2]), row('snapshot', 1.2, [1.2, 1.0, 1.3, 1.3])]\n"
                     "for at, one in enumerate(rows):\n"
                     "    json.dump({'rows': [one]}, open(sys.argv[1] + f'/{at}.json', 'w'))\n"
                     "json.dump({'workload': 'g', 'vertices': 10, 'steps': 4, 'edges': 120, 'overlap_mean': 0.25,\n"
                     "           'in_degree': {'mean': 12.0, 'max': 30}}, open(sys.argv[1] + '/graph.json', 'w'))\n"
                     "plt = looks.start_matplotlib()\n"
                     "questions = w.questions_of(rows)\n"
                     "figure = who_wins.draw(questions, plt)\n"
                     "widths = [bar.get_width() for bar in figure.axes[0].patches]\n"
                     "assert widths == [25.0, 75.0], widths\n"),
      0)
      << output();
  ASSERT_EQ(run({"who_wins.py", folder_.file("0.json"), folder_.file("1.json"), "--graphs", folder_.file("graph.json"),
                 "--out", folder_.file("out")}),
            0)
      << output();
  const std::string page = text("out/guide.md");
  EXPECT_NE(page.find("| g | 3 | 0.25 | 2.5 | c | 8 | mrr=0.3 | undecided: vertex (m) | 3 of 4 draws |"),
            std::string::npos)
      << page;
  EXPECT_NE(output().find(page), std::string::npos);
  EXPECT_EQ(run({"who_wins.py", folder_.file("0.json"), folder_.file("1.json"), "--graphs", folder_.file("0.json")}),
            2);
  EXPECT_NE(output().find("strobe inspect GRAPH --json"), std::string::npos) << output();
}

}  // namespace
}  // namespace strobe
