"""`scripts/board`: one HTML page of published runs. `strobe submit --check` judges the entries and orders them."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "figures"))  # strobe_figures
