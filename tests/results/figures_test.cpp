// Every figure in scripts/figures draws the golden summary, and refuses rows that it cannot draw.
#include "tests/results/figures.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

namespace strobe {
namespace {

namespace fs = std::filesystem;
using testing_results::figure_names;
using testing_results::Figures;
using testing_results::golden_path;
using testing_results::text_of;

/// Strategies that register themselves, as their files name them.
std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  const std::regex registered("Register<StrategyTag> \\w+\\{[^\"]*\"([a-z_]+)\"");
  for (const auto& entry : fs::recursive_directory_iterator(std::string(STROBE_SOURCE_DIR) + "/harness")) {
    if (entry.path().parent_path().filename() != "strategies") continue;
    const std::string text = text_of(entry.path().string());
    for (std::sregex_iterator match(text.begin(), text.end(), registered), end; match != end; ++match)
      names.push_back((*match)[1]);
  }
  return names;
}

/// The golden rows of graphs that grow with the ranks, as weak scaling needs them.
void make_growing(Json& rows) {
  for (Json& row : rows) row["workload"]["vertices"] = 100 * row.at("ranks").get<int>();
}

TEST_F(Figures, EachIsDrawnAsPngAndSvgTheSameEveryTime) {
  std::vector<std::string> names = figure_names();
  std::erase(names, "weak_scaling");
  ASSERT_GE(names.size(), 2u);
  for (const std::string out : {"a", "b"}) ASSERT_EQ(draw_all(names, golden_path, folder_.file(out)), 0) << output();
  for (const std::string& name : names) {
    const std::string png = text_of(folder_.file("a/" + name + ".png")),
                      svg = text_of(folder_.file("a/" + name + ".svg"));
    EXPECT_EQ(png.substr(0, 4), "\x89PNG") << name;
    EXPECT_GT(png.size(), 10000u) << name;
    EXPECT_NE(svg.find("<svg"), std::string::npos) << name;
    // Predictions without values have no curve.
    if (name != "curves") {
      EXPECT_NE(svg.find("uncalibrated"), std::string::npos) << name << " does not mark uncalibrated predictions";
    }
    EXPECT_EQ(text_of(folder_.file("b/" + name + ".svg")), svg) << name;
    EXPECT_EQ(text_of(folder_.file("b/" + name + ".png")), png) << name;
  }
}

TEST_F(Figures, WeakScalingNeedsGraphsThatGrow) {
  EXPECT_EQ(draw("weak_scaling", golden_path, folder_.file("a")), 2);
  EXPECT_NE(output().find("the graph is the same at every number of ranks"), std::string::npos) << output();
  EXPECT_EQ(draw("weak_scaling", changed_golden(make_growing), folder_.file("a")), 0) << output();
  EXPECT_NE(text_of(folder_.file("a/weak_scaling.svg")).find("uncalibrated"), std::string::npos);
}

TEST_F(Figures, SeedsAreMeanAndSpread) {
  const std::string path = changed_golden([](Json& rows) {
    const Json one = rows.at(0);
    rows = Json::array();
    for (const int seed : {1, 2, 3}) {
      Json row = one;
      row["case_id"] = fmt::format("seed/{}", seed);
      row["seed"] = seed;
      row["loss"] = {1.0 * seed, 2.0 * seed};
      row["metrics"] = {{"auc", {0.1 * seed, 0.2}}};
      row["epoch_seconds"]["median"] = 0.001 * seed;
      rows.push_back(row);
    }
  });
  const std::string program =
      "merged = r.over_seeds(rows)\n"
      "assert len(merged) == 1 and merged[0]['seeds'] == 3, merged\n"
      "one = merged[0]\n"
      "near = lambda a, b: abs(a - b) < 1e-12\n"
      "assert near(one['epoch_seconds']['median'], 0.002) and all(map(near, r.interval_of(one), (0.001, 0.003)))\n"
      "assert one['loss'] == [2, 4] and one['spread']['loss'] == [1, 2], one['loss']\n"
      "assert near(one['metrics']['auc'][0], 0.2) and near(one['spread']['metrics']['auc'][0], 0.1)\n"
      "assert r.bars_label(merged) == 'bars: standard deviation over 3 seeds'\n"
      "assert r.over_seeds(rows[:1]) == rows[:1]\n"
      "assert len(r.over_seeds([rows[0], rows[0]])) == 2, 'one seed twice is not two seeds'\n"
      "import curves\n"
      "figure = curves.draw(merged, plt)\n"
      "low, high = figure.axes[0].collections[0].get_datalim(figure.axes[0].transData).intervaly\n"
      "assert near(low, 1) and near(high, 6), (low, high)\n";
  EXPECT_EQ(check(program, path), 0) << output();
}

TEST_F(Figures, AStrategyHasOneColourAndOneMarkInEveryFigure) {
  const std::string program =
      "import matplotlib.colors as colours, random\n"
      "known = looks.KNOWN\n"
      "assert len({colours.to_hex(c) for c, _ in known.values()}) == len(known), 'two strategies share a colour'\n"
      "assert not {colours.to_hex(c) for c in looks.OTHERS} & {colours.to_hex(c) for c, _ in known.values()}\n"
      "names = list(known) + ['vertex (metis)', 'vertex (hash)', 'mine', 'yours (k=2)']\n"
      "alone = {name: looks.styles_of([(name,)])[(name,)] for name in names}\n"
      "for seed in range(50):\n"
      "    some = random.Random(seed).sample(names, random.Random(seed).randint(1, len(names)))\n"
      "    styles = looks.styles_of([(name,) for name in some] + [(name, 2) for name in some[:3]])\n"
      "    assert all(styles[(name,)] == alone[name] for name in some if name in known), some\n"
      "    assert all(styles[(name,)][0] == alone[name][0] for name in some), some\n"
      "    assert len(set(styles.values())) == len(styles), some\n"
      "assert all(alone[name] == look for name, look in known.items())\n"
      "assert alone['vertex (metis)'][0] == alone['vertex (hash)'][0] == known['vertex'][0]\n";
  std::string without_looks = "lacking = [name for name in (";
  for (const std::string& name : strategy_names()) without_looks += "'" + name + "', ";
  without_looks += ") if name not in looks.KNOWN]\nassert not lacking, f'no looks of their own: {lacking}'\n";
  EXPECT_EQ(check(program + without_looks, golden_path), 0) << output();
}

TEST_F(Figures, EveryScriptIsOnThePageOfFigures) {
  const std::string root = STROBE_SOURCE_DIR, page = text_of(root + "/docs/reference/figures.md");
  for (const auto& entry : fs::directory_iterator(root + "/scripts/figures")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".py" || name == "comparison_guide") continue;  // prints a table of a study
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
  }
}

