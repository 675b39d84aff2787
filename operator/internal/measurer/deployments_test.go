package measurer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/testing/configmaptest"
)

// relauncher answers a measurer that asks for another deployment, as the controller does.
type relauncher struct {
	*configmaptest.Server
	t *testing.T
	// driving reports whether a driver is open.
	driving func() bool
}

func (r relauncher) Patch(ctx context.Context, name string, pt types.PatchType, body []byte, opts metav1.PatchOptions, sub ...string) (*corev1.ConfigMap, error) {
	answer, err := r.Server.Patch(ctx, name, pt, body, opts, sub...)
	data := r.Data()
	var progress measure.Progress
	var deployments []measure.Deployment
	_ = json.Unmarshal([]byte(data[measure.KeyProgress]), &progress)
	_ = json.Unmarshal([]byte(data[measure.KeyDeployments]), &deployments)
	if !progress.Calibrated || data[measure.KeyChain] == measure.ChainReady && progress.Deployment <= len(deployments) {
		return answer, err
	}
	if r.driving() {
		r.t.Error("the measurer asks for another deployment while it uses one")
	}
	text, _ := json.Marshal(append(deployments, measure.Deployment{Number: len(deployments) + 1}))
	r.Edit(func(c *corev1.ConfigMap) {
		c.Data[measure.KeyChain], c.Data[measure.KeyDeployments] = measure.ChainReady, string(text)
	})
	return answer, err
}

// redeployed returns a lab whose repeats have a deployment each, and its measurers.
func redeployed(t *testing.T) (*lab, func(string) *Measurer) {
	l := newLab()
	l.repeats, l.scope = 2, v1alpha1.RepeatChain
	return l, func(pod string) *Measurer {
		m := l.measurer(pod)
		m.Results.ConfigMaps = relauncher{l.server, t, func() bool { return m.driver != nil && m.path == "Chain" }}
		return m
	}
}

// TestRepeatsHaveADeploymentEach checks that a measurer that is killed in a trial anywhere is followed by one that continues on the
// deployment of the repeat, and that no deployment is asked for that no repeat needs.
func TestRepeatsHaveADeploymentEach(t *testing.T) {
	undisturbed, measurer := redeployed(t)
	if err := measurer("a").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, want := undisturbed.stored(t)
	checkDeployments(t, before.Records())
	if got := want.Frames[1].Throughput[0].Statistics; len(got) != 1 || got[0].N != 2 {
		t.Fatalf("%+v", got)
	}
	longest := longestUnit(before.Records())
	for k := 0; k < undisturbed.trials; k += 3 {
		t.Run(fmt.Sprintf("before trial %d", k), func(t *testing.T) {
			l, measurer := redeployed(t)
			killed := errors.New("killed")
			l.before = func(trial int, _ *measure.Outcome) error {
				if trial == k {
					return killed
				}
				return nil
			}
			if err := measurer("a").Run(t.Context()); !errors.Is(err, killed) {
				t.Fatalf("got %v", err)
			}
			if err := measurer("b").Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			store, got := l.stored(t)
			checkDeployments(t, store.Records())
			if diff := cmp.Diff(want, got, anySessions); diff != "" || !store.Finished() || l.trials > undisturbed.trials+1+longest {
				t.Errorf("%d trials: %s", l.trials, diff)
			}
		})
	}
}

// checkDeployments: the n-th repeat of every size is made with the n-th deployment.
func checkDeployments(t *testing.T, records []measure.Record) {
	t.Helper()
	for _, r := range records {
		want := r.Repeat + 1
		if r.Stage == measure.StageCalibrateRate || r.Stage == measure.StageCalibrateLatency {
			want = 0
		}
		if r.Deployment != want {
			t.Errorf("trial %d, stage %s of repeat %d, was made with deployment %d", r.Index, r.Stage, r.Repeat, r.Deployment)
		}
	}
}

// TestNeighborsOfADeployment checks that the neighbors of each deployment are started and stopped, and that what they
// did is added up.
func TestNeighborsOfADeployment(t *testing.T) {
	a := &agent{}
	l, _ := withNeighbor(t, a)
	l.repeats, l.scope = 2, v1alpha1.RepeatChain
	m := l.measurer("a")
	m.Instructions = compared(m.Instructions)
	m.Instructions.NoisyNeighbors = ""
	m.Results.ConfigMaps = relauncher{l.server, t, func() bool { return m.path == "Chain" }}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"start", "stop", "start", "stop"}, a.calls); diff != "" {
		t.Error(diff)
	}
	if got := m.store.Neighbors(); len(got) != 1 || len(got[0].Stressors) != 1 || got[0].Stressors[0].Operations != 14 {
		t.Errorf("%+v, want what both did", got)
	}
}
