"""Correspondence analysis and its kin: principal components of tables that are not all numbers.

Each is the kernel PCA of a stated kernel with stated weights, found from the finite features of
that kernel. ``kernel_`` is the kernel, to be used in any expression.
"""

from mercer.factorial.ca import CA as CA
from mercer.factorial.ca import Profiles as Profiles
from mercer.factorial.mca_famd import FAMD as FAMD
from mercer.factorial.mca_famd import MCA as MCA
from mercer.factorial.mca_famd import ActiveCategories as ActiveCategories
from mercer.factorial.mca_famd import Links as Links
from mercer.factorial.mfa import MFA as MFA
from mercer.factorial.mfa import Groups as Groups
