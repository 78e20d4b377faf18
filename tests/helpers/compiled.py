"""What a learner's kernel was compiled for; helpers as kernels of their own."""

from dwindle.engine import kernels
from dwindle.jit.compile import kernel


def signatures(learner):
    """The types of arguments that the kernel of such learners was compiled for."""
    return kernels.learn.of(learner.loss, learner.shrinkage, learner.update).signatures


def kernel_of(helper):
    """A helper as a kernel, which Python can call."""
    return kernel(getattr(helper, "function", helper))
