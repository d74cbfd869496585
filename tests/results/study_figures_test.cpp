// Figures of any rows, of chunks and of distances, on documents small enough to check by hand.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/results/figure_scripts.hpp"

namespace strobe {
namespace {

TEST_F(StudyFigures, BarsAreTheNumbersOfTheRows) {
  const std::string text =
      "a, b = {'name': 'a'}, {'name': 'b', 'k': 3}\n"
      "some = [row(a, 0.002), row(b, 0.004), row({'name': 'b', 'k': 4}, 0.008), row(a, 3.0, 'virtual')]\n"
      "axes = bars.draw(some, options, plt).axes\n"
      "assert [round(bar.get_height(), 9) for bar in axes[0].patches] == [2, 4, 8]\n"
      "assert axes[0].get_ylabel() == 'median epoch [ms]' and axes[1].get_ylabel() == 'median epoch [s]'\n"
      "assert [t.get_text() for t in axes[0].get_xticklabels()] == ['m'] and len(axes) == 2\n"
      "styles = bars.styles_of({0: {0: dict.fromkeys(f'bar {i}' for i in range(30))}})\n"
      "assert len({str(style) for style in styles.values()}) == 30, 'thirty bars in thirty ways'\n"
      "assert bars.table(some, options)[1:] == [['wall', 'w', 'epoch', 'm', 'a', 0.002], ['wall', 'w', 'epoch', 'm', "
      "'b (k=3)', 0.004],\n"
      "                                        ['wall', 'w', 'epoch', 'm', 'b (k=4)', 0.008], ['virtual', 'w', "
      "'epoch', 'm', 'a', "
      "3.0]]\n";
  EXPECT_EQ(check("import bars\nplt = looks.start_matplotlib()\n" + std::string(figure_rows) + text), 0) << output();
}

TEST_F(StudyFigures, BarsAndPointsOfSweepsPoolSeeds) {
  const std::string text =
      "import random, statistics, sweep\n"
      "random.seed(3)\n"
      "def of(k, seed):\n"
      "    time, share, test = random.random(), random.random(), random.random()\n"
      "    return row({'name': 'a', 'k': k}, time, seed=seed, sent_share=[1.0, share, share], iterations=10,\n"
      "               metrics={'mrr': [0.0, test], 'validation_mrr': [seed % 2, 0.5]})\n"
      "some = [of(k, seed) for seed in range(5) for k in (1, 2, 4)]\n"
      "options.value = ['epoch_seconds.median', 'sent_share']\n"
      "pooled = bars.over_seeds(some, options)\n"
      "assert len(pooled) == 3\n"
      "for bar, k in zip(bars.panels_of(pooled, options)['wall', 'w']['m'].values(), (1, 2, 4)):\n"
      "    own = [one for one in some if one['strategy']['k'] == k]\n"
      "    for path, values in (('epoch_seconds.median', [one['epoch_seconds']['median'] for one in own]),\n"
      "                         ('sent_share', [one['sent_share'][1] for one in own])):\n"
      "        mean, deviation = statistics.fmean(values), statistics.stdev(values)\n"
      "        assert abs(bars.number(bar, path) - mean) < 1e-12, path\n"
      "        assert max(abs(a - b) for a, b in zip(bars.ends_of(bar, path), (mean - deviation, mean + deviation))) < "
      "1e-12\n"
      "options.group = 'seed'\n"
      "assert bars.over_seeds(some, options) is some\n"
      "lines, _ = sweep.points_of(some, 'strategy.k', '')\n"
      "for (k, metric, updates), at in zip(lines[0], (1, 2, 4)):\n"
      "    tests = [0.0 if one['seed'] % 2 else one['metrics']['mrr'][1] for one in some if one['strategy']['k'] == "
      "at]\n"
      "    epochs = [10 if seed % 2 else 20 for seed in range(5)]\n"
      "    assert k == at and abs(metric[0] - statistics.fmean(tests)) < 1e-12\n"
      "    assert abs(metric[1] - statistics.stdev(tests)) < 1e-12\n"
      "    assert updates == (statistics.fmean(epochs), statistics.stdev(epochs))\n"
      "try:\n"
      "    sweep.points_of(some, 'ranks', '')\n"
      "    raise SystemExit('three values of k share one point')\n"
      "except r.Refused as refused:\n"
      "    assert 'would share one point' in str(refused)\n";
  EXPECT_EQ(check("import bars\n" + std::string(figure_rows) + text), 0) << output();
}

TEST_F(StudyFigures, BarsAreGroupedByTheGivenKey) {
  const std::string text =
      "a = {'name': 'a'}\n"
      "some = [row(a, 1.0, edges=5), row(a, 2.0, edges=50), row(a, 4.0, edges=50, ranks=4)]\n"
      "options.group = 'workload.edges'\n"
      "panels = bars.panels_of(some, options)\n"
      "assert [name for _, name in panels] == ['w, 2 ranks', 'w, 4 ranks'], panels\n"
      "assert list(panels['wall', 'w, 2 ranks']) == ['5', '50'] and list(panels['wall', 'w, 4 ranks']) == ['50']\n"
      "assert list(bars.panels_of(some[::-1], options)['wall', 'w, 2 ranks']) == ['5', '50'], 'by size'\n"
      "options.group = 'ranks'\n"
      "assert [name for _, name in bars.panels_of(some, options)] == ['w (edges=5)', 'w (edges=50)']\n"
      "stale = [row({'name': 'c', **more}, 1.0) for more in ({}, {'s': 'x', 't': 1, 'g': 'f'}, {'s': 'x', 't': 2, 'g': "
      "'f'})]\n"
      "assert [bars.text(one, 'strategy', stale) for one in stale] == ['c', 'c (t=1)', 'c (t=2)']\n"
      "assert [bars.text(one, 'strategy', stale[:2]) for one in stale[:2]] == ['c', 'c (x)'], 'else alike'\n"
      "options.group, options.bars = 'strategy', 'ranks'\n"
      "assert list(bars.panels_of(some[1:], options)['wall', 'w']['a']) == ['2', '4']\n"
      "assert bars.chosen(some, ['ranks=4', 'strategy=a']) == some[2:]\n"
      "assert bars.chosen(some, ['workload.edges=50']) == some[1:]\n"
      "for wrong in ('ranks=3', 'ranks'):\n"
      "    try:\n"
      "        bars.chosen(some, [wrong])\n"
      "        raise SystemExit(wrong)\n"
      "    except r.Refused as refused:\n"
      "        assert wrong in str(refused)\n"
      "try:\n"
      "    bars.panels_of(some + some[:1], options)\n"
      "    raise SystemExit('two rows for one bar')\n"
      "except r.Refused as refused:\n"
      "    assert 'would share one bar' in str(refused)\n";
  EXPECT_EQ(check("import bars\n" + std::string(figure_rows) + text), 0) << output();
}

TEST_F(StudyFigures, ListsOfRowsCountAsTheyAreMeant) {
  const std::string text =
      "one = row({'name': 'a'}, 1.0, sent_share=[1.0, 0.2, 0.4], fusion_units=[3, 7, 5], loaded_bytes=None,\n"
      "          metrics={'accuracy': [0.5, 0.9, 0.8]}, absent={'/loaded_bytes': 'no chunks'})\n"
      "assert abs(bars.number(one, 'sent_share') - 0.3) < 1e-12\n"
      "assert bars.number(one, 'fusion_units') == 7 and bars.number(one, 'metrics.accuracy') == 0.8\n"
      "assert bars.number(one, 'loaded_bytes') is None and bars.number(one, 'strategy') is None\n"
      "other = {**one, 'model': {'name': 'other'}, 'loaded_bytes': 3e6}\n"
      "bars.require([one, other], ['loaded_bytes'])\n"
      "options.value = ['loaded_bytes', 'sent_share']\n"
      "axes = bars.draw([one, other], options, looks.start_matplotlib()).axes\n"
      "assert [bar.get_height() for bar in axes[0].patches] == [3], 'what has no number has no bar'\n"
      "for key, why in (('loaded_bytes', 'no chunks'), ('strategy', 'no number')):\n"
      "    try:\n"
      "        bars.require([one], [key])\n"
      "        raise SystemExit(key)\n"
      "    except r.Refused as refused:\n"
      "        assert why in str(refused)\n";
  EXPECT_EQ(check("import bars\n" + std::string(figure_rows) + text), 0) << output();
}

constexpr const char* rows_of_work =
    "def of(name, cells, epoch, **settings):\n"
    "    work = {'cells': cells, 'edges': None, 'events': None, 'updates': 1}\n"
    "    return row({'name': name}, epoch, epoch_work=work, sent_bytes={'total': cells * 3}, peak_bytes=7,\n"
    "               settings={'epochs': 3, **settings})\n";

TEST_F(StudyFigures, EpochsOfOtherWorkAreDrawnPerUnitInOnePanel) {
  const std::string text =
      "some = [of('a', 1000, 0.002, nb='1'), of('b', 10, 0.001, host_threads=1)]\n"
      "options.value = ['epoch_seconds.median', 'sent_bytes.total', 'peak_bytes']\n"
      "lines = bars.table(some, options)\n"
      "assert [line[:3] for line in lines[1:]] == [['wall', 'w', 'cell']] * 2, lines\n"
      "assert [line[5:] for line in lines[1:]] == [[2e-6, 3, 7], [1e-4, 3, 7]], lines\n"
      "axes = bars.draw(some, options, looks.start_matplotlib()).axes\n"
      "assert axes[0].get_ylabel().replace('\\n', ' ') == 'median time per cell [µs]', axes[0].get_ylabel()\n"
      "assert axes[1].get_ylabel().replace('\\n', ' ') == 'sent per cell [bytes]', axes[1].get_ylabel()\n"
      "alone = bars.table(some[:1], options)[1]\n"
      "assert alone[2:] == ['epoch', 'm', 'a', 0.002, 3000, 7], alone\n"
      "split = bars.table([of('a', 10, 1, nb='1'), of('a', 10, 2, nb='2'), of('b', 10, 3)], options)\n"
      "assert [line[1] for line in split[1:]] == ['w, nb 1', 'w, nb 2', 'w'], split\n"
      "profiled = bars.table([of('a', 10, 1), of('a', 10, 2, software='mine'), of('b', 10, 3)], options)\n"
      "assert [line[1] for line in profiled[1:]] == ['w', 'w', 'w, software mine'], profiled\n"
      "events = row({'name': 'c'}, 1, epoch_work={'events': 5, 'cells': None, 'edges': None, 'updates': 1})\n"
      "apart = bars.table([some[0], events], options)\n"
      "assert [line[2:] for line in apart[1:]] == [['unlike', 'm', 'a', 0.002, 3000, 7], ['unlike', 'm', 'c', 1, None, "
      "None]]\n"
      "axes = bars.draw([some[0], events], options, looks.start_matplotlib()).axes\n"
      "names = [place.get_ylabel().replace('\\n', ' ') for place in axes]\n"
      "assert names[0] == 'median epoch, epochs of different work [s]' and names[2] == 'peak_bytes [bytes]', names\n"
      "options.value = ['peak_bytes']\n"
      "assert [line[2] for line in bars.table([some[0], events], options)[1:]] == ['epoch'] * 2\n"
      "both = r.over_seeds([{**of('b', 10, 1.0), 'seed': 1}, {**of('b', 10, 3.0), 'seed': 2}]) + [of('a', 20, 4.0)]\n"
      "from strobe_figures import epochs\n"
      "assert [row['epoch_seconds']['median'] for row in epochs.alike(both)[0]] == [0.2, 0.2]\n"
      "assert [one['epoch_seconds']['median'] for one in epochs.alike(both)[0][0]['pooled']] == [0.1, 0.3]\n";
  EXPECT_EQ(check("import bars\n" + std::string(figure_rows) + rows_of_work + text), 0) << output();
}

TEST_F(StudyFigures, EpochsOfUnknownWorkAreNotCompared) {
  const std::string text =
      "from strobe_figures import epochs\n"
      "some = [of('a', 1000, 0.002), of('b', 10, 0.001)]\n"
      "old = [{**one, 'epoch_work': None, 'throughput': {'cells_per_second': cells / one['epoch_seconds']['median']}}\n"
      "       for one, cells in zip(some, (1000, 10))]\n"
      "assert epochs.unit_of(old) == epochs.unit_of([some[0], old[1]]) == 'cell'\n"
      "assert all(epochs.equal(epochs.count(a, 'cells'), epochs.count(b, 'cells')) for a, b in zip(some, old))\n"
      "unknown = {**some[0], 'epoch_work': None}\n"
      "assert epochs.unit_of([unknown]) == 'epoch' and epochs.unit_of([unknown] * 2) == 'unlike'\n"
      "assert epochs.time_per('unlike') == 'epoch time, epochs of different work'\n"
      "assert epochs.within('unlike') == 'in an epoch, epochs of different work'\n"
      "priced = [{**one, 'messages': {'halo': 20}, 'dollars_per_epoch': 2.0} for one in some]\n"
      "assert [one['messages']['halo'] for one in epochs.alike(priced)[0]] == [0.02, 2]\n"
      "assert [one['dollars_per_epoch'] for one in epochs.alike(priced)[0]] == [0.002, 0.2]\n";
  EXPECT_EQ(check("import bars\n" + std::string(figure_rows) + rows_of_work + text), 0) << output();
}

TEST_F(StudyFigures, BarsOfARunAreDrawnWithTheirTable) {
  const std::string golden = std::string(STROBE_TEST_DIR) + "/results/golden/summary.json";
  ASSERT_EQ(run({"bars.py", golden, "--value", "epoch_seconds.median", "--value", "sent_bytes.total", "--out",
                 folder_.file("f"), "--name", "some"}),
            0)
      << output();
  EXPECT_EQ(text("f/some.csv").find("clock,panel,per,model,strategy,epoch_seconds.median,sent_bytes.total\n"), 0u);
  EXPECT_NE(text("f/some.svg").find("uncalibrated"), std::string::npos);
  EXPECT_EQ(text("f/some.png").substr(0, 4), "\x89PNG");
  EXPECT_EQ(run({"bars.py", golden, "--value", "nothing", "--out", folder_.file("g")}), 2);
  EXPECT_NE(output().find("nothing: no number"), std::string::npos) << output();
  EXPECT_FALSE(std::filesystem::exists(folder_.file("g/bars.csv")));
}

constexpr const char* chunk_header =
    "workload,hidden,feature_copies,cells,edges,structure_seconds,time_seconds,predicted_seconds\n";

TEST_F(StudyFigures, ChunksOfOneSizeAreTimesApart) {
  const std::string equal = write("equal.csv", std::string(chunk_header) +
                                                   "w,6,1,100,7,0.001,0.001,0.003\nw,6,1,100,9,0.002,0.014,0.016\n"
                                                   "w,6,4,100,9,0.002,0.002,0.004\n");
  EXPECT_EQ(
      check("import chunk_times\n"
            "chunks = chunk_times.read_chunks('" +
            equal +
            "')\n"
            "assert list(chunks) == ['w, 6 wide', 'w, 6 wide, features x 4']\n"
            "assert chunk_times.of_one_size(chunks) and abs(chunk_times.spread(chunks['w, 6 wide']) - 8) < 1e-12\n"
            "assert abs(chunk_times.mean_error(chunks) - 0.5 / 3) < 1e-12\n"),
      0)
      << output();
  ASSERT_EQ(run({"chunk_times.py", equal, "--out", folder_.file("f")}), 0) << output();
  EXPECT_NE(text("f/chunk_times.svg").find("Chunks of 100 cells"), std::string::npos);
  const std::string sizes =
      write("sizes.csv", std::string(chunk_header) + "w,6,1,10,7,1e-4,1e-4,2e-4\nw,6,1,100,9,2e-3,2e-3,3e-3\n");
  ASSERT_EQ(run({"chunk_times.py", sizes, "--out", folder_.file("f")}), 0) << output();
  EXPECT_NE(text("f/chunk_times.svg").find("Chunks by size"), std::string::npos);
  EXPECT_EQ(run({"chunk_times.py", write("other.csv", "a,b\n1,2\n"), "--out", folder_.file("f")}), 2);
  EXPECT_NE(output().find("--dump-chunks"), std::string::npos) << output();
}

/// Embeddings [2, 2, 2]: one cell does not exist, one stays and two move by 5 and 1.
TEST_F(StudyFigures, DistancesAreThoseOfCellsThatExist) {
  const std::string text =
      "import numpy as np, distances\n"
      "first = np.array([[[0, 0], [1, 1]], [[np.nan, np.nan], [2, 2]]], dtype=np.float32)\n"
      "second = np.array([[[3, 4], [1, 1]], [[np.nan, np.nan], [2, 3]]], dtype=np.float32)\n"
      "folder = '" +
      folder_.file("") +
      "'\n"
      "np.save(folder + 'a.npy', first), np.save(folder + 'b.npy', second), np.save(folder + 'c.npy', first[0])\n"
      "np.save(folder + 'd.npy', np.where(second == 3, np.nan, second))\n"
      "name, found = distances.read_pair(f'w={folder}a.npy,{folder}b.npy')\n"
      "assert name == 'w' and list(found) == [0, 1, 5], found\n"
      "assert [distances.quantile(found, share) for share in (0, 1 / 3, 0.5, 0.9, 1)] == [0, 0, 1, 5, 5]\n";
  ASSERT_EQ(check(text), 0) << output();
  const std::string a = folder_.file("a.npy"), b = folder_.file("b.npy");
  ASSERT_EQ(run({"distances.py", "w=" + a + "," + b, "--out", folder_.file("f")}), 0) << output();
  EXPECT_NE(this->text("f/distances.csv").find("share,w\n0.0,0.0\n"), std::string::npos)
      << this->text("f/distances.csv");
  for (const std::string& wrong : {"w=" + a + "," + folder_.file("c.npy"), "w=" + a, "w=" + a + ",nowhere.npy",
                                   "w=" + a + "," + folder_.file("d.npy")})
    EXPECT_EQ(run({"distances.py", wrong, "--out", folder_.file("g")}), 2) << wrong << output();
}

TEST_F(StudyFigures, DocumentsOfOneWorkloadAreNamedByTheirDifferences) {
  const std::string text =
      "import sequences\n"
      "some = [{'workload': 'g', 'parameters': {'v': 4.0, 'w': 1}}, {'workload': 'g', 'parameters': {'v': 0.5, 'w': "
      "1}},\n"
      "        {'workload': '/far/away/h.csv', 'parameters': {'v': 7}}]\n"
      "assert sequences.names_of(some) == ['g, v=4', 'g, v=0.5', 'h.csv'], sequences.names_of(some)\n";
  EXPECT_EQ(check(text), 0) << output();
}

TEST_F(StudyFigures, OverheadIsAShareOfTraining) {
  const std::string header =
      "workload,model,reading_seconds,generation_seconds,assignment_seconds,fusing_seconds,training_seconds\n";
  const std::string costs = write("costs.csv", header + "w,m,9,0.5,0.02,0.0,8\nw,n,9,1,0.1,0.25,50\n");
  EXPECT_EQ(check("import overhead\n"
                  "lines = overhead.read_costs('" +
                  costs +
                  "')\n"
                  "assert overhead.share(lines[0], 'generation_seconds') == 0.0625\n"
                  "axes = overhead.draw(lines, looks.start_matplotlib()).axes[0]\n"
                  "assert [bar.get_height() for bar in axes.patches] == [0.5, 0.02, 8, 1, 0.1, 0.25, 50]\n"
                  "assert [t.get_text() for t in axes.texts] == ['6.2 %', '0.25 %', '8 s', '2 %', '0.2 %', '0.5 %', "
                  "'50 s'], axes.texts\n"),
            0)
      << output();
  ASSERT_EQ(run({"overhead.py", costs, "--out", folder_.file("f")}), 0) << output();
  EXPECT_EQ(text("f/overhead.png").substr(0, 4), "\x89PNG");
  EXPECT_EQ(run({"overhead.py", write("other.csv", "a,b\n1,2\n"), "--out", folder_.file("f")}), 2);
  EXPECT_NE(output().find("dgc_overhead"), std::string::npos) << output();
}

/// With a program that takes nothing and prints a row of known epochs and a plan of known times.
TEST_F(StudyFigures, OverheadIsMeasuredByProcesses) {
  const std::string program =
      write("strobe",
            "#!/bin/sh\necho '{\"rows\": [{\"epoch_seconds\": {\"median\": 0.25}}], \"cases\": [{\"chunks\": "
            "{\"generation_seconds\": 0.125, \"assignment_seconds\": 0.5}, \"fusion\": {\"fusing_seconds\": 2}}]}'\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string csv = folder_.file("o.csv");
  ASSERT_EQ(run({"../dgc_overhead", "--strobe", program, "--workload", "w", "--model", "m", "--ranks", "4", "--epochs",
                 "10", "--runs", "1", "--csv", csv}),
            0)
      << output();
  EXPECT_NE(output().find("| w, m | "), std::string::npos) << output();
  EXPECT_NE(text("o.csv").find(",0.125,0.5,2,10.0\n"), std::string::npos)
      << "10 epochs of 0.25 s on 4 ranks: " << text("o.csv");
  EXPECT_EQ(run({"../dgc_overhead", "--strobe", "/bin/false"}), 1);
}

}  // namespace
}  // namespace strobe
