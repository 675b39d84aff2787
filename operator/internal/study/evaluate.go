package study

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vnfbench.io/operator/internal/analysis"
	"vnfbench.io/operator/internal/report"
)

// Verdict says what the measurement says of a claim.
type Verdict string

const (
	// Reproduced means that the whole 95 % interval is where the claim expects it, in direction and in size.
	Reproduced Verdict = "Reproduced"
	// SameDirection means that the direction is as published, and that the interval is not where its size is similar.
	SameDirection Verdict = "SameDirection"
	// NotReproduced means that none of the interval is there.
	NotReproduced Verdict = "NotReproduced"
	// CannotBeShown means that the measurement decides nothing, for the reason next to it.
	CannotBeShown Verdict = "CannotBeShown"
)

// Result is what was measured of a finding or a claim.
type Result struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Published is the value that was published, and Verdict what the measurement says of it; absent for a finding.
	Published string  `json:"published,omitempty"`
	Verdict   Verdict `json:"verdict,omitempty"`
	// Measured is in words, Estimate the figure with its 95 % interval: nanoseconds for one unit of the axis, a multiple, where two cross, or an
	// amount. They are absent where there is none.
	Measured string             `json:"measured,omitempty"`
	Estimate *analysis.Estimate `json:"estimate,omitempty"`
	// Why says what the verdict follows from, or why nothing was measured.
	Why string `json:"why,omitempty"`
	// Steps are what each value of an axis changes; absent for other findings.
	Steps []analysis.Step `json:"steps,omitempty"`
}

// find measures a finding, and says what the measurement says of what is expected.
func (f Finding) find(docs map[string]report.SuiteDocument, size Size) (measured, Verdict, string) {
	kinds := f.kinds()
	if len(kinds) == 0 {
		return measured{}, CannotBeShown, ""
	}
	name := size.Suites[kinds[0].suite()]
	doc, given := docs[name]
	if !given {
		problem := fmt.Sprintf("there is no document of suite %s", name)
		return measured{problem: problem}, CannotBeShown, problem
	}
	m := kinds[0].measure(doc)
	if m.problem != "" {
		return m, CannotBeShown, m.problem
	}
	verdict, why := kinds[0].judge(m)
	return m, verdict, strings.Join(slices.DeleteFunc([]string{why, m.note}, func(s string) bool { return s == "" }), "; ")
}

// Evaluate compares the documents of a study's suites, all of one size, with its claims.
func Evaluate(s Study, docs []report.SuiteDocument) (Report, error) {
	if len(docs) == 0 {
		return Report{}, errors.New("give the document of at least one suite: `kubectl vnfbench report suite/NAME -o json` writes it")
	}
	size, bySuite, err := s.sizeOf(docs)
	if err != nil {
		return Report{}, err
	}
	out := Report{
		APIVersion: report.APIVersion, Kind: Kind, Completeness: report.Complete, Study: s.Name, Title: s.Title, Question: s.Question, Published: s.Published,
		Size: size.Name, LeavesOut: size.LeavesOut, Answer: []Result{}, Claims: []Result{},
	}
	for _, doc := range docs {
		out.Executions = append(out.Executions, executionOf(doc))
		if doc.Completeness != report.Complete {
			out.Completeness = report.Partial
		}
	}
	if len(docs) < len(size.Suites) {
		out.Completeness = report.Partial
	}
	for _, f := range s.Answer {
		if because := f.whyNotShown(size); because != "" {
			out.Answer = append(out.Answer, Result{ID: f.ID, Text: f.Text, Why: because})
			continue
		}
		m, _, why := f.find(bySuite, size)
		out.Answer = append(out.Answer, Result{ID: f.ID, Text: f.Text, Measured: m.words, Estimate: m.estimate, Steps: m.steps, Why: whyNothing(m, why)})
	}
	for _, c := range s.Claims {
		m, verdict, why := c.find(bySuite, size)
		if because := c.whyNotShown(size); because != "" {
			verdict, why = CannotBeShown, because
		}
		if verdict == Reproduced {
			verdict, why = c.judgeSize(m, why)
		}
		switch verdict {
		case Reproduced:
			out.Counts.Reproduced++
		case SameDirection:
			out.Counts.SameDirection++
		case NotReproduced:
			out.Counts.NotReproduced++
		default:
			out.Counts.CannotBeShown++
		}
		out.Claims = append(out.Claims, Result{ID: c.ID, Text: c.Text, Published: c.Value, Verdict: verdict, Measured: m.words, Estimate: m.estimate, Steps: m.steps, Why: why})
	}
	return out, nil
}

// judgeSize judges a claim, whose direction is as published, by its size.
func (c Claim) judgeSize(m measured, why string) (Verdict, string) {
	if c.Similar == nil {
		return Reproduced, why
	}
	switch verdict, _ := c.Similar.judge(m.interval()); verdict {
	case Reproduced:
		return Reproduced, why + "; its size is similar, " + c.Similar.String()
	case NotReproduced:
		return SameDirection, why + "; its size is another one than " + c.Similar.String()
	}
	return SameDirection, why + "; whether its size is similar, " + c.Similar.String() + ", is not decided"
}

// whyNothing returns why a finding has no figure, or what its figure leaves out. A finding expects nothing.
func whyNothing(m measured, why string) string {
	if m.problem != "" {
		return why
	}
	return m.note
}

// sizeOf returns the size that documents are of, and the documents by the names of their suites.
func (s Study) sizeOf(docs []report.SuiteDocument) (Size, map[string]report.SuiteDocument, error) {
	var of *Size
	bySuite := map[string]report.SuiteDocument{}
	for _, doc := range docs {
		name := doc.Execution.Suite
		at := slices.IndexFunc(s.Sizes, func(size Size) bool { return slices.Contains(slices.Collect(maps.Values(size.Suites)), name) })
		switch _, twice := bySuite[name]; {
		case at < 0:
			return Size{}, nil, fmt.Errorf("suite %q is none of study %s, which has %s", name, s.Name, strings.Join(s.suites(), ", "))
		case twice:
			return Size{}, nil, fmt.Errorf("there are two documents of suite %q: give that of one execution", name)
		case of != nil && of.Name != s.Sizes[at].Name:
			return Size{}, nil, fmt.Errorf("suite %q is of size %s, and another document of size %s: give those of one size", name, s.Sizes[at].Name, of.Name)
		}
		of, bySuite[name] = &s.Sizes[at], doc
	}
	return *of, bySuite, nil
}

// suites returns the names of the suites of all sizes.
func (s Study) suites() []string {
	var out []string
	for _, size := range s.Sizes {
		out = slices.AppendSeq(out, maps.Values(size.Suites))
	}
	return slices.Sorted(slices.Values(out))
}
