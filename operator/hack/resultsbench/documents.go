package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/report"
	"vnfbench.io/operator/internal/suite"
	"vnfbench.io/operator/internal/testing/documenttest"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/traffic/simulated"
)

const (
	// bases is how many runs are measured on simulated devices; documents are variants of them.
	bases = 12
	// namespaces, suites of each and cells of each: 120 series of each figure.
	namespaces, suites, cells = 5, 3, 8
	// interval is the time between two executions of a suite.
	interval = 6 * time.Hour
)

// begin is when the first document was made.
var begin = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// archived says what was written.
type archived struct {
	files      int
	bytes      int64
	namespaces []string
	// run, suite and experiment are among them.
	namespace, run, otherRun, suite, experiment string
}

// maker makes what tests make without a test.
type maker struct {
	testing.TB
	ctx context.Context
	err error
}

func (m *maker) Helper()                  {}
func (m *maker) Context() context.Context { return m.ctx }
func (m *maker) Fatal(args ...any)        { panic(errors.New(fmt.Sprint(args...))) }

// base measures a run with sizes, a chain and a device that the random numbers choose.
func base(ctx context.Context, random *rand.Rand) (doc report.Document, err error) {
	defer func() {
		if failed, isError := recover().(error); isError {
			err = failed
		}
	}()
	in := plantest.Input(1 + random.IntN(2))
	in.Run.Spec.Experiment.Traffic.FrameBytes = []int32{64, 512, 1518}[:1+random.IntN(3)]
	device := simulated.HardCap{CapacityFramesPerSecond: 300_000 + 200_000*random.Float64()}
	return documenttest.MakeOn(&maker{ctx: ctx}, in, device, "bench", nil), nil
}

// write writes documents of runs, and of the executions that made them.
func write(ctx context.Context, folder string, documents int, seed uint64) (a archived, err error) {
	random := rand.New(rand.NewPCG(seed, 0))
	var made []report.Document
	for range bases {
		doc, err := base(ctx, random)
		if err != nil {
			return a, err
		}
		made = append(made, doc)
	}
	for n := range namespaces {
		a.namespaces = append(a.namespaces, fmt.Sprintf("team-%d", n))
	}
	put := func(key string, write func(*bytes.Buffer) error) error {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			return err
		}
		name := filepath.Join(folder, key)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		a.files, a.bytes = a.files+1, a.bytes+int64(out.Len())
		return os.WriteFile(name, out.Bytes(), 0o600)
	}
	for number := 0; number < documents && ctx.Err() == nil; {
		round := number / (namespaces * suites * cells)
		place := number / cells % (namespaces * suites)
		namespace, name := a.namespaces[place%namespaces], fmt.Sprintf("suite-%d", place/namespaces)
		started := begin.Add(time.Duration(round)*interval + time.Duration(place)*time.Minute)
		e := execution(namespace, name, round, started, random)
		for cell := 0; cell < cells && number < documents; cell, number = cell+1, number+1 {
			doc := made[(place*cells+cell)%bases]
			if random.IntN(10) == 0 {
				doc = made[random.IntN(bases)]
			}
			variant(&doc, e, cell, started, random)
			if err := put(fmt.Sprintf("runs/%s/%s.%s.json", namespace, doc.Run.Name, doc.Run.UID), func(out *bytes.Buffer) error { return document.Write(out, doc, false) }); err != nil {
				return a, err
			}
			a.otherRun, a.run, a.namespace, a.suite, a.experiment = a.run, doc.Run.UID, namespace, name, doc.Run.Experiment
		}
		if err := put(fmt.Sprintf("suites/%s/%s.%s.json.zst", namespace, e.Execution.Name, e.Execution.UID), func(out *bytes.Buffer) error { return document.WriteSuite(out, e, true) }); err != nil {
			return a, err
		}
	}
	return a, ctx.Err()
}

// execution returns an execution with its cells.
func execution(namespace, name string, round int, started time.Time, random *rand.Rand) report.SuiteDocument {
	e := report.SuiteDocument{
		APIVersion: report.APIVersion, Kind: report.SuiteKind, Completeness: report.Complete, WrittenBy: "bench",
		Execution: report.Execution{
			Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, round), UID: uid(random), Suite: name,
			StartTime: new(metav1.NewTime(started)), CompletionTime: new(metav1.NewTime(started.Add(interval - time.Minute))),
		},
		Subject: &v1alpha1.Subject{Name: "router", Version: fmt.Sprintf("1.%d", round/10), Revision: uid(random)},
		Planned: report.Outcome{Status: metav1.ConditionTrue}, Succeeded: report.Outcome{Status: metav1.ConditionTrue, Reason: "Succeeded"},
		Counts: v1alpha1.MeasurementCounts{Total: cells, Succeeded: cells},
	}
	for cell := range cells {
		e.Cells = append(e.Cells, report.SuiteCell{Name: cellName(cell), State: v1alpha1.MeasurementSucceeded, Measurements: []report.SuiteMeasurement{{
			Run: suite.RunName(e.Execution.Name, cellName(cell), 1, 1), SuiteMeasurement: v1alpha1.SuiteMeasurement{State: v1alpha1.MeasurementSucceeded, Attempts: 1},
		}}})
	}
	return e
}

func cellName(cell int) string { return fmt.Sprintf("cell-%d", cell) }

func uid(random *rand.Rand) string {
	return fmt.Sprintf("%08x-%016x", random.Uint32(), random.Uint64())
}

// variant gives a document the names and times of a run of an execution.
func variant(doc *report.Document, e report.SuiteDocument, cell int, started time.Time, random *rand.Rand) {
	name := cellName(cell)
	created := started.Add(time.Duration(cell) * 10 * time.Minute)
	doc.Run = report.Run{
		Namespace: e.Execution.Namespace, Name: suite.RunName(e.Execution.Name, name, 1, 1), UID: uid(random), Experiment: suite.ExperimentName(e.Execution.Suite, name),
		Testbed: fmt.Sprintf("bed-%d", cell%3), CreationTime: metav1.NewTime(created), CompletionTime: new(metav1.NewTime(created.Add(9 * time.Minute))),
	}
	if random.IntN(20) == 0 {
		doc.Acceptance = []v1alpha1.Verdict{{Criterion: "rate", Result: v1alpha1.VerdictFailed}}
		doc.Accepted = report.Outcome{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotAccepted, Message: "rate failed"}
	}
}
