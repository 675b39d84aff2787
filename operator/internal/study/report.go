package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
)

// Kind is the kind of the report of a study.
const Kind = "StudyReport"

// Report is what the measurements say of a study's question and claims.
type Report struct {
	APIVersion  string    `json:"apiVersion"`
	Kind        string    `json:"kind"`
	GeneratedAt time.Time `json:"generatedAt"`
	WrittenBy   string    `json:"writtenBy"`
	// Completeness is Complete where every measurement of every suite succeeded.
	Completeness report.Completeness `json:"completeness"`
	Study        string              `json:"study"`
	Title        string              `json:"title"`
	Question     string              `json:"question"`
	// Published says where the claims are from.
	Published string `json:"published"`
	// Size is that of the suites, and LeavesOut what it does not show.
	Size      string   `json:"size"`
	LeavesOut []string `json:"leavesOut,omitempty"`
	// Answer are the figures that answer the question.
	Answer []Result `json:"answer"`
	Claims []Result `json:"claims"`
	// Counts are the claims by their verdicts.
	Counts     Counts      `json:"counts"`
	Executions []Execution `json:"executions"`
}

// Counts are numbers of claims.
type Counts struct {
	Reproduced    int `json:"reproduced"`
	SameDirection int `json:"sameDirection"`
	NotReproduced int `json:"notReproduced"`
	CannotBeShown int `json:"cannotBeShown"`
}

// String writes the counts as "2 reproduced, 1 in its direction, 1 not reproduced, 3 cannot be shown".
func (c Counts) String() string {
	return fmt.Sprintf("%d reproduced, %d in its direction, %d not reproduced, %d cannot be shown", c.Reproduced, c.SameDirection, c.NotReproduced, c.CannotBeShown)
}

// Execution is one that the figures are from.
type Execution struct {
	Suite          string                     `json:"suite"`
	Namespace      string                     `json:"namespace"`
	Name           string                     `json:"name"`
	StartTime      *metav1.Time               `json:"startTime,omitempty"`
	CompletionTime *metav1.Time               `json:"completionTime,omitempty"`
	Seed           int64                      `json:"seed"`
	Counts         v1alpha1.MeasurementCounts `json:"counts"`
	// Machines describe the nodes of the chains; absent where no run existed any more.
	Machines []string `json:"machines,omitempty"`
}

func executionOf(doc report.SuiteDocument) Execution {
	e := doc.Execution
	return Execution{Suite: e.Suite, Namespace: e.Namespace, Name: e.Name, StartTime: e.StartTime, CompletionTime: e.CompletionTime, Seed: e.Seed, Counts: doc.Counts, Machines: doc.Machines}
}

// none is shown where there is no figure.
const none = "-"

// Parts returns the report for people: the answer first, then the claims, then what the figures are from.
func (r Report) Parts() []report.Part {
	head := report.Part{Title: r.Title}
	add := func(name, value string) { head.Facts = append(head.Facts, report.Fact{Name: name, Value: value}) }
	add("Question", r.Question)
	for _, a := range r.Answer {
		switch {
		case a.Measured == "":
			add("Answer", a.Text+": not shown, because "+a.Why)
		case a.Why != "":
			add("Answer", a.Text+": "+a.Measured+"; "+a.Why)
		default:
			add("Answer", a.Text+": "+a.Measured)
		}
	}
	add("Claims", r.Counts.String())
	add("Published", r.Published)
	add("Manifests", "config/studies/"+r.Study+"/"+r.Size)
	var machines []string
	for _, e := range r.Executions {
		machines = append(machines, e.Machines...)
	}
	slices.Sort(machines)
	if machines = slices.Compact(machines); len(machines) > 0 {
		add("Machine", strings.Join(machines, "; "))
	}
	if r.Completeness == report.Partial {
		add("Figures", "PARTIAL: not every measurement was made and succeeded")
	}
	claims := report.Part{Title: "Claims", Notes: []string{"In parentheses is the 95 % interval."}, Columns: textColumns("Claim", "Published", "Measured", "Verdict", "Why")}
	for _, c := range r.Claims {
		claims.Rows = append(claims.Rows, []string{c.Text, c.Published, cmp.Or(c.Measured, none), verdictInWords[c.Verdict], cmp.Or(c.Why, none)})
	}
	parts := []report.Part{head, claims}
	if len(r.LeavesOut) > 0 {
		parts = append(parts, report.Part{Title: "What this size leaves out", Notes: r.LeavesOut})
	}
	executions := report.Part{Title: "Executions", Columns: textColumns("Suite", "Execution", "Begun", "Ended")}
	for _, name := range []string{"Succeeded", "Failed", "Of"} {
		executions.Columns = append(executions.Columns, report.TableColumn{Head: name, Number: true})
	}
	for _, e := range r.Executions {
		executions.Rows = append(executions.Rows, []string{
			e.Suite, e.Namespace + "/" + e.Name, at(e.StartTime), at(e.CompletionTime), fmt.Sprint(e.Counts.Succeeded), fmt.Sprint(e.Counts.Failed), fmt.Sprint(e.Counts.Total),
		})
	}
	return append(parts, executions)
}

func at(t *metav1.Time) string {
	if t == nil {
		return none
	}
	return t.UTC().Format(time.RFC3339)
}

func textColumns(heads ...string) []report.TableColumn {
	out := make([]report.TableColumn, len(heads))
	for i, head := range heads {
		out[i].Head = head
	}
	return out
}

var verdictInWords = map[Verdict]string{Reproduced: "reproduced", SameDirection: "same direction", NotReproduced: "not reproduced", CannotBeShown: "cannot be shown"}
