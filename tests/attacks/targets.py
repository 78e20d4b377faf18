"""All targets."""

from attacks import (
    arrow_targets,
    json_targets,
    model_targets,
    table_targets,
    text_targets,
    whole_targets,
)

MODULES = text_targets, table_targets, json_targets, arrow_targets, whole_targets, model_targets
TARGETS = [target for module in MODULES for target in module.TARGETS]
