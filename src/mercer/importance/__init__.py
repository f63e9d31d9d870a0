"""How much each variable matters to the axes, by permutation, with p-values."""

from mercer.importance.study import permutation_importance as permutation_importance
from mercer.importance.values import Importance as Importance
