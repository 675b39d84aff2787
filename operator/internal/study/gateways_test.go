package study_test

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/study"
	"vnfbench.io/operator/internal/testing/resultstest"
)

// gateways are two that carry so many bits per second with one thread, with more threads as the Universal Scalability Law and a limit say, and plain ones
// without encryption. A limit of 0 is none. An MTU of 1500 bytes makes all of it so many times smaller.
type gateways struct{ one, contention, coherency, limit, plain, small float64 }

// published are those of the study, with 20 threads where a suite does not limit them.
var published = gateways{one: 262.5e6, limit: 3.36e9, plain: 9.3e9, small: 2}

func (g gateways) measure(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
	n := number(values, "threads")
	if n == 0 {
		n = 20
	}
	rate := g.one * n / (1 + g.contention*(n-1) + g.coherency*n*(n-1))
	if g.limit > 0 {
		rate = min(rate, g.limit)
	}
	if values["encryption"] == "without" {
		rate = g.plain
	}
	if values["mtu"] == "1500" {
		rate /= g.small
	}
	return resultstest.Carried(rate * (1 + 0.004*float64(repeat-1)))
}

// TestGateways checks that gateways with the published figures reproduce what was published of them, and that those that scale without end and without
// cost do not.
func TestGateways(t *testing.T) {
	ids := []string{"cap", "efficiency", "four", "twice", "plain", "mtu"}
	r := evaluated(t, "gateway-scaling", execute(t, "gateway-scaling", "full", published.measure))
	for _, id := range ids {
		if c := claim(t, r, id); c.Verdict != study.Reproduced {
			t.Errorf("%+v", c)
		}
	}
	if a := answer(t, r, "stops"); a.Estimate == nil || *a.Estimate != (analysis.Estimate{Value: 14, Low: 12, High: 14}) || a.Measured != "14 (12 to 14)" {
		t.Errorf("%+v", a)
	}
	if c := claim(t, r, "rates"); !strings.HasPrefix(c.Measured, "5250.0 Mbit/s (") || !strings.HasSuffix(c.Measured, ") at 20, where 3360.0 Mbit/s were measured") {
		t.Errorf("%+v", c)
	}
	if a := answer(t, r, "contention"); a.Measured != "" || !strings.HasPrefix(a.Why, "the fit ends at 0, where a coefficient has no interval") {
		t.Errorf("%+v", a)
	}
	if a := answer(t, r, "coherency"); a.Measured == "" || !strings.HasPrefix(a.Why, "the points do not follow the law (F test, p = ") {
		t.Errorf("%+v", a)
	}
	free := evaluated(t, "gateway-scaling", execute(t, "gateway-scaling", "full", gateways{one: 1e9, plain: 20e9, small: 1}.measure))
	for _, id := range []string{"cap", "efficiency", "twice", "plain", "mtu"} {
		if c := claim(t, free, id); c.Verdict != study.NotReproduced {
			t.Errorf("%+v", c)
		}
	}
	if a := answer(t, free, "stops"); a.Measured != "it still grows at 20" || a.Estimate != nil {
		t.Errorf("%+v", a)
	}
}

// TestScalingCannotBeShown checks the reasons for which nothing is said of how gateways scale.
func TestScalingCannotBeShown(t *testing.T) {
	docs := execute(t, "gateway-scaling", "full", func(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
		m := published.measure(values, repeat)
		if values["streams"] == "20" && values["mtu"] == "9000" {
			*m.GoodputBitsPerSecond = *m.GoodputBitsPerSecond * int64(repeat+1) / 2
		}
		if values["mtu"] == "1500" && values["threads"] == "20" && repeat == 0 {
			m.GoodputNote = v1alpha1.NoteDoubtful
		}
		return m
	})
	r := evaluated(t, "gateway-scaling", docs)
	if a := answer(t, r, "stops"); a.Estimate != nil || a.Measured != "not known" {
		t.Errorf("%+v", a)
	}
	if a := answer(t, r, "stops-1500"); a.Measured != "14 (12 to 14)" || a.Why != "1 figures are no values, and left out" {
		t.Errorf("%+v", a)
	}
	// What has no value may be what matters: the gateways of a processor that is too slow for the ends of the connections.
	without := execute(t, "gateway-scaling", "full", func(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
		m := published.measure(values, repeat)
		if values["threads"] == "16" || values["threads"] == "20" {
			m.GoodputNote = v1alpha1.NoteDoubtful
		}
		return m
	})
	if c := claim(t, evaluated(t, "gateway-scaling", without), "efficiency"); c.Verdict != study.CannotBeShown || !strings.HasPrefix(c.Why, "there is no value at threads=16, 20,") {
		t.Errorf("%+v", c)
	}
	// A document that someone wrote may lack anything.
	for i := range without {
		for k := range without[i].Scalings {
			without[i].Scalings[k].Scaling = &analysis.Scaling{Growth: analysis.Growth{StopsAt: &analysis.Estimate{}}, Law: &analysis.Law{}}
		}
		for k := range without[i].Cells {
			for n := range without[i].Cells[k].Measurements {
				without[i].Cells[k].Measurements[n].GoodputNote = ""
			}
		}
	}
	empty := evaluated(t, "gateway-scaling", without)
	for _, id := range []string{"contention", "stops", "efficiency-measured", "one-thread"} {
		if a := answer(t, empty, id); a.Measured != "" || a.Why == "" {
			t.Errorf("%+v", a)
		}
	}
	if c := claim(t, empty, "efficiency"); c.Verdict != study.CannotBeShown {
		t.Errorf("%+v", c)
	}
	for i := range docs {
		docs[i].Scalings = nil
	}
	if a := evaluated(t, "gateway-scaling", docs).Answer[0]; a.Why != "the document does not say how Goodput scales over threads at mtu=9000, streams=20" || a.Measured != "" {
		t.Errorf("%+v", a)
	}
}

// TestGatewaysFasterThanTheEnds checks what is said of encryption where the ends of the connections limit what plain gateways carry: a plain gateway carries
// that or more.
func TestGatewaysFasterThanTheEnds(t *testing.T) {
	r := evaluated(t, "gateway-scaling", execute(t, "gateway-scaling", "full", func(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
		m := published.measure(values, repeat)
		if values["encryption"] == "without" {
			m.GoodputNote, m.GoodputDoubts = v1alpha1.NoteDoubtful, []v1alpha1.DoubtCode{v1alpha1.DoubtEndpointCeiling}
		}
		return m
	}))
	if c := claim(t, r, "plain"); c.Verdict != study.SameDirection || !strings.HasPrefix(c.Measured, "at least 2.7") || c.Estimate != nil || !strings.Contains(c.Why, "bounds (EndpointCeiling)") {
		t.Errorf("%+v", c)
	}
	if a := answer(t, r, "cost"); !strings.HasPrefix(a.Measured, "at most 0.36") || !strings.Contains(a.Why, "bounds (EndpointCeiling)") {
		t.Errorf("%+v", a)
	}
}
