package suite

import (
	"slices"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/series"
)

// TestChangeIsNamedWhereTheExperimentChanged has a fall of 5 % after a run that happens to be low. Where that run had the experiment of those before
// it, the change is that of the next one. Where each run has its own, the runs do not tell both apart: both are named, and either can be accepted.
func TestChangeIsNamedWhereTheExperimentChanged(t *testing.T) {
	values := []int64{101_800, 98_500, 100_300, 101_500, 98_900, 99_400, 101_200, 100_900, 98_700, 100_200, 101_400, 99_100, 97_400, 95_000}
	for name, c := range map[string]struct {
		rules func(run int) int
		want  []string
	}{
		"the experiment changed once": {func(run int) int { return 10 + 990*(run/(len(values)-1)) }, []string{"rules-1000"}},
		"each run has its own":        {func(run int) int { return run }, []string{"rules-12", "rules-13"}},
	} {
		n := &nights{t: t}
		for run, value := range values {
			n.add("nightly", "base", 1, c.rules(run), 0).edit(func(p *series.Point) { p.Value = value })
		}
		status := n.judge(gateOfThroughput, "nightly", nil)
		for status.Confirmation != nil && len(n.measured) < 100 {
			n.confirms(status.Confirmation, 100_000, 95_000)
			status = n.judge(gateOfThroughput, "nightly", madeOf(status))
		}
		change := status.Verdicts[0].Change
		if change == nil {
			t.Errorf("%s: %+v", name, status)
			continue
		}
		got := append(change.OtherRevisions, change.Revision)
		slices.Sort(got)
		if !slices.Equal(got, c.want) || !strings.Contains(status.Groups[0], c.want[len(c.want)-1]) {
			t.Errorf("%s: named %q, want %q: %s", name, got, c.want, status.Groups[0])
		}
		for _, revision := range c.want {
			accepted := gateOfThroughput.DeepCopy()
			accepted.Acknowledgements = []v1alpha1.Acknowledgement{{Kind: "Accepted", Revision: revision}}
			if got := n.judge(accepted, "nightly", status); got.Counts.Regression != 0 || strings.Contains(got.Message, "match no change") {
				t.Errorf("%s, accepted with %s: %+v", name, revision, got)
			}
		}
	}
}
