"""What a learner's kernel was compiled for."""

from dwindle.engine import kernels


def signatures(learner):
    """The types of arguments that the kernel of such learners was compiled for."""
    return kernels.learn.of(learner.loss, learner.shrinkage, learner.update).signatures
