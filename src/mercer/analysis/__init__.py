"""The analysis that fits a table when nobody says: which columns, which model, what to doubt.

`mercer.analyse` decides, fits and reads the evidence; the command line, `mercer.report` and the
explorer call it, so that all of them do the same with the same file.
"""

from mercer.analysis.analysis import Analysis as Analysis
from mercer.analysis.analysis import analyse as analyse
from mercer.analysis.analysis import complete_analysis as complete_analysis
from mercer.analysis.analysis import curved_model as curved_model
from mercer.analysis.columns import Fate as Fate
from mercer.analysis.doubts import Doubt as Doubt
from mercer.analysis.evidence import Clustering as Clustering
from mercer.analysis.evidence import Evidence as Evidence
from mercer.analysis.proposal import Proposal as Proposal
from mercer.analysis.proposal import propose as propose
from mercer.analysis.separation import Separation as Separation
