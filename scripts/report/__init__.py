"""`strobe report`: one HTML page of the rows of runs, without a network. Standard library only, so that it is drawn
wherever there is a Python."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "figures"))  # its shared.files
