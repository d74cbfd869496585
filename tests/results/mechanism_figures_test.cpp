// Figures of mechanisms, stale rows and adjusters, on documents small enough to check by hand.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/results/figure_scripts.hpp"

namespace strobe {
namespace {

class MechanismFigures : public StudyFigures {};

/// Quantiles as printed in tables of Student's t.
TEST_F(MechanismFigures, IntervalsOfMeansAreStudents) {
  const std::string text =
      "import math\n"
      "from strobe_figures.means import interval, student, with_half\n"
      "for freedom, exact in ((1, 12.70620), (2, 4.302653), (3, 3.182446), (4, 2.776445), (9, 2.262157), (19, "
      "2.093024), "
      "(120, 1.979930)):\n"
      "    assert abs(student(freedom) - exact) < 5e-6, (freedom, student(freedom))\n"
      "mean, half = interval([1.0, 2.0, 3.0, 4.0, 5.0])\n"
      "assert mean == 3 and abs(half - 2.776445 * 2.5 ** 0.5 / 5 ** 0.5) < 1e-6\n"
      "assert with_half(mean, half, '+.2f') == '+3.00 ± 1.96' and with_half(*interval([2.0]), '.1f') == '2.0'\n";
  EXPECT_EQ(check(text), 0) << output();
}

/// Two seeds of an exact run and of a policy, with means, intervals and times computed by hand.
TEST_F(MechanismFigures, StalenessComparesEachSeedWithItsExactRun) {
  const std::string text =
      "import staleness\n"
      "def of(stale, seed, epoch, sent, test, loss):\n"
      "    more = {'sent_share': sent}\n"
      "    return row({'name': 'a', **stale}, epoch, seed=seed, **more,\n"
      "               loss=loss, metrics={'ap': [0.0, test]}) | {'epoch_seconds': {'mean': epoch}}\n"
      "some = [of({}, 1, 2.0, None, 0.5, [4, 3, 2, 1]), of({}, 2, 2.0, None, 0.7, [8, 6, 5, 5.5])]\n"
      "half = {'stale': 'static', 'stale_theta': 0.5}\n"
      "some += [of(half, 2, 1.0, [1, 0.5, 0.25], 0.68, [8, 7, 6, 6]),\n"
      "         of(half, 1, 3.0, [1, 0.2, 0.2], 0.56, [4, 2.5, 1.9, 1.5])]\n"
      "found = staleness.columns_of(some, 'ap')['w', 'm']\n"
      "assert found['exact'] == [0.5, 0.7]\n"
      "near = lambda a, b: all(abs(x - y) < 1e-12 for x, y in zip(a, b, strict=True))\n"
      "own = found['static 0.5']\n"
      "assert near(own['bytes'], [0.375, 0.2]) and near(own['seconds'], [0.5, 1.5])\n"
      "assert near(own['until'], [4 / 6, 9 / 6]) and own['reached'] == [False, True], own\n"
      "assert near(own['change'], [-2, 6])\n"
      "theirs = staleness.printed('t-gcn')\n"
      "assert len(theirs['adaptive']) == 4 and near(theirs['static 0.3'][0], [1 - 0.4039, -1.4])\n"
      "lines = staleness.table({('w', 'm'): found}, 'ap').splitlines()\n"
      "assert len(lines) == 4 and '1 of 2' in lines[3], lines\n"
      "try:\n"
      "    staleness.columns_of(some[1:], 'ap')\n"
      "    raise SystemExit('seed 1 has no exact run')\n"
      "except r.Refused as refused:\n"
      "    assert 'no run of its seed' in str(refused)\n"
      "class options:\n"
      "    metric = 'ap'\n"
      "axes = staleness.draw(some, options, looks.start_matplotlib()).axes\n"
      "assert len(axes) == 2 and axes[1].get_ylabel() == 'change of test ap [points]'\n";
  EXPECT_EQ(check(std::string(figure_rows) + text), 0) << output();
}

/// Two seeds of a fixed size and of an adjuster. Epochs take a second, and evaluations follow the second and the
/// fourth.
TEST_F(MechanismFigures, AdjustersAreComparedAtOneTime) {
  const std::string run_folder = folder_.file("adjusted");
  std::filesystem::create_directory(run_folder);
  ASSERT_EQ(check(std::string(figure_rows) +
                  "import json, types, adjusters\n"
                  "def one(adjuster, seed, values):\n"
                  "    strategy = {'name': 'dynahb', 'adjuster': adjuster, 'vertices': '5%', 'snapshots': '20%'}\n"
                  "    return {**row(strategy, 1.0, 'virtual'), 'case_id': f'{adjuster}{seed}', 'status': 'ok',\n"
                  "            'seed': seed, 'metrics': {'accuracy': [None, values[0], None, values[1]]}}\n"
                  "some = [one('none', 1, [.5, .7]), one('none', 2, [.4, .6])]\n"
                  "some += [one('dqn', 1, [.6, .8]), one('dqn', 2, [.3, .5])]\n"
                  "json.dump({'rows': some}, open('" +
                  run_folder +
                  "/summary.json', 'w'))\n"
                  "with open('" +
                  run_folder +
                  "/samples.jsonl', 'w') as lines:\n"
                  "    for this in some:\n"
                  "        for epoch in range(4):\n"
                  "            for rank, seconds in ((0, .5), (1, 1.0)):\n"
                  "                print(json.dumps({'case_id': this['case_id'], 'epoch': epoch, 'rank': rank,\n"
                  "                                  'repetition': 0, 'epoch_seconds': seconds}), file=lines)\n"
                  "options = types.SimpleNamespace(metric='accuracy', goal=.6)\n"
                  "found, fixed, goal, last = adjusters.outcomes_of(['" +
                  run_folder +
                  "'], options)\n"
                  "assert fixed == ['5% x 20%'] and last == 4.0\n"
                  "assert found['5% x 20%'][1] == (3.0, .7, True) and found['5% x 20%'][2][0] == 4.0\n"
                  "assert found['dqn'][1] == (2.0, .8, True) and found['dqn'][2] == (4.0, .5, False)\n"
                  "lines = adjusters.compared(found, fixed)\n"
                  "assert lines[0][0] == 'dqn' and abs(lines[0][1][0] - 5 / 6) < 1e-12, lines\n"
                  "assert abs(lines[0][2][0]) < 1e-12 and abs(lines[0][2][1] - 12.7062047 * .1) < 1e-7\n"
                  "assert lines[0][4:] == (1, 1, 2) and lines[1][5] == 1\n"),
            0)
      << output();
  ASSERT_EQ(run({"adjusters.py", run_folder, "--goal", "0.6", "--out", folder_.file("f")}), 0) << output();
  EXPECT_NE(output().find("| dqn | 0.650 | +0.000 ± 1.271 |"), std::string::npos) << output();
  EXPECT_EQ(run({"adjusters.py", run_folder, "--metric", "auc", "--out", folder_.file("f")}), 2);
  EXPECT_NE(output().find("no metric auc"), std::string::npos) << output();
}

}  // namespace
}  // namespace strobe
