// The comparison of parallelisms and the pages of papers: tables made from rows small enough to check by hand. Also
// checks that the study of predictions holds the guide that its script prints.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/results/python.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

class ComparisonFigures : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    python_ = testing_results::find_python("json");
    if (python_.empty()) GTEST_SKIP() << "no Python";
  }
  int run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), python_);
    return testing_results::run_program(arguments, folder_.file("output"));
  }
  int check(const std::string& text) const {
    return run({"-c",
                "import sys\nsys.path.insert(0, sys.argv[1])\nfrom strobe_figures import parallelisms as p\n" + text,
                root_ + "/scripts/figures"});
  }
  /// Runs `text` with scripts/reproduce as the module `page`.
  int check_page(const std::string& text) const {
    return run({"-c",
                "import importlib.machinery as m, importlib.util as u, pathlib, sys\n"
                "loader = m.SourceFileLoader('page', sys.argv[1])\n"
                "page = u.module_from_spec(u.spec_from_loader('page', loader))\nloader.exec_module(page)\n" +
                    text,
                root_ + "/scripts/reproduce"});
  }
  std::string output() const { return testing_results::text_of(folder_.file("output")); }
  std::string write(const std::string& name, const std::string& text) const {
    testing_results::write_text(folder_.file(name), text);
    return folder_.file(name);
  }

  testing_results::TemporaryFolder folder_;
  const std::string root_ = STROBE_SOURCE_DIR;
  std::string python_;
};

constexpr const char* guide_columns =
    "workload,where,parallelism,strategy,model,ranks,until,seconds_to_metric,updates\n";

TEST_F(ComparisonFigures, WaysOfEventsNameEveryKindThatIsAboveOne) {
  const std::string text =
      "def way(ranks, **strategy):\n"
      "    return p.way_of({'ranks': ranks, 'strategy': {'name': 'event_batch', 'batch': 200, **strategy}})\n"
      "assert way(1) == 'memory k=1' and way(8) == 'memory k=8' and way(8, i=8) == 'mini-batches i=8', way(8)\n"
      "assert way(8, j=8) == 'epochs j=8' and way(8, i=2, j=2, k=2) == 'i=2 j=2 k=2', way(8, i=2, j=2, k=2)\n"
      "assert way(16, i=8) == 'i=8 k=2', 'what i and j leave of the ranks is k'\n"
      "assert way(8, batch=50) == 'memory k=8, batch 50'\n"
      "model = {'name': 'tgn-attn', 'static': 'pretrained'}\n"
      "assert p.model_of({'model': model}) == 'tgn-attn, static=pretrained'\n"
      "assert p.model_of({'model': {'name': 'jodie'}}) == 'jodie'\n"
      "def row(name, seconds):\n"
      "    return {'strategy': {'name': name}, 'time_source': 'virtual', 'until_seconds': seconds,\n"
      "            'until_reached': seconds is not None}\n"
      "rows = [row('pss', 3.0), row('vertex', 2.0), row('snapshot', 4.0), row('adt', None)]\n"
      "assert p.first_of_each(rows, p.way_of) == [rows[1], rows[0], rows[2]]\n"
      "assert p.first_of_each_kind(rows) == [rows[1], rows[0]], 'pss and snapshot are one kind'\n";
  EXPECT_EQ(check(text), 0) << output();
}

