"""`strobe report`: one HTML page of the rows of runs, without a network. Jinja2 makes the HTML, scripts/figures the figures."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "figures"))  # its figures and strobe_figures
