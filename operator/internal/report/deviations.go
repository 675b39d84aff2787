package report

import (
	"fmt"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
)

// What RFC 2544 asks of trials: section 24, 26.2 and 23.
const (
	rfc2544Trial        = 60 * time.Second
	rfc2544LatencyTrial = 120 * time.Second
	rfc2544Settle       = 2 * time.Second
	rfc2544Tag          = 60 * time.Second
	rfc2544Streams      = 20
)

// settingDeviations returns where the run's settings differ from RFC 2544. A field
// of 0 did not get the API server's default and is ignored.
func settingDeviations(spec v1alpha1.Experiment, results []v1alpha1.FrameResult) []string {
	var found []string
	note := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }

	m := spec.Measurements
	if m.Throughput != nil {
		found = append(found, methodDeviations(m.Throughput)...)
		for _, goal := range m.Throughput.Goals {
			if got := milliseconds(goal.TrialMilliseconds); got != 0 && got < rfc2544Trial {
				note("throughput %s: full-length trials last %s, RFC 2544 section 24 asks for %s", goal.Name, brief(got), brief(rfc2544Trial))
			}
			if goal.LossPartsPerMillion > 0 {
				note("throughput %s: %d ppm loss are allowed, RFC 2544 section 26.1 allows none", goal.Name, goal.LossPartsPerMillion)
			}
			if goal.ExceedPercent > 0 {
				note("throughput %s: %d %% of the trials' time may exceed the loss, RFC 2544 section 26.1 allows none", goal.Name, goal.ExceedPercent)
			}
		}
	}
	if m.Latency != nil {
		found = append(found, latencyDeviations(m)...)
	}
	found = append(found, fixedLoadDeviations(m.FixedLoad)...)
	found = append(found, frameLossRateDeviations(m.FrameLossRate)...)
	found = append(found, backToBackDeviations(m.BackToBack, results)...)
	found = append(found, soakDeviations(m.Soak)...)
	found = append(found, tableDeviations(results)...)
	return found
}

func latencyDeviations(m v1alpha1.Measurements) (found []string) {
	note := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if tagged := m.Latency.TaggedFrame; tagged != nil {
		if tagged.Streams < rfc2544Streams {
			note("latency: %d tagged frames for each load, RFC 2544 section 26.2 asks for at least %d", tagged.Streams, rfc2544Streams)
		}
		if got := milliseconds(tagged.StreamMilliseconds); got < rfc2544LatencyTrial {
			note("latency: streams last %s, RFC 2544 section 26.2 asks for at least %s", brief(got), brief(rfc2544LatencyTrial))
		}
		if got := milliseconds(tagged.AfterMilliseconds); got != rfc2544Tag {
			note("latency: a frame is tagged after %s, RFC 2544 section 26.2 asks for %s", brief(got), brief(rfc2544Tag))
		}
		return found
	}
	if got := milliseconds(m.Latency.TrialMilliseconds); got != 0 && got < rfc2544LatencyTrial {
		note("latency: trials last %s, RFC 2544 section 26.2 asks for %s", brief(got), brief(rfc2544LatencyTrial))
	}
	trials := "one trial"
	if m.Repeats > 1 {
		trials = fmt.Sprintf("%d trials", m.Repeats)
	}
	note("latency: frames are timed throughout %s for each load, RFC 2544 section 26.2 times one frame in each of 20 trials at the throughput rate", trials)
	return found
}

// methodDeviations names a search that RFC 2544 does not describe. The RFC's
// section 26.1 lowers the load on loss, and raises it without (erratum 422).
func methodDeviations(spec *v1alpha1.Throughput) []string {
	switch spec.Method {
	case v1alpha1.MethodMLRsearch:
		return []string{"throughput: the method is MLRsearch (RFC 9971), RFC 2544 section 26.1 searches by single trials"}
	case v1alpha1.MethodTST009:
		return []string{"throughput: the method is TST009, the binary search of ETSI GS NFV-TST 009 over equal steps of load"}
	case v1alpha1.MethodTST009WithLossVerification:
		return []string{"throughput: the method is TST009WithLossVerification, which repeats trials with loss (ETSI GS NFV-TST 009); RFC 2544 section 26.1 counts every trial"}
	}
	return nil
}

func milliseconds(n int32) time.Duration { return time.Duration(n) * time.Millisecond }
