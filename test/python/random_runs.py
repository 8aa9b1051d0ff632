"""Settings of random tests: the seed of this run, without limits of time and without a database of examples."""

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from support import SEED


def settings_of(examples, **more):
    """Returns hypothesis' settings for a number of examples."""
    return settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), **more
    )


def random_cases(examples):
    """Decorates a test that hypothesis gives arguments."""
    return lambda test: seed(SEED)(settings_of(examples)(test))


def run_machine(machine, examples, steps):
    """Runs a state machine, each example with at most that many steps."""
    how = settings_of(examples, stateful_step_count=steps, print_blob=True)
    run_state_machine_as_test(seed(SEED)(machine), settings=how)
