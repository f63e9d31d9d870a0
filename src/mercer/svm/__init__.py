"""Support vector machines whose decisions are exact for the Gram matrix in double precision."""

from mercer.svm.classifier import SVC as SVC
from mercer.svm.machines import SVR as SVR
from mercer.svm.machines import OneClassSVM as OneClassSVM
