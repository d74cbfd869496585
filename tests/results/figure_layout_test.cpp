// Figures at every width: nothing is cut off or lies on something else, and looks, scale, order and caption are as
// asked.
#include "tests/results/figures.hpp"

namespace strobe {
namespace {

using testing_results::figure_names;
using testing_results::golden_path;
using testing_results::text_of;

class FigureLayout : public testing_results::Figures {};

/// Draws a kind in every width and asserts that nothing is wrong with it.
constexpr const char* draw_and_check =
    "import importlib\n"
    "from strobe_figures import checks\n"
    "for row in rows:\n"
    "    row['workload']['vertices'] = 100 if sys.argv[3] != 'weak_scaling' else 100 * row['ranks']\n"
    "for width, letters in ((None, None), (8 / 2.54, 9.0)):\n"
    "    looks.LAYOUT.update(width=width, points=letters)\n"
    "    figure = importlib.import_module(sys.argv[3]).draw(rows, looks.start_matplotlib())\n"
    "    looks.lay_out(figure, 'A heading of several words ' * 4, ['A sentence below the figure. ' * 9, 'not drawn: "
    "1'])\n"
    "    found = checks.complaints(figure)\n"
    "    assert not found, (sys.argv[3], width, letters, found)\n"
    "    assert width is None or abs(figure.get_figwidth() - width) < 1e-9, (width, figure.get_figwidth())\n";

TEST_F(FigureLayout, NothingIsClippedUnlabelledOrUnreadable) {
  for (const std::string& name : figure_names()) {
    if (name == "curves" || name == "throughput") continue;  // they need other rows, below
    EXPECT_EQ(check(draw_and_check, golden_path, name), 0) << output();
  }
}

/// Rows with names and parameters as long as they get, of two clocks, with values.
void make_long_names(Json& rows) {
  const Json one = rows.at(0);
  rows = Json::array();
  for (const char* strategy : {"snapshot", "vertex", "event_batch"}) {
    for (const int ranks : {1, 2, 16}) {
      for (const char* clock : {"wall", "virtual"}) {
        Json row = one;
        row["workload"]["name"] = "some/where/" + std::string(80, 'x') + ".csv";
        row["strategy"] = {{"name", strategy}, {"partitioner", "a_partitioner_with_a_long_name"}};
        if (ranks > 1) row["strategy"]["stale"] = "static_for_a_while";
        row["ranks"] = ranks;
        row["time_source"] = clock;
        row["cluster"] = clock == std::string("wall") ? "" : "a-cluster-with-a-long-name-v100";
        row["case_id"] = fmt::format("{}/{}/{}", strategy, ranks, clock);
        row["loss"] = {0.7, 0.65, 0.61};
        row["metrics"] = {{"auc", {0.5, 0.61, 0.62}}};
        row["transfer_bytes"] = 1e6 * ranks;
        row["throughput"] = {{"edges_per_second", 1e6 * ranks}};
        rows.push_back(row);
      }
    }
  }
}

TEST_F(FigureLayout, LongNamesOverlapNothingAndStayInsideAtEightCentimetres) {
  const std::string path = changed_golden(make_long_names);
  for (const std::string& name : figure_names()) EXPECT_EQ(check(draw_and_check, path, name), 0) << output();
}

TEST_F(FigureLayout, ChecksFindFaults) {
  const std::string program =
      "from strobe_figures import checks\n"
      "figure, (axes,) = looks.panels(plt.subplots, 1)\n"
      "line, = axes.plot([1, 2, 3], [1, 2, 3])\n"
      "axes.set_xlabel('x')\n"
      "axes.set_ylabel('y')\n"
      "looks.lay_out(figure)\n"
      "assert checks.complaints(figure) == [], checks.complaints(figure)\n"
      "axes.set_ylim(0, 2.5)\n"
      "assert any('beyond the axes' in found for found in checks.complaints(figure))\n"
      "axes.set_ylim(0, 4)\n"
      "axes.bar([1], [5])\n"
      "axes.set_ylim(0, 4)\n"
      "assert any('a bar lies beyond' in found for found in checks.complaints(figure))\n"
      "axes.set_ylim(0, 6)\n"
      "axes.set_ylabel('')\n"
      "assert any('no label' in found for found in checks.complaints(figure))\n"
      "axes.set_ylabel('y')\n"
      "axes.set_yticks([3], ['3'])\n"
      "assert any('fewer than two numbers' in found for found in checks.complaints(figure))\n"
      "axes.set_yticks([0, 3], ['0', '3'])\n"
      "axes.set_xticks([2, 2.01], ['twenty', 'thirty'])\n"
      "assert any('overlap' in found for found in checks.complaints(figure))\n"
      "axes.set_xticks([1, 2, 3], ['one', 'two', 'three'])\n"
      "assert checks.complaints(figure) == [], checks.complaints(figure)\n"
      "words = [axes.text(2, 2, 'turned words', rotation=angle) for angle in (0, 40)]\n"
      "assert any('overlap' in found for found in checks.complaints(figure))\n"
      "words[1].set_position((2, 3))\n"
      "assert checks.complaints(figure) == [], checks.complaints(figure)\n"
      "words[1].set_position((9, 3))\n"
      "assert any('leaves the figure' in found for found in checks.complaints(figure))\n";
  EXPECT_EQ(check(program, golden_path), 0) << output();
}

/// The figures and the page draw a strategy with the looks of the one table.
TEST_F(FigureLayout, CurvesAndScalingDrawTheLooksOfTheTable) {
  const std::string path = changed_golden(make_long_names);
  const std::string program =
      "import matplotlib.colors as colours\n"
      "import curves, scaling\n"
      "for row in rows: row['strategy'] = {'name': row['strategy']['name']}\n"
      "some = [row for row in rows if row['time_source'] == 'wall']\n"
      "lines = scaling.draw(some, plt).axes[0].lines\n"
      "drawn = {(colours.to_hex(line.get_color()).upper(), line.get_marker()) for line in lines if "
      "len(line.get_xdata()) == 3}\n"
      "for name in ('snapshot', 'vertex', 'event_batch'):\n"
      "    assert (looks.KNOWN[name][0].upper(), looks.MARKERS[looks.KNOWN[name][1]]) in drawn, (name, drawn)\n"
      "some = [row for row in some if row['ranks'] == 2]\n"
      "lines = curves.draw(some, plt).axes[0].lines\n"
      "assert {line.get_color() for line in lines} == {looks.KNOWN[name][0] for name in ('snapshot', 'vertex', "
      "'event_batch')}\n";
  EXPECT_EQ(check(program, path), 0) << output();
}

TEST_F(FigureLayout, ScaleOrderAndCaptionAreAsAskedFor) {
  const std::string path = changed_golden(make_long_names);
  const std::string program =
      "import scaling, memory, curves, throughput\n"
      "for module in (scaling, memory, curves, throughput):\n"
      "    for scale in ('log', 'linear'):\n"
      "        looks.LAYOUT['scale'] = scale\n"
      "        axes = module.draw(rows, plt).axes[-1]\n"
      "        assert axes.get_yscale() == scale, (module, axes.get_yscale())\n"
      "looks.LAYOUT['scale'] = None\n"
      "ordered = looks.in_order(rows, 'vertex,event_batch')\n"
      "assert r.in_order(row['strategy']['name'] for row in ordered) == ['vertex', 'event_batch', 'snapshot']\n"
      "try:\n"
      "    looks.in_order(rows, 'nothing')\n"
      "    raise SystemExit('taken')\n"
      "except r.Refused as refused:\n"
      "    assert 'snapshot, vertex, event_batch' in str(refused), refused\n"
      "for text, inches in (('8cm', 8 / 2.54), ('80mm', 8 / 2.54), ('3.5in', 3.5), ('72.27pt', None), ('column', "
      "3.5)):\n"
      "    try:\n"
      "        assert abs(looks.inches_of(text) - inches) < 1e-9, text\n"
      "    except ValueError:\n"
      "        assert inches is None, text\n"
      "r.LEFT_OUT.append({'status': 'skipped', 'reason': 'because'})\n"
      "question = {'common': ['w'], 'title': 'w', 'sentences': ['a is faster.']}\n"
      "assert looks.words_below({'by': 'strategy', 'questions': [question]}) == ['a is faster.', 'not drawn: 1 skipped "
      "(because)']\n"
      "assert looks.words_below({'by': 'strategy', 'questions': [question] * 4})[:3] == ['w: a is faster.'] * 2 + "
      "['2 more questions: strobe compare RUN --by strategy']\n";
  EXPECT_EQ(check(program, path), 0) << output();
}

/// A name with dollar signs is a name and no formula.
TEST_F(FigureLayout, NamesAreNoFormulas) {
  const std::string path = changed_golden([](Json& rows) {
    for (Json& row : rows) row["workload"]["name"] = row["workload"]["name"].get<std::string>() + "$\\frac{1$ and $x";
  });
  for (const std::string name : {"scaling", "phase_split"}) {
    ASSERT_EQ(draw(name, path, folder_.file("a")), 0) << output();
    EXPECT_NE(text_of(folder_.file("a/" + name + ".svg")).find("frac{1$ and $x"), std::string::npos);
  }
}

}  // namespace
}  // namespace strobe
