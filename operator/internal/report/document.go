// Package report turns a BenchmarkRun and its trials into a versioned result
// document, and the document into text for people and for machines: a terminal
// table, Markdown, JSON, CSV and JUnit XML.
//
// Everything here is pure: the same run, records and time give the same bytes.
package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// APIVersion and Kind of the document. The version changes when a reader of
// the old one would misunderstand the new one.
const (
	APIVersion = "report.vnfbench.io/v1"
	Kind       = "BenchmarkReport"
)

// Completeness is whether every requested figure is there.
type Completeness string

const (
	// Complete means that the run's condition Measured is True.
	Complete Completeness = "Complete"
	// Partial means that the run is not over or could not be measured to its end.
	Partial Completeness = "Partial"
)

// RateScope is what a rate is the rate of.
type RateScope string

// EachDirection means that every rate is that of one direction; with two
// directions the chain carries twice as much.
const EachDirection RateScope = "EachDirection"

// ForwardDirection means that every rate is that of the forward direction, and
// the reverse one carried spec.experiment.traffic.reversePercent of it.
const ForwardDirection RateScope = "ForwardDirection"

// Document is everything that is known about a run's result.
type Document struct {
	APIVersion  string    `json:"apiVersion"`
	Kind        string    `json:"kind"`
	GeneratedAt time.Time `json:"generatedAt"`
	// Completeness is Complete or Partial.
	Completeness Completeness `json:"completeness"`
	// Rates defines what every rate in the document means.
	Rates RateScope `json:"rates"`
	Run   Run       `json:"run"`
	// Succeeded, Measured and Accepted are the run's conditions.
	Succeeded Outcome `json:"succeeded"`
	Measured  Outcome `json:"measured"`
	Accepted  Outcome `json:"accepted"`
	// Progress is absent once the run has ended.
	Progress *v1alpha1.Progress `json:"progress,omitempty"`
	// QueuePosition is absent when the run does not wait for its testbed.
	QueuePosition *int32                `json:"queuePosition,omitempty"`
	Plan          *v1alpha1.PlanSummary `json:"plan,omitempty"`
	// Sessions are those of a measurement that was suspended or restarted.
	Sessions []v1alpha1.Session `json:"sessions,omitempty"`
	// Chain is the state of each function in the run.
	Chain []v1alpha1.FunctionReport `json:"chain,omitempty"`
	// Deployments are the launches of the chain.
	Deployments []v1alpha1.Deployment `json:"deployments,omitempty"`
	// Generator describes how the traffic was made, with the generator's own bias.
	Generator *v1alpha1.GeneratorReport `json:"generator,omitempty"`
	// Device is what the chain ran on.
	Device *v1alpha1.DeviceReport `json:"device,omitempty"`
	// NoisyNeighbors is what the neighbors did, and what they changed.
	NoisyNeighbors *v1alpha1.NoisyNeighborsReport `json:"noisyNeighbors,omitempty"`
	Results        []v1alpha1.FrameResult         `json:"results"`
	// Baseline has an earlier run's figures next to this run's.
	Baseline *v1alpha1.BaselineReport `json:"baseline,omitempty"`
	// TCP is absent where no TCP connections were measured.
	TCP *v1alpha1.TCPResult `json:"tcp,omitempty"`
	// Scaling is that of TCP's goodput over the number of connections, with two
	// numbers or more.
	Scaling []Scaling `json:"scaling,omitempty"`
	// Connections is absent where they were not measured.
	Connections *v1alpha1.ConnectionsResult `json:"connections,omitempty"`
	// CPU is what the chain used at each figure.
	CPU        []v1alpha1.CPUResult `json:"cpu,omitempty"`
	Acceptance []v1alpha1.Verdict   `json:"acceptance"`
	Warnings   []v1alpha1.Warning   `json:"warnings"`
	// Deviations from RFC 2544's trials, one sentence each (RFC 9971 asks for them).
	Deviations []string `json:"deviations"`
	// TrialSummary counts the recorded trials.
	TrialSummary TrialSummary `json:"trialSummary"`
	// Experiment is what the run was asked to measure.
	Experiment v1alpha1.Experiment `json:"experiment"`
	// Versions are those of the programs that took part.
	Versions Versions `json:"versions"`
	// Inputs are what the figures follow from, with Trials; absent where the run has no plan or the
	// user may not read it.
	Inputs *Inputs `json:"inputs,omitempty"`
	// Trials are the records themselves; absent unless asked for.
	Trials []measure.Record `json:"trials,omitempty"`
}

// Run names the run.
type Run struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Experiment names what was measured, the same for every run of it: the run's
	// label vnfbench.io/experiment, or the testbed with the chain's functions.
	Experiment     string       `json:"experiment"`
	Testbed        string       `json:"testbed"`
	CreationTime   metav1.Time  `json:"creationTime"`
	StartTime      *metav1.Time `json:"startTime,omitempty"`
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// Outcome is one condition of the run.
type Outcome struct {
	// Status is True, False or Unknown.
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason,omitempty"`
	Message string                 `json:"message,omitempty"`
}

// TrialSummary counts trials of every stage.
type TrialSummary struct {
	Recorded int `json:"recorded"`
	// Invalid trials were repeated, because the generator had doubts about itself.
	Invalid int `json:"invalid"`
	// SendingNanoseconds is the time in which frames were sent,
	// TotalNanoseconds that of the trials with settling and overheads.
	SendingNanoseconds int64 `json:"sendingNanoseconds"`
	TotalNanoseconds   int64 `json:"totalNanoseconds"`
}