TEST_F(Figures, CasesThatDidNotEndOkAreNamedAndLeftOut) {
  ASSERT_EQ(draw("phase_split", golden_path, folder_.file("a")), 0);
  EXPECT_NE(output().find("left out chess/tm-gcn/snapshot/sim/r256#golden: out_of_memory"), std::string::npos)
      << output();
}

TEST_F(Figures, ThroughputHasEveryUnitThatRowsHave) {
  for (const std::string_view unit : throughput_units) {
    const std::string path = changed_golden([&](Json& rows) {
      for (Json& row : rows) row["throughput"] = {{std::string(unit), 5.0}, {"nonzeros_per_second", 7.0}};
    });
    const std::string program = "assert r.unit_of(rows) == '" + std::string(unit) + "'\n";
    EXPECT_EQ(check(program, path), 0) << output();
  }
}

TEST_F(Figures, BarsOfThroughputAreGroupedByWorkload) {
  const std::string path = changed_golden([](Json& rows) {
    const Json one = rows.at(0);
    rows = Json::array();
    for (const char* like : {"reddit", "mooc"}) {
      for (const int ranks : {1, 8, 32}) {
        Json row = one;
        row["case_id"] = fmt::format("{}/{}", like, ranks);
        row["workload"] = {{"name", "bursty_events"}, {"like", like}};
        row["strategy"] = {{"name", "event_batch"}, {"i", ranks / 4}, {"k", ranks}};
        row["ranks"] = ranks;
        row["throughput"] = {{"events_per_second", 1e6 * (ranks == 1 ? 1 : ranks - 1)}};
        rows.push_back(row);
      }
    }
  });
  const std::string program =
      "import throughput\n"
      "axes = throughput.draw(rows, plt).axes[0]\n"
      "assert [t.get_text() for t in axes.get_xticklabels()] == ['reddit', 'mooc']\n"
      "assert [bar.get_height() for bar in axes.patches] == [1, 7, 31] * 2, axes.patches\n"
      "assert [t.get_text() for t in axes.texts] == ['1', '7', '31'] * 2\n"
      "assert axes.get_ylabel() == 'million events per second', axes.get_ylabel()\n"
      "try:\n"
      "    throughput.draw(rows + [{**rows[0], 'case_id': 'again'}], plt)\n"
      "    assert False\n"
      "except r.Refused as refused:\n"
      "    assert 'again' in str(refused)\n";
  EXPECT_EQ(check(program, path), 0) << output();
}

