package report

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/comparison"
	"vnfbench.io/operator/internal/figure"
)

// comparisonNotes returns what a reader must know before a comparison.
func comparisonNotes(columns []Column) []string {
	var notes, partial, emulated []string
	var docs []Document
	for _, column := range columns {
		docs = append(docs, column.Documents...)
	}
	for _, doc := range docs {
		if doc.Completeness == Partial {
			partial = append(partial, doc.Run.Name)
		}
		if isEmulated(doc) {
			emulated = append(emulated, doc.Run.Name)
		}
	}
	if len(partial) > 0 {
		notes = append(notes, fmt.Sprintf("Not everything was measured: %s.", namedRuns(partial)))
	}
	if len(emulated) > 0 {
		notes = append(notes, fmt.Sprintf("On an emulated processor (QEMU's TCG): %s. What a frame costs there is the emulator's work, many times that of a real processor and much the same for every NIC. Such figures say that frames pass, and not how fast a virtual machine or a NIC is; for that use nodes with KVM.", namedRuns(emulated)))
	}
	differs := func(what string, same func(a, b Document) bool) {
		var names []string
		for _, doc := range docs[1:] {
			if !same(docs[0], doc) {
				names = append(names, doc.Run.Name)
			}
		}
		if len(names) > 0 {
			notes = append(notes, fmt.Sprintf("Not the same %s as %s: %s.", what, docs[0].Run.Name, namedRuns(names)))
		}
	}
	floors := slices.ContainsFunc(docs, func(doc Document) bool {
		return slices.ContainsFunc(doc.figures(), figure.Figure.IsFloor)
	})
	if floors {
		notes = append(notes, "Some figures are lower limits, because the generator could not send more or no higher load was tried: the device may do better, so no change is given for them.")
	}
	differs("testbed", func(a, b Document) bool {
		return a.Run.Testbed == b.Run.Testbed
	})
	differs("nodes", func(a, b Document) bool {
		return a.Plan == nil || b.Plan == nil || a.Plan.GeneratorNode == b.Plan.GeneratorNode && a.Plan.DeviceNode == b.Plan.DeviceNode
	})
	differs("platform of the chain", func(a, b Document) bool {
		return fingerprintDigest(a) == "" || fingerprintDigest(b) == "" || fingerprintDigest(a) == fingerprintDigest(b)
	})
	differs("traffic", func(a, b Document) bool {
		return equality.Semantic.DeepEqual(a.Experiment.Traffic, b.Experiment.Traffic)
	})
	differs("measurements", func(a, b Document) bool {
		return a.Experiment.Measurements.SameAs(b.Experiment.Measurements)
	})
	return notes
}

func isEmulated(doc Document) bool {
	return doc.Device != nil && slices.ContainsFunc(doc.Device.Domains, func(d v1alpha1.DomainReport) bool {
		return strings.HasPrefix(d.Accelerator, "tcg")
	})
}

func fingerprintDigest(doc Document) string {
	if doc.Device == nil || doc.Device.Fingerprint == nil {
		return ""
	}
	return doc.Device.Fingerprint.Digest
}

// reasons are why differences are not tested, in words.
var reasons = []struct {
	reason comparison.Reason
	text   string
}{
	{comparison.ReasonNotRepeated, "a column has one value, which shows no scatter (n=1): compare several runs, or set measurements.repeats to 5 and repeatScope to Chain"},
	{comparison.ReasonOneDeployment, "the repeats of a column are on one deployment of the chain, and scatter less than two deployments differ (OneDeployment): compare several runs, or set measurements.repeatScope to Chain"},
	{comparison.ReasonFloor, "a column has a lower limit (Floor)"},
	{comparison.ReasonIrregular, "a column has an irregular search, or a load that was not reached (Irregular)"},
	{comparison.ReasonDoubtful, "the device's value may be another one (Doubtful); the reports of the runs name the doubts"},
	{comparison.ReasonLoadsDiffer, "they were measured at loads that are more than 5 % apart (LoadsDiffer): give the load in framesPerSecond"},
	{comparison.Reason(v1alpha1.LimitedByDrift), "repeats rise or fall one after the other (Drift)"},
	{comparison.Reason(v1alpha1.LimitedByLossInversion), "the device has more than one limit (LossInversion)"},
	{comparison.Reason(v1alpha1.LimitedByTooFewRepeats), "a method that halves has too few repeats (TooFewRepeats)"},
}

// testNotes say how many differences were tested, and why others were not.
func (c Comparison) testNotes() []string {
	var notes []string
	counts := map[comparison.Reason]int{}
	leftOut := 0
	for _, f := range c.Figures {
		for _, d := range f.Differences {
			if d.Verdict != "" {
				counts[d.WhyNotTested]++
			}
		}
		for _, cell := range f.Cells {
			leftOut = max(leftOut, cell.LeftOut)
		}
	}
	switch {
	case c.Tested > 1 && c.Adjustment == comparison.AdjustNone:
		notes = append(notes, fmt.Sprintf("%d differences were tested, each at 5 %%: of equal devices about %d of them would seem better or worse by chance. --adjust %s or %s takes that into account.",
			c.Tested, max(1, (c.Tested+10)/20), comparison.AdjustHolm, comparison.AdjustBenjaminiHochberg))
	case c.Tested > 0 && c.Adjustment != comparison.AdjustNone:
		notes = append(notes, fmt.Sprintf("%d differences were tested, and their p-values are adjusted together (%s). The intervals are not.", c.Tested, c.Adjustment))
	}
	if leftOut > 0 {
		notes = append(notes, "Some runs of a column have a doubtful value of a figure, which is left out of it: n is smaller.")
	}
	for _, r := range reasons {
		if n := counts[r.reason]; n > 0 {
			notes = append(notes, fmt.Sprintf("Not tested: %d, because %s.", n, r.text))
		}
	}
	return notes
}