TEST_F(ComparisonFigures, SeedsArePooledAndAKindHasTheColourOfItsStrategy) {
  const std::string text =
      "import math\n"
      "from strobe_figures import looks, rows as r\n"
      "def row(strategy, seed, seconds, reached=True):\n"
      "    return {'case_id': f'{strategy}{seed}', 'seed': seed, 'strategy': {'name': strategy}, 'model': {'name': "
      "'m'},\n"
      "            'ranks': 2, 'time_source': 'virtual', 'cluster': 'c', 'until_reached': reached, 'until_seconds': "
      "seconds,\n"
      "            'until_iterations': 10 * seed, 'loss': [1.0] * seed, 'settings': {}, 'notes': []}\n"
      "rows = [row('snapshot', 1, 1.0), row('snapshot', 2, 9.0), row('vertex', 1, 2.0), row('vertex', 2, 2.5),\n"
      "        row('chunk', 1, 0.1), row('chunk', 2, 0.1, False)]\n"
      "best = p.first_of_each_kind(r.over_seeds(rows))\n"
      "assert [p.kind_of(row) for row in best] == ['vertex', 'snapshot'], 'the best seed is no case, nor half of the "
      "seeds'\n"
      "assert abs(p.seconds_to_metric(best[0]) - math.sqrt(5)) < 1e-12 and abs(p.seconds_to_metric(best[1]) - 3) < "
      "1e-12\n"
      "assert p.updates_of(best[0]) == 15 and p.epochs_of(best[0]) == 1.5\n"
      "for (kind, _), (colour, _) in p.styles_of([(kind, model) for kind in p.KINDS for model in 'xyz']).items():\n"
      "    assert colour == looks.KNOWN[p.OF_KINDS[kind]][0], kind\n";
  EXPECT_EQ(check(text), 0) << output();
}

/// A row of the suite full_size, as far as its table reads it.
constexpr const char* full_size_row =
    "import full_size as f\n"
    "def row(strategy, ranks, seconds, work, workload, **more):\n"
    "    phases = dict.fromkeys(('communicate', 'transfer', 'host', 'wait', 'other'), 0)\n"
    "    return {'case_id': strategy, 'status': 'ok', 'reason': '', 'workload': workload, 'model': {'name': 'm'},\n"
    "            'strategy': {'name': strategy}, 'cluster': 'p5-h100:inter_node_bytes_per_second=1e9', 'ranks': "
    "ranks,\n"
    "            'task': {'split': '70/15/15'}, 'epoch_seconds': {'median': seconds}, 'epoch_work': work,\n"
    "            'phase_seconds': {'compute': seconds, **phases}, 'dollars_per_epoch': 2 * (seconds or 0),\n"
    "            'sent_bytes': {'total': 6}, 'peak_bytes': {'device': [2**30, 2**31]}, **more}\n";

TEST_F(ComparisonFigures, FullSizesCompareAPassOverAllSamples) {
  const std::string text =
      "stack = {'name': 'stack'}\n"
      "less = {'name': 'bursty_events', 'like': 'gdelt', 'vertices': 16682, 'events': 1000}\n"
      "of_stack = {'name': 'bursty_events', 'like': 'none', 'vertices': 892474, 'events': 1000}\n"
      "rows = [row('vertex', 8, 3.0, {'cells': 1000, 'updates': 1}, stack),\n"
      "        row('hybrid_batch', 8, 0.02, {'cells': 10, 'updates': 1}, stack),\n"
      "        row('snapshot', 8, None, None, stack, status='skipped', reason='no fit; the least is 52.5 GiB, with "
      "nb=7'),\n"
      "        row('event_batch', 8, 0.7, {'events': 700, 'updates': 7}, less),\n"
      "        row('event_batch', 8, 0.7, {'events': 700, 'updates': 7}, of_stack),\n"
      "        row('snapshot', 64, None, None, stack, status='skipped', reason='divides 9 steps among the ranks'),\n"
      "        row('chunk', 8, 1.0, {'cells': 5, 'updates': 1}, {'name': 'growing', 'like': 'stack', 'scale': 0.05})]\n"
      "near = lambda a, b: abs(a / b - 1) < 1e-12\n"
      "vertex, hybrid, none, gdelt, events, cannot, chunk = lines = f.lines_of(rows)\n"
      "assert vertex['cluster'] == 'p5-h100, 8 Gb/s' and vertex['pass_seconds'] == 3 and vertex['updates_a_pass'] == "
      "1\n"
      "assert near(hybrid['pass_seconds'], 2.0) and near(hybrid['updates_a_pass'], 100) and "
      "near(hybrid['dollars_a_pass'], 4)\n"
      "assert none['status'] == 'no memory' and none['needs_GiB'] == 52.5 and none['pass_seconds'] is None\n"
      "assert cannot['status'] == 'cannot', 'too few steps is no lack of memory'\n"
      "assert gdelt['graph'] == 'gdelt' and near(gdelt['pass_seconds'], 0.7 * 0.7 * 191290882 / 700), gdelt\n"
      "assert events['graph'] == 'stack' and near(events['updates_a_pass'], 7 * 0.7 * 47e6 / 700), 'known by its "
      "vertices'\n"
      "assert chunk['graph'] == 'stack, 0.05 of it' and hybrid['bytes_a_pass'] == 600 and hybrid['peak_GiB'] == 2\n"
      "assert '| stack | p5-h100, 8 Gb/s | hybrid batch 2 s, 1.5 x | nothing fits |' not in f.first_table(lines)\n"
      "assert '| stack | p5-h100, 8 Gb/s | hybrid batch 2 s, 1.5 x |  |' in f.first_table(lines), "
      "f.first_table(lines)\n"
      "assert 'nothing fits' in f.first_table([none]), 'and that is said'\n"
      "twice = [vertex, {**vertex, 'pass_seconds': 2.5}, {**vertex, 'pass_seconds': 9.0}, {**vertex, 'GPUs': 1}, "
      "none]\n"
      "assert f.shortest_by_count(twice) == [(1, 3), (8, 2.5)], 'a line of the figure has one point a number of "
      "GPUs'\n";
  EXPECT_EQ(check(full_size_row + text), 0) << output();
}