TEST_F(Figures, LabelsExplainNumbersAndSwitches) {
  const std::string program =
      "def row(**more):\n"
      "    return {'strategy': {'name': 'event_batch', **more}}\n"
      "some = [row(k=8, pipeline=True, layout='copy', i=1), row(k=1, pipeline=False, layout='spread', i=1)]\n"
      "assert r.label(some[0], 'strategy', some) == 'event_batch (k=8, pipeline=true, copy)'\n"
      "assert r.label(some[1], 'strategy', some) == 'event_batch (k=1, pipeline=false, spread)'\n"
      "assert r.label(some[0], 'strategy', some[:1]) == 'event_batch'\n";
  EXPECT_EQ(check(program, golden_path), 0) << output();
}

TEST_F(Figures, RowsThatLackAColumnAreRefusedByName) {
  const std::pair<const char*, const char*> needs[] = {{"phase_split", "phase_seconds"}, {"scaling", "epoch_seconds"}};
  for (const auto& [name, key] : needs) {
    const std::string missing = changed_golden([&, key = key](Json& rows) { rows[1].erase(key); });
    EXPECT_EQ(draw(name, missing, folder_.file("a")), 2);
    EXPECT_NE(output().find(std::string("lacks '") + key + "'"), std::string::npos) << output();
    EXPECT_NE(output().find("chess/tm-gcn/snapshot/cpu/r2#golden"), std::string::npos) << output();
    EXPECT_FALSE(fs::exists(folder_.file("a/" + std::string(name) + ".png")));
  }
}

TEST_F(Figures, RowsWithoutAColumnForAReasonAreLeftOut) {
  const auto without = [&](bool all) {
    return changed_golden([&](Json& rows) {
      for (Json& row : rows)
        if (all || &row == &rows[1]) row["phase_seconds"] = nullptr, row["absent"]["/phase_seconds"] = "not seen";
    });
  };
  EXPECT_EQ(draw("phase_split", without(false), folder_.file("a")), 0) << output();
  EXPECT_NE(output().find("lacks 'phase_seconds', which this figure needs (not seen)"), std::string::npos) << output();
  EXPECT_TRUE(fs::exists(folder_.file("a/phase_split.png")));
  EXPECT_EQ(draw("phase_split", without(true), folder_.file("b")), 2);
  EXPECT_NE(output().find("(not seen)"), std::string::npos) << output();
}

/// Rows of 14 strategies on 1, 2 and 4 ranks of a workload whose name is a path of 170 letters. Times lie within a
/// decade and peaks rise from the first line to the last.
void make_crowded(Json& rows) {
  const Json one = rows.at(0);
  rows = Json::array();
  for (int strategy = 0; strategy < 14; ++strategy) {
    for (const int ranks : {1, 2, 4}) {
      for (const int blocks : {1, 2}) {
        Json row = one;
        row["workload"]["name"] = "some/where/" + std::string(159, 'x') + ".csv";
        row["strategy"] = {{"name", "strategy" + std::to_string(strategy)}};
        row["ranks"] = ranks;
        row["settings"]["nb"] = std::to_string(blocks);
        row["case_id"] = fmt::format("{}/{}/{}", strategy, ranks, blocks);
        row["peak_bytes"] = {{"host", {1000 * (1 + strategy)}}, {"device", {0}}};
        for (const char* key : {"median", "ci95_low", "ci95_high", "mean"})
          row["epoch_seconds"][key] = 2e-4 + 1e-5 * strategy * ranks;
        rows.push_back(row);
      }
    }
  }
}

