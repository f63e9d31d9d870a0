"""Correspondence analysis and its kin: principal components of tables that are not all numbers.

Each is the kernel PCA of a stated kernel with stated weights, found from the finite features of
that kernel. ``kernel_`` is the kernel, to be used in any expression.
"""

from mercer.factorial.correspondence import CA as CA
from mercer.factorial.correspondence import Profiles as Profiles
from mercer.factorial.mixed import FAMD as FAMD
from mercer.factorial.mixed import MCA as MCA
from mercer.factorial.mixed import ActiveCategories as ActiveCategories
from mercer.factorial.mixed import Links as Links
from mercer.factorial.multiple import MFA as MFA
from mercer.factorial.multiple import Groups as Groups
