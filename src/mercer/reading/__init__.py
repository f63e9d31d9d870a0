"""How a statistician reads axes: individuals, variables, supplementary elements and outliers."""

from mercer.data.tidy import Tidy as Tidy
from mercer.reading.model import Readable as Readable
from mercer.reading.outliers import Outliers as Outliers
from mercer.reading.values import Categories as Categories
from mercer.reading.values import Individuals as Individuals
from mercer.reading.values import Supplementary as Supplementary
from mercer.reading.values import Variables as Variables
