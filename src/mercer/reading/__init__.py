"""How a statistician reads axes: individuals, variables, supplementary elements and outliers."""

from mercer.data.tidy import Tidy as Tidy
from mercer.reading.model import Readable as Readable
from mercer.reading.outliers import Outliers as Outliers
from mercer.reading.remarks import AtBarycentre as AtBarycentre
from mercer.reading.remarks import ConstantColumns as ConstantColumns
from mercer.reading.remarks import DegenerateAxes as DegenerateAxes
from mercer.reading.remarks import FewerAxes as FewerAxes
from mercer.reading.remarks import NoInertia as NoInertia
from mercer.reading.remarks import ReadingWarning as ReadingWarning
from mercer.reading.values import Categories as Categories
from mercer.reading.values import Individuals as Individuals
from mercer.reading.values import Supplementary as Supplementary
from mercer.reading.values import Variables as Variables
