package benchmarkrun

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

func TestEventsBetween(t *testing.T) {
	statusOf := func(s *scope) v1alpha1.BenchmarkRunStatus { return summarize(s, decide(s)) }
	again := func(r *records) { r.holder = &measure.Holder{Restarts: 1} }
	tests := map[string]struct {
		before, after v1alpha1.BenchmarkRunStatus
		want          []string
	}{
		"nothing changed": {statusOf(newScope()), statusOf(newScope()), nil},
		"queued":          {v1alpha1.BenchmarkRunStatus{}, statusOf(newScope()), []string{"Normal Queued"}},
		"no testbed":      {statusOf(newScope()), statusOf(newScope(noTestbed)), []string{"Warning TestbedNotFound"}},
		"admitted":        {statusOf(newScope()), statusOf(newScope(held)), []string{"Normal Admitted"}},
		"chain ready":     {statusOf(newScope(launched, withRecords(calibrated), functions(ready, running))), statusOf(newScope(launched, withRecords(open), functions(ready, ready))), []string{"Normal ChainReady"}},
		"restarted": {statusOf(newScope(launched, withRecords(open), functions(ready, ready))), statusOf(newScope(launched, withRecords(open), withRecords(again), functions(ready, ready))),
			[]string{"Warning MeasurerRestarted"}},
		"done":    {statusOf(newScope(launched, withRecords(open), functions(ready, ready))), statusOf(newScope(launched, withRecords(done), functions(ready, ready))), []string{"Normal Measured", "Normal Succeeded"}},
		"failure": {statusOf(newScope(launched, withRecords(open), functions(ready, ready))), statusOf(newScope(launched, withRecords(open))), []string{"Warning ChainFailed"}},
		"not accepted": {statusOf(newScope(launched, withRecords(open), functions(ready, ready))), statusOf(newScope(launched, withRecords(done), functions(ready, ready), criterion)),
			[]string{"Normal Measured", "Warning NotAccepted"}},
		"released": {v1alpha1.BenchmarkRunStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAdmitted}}},
			statusOf(newScope(admitted, finished(metav1.ConditionTrue, v1alpha1.ReasonSucceeded))), []string{"Normal Released", "Normal Succeeded"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range eventsBetween(&test.before, &test.after) {
				got = append(got, e.kind+" "+e.reason)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
