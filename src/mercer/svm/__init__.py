"""Support vector machines whose decisions are exact for the Gram matrix in double precision."""

from mercer.svm.classifier import SVC as SVC
from mercer.svm.novelty import OneClassSVM as OneClassSVM
from mercer.svm.regressor import SVR as SVR
