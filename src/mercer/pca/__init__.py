"""Principal component analysis, of a table and in the space of a kernel."""

from mercer.pca.kernel_pca import KernelPCA as KernelPCA
from mercer.pca.linear import PCA as PCA