TEST_F(ComparisonFigures, FullSizesOfSomeGraphsAreDrawnFromTheTable) {
  python_ = testing_results::find_python("matplotlib");
  if (python_.empty()) GTEST_SKIP() << "no Python with matplotlib (apt: python3-matplotlib)";
  const std::string script = root_ + "/scripts/figures/full_size.py",
                    csv = root_ + "/results/measured/comparisons/full_size.csv";
  ASSERT_EQ(run({script, csv, "--graphs", "epinions", "reddit", "--name", "two", "--out", folder_.file("out")}), 0)
      << output();
  const std::string figure = testing_results::text_of(folder_.file("out/two.svg"));
  EXPECT_NE(figure.find("epinions"), std::string::npos);
  EXPECT_EQ(figure.find("gdelt"), std::string::npos);
  EXPECT_EQ(testing_results::text_of(folder_.file("out/full_size.csv")), testing_results::text_of(csv))
      << "tables stay whole";
  EXPECT_EQ(run({script, csv, "--graphs", "nobody", "--out", folder_.file("out")}), 2);
  EXPECT_NE(output().find("nobody is not there; these are: epinions"), std::string::npos) << output();
}

TEST_F(ComparisonFigures, TheStudyOfFullSizesSaysWhatWasRecorded) {
  const std::string text =
      "import full_size as f\n"
      "import pathlib\n"
      "root = pathlib.Path(sys.argv[1]).parents[1]\n"
      "lines = f.recorded(str(root / 'results/measured/comparisons/full_size.csv'))\n"
      "page = (root / 'docs/studies/2026-11-30_full_size.md').read_text().split('## Who is first')[1].split('![')[0]\n"
      "rows = [[cell.strip() for cell in row.split('|')[1:-1]] for row in page.splitlines() if "
      "row.startswith('|')][2:]\n"
      "clusters = {'V100': 'p3dn-v100', 'H100': 'p5-h100', 'H100, 10 Gb/s': 'p5-h100, 9.6 Gb/s'}\n"
      "assert len(rows) > 8, rows\n"
      "said = 0\n"
      "for graph, cluster, *cells in rows:\n"
      "    for count, cell in zip((1, 8, 16, 128), cells):\n"
      "        here = f.at(lines, graph=graph, cluster=clusters[cluster], GPUs=count)\n"
      "        best = f.soonest_of_each(here)\n"
      "        assert bool(cell) == bool(best), (graph, cluster, count)\n"
      "        if not cell:\n"
      "            continue\n"
      "        kind, seconds, *ahead = cell.replace(',', '').split()\n"
      "        said += 1\n"
      "        assert best[0]['parallelism'].startswith(kind), (graph, cluster, count, best[0])\n"
      "        assert abs(float(seconds) / best[0]['pass_seconds'] - 1) < 0.04, (graph, cluster, count, best[0])\n"
      "        if ahead:\n"
      "            assert abs(float(ahead[0]) * best[0]['pass_seconds'] / best[1]['pass_seconds'] - 1) < 0.06, (graph, "
      "count)\n"
      "assert said > 30\n";
  EXPECT_EQ(check(text), 0) << output();
}