// Source is what a document is made from in addition to the run.
type Source struct {
	// Trials may come in any order.
	Trials []measure.Record
	// Inputs are nil where they are not known.
	Inputs *Inputs
	// Version is that of the program that writes the document.
	Version string
}

// Build makes the document of a run, whether it has ended or not. A missing or repeated trial is an
// error, because figures from trials other than the shown ones cannot be checked.
func Build(run *v1alpha1.BenchmarkRun, source Source, now time.Time) (Document, error) {
	if run == nil {
		return Document{}, errors.New("building a report: there is no run")
	}
	trials, err := ordered(source.Trials)
	if err != nil {
		return Document{}, fmt.Errorf("building the report of %q: %w", run.Namespace+"/"+run.Name, err)
	}
	versions, err := source.Inputs.versions(source.Version)
	if err != nil {
		return Document{}, fmt.Errorf("building the report of %q: %w", run.Namespace+"/"+run.Name, err)
	}
	status := run.Status.DeepCopy()
	experiment := run.Spec.Experiment.DeepCopy()
	experiment.Measurements = experiment.Measurements.Filled()
	measured, err := newDone(*experiment, status.Results, trials, source.Inputs)
	if err != nil {
		return Document{}, fmt.Errorf("building the report of %q: %w", run.Namespace+"/"+run.Name, err)
	}
	doc := Document{
		APIVersion:     APIVersion,
		Kind:           Kind,
		GeneratedAt:    now.UTC(),
		Completeness:   Partial,
		Rates:          rateScope(run.Spec.Experiment.Traffic),
		Run:            identify(run),
		Succeeded:      outcome(status.Conditions, v1alpha1.ConditionSucceeded),
		Measured:       outcome(status.Conditions, v1alpha1.ConditionMeasured),
		Accepted:       outcome(status.Conditions, v1alpha1.ConditionAccepted),
		QueuePosition:  status.QueuePosition,
		Plan:           status.Plan,
		Sessions:       status.Sessions,
		Chain:          status.Chain,
		Deployments:    status.Deployments,
		Generator:      status.Generator,
		Device:         status.Device,
		NoisyNeighbors: status.NoisyNeighbors,
		Baseline:       status.Baseline,
		Results:        orEmpty(status.Results),
		TCP:            status.TCP,
		Scaling:        tcpScaling(status.TCP),
		Connections:    status.Connections,
		CPU:            status.CPU,
		Acceptance:     orEmpty(status.Acceptance),
		Warnings:       orEmpty(status.Warnings),
		Deviations:     orEmpty(measured.deviations()),
		TrialSummary:   sum(trials),
		Experiment:     *experiment,
		Versions:       versions,
		Inputs:         source.Inputs,
		Trials:         trials,
	}
	if doc.Measured.Status == metav1.ConditionTrue {
		doc.Completeness = Complete
	}
	if !doc.Ended() {
		doc.Progress = status.Progress
	}
	return doc, nil
}

// Ended reports whether the run has its answer, good or bad.
func (d Document) Ended() bool { return d.Succeeded.Status != metav1.ConditionUnknown }

func identify(run *v1alpha1.BenchmarkRun) Run {
	return Run{
		Namespace:      run.Namespace,
		Name:           run.Name,
		UID:            string(run.UID),
		Experiment:     ExperimentName(run),
		Testbed:        run.TestbedName(),
		CreationTime:   run.CreationTimestamp,
		StartTime:      run.Status.StartTime.DeepCopy(),
		CompletionTime: run.Status.CompletionTime.DeepCopy(),
	}
}

// ExperimentName returns the run's label, or else its testbed with its chain.
func ExperimentName(run *v1alpha1.BenchmarkRun) string {
	if name := run.Labels[v1alpha1.LabelExperiment]; name != "" {
		return name
	}
	return unnamed(run.TestbedName(), run.Spec.Experiment.Chain)
}

// unnamed returns the name of an experiment that was given none: its testbed with its chain.
func unnamed(testbed string, chain []v1alpha1.NetworkFunction) string {
	parts := []string{testbed}
	for _, f := range chain {
		parts = append(parts, f.Name)
	}
	return strings.Join(parts, "-")
}

func outcome(conditions []metav1.Condition, kind string) Outcome {
	condition := meta.FindStatusCondition(conditions, kind)
	if condition == nil {
		return Outcome{Status: metav1.ConditionUnknown}
	}
	return Outcome{Status: condition.Status, Reason: condition.Reason, Message: condition.Message}
}

func ordered(records []measure.Record) ([]measure.Record, error) {
	trials := slices.Clone(records)
	slices.SortStableFunc(trials, func(a, b measure.Record) int { return a.Index - b.Index })
	for i, trial := range trials {
		switch {
		case trial.Index < i:
			return nil, fmt.Errorf("trial %d is recorded twice", trial.Index)
		case trial.Index > i:
			return nil, fmt.Errorf("trial %d is missing from the %d records", i, len(trials))
		}
	}
	return trials, nil
}

func sum(trials []measure.Record) TrialSummary {
	total := TrialSummary{Recorded: len(trials)}
	for _, trial := range trials {
		if !trial.Outcome.Valid() {
			total.Invalid++
		}
		total.SendingNanoseconds += trial.Outcome.SendingNanoseconds
		total.TotalNanoseconds += trial.Outcome.TotalNanoseconds
	}
	return total
}

// orEmpty returns an empty list for nil, so that the JSON always has [] and never
// null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
