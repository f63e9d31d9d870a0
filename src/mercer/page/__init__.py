"""The self-contained page: what a model found, in one HTML file that asks the network nothing."""

from mercer.page.write import report as report
