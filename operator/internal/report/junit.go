package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/acceptance"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
	SystemOut  string          `xml:"system-out,omitempty"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	ClassName string        `xml:"classname,attr"`
	Name      string        `xml:"name,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitFailure `xml:"failure,omitempty"`
	Skipped   *junitSkipped `xml:"skipped,omitempty"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// writeJUnit writes a test case "measured" and one for each criterion and frame
// size. A run that has not ended fails: a pipeline that asks too early must not
// pass.
func writeJUnit(w io.Writer, doc Document) error {
	suite := junitSuite{
		Name:       fmt.Sprintf("vnfbench %s/%s", doc.Run.Namespace, doc.Run.Name),
		Time:       "0",
		Properties: properties(doc),
		Cases:      slices.Concat([]junitCase{measuredCase(doc)}, criterionCases(doc), baselineCases(doc)),
	}
	if start := doc.Run.StartTime; start != nil {
		suite.Timestamp = start.UTC().Format("2006-01-02T15:04:05")
		if end := doc.Run.CompletionTime; end != nil {
			suite.Time = strconv.FormatFloat(end.Sub(start.Time).Seconds(), 'f', -1, 64)
		}
	}
	for _, warning := range doc.Warnings {
		suite.SystemOut += fmt.Sprintf("warning %s: %s\n", warning.Code, warning.Message)
	}
	return encodeJUnit(w, suite)
}

// encodeJUnit counts the cases of a test suite, and writes it.
func encodeJUnit(w io.Writer, suite junitSuite) error {
	for _, c := range suite.Cases {
		suite.Tests++
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Skipped != nil {
			suite.Skipped++
		}
	}
	body, err := xml.MarshalIndent(junitSuites{
		Tests: suite.Tests, Failures: suite.Failures, Skipped: suite.Skipped, Suites: []junitSuite{suite},
	}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, body)
	return err
}

func properties(doc Document) []junitProperty {
	list := []junitProperty{
		{"run", doc.Run.Name},
		{"completeness", string(doc.Completeness)},
		{"testbed", doc.Run.Testbed},
		{"generatedAt", doc.GeneratedAt.Format(time.RFC3339)},
	}
	if doc.Plan != nil {
		list = append(list, junitProperty{"planDigest", doc.Plan.Digest},
			junitProperty{"generatorNode", doc.Plan.GeneratorNode}, junitProperty{"deviceNode", doc.Plan.DeviceNode})
	}
	return list
}

// newCase names the experiment and not the run, so that a CI system keeps the
// history of a case over all runs.
func newCase(doc Document, name string) junitCase {
	return junitCase{ClassName: fmt.Sprintf("vnfbench.%s.%s", doc.Run.Namespace, doc.Run.Experiment), Name: name, Time: "0"}
}

// measuredCase fails unless the run has ended with its figures.
func measuredCase(doc Document) junitCase {
	c := newCase(doc, "measured")
	switch {
	case !doc.Ended():
		c.Failure = &junitFailure{Type: v1alpha1.ReasonProgressing, Message: "the run has not ended: " + doc.partialCause()}
	case doc.Measured.Status != metav1.ConditionTrue:
		c.Failure = failure(doc.Measured, doc.Succeeded)
	case doc.Succeeded.Status != metav1.ConditionTrue && doc.Accepted.Reason != v1alpha1.ReasonNotAccepted && doc.Accepted.Reason != v1alpha1.ReasonInconclusive:
		// Measured, not refused, and still failed.
		c.Failure = failure(doc.Succeeded)
	}
	return c
}

// failure returns the text of the first condition that is False with a reason.
func failure(conditions ...Outcome) *junitFailure {
	f := &junitFailure{Type: v1alpha1.ReasonNotMeasured, Message: "the run was not measured"}
	for _, c := range conditions {
		if c.Status == metav1.ConditionFalse && c.Reason != "" {
			return &junitFailure{Type: c.Reason, Message: c.Message}
		}
	}
	return f
}

// criterionCases returns cases from the spec, so that a run has the same cases for
// every end. Those without a verdict are skipped, and "measured" fails instead.
func criterionCases(doc Document) []junitCase {
	verdicts := verdictsByKey(doc)
	var cases []junitCase
	for _, criterion := range doc.Experiment.Acceptance {
		for _, key := range acceptance.Keys(criterion, doc.Experiment) {
			c := newCase(doc, fmt.Sprintf("%s, %s", criterion.Name, acceptance.About(key)))
			verdict, judged := verdicts[judgedFigure{criterion.Name, key}]
			switch {
			case !judged && doc.Measured.Status == metav1.ConditionTrue && doc.Ended():
				c.Failure = &junitFailure{Type: v1alpha1.ReasonNotMeasured, Message: "the run ended without a verdict on this criterion"}
			case !judged:
				c.Skipped = &junitSkipped{Message: "there is no verdict yet, because the run was not measured"}
			default:
				c.judge(verdict)
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// judge sets what a verdict makes of its case: one that is inconclusive neither passes nor fails.
func (c *junitCase) judge(verdict v1alpha1.Verdict) {
	switch verdict.Result {
	case v1alpha1.VerdictPassed:
	case v1alpha1.VerdictFailed:
		c.Failure = &junitFailure{Type: v1alpha1.ReasonNotAccepted, Message: verdict.Message}
	default:
		c.Skipped = &junitSkipped{Message: fmt.Sprintf("%s: %s", verdict.Result, verdict.Message)}
	}
}

// judgedFigure is what a verdict judges.
type judgedFigure struct {
	criterion string
	v1alpha1.FigureKey
}

func verdictsByKey(doc Document) map[judgedFigure]v1alpha1.Verdict {
	verdicts := map[judgedFigure]v1alpha1.Verdict{}
	for _, verdict := range doc.Acceptance {
		verdicts[judgedFigure{verdict.Criterion, verdict.FigureKey}] = verdict
	}
	return verdicts
}
