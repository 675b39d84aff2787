package benchmarkrun

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/trialstore"
)

// TestForeign reads records of a measurer of another version: it may be done when this version's procedure is not, or have
// made a trial that this version never makes. Every run in the envtests shows that both
// agree within one version.
func TestForeign(t *testing.T) {
	made, err := plan.Make(plantest.Input(1))
	if err != nil {
		t.Fatal(err)
	}
	for name, trials := range map[string][]measure.Record{
		"a trial would follow": nil,
		"another trial":        {{Stage: "Soak", Trial: measure.Trial{FrameBytes: 64}}},
	} {
		if foreign(made.Instructions, trials) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDecodeRecords(t *testing.T) {
	decoded, err := decodeRecords(&corev1.ConfigMap{Data: map[string]string{
		measure.KeyHolder:   `{"measurer":"m-1","uid":"u","restarts":2}`,
		measure.KeyProgress: `{"stage":"throughput, 64 bytes","calibrated":true,"trials":2,"percent":10,"remainingSeconds":60}`,
		measure.KeyDone:     `{}`, measure.KeyChain: measure.ChainReady,
		"trial-000001.json": `{"index":1,"stage":"Throughput"}`,
		"trial-000000.json": `{"index":0,"stage":"WarmUp"}`,
		"foreign":           "note",
	}}, &trialstore.Reading{}, trialstore.NoChunks)
	if err != nil {
		t.Fatal(err)
	}
	if !decoded.done || !decoded.chainOpen || !decoded.progress.Calibrated || decoded.restarts() != 2 || decoded.failure != nil {
		t.Errorf("got %+v", decoded)
	}
	for text, want := range map[string]*measure.Holder{"": nil, "?": nil, `{"uid":"u","protocol":"1"}`: {UID: "u", Protocol: "1"}} {
		if diff := cmp.Diff(want, holderOf(&corev1.ConfigMap{Data: map[string]string{measure.KeyHolder: text}})); diff != "" {
			t.Error(diff)
		}
	}
	if len(decoded.trials) != 2 || decoded.trials[1].Stage != measure.StageThroughput {
		t.Errorf("trials are %+v", decoded.trials)
	}
}

func TestDecodeRecordsRefusesDamage(t *testing.T) {
	sessions, trials := map[string]string{}, map[string]string{}
	for i := range maxSessions + 1 {
		sessions[fmt.Sprintf("trial-%06d.json", i)] = fmt.Sprintf(`{"index":%d,"stage":"WarmUp","load":"resumed","measurer":"m-%d"}`, i, i%2)
	}
	for i := range 4001 {
		trials[fmt.Sprintf("trial-%06d.json", i)] = fmt.Sprintf(`{"index":%d}`, i)
	}
	many, functions := make([]measure.Deployment, maxDeployments+1), make([]measure.DeployedFunction, maxFunctions+1)
	for i := range many {
		many[i].Number = i + 1
	}
	text := func(value any) string {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	for name, data := range map[string]map[string]string{
		"progress":    {measure.KeyProgress: "soon"},
		"trial":       {"trial-000000.json": "{"},
		"a gap":       {"trial-000001.json": `{"index":1}`},
		"a duplicate": {"trial-000000.json": `{"index":0}`, "trial-000001.json": `{"index":0}`},

		"many sessions":            sessions,
		"many trials":              trials,
		"a direction twice":        {"trial-000000.json": `{"index":0,"outcome":{"directions":[{"direction":"Forward"},{"direction":"Forward"}]}}`},
		"three directions":         {"trial-000000.json": `{"index":0,"outcome":{"directions":[{"direction":"Forward"},{"direction":"Reverse"},{"direction":"Reverse"}]}}`},
		"an unknown direction":     {"trial-000000.json": `{"index":0,"outcome":{"directions":[{"direction":"Up"}]}}`},
		"many deployments":         {measure.KeyDeployments: text(many)},
		"many functions":           {measure.KeyDeployments: text([]measure.Deployment{{Number: 1, Functions: functions}})},
		"a deployment below 1":     {measure.KeyDeployments: `[{"number":0}]`},
		"deployments out of order": {measure.KeyDeployments: `[{"number":2},{"number":2}]`},
		"a deployment above 2^31":  {measure.KeyDeployments: `[{"number":2147483648}]`},
		"a deployment far ahead":   {measure.KeyProgress: `{"deployment":3}`, measure.KeyDeployments: `[{"number":1}]`},
		"a deployment without one": {measure.KeyProgress: `{"deployment":2}`},
		"a deployment without end": {measure.KeyProgress: `{"deployment":9223372036854775807}`, measure.KeyDeployments: `[{"number":1}]`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := decodeRecords(&corev1.ConfigMap{Data: data}, &trialstore.Reading{}, trialstore.NoChunks); err == nil {
				t.Error("no error")
			}
		})
	}
}

// TestPanicOverRecordsEndsTheRun checks that records that the procedure cannot take end the run, and not
// each reconciliation.
func TestPanicOverRecordsEndsTheRun(t *testing.T) {
	s := newScope(launched, func(s *scope) { s.records = nil })
	s.evaluate()
	if s.recordsErr == nil || s.stack == nil {
		t.Fatalf("the error is %v", s.recordsErr)
	}
	if d := decide(s); d.action != actFinish || d.outcome.reason != v1alpha1.ReasonResultsLost || !strings.Contains(d.outcome.message, "cannot be evaluated") {
		t.Errorf("%s, %+v", d.action, d.outcome)
	}
}