TEST_F(ComparisonFigures, TheGuideTakesTheSoonestOfEachParallelism) {
  const std::string a = write("a.csv", std::string(guide_columns) +
                                           "w,p5,snapshot,snapshot,t,8,mrr=0.3,0.004,4\n"
                                           "w,p5,snapshot,pss,t,8,mrr=0.3,0.002,4\n"
                                           "w,p5,vertex,vertex,t,8,mrr=0.3,0.003,4\n"
                                           "w,p5,one rank,sequential,t,1,mrr=0.3,0.001,4\n"
                                           "w,p5,chunk,chunk,t,8,mrr=0.3,,\n"
                                           "w,p5,vertex,vertex,t,64,,,\n");
  EXPECT_EQ(run({root_ + "/scripts/figures/comparison_guide.py", a}), 0) << output();
  EXPECT_NE(output().find("| w | mrr=0.3 | p5 | **2** (pss, t) | 3 (t) | not reached |  |  | snapshot | 1.5 |"),
            std::string::npos)
      << output();
  EXPECT_EQ(run({root_ + "/scripts/figures/comparison_guide.py", write("b.csv", "x,y\n1,2\n")}), 2);
  EXPECT_NE(output().find("not a comparison.csv"), std::string::npos) << output();
  const std::string never = write("c.csv", std::string(guide_columns) + "w,p5,chunk,chunk,t,8,mrr=0.3,,\n");
  EXPECT_EQ(run({root_ + "/scripts/figures/comparison_guide.py", never}), 2);
  EXPECT_NE(output().find("nothing to guide by"), std::string::npos) << output();
}

TEST_F(ComparisonFigures, TheCommittedGuideIsThePrintedOne) {
  std::vector<std::string> command = {root_ + "/scripts/figures/comparison_guide.py", "--predicted"};
  for (const char* name : {"ucsocial", "chess", "amlsim-20k"})
    command.push_back(root_ + "/results/measured/comparisons/" + name + ".csv");
  ASSERT_EQ(run(command), 0) << output();
  const std::string page = root_ + "/docs/studies/2026-11-30_parallelisms_predicted.md";
  EXPECT_NE(testing_results::text_of(page).find(output()), std::string::npos) << page << " has another table than\n"
                                                                              << output();
}

TEST_F(ComparisonFigures, ThePlanHasTheOrderOfTheGuide) {
  // Full batches are planned within seconds, and their order differs between the two clusters.
  const std::string plan = std::string(STROBE_BINARY) +
                           " plan --workload ucsocial:window=1d --model t-gcn:preset=small --task future-links --set "
                           "task.candidates=49 --set task.batch=200 --set task.pair_history=1000 --set "
                           "task.history=event --set optimizer.rate=0.03 --set nb=1 --set inputs=streamed --set "
                           "transfer=direct --set overlap=1 --strategy "
                           "snapshot,vertex:partitioner=range,halo=outputs --until "
                           "mrr=0.75 --clusters p3dn-v100,p5-h100 --nodes 1 --epochs 40 --json 2>/dev/null";
  ASSERT_EQ(testing_results::run_program({"sh", "-c", plan}, folder_.file("plan.json")), 0);
  const std::string text =
      "import csv, json\n"
      "points = [point for point in json.load(open(sys.argv[2]))['points'] if point['ranks'] == 8]\n"
      "lines = [line for line in csv.DictReader(open(sys.argv[3])) if line['model'] == 't-gcn' and line['until']]\n"
      "assert len(points) == 4, points\n"
      "for cluster in ('p3dn-v100', 'p5-h100'):\n"
      "    planned = {point['strategy']: point for point in points if point['cluster'] == cluster}\n"
      "    printed = {line['strategy']: line for line in lines if line['where'] == cluster and line['strategy'] in "
      "planned}\n"
      "    first = min(planned, key=lambda name: planned[name]['job_seconds'])\n"
      "    assert first == min(printed, key=lambda name: float(printed[name]['seconds_to_metric'])), (cluster, first)\n"
      "    for name, point in planned.items():\n"
      "        epoch, recorded = point['epoch_seconds'], float(printed[name]['epoch_seconds'])\n"
      "        assert abs(epoch / recorded - 1) < 0.01, (cluster, name, epoch, recorded)\n"
      "        assert point['metric_updates'] < 40, point\n";
  EXPECT_EQ(run({"-c", "import sys\n" + text, root_, folder_.file("plan.json"),
                 root_ + "/results/measured/comparisons/ucsocial.csv"}),
            0)
      << output();
}

