"""Whether axes would be there again: with other individuals, or another parameter of the kernel."""

from mercer.stability.bootstrapping import Bootstrap as Bootstrap
from mercer.stability.bootstrapping import bootstrap as bootstrap
from mercer.stability.jackknife import Jackknife as Jackknife
from mercer.stability.jackknife import jackknife as jackknife
from mercer.stability.paths import Crossing as Crossing
from mercer.stability.paths import ParameterPath as ParameterPath
from mercer.stability.paths import parameter_path as parameter_path