TEST_F(Figures, FortyCurvesAreDrawnInFortyWays) {
  const std::string program =
      "keys = [(f'strategy {i // 3} (a, b)', 2 ** (i % 3)) for i in range(42)]\n"
      "one = [('snapshot', n) for n in range(42)]\n"
      "for some in (keys, one, keys[:20] + one[:20]):\n"
      "    for kinds in (len(looks.DASHES), len(looks.MARKERS)):\n"
      "        styles = looks.styles_of(some, kinds)\n"
      "        assert list(styles) == some and len(set(styles.values())) == len(some), (some, kinds)\n"
      "assert len({str(dash) for dash in looks.DASHES}) == len(looks.DASHES)\n"
      "assert len(set(looks.MARKERS)) == len(looks.MARKERS)\n"
      "assert (looks.ranks_text(1), looks.ranks_text(2)) == ('1 rank', '2 ranks')\n";
  EXPECT_EQ(check(program, golden_path), 0) << output();
}

TEST_F(Figures, LegendsCoverNothingTitlesFitAndNoPointIsCutOff) {
  const std::string program =
      "import importlib\n"
      "for name in ('curves', 'memory', 'scaling', 'phase_split', 'volume'):\n"
      "    some = rows if name == 'memory' else [row for row in rows if row['settings']['nb'] == '1']\n"
      "    figure = importlib.import_module(name).draw(some, plt)\n"
      "    looks.lay_out(figure)\n"
      "    figure.canvas.draw()\n"
      "    renderer = figure.canvas.get_renderer()\n"
      "    for axes in figure.axes:\n"
      "        panel = axes.get_window_extent(renderer)\n"
      "        assert axes.get_legend() is None, name\n"
      "        for legend in figure.legends:\n"
      "            assert not legend.get_window_extent(renderer).overlaps(panel), name\n"
      "        left = axes._left_title.get_window_extent(renderer)\n"
      "        assert left.width <= 1.05 * panel.width, (name, left.width, panel.width)\n"
      "        low, high = sorted(axes.get_ylim())\n"
      "        for line in axes.lines:\n"
      "            assert all(low <= y <= high for y in line.get_ydata()), (name, low, high)\n"
      "        texts = [t.get_text() for t in axes.get_yticklabels(which='both') if t.get_text()]\n"
      "        seen = [t for t in axes.get_yticks() if low <= t <= high]\n"
      "        assert len(seen) >= 2 and len(texts) >= 2, (name, seen, texts)\n";
  EXPECT_EQ(check(program, changed_golden(make_crowded)), 0) << output();
}

TEST_F(Figures, TransfersOfARunWithoutAnyAreRefused) {
  const std::string none = changed_golden([](Json& rows) {
    for (Json& row : rows) {
      if (row.at("status") == "ok") row["transfer_bytes"] = 0;
    }
  });
  EXPECT_EQ(draw("transfer", none, folder_.file("a")), 2);
  EXPECT_NE(output().find("no row moved anything between host and device"), std::string::npos) << output();
}

TEST_F(Figures, TwoRowsForOneBarAndForeignFilesAreRefused) {
  const std::string twice = changed_golden([](Json& rows) { rows.push_back(rows[1]); });
  for (const std::string& name : figure_names()) {
    EXPECT_EQ(draw(name, twice, folder_.file("a")), 2) << output();
    EXPECT_NE(output().find("would share one"), std::string::npos) << output();
    EXPECT_EQ(draw(name, folder_.file("nowhere"), folder_.file("a")), 2);
    EXPECT_NE(output().find("No such file"), std::string::npos) << output();
  }
  for (const Json& other : {Json(3), Json{{"a", 1}}, Json::array({7})}) {
    const std::string changed = changed_golden([&](Json& rows) { rows = other; });
    EXPECT_EQ(draw("scaling", changed, folder_.file("a")), 2);
    EXPECT_NE(output().find("not a summary.json ('rows' is no list of objects)"), std::string::npos) << output();
  }
  const std::string none = changed_golden([](Json& rows) { rows = Json::array(); });
  EXPECT_EQ(draw("scaling", none, folder_.file("a")), 2);
  EXPECT_NE(output().find("nothing to draw"), std::string::npos) << output();
}

}  // namespace
}  // namespace strobe
