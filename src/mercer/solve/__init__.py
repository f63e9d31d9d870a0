"""Systems of the representer theorem, with their errors: factored, or by conjugate gradients."""

from mercer.solve.limits import Limits as Limits
from mercer.solve.saddle import Explained as Explained
from mercer.solve.saddle import Saddle as Saddle
from mercer.solve.saddle import SaddleSolution as SaddleSolution
from mercer.solve.system import Solution as Solution
from mercer.solve.system import solve as solve
