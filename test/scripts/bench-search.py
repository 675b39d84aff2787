"""Lets the MLRsearch package search through a pipe.

One JSON object a line: goals come in, trials go out and their outcomes come
in, results go out; then the next goals. The other end is hack/searchbench.
"""

import json
import sys

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)


def say(message):
    print(json.dumps(message), flush=True)


class Measurer(AbstractMeasurer):
    def measure(self, intended_duration, intended_load):
        say({"loadFramesPerSecond": intended_load, "durationSeconds": intended_duration})
        outcome = json.loads(sys.stdin.readline())
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=outcome["intendedFrames"],
            offered_count=outcome["sentFrames"],
            forwarding_count=outcome["receivedFrames"],
        )


def search(asked):
    config = Config()
    config.goals = [
        SearchGoal(
            loss_ratio=goal["lossRatio"],
            exceed_ratio=goal["exceedRatio"],
            relative_width=goal["relativeWidth"],
            initial_trial_duration=goal["initialTrialSeconds"],
            final_trial_duration=goal["finalTrialSeconds"],
            duration_sum=goal["durationSumSeconds"],
            preceding_targets=goal["precedingTargets"],
            fail_fast=False,
        )
        for goal in asked["goals"]
    ]
    config.max_load = asked["maximumFramesPerSecond"]
    config.min_load = asked["minimumFramesPerSecond"]
    # A warm-up belongs to the measurement, not to the search: neither side has one.
    config.warmup_duration = None
    results = MultipleLossRatioSearch(config=config).search(Measurer(), debug=lambda text: None)
    say({"results": [result(results[goal]) for goal in config.goals]})


def result(found):
    throughput = found.conditional_throughput
    return {
        "throughputFramesPerSecond": float(throughput) if throughput is not None else 0.0,
        "regular": bool(found.relevant_lower_bound and found.relevant_upper_bound),
    }


for line in iter(sys.stdin.readline, ""):
    search(json.loads(line))
