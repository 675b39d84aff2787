package figure

import (
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// Lateness is the wait before the departure in the trials of other figures: p50, p99 and maximum.
type Lateness struct {
	// Prefix is what the metrics' names begin with; empty for those of a load.
	Prefix v1alpha1.Metric
	Of     Scope
	// What says in words which trials these are.
	What string
}

// Latenesses are those next to figures that are no delays, in the order of the report.
var Latenesses = slices.Concat([]Lateness{
	{"ThroughputLowerBound", OfGoal, "lower bound of the throughput"},
	{"ThroughputUpperBound", OfGoal, "upper bound of the throughput"},
}, latenessOfSizes, []Lateness{{"", OfLoad, "all intervals"}})

// Metrics returns the names of p50, p99 and maximum.
func (l Lateness) Metrics() [3]v1alpha1.Metric {
	return [3]v1alpha1.Metric{l.Prefix + "LatenessP50Nanoseconds", l.Prefix + "LatenessP99Nanoseconds", l.Prefix + "LatenessMaxNanoseconds"}
}

// ofLateness returns the rows of all Latenesses but those of loads, which have their own.
func ofLateness() (out []Metric) {
	for _, l := range Latenesses {
		if l.Of == OfLoad {
			continue
		}
		for i, name := range l.Metrics() {
			out = append(out, Metric{name, Nanoseconds, Neither, l.Of, "wait before the departure, " + l.What + ", " + []string{"p50", "p99", "max"}[i], 0})
		}
	}
	return out
}
