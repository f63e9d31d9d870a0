"""How much each variable matters to the axes, by permutation, with p-values."""

from mercer.importance.permutation import Importance as Importance
from mercer.importance.permutation import permutation_importance as permutation_importance
