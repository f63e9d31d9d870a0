"""How a statistician reads axes: individuals, variables, supplementary elements and outliers."""

from mercer.data.frames import Tidy as Tidy
from mercer.reading.axis_values import Categories as Categories
from mercer.reading.axis_values import Individuals as Individuals
from mercer.reading.axis_values import Supplementary as Supplementary
from mercer.reading.axis_values import Variables as Variables
from mercer.reading.model import Readable as Readable
from mercer.reading.outliers import Outliers as Outliers