TEST_F(ComparisonFigures, LastMetricsOfTrainingsOfUnlikeLengthAreAveraged) {
  const std::string text =
      "import sys\nsys.path.insert(0, sys.argv[1])\nfrom strobe_figures import parallelisms as p\n"
      "def row(mrr, pooled=None): return {'metrics': {'mrr': mrr}, 'pooled': pooled}\n"
      "one, two = row([0.1, 0.5]), row([0.1, 0.2, 0.3, 0.9])\n"
      "assert abs(p.last(row([0.1, 0.35], [one, two]), 'mrr') - 0.7) < 1e-12\n"
      "assert p.last(row([0.1], [one, row([])]), 'mrr') is None\n"
      "assert p.last(one, 'mrr') == 0.5\n";
  EXPECT_EQ(run({"-c", text, root_ + "/scripts/figures"}), 0) << output();
}

TEST_F(ComparisonFigures, MeasuredRowsTakeTheTimesOfAnEarlierTable) {
  const std::string table = write(
      "earlier.csv",
      "workload,where,parallelism,strategy,model,ranks,until,seconds_to_metric,updates,epoch_seconds,compute_share,"
      "sent_bytes,messages,test_mrr,dollars\n"
      "w,here,vertex,vertex,t,2,mrr=0.3,0.02,4,0.005,0.5,10,2,0.4,\n"
      "w,p5,vertex,vertex,t,2,mrr=0.3,0.02,4,0.005,0.5,10,2,0.4,\n");
  const std::string text =
      "import comparison\n"
      "from strobe_figures import rows as r\n"
      "def row(source='wall', ranks=2):\n"
      "    return {'workload': {'name': 'w'}, 'strategy': {'name': 'vertex'}, 'model': {'name': 't'}, 'ranks': ranks,\n"
      "            'time_source': source, 'cluster': 'p5', 'settings': {'until': 'mrr=0.3'}, 'until_reached': True,\n"
      "            'until_iterations': 4, 'until_seconds': 1.0, 'loss': [0.5] * 4, 'metrics': {},\n"
      "            'sent_bytes': {'total': 10}, 'epoch_seconds': {'median': 0.02}, 'throughput': {'cells_per_second': "
      "8.0},\n"
      "            'phase_seconds': {**dict.fromkeys(r.PHASES, None), 'compute': 0.016, 'wait': 0.004}}\n"
      "rows = [row(), row(source='virtual')]\n"
      "comparison.take_times(rows, sys.argv[2])\n"
      "assert rows[0]['epoch_seconds']['median'] == 0.005 and p.seconds_to_metric(rows[0]) == 0.02, rows[0]\n"
      "assert abs(rows[0]['phase_seconds']['compute'] - 0.004) < 1e-15, 'phases keep their shares'\n"
      "assert rows[0]['throughput']['cells_per_second'] == 32.0\n"
      "assert rows[1] == row(source='virtual'), 'predictions keep theirs'\n"
      "for wrong, path, says in ((row(ranks=4), sys.argv[2], 'is not there'), (row(), sys.argv[3], 'not a "
      "comparison.csv')):\n"
      "    try:\n"
      "        comparison.take_times([wrong], path)\n"
      "    except r.Refused as refusal:\n"
      "        assert says in str(refusal), refusal\n"
      "    else:\n"
      "        raise AssertionError(says)\n";
  EXPECT_EQ(
      run({"-c", "import sys\nsys.path.insert(0, sys.argv[1])\nfrom strobe_figures import parallelisms as p\n" + text,
           root_ + "/scripts/figures", table, write("other.csv", "x,y\n1,2\n")}),
      0)
      << output();
}

TEST_F(ComparisonFigures, AxesCanBeReadWithinADecadeAndBeyond) {
  python_ = testing_results::find_python("matplotlib");
  if (python_.empty()) GTEST_SKIP() << "no Python with matplotlib (apt: python3-matplotlib)";
  const std::string text =
      "import matplotlib\n"
      "matplotlib.use('Agg')\n"
      "import matplotlib.pyplot as plt\n"
      "import comparison\n"
      "from strobe_figures import checks, looks\n"
      "def row(name, ranks, epoch, epochs, cluster):\n"
      "    return {'strategy': {'name': name}, 'model': {'name': 't-gcn'}, 'ranks': ranks, 'time_source': 'virtual',\n"
      "            'cluster': cluster, 'epoch_seconds': {'median': epoch}, 'until_reached': True,\n"
      "            'until_seconds': epoch * epochs, 'loss': [0.5] * epochs,\n"
      "            'metrics': {'validation_mrr': [0.2 + 0.1 * at / epochs for at in range(epochs)]}}\n"
      "for reach in (1.05, 1.3, 1.6, 1.9, 2.5, 4, 9.5, 12, 90, 1100, 4e5, 3e6, 1e12):\n"
      "    rows = [row(name, ranks, scale / ranks, 5, cluster) for cluster in ('a', 'b', 'c', 'd')\n"
      "            for name, scale in (('snapshot', 0.0041), ('vertex', 0.0041 * reach)) for ranks in (8, 64)]\n"
      "    figure = comparison.draw(rows, plt)\n"
      "    looks.lay_out(figure)\n"
      "    found = checks.complaints(figure)\n"
      "    assert found == [], (reach, found)\n"
      "    plt.close('all')\n";
  EXPECT_EQ(check(text), 0) << output();
}

TEST_F(ComparisonFigures, PagesOfPapersKeepTheirTime) {
  const std::string text =
      "assert page.seconds_of('90s') == 90 and page.seconds_of('10min') == 600 and page.seconds_of('2h') == 7200\n"
      "for wrong in ('10', '0s', '-1s', '3parsec', ''):\n"
      "    try:\n"
      "        page.seconds_of(wrong)\n"
      "    except page.argparse.ArgumentTypeError as error:\n"
      "        assert '10min' in str(error)\n"
      "    else:\n"
      "        raise AssertionError(wrong)\n"
      "for paper, suites in page.SMALL.items():\n"
      "    for suite, flags in suites.items():\n"
      "        assert (page.ROOT / 'suites' / paper / f'{suite}.json').is_file(), (paper, suite)\n"
      "        assert len(flags) % 2 == 0 and all(flag.startswith('--') for flag in flags[::2]), flags\n"
      "assert page.small_flags('dgc', 'thresholds', ['--epochs', '3']) == ['--filter', 'ucsocial/t-gcn']\n"
      "assert page.small_flags('esdg', 'virtual_convergence', []) == []\n"
      "clock = page.Clock(100.0, 4)\n"
      "assert 24 < clock.share() <= 25 and 66 < clock.share(2) <= 67, 'what one leaves the others have'\n"
      "assert page.Clock(None, 2).share() is None\n"
      "begin = page.time.monotonic()\n"
      "output, _, late = page.watched([sys.executable, '-c', 'import time; time.sleep(60)'], 0.3)\n"
      "assert late and page.time.monotonic() - begin < 30\n"
      "assert page.watched([sys.executable, '-c', 'print(5)'], 60) == ('5\\n', '', False)\n";
  EXPECT_EQ(check_page(text), 0) << output();
}

}  // namespace
}  // namespace strobe
