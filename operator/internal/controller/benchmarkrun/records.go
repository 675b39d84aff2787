package benchmarkrun

import (
	"cmp"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator/registry"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/trialstore"
)

// records are the results' ConfigMap and its chunks, decoded: all that the measurer has reported.
type records struct {
	uid types.UID
	// version is that of the ConfigMap that was read.
	version   string
	holder    *measure.Holder
	progress  *measure.Progress
	generator *measure.GeneratorState
	device    *measure.DeviceState
	neighbors []measure.NeighborState
	failure   *measure.FailureState
	done      bool
	// chainOpen is true if the measurer may use the chain.
	chainOpen bool
	// deployments of the chain that were ready, oldest first. The last is the one that is open.
	deployments []measure.Deployment
	trials      []measure.Record
}

// decodeRecords reads the ConfigMap, and what is new of its trials. An error means that another writer has
// written to it: the measurer's own patches are always whole.
func decodeRecords(configMap *corev1.ConfigMap, reading *trialstore.Reading, get trialstore.Get) (*records, error) {
	r := &records{uid: configMap.UID, version: configMap.ResourceVersion, chainOpen: configMap.Data[measure.KeyChain] == measure.ChainReady}
	_, r.done = configMap.Data[measure.KeyDone]
	for key, into := range map[string]any{
		measure.KeyHolder:    &r.holder,
		measure.KeyProgress:  &r.progress,
		measure.KeyGenerator: &r.generator,
		measure.KeyDevice:    &r.device,
		measure.KeyNeighbors: &r.neighbors,
		measure.KeyFailure:   &r.failure,

		measure.KeyDeployments: &r.deployments,
	} {
		if value, found := configMap.Data[key]; found {
			if err := measure.Unmarshal(value, into); err != nil {
				return nil, fmt.Errorf("key %q: %w", key, err)
			}
		}
	}
	if r.failure != nil {
		*r.failure = r.failure.Checked()
	}
	trials, err := reading.Read(configMap, get)
	if err != nil {
		return nil, err
	}
	r.trials = trials
	if err := cmp.Or(r.checkSessions(), r.checkDeployments()); err != nil {
		return nil, err
	}
	return r, nil
}

// maxSessions limits how often the records are replayed: once for each session.
const maxSessions = 64

// checkSessions refuses more sessions than the operator replays for one run while the others wait.
func (r *records) checkSessions() error {
	sessions := 0
	for i := range r.trials {
		if i == 0 || r.trials[i].Measurer != r.trials[i-1].Measurer {
			sessions++
		}
	}
	if sessions > maxSessions {
		return fmt.Errorf("its trials are of %d sessions, and at most %d are evaluated", sessions, maxSessions)
	}
	return nil
}

// checkDeployments refuses deployments that the operator did not add, and the wish for one that no
// measurer has: it takes the next at most.
func (r *records) checkDeployments() error {
	if len(r.deployments) > maxDeployments {
		return fmt.Errorf("it has %d deployments, and at most %d are kept", len(r.deployments), maxDeployments)
	}
	last := 0
	for _, d := range r.deployments {
		if d.Number <= last || d.Number >= math.MaxInt32 || len(d.Functions) > maxFunctions {
			return fmt.Errorf("deployment %d was not added by the operator", d.Number)
		}
		last = d.Number
	}
	if r.progress != nil && r.progress.Deployment > last+1 {
		return fmt.Errorf("the progress asks for deployment %d after %d", r.progress.Deployment, last)
	}
	return nil
}

// holderOf returns the measurer that holds the results, nil if none is known.
func holderOf(configMap *corev1.ConfigMap) *measure.Holder {
	var holder measure.Holder
	if measure.Unmarshal(configMap.Data[measure.KeyHolder], &holder) != nil {
		return nil
	}
	return &holder
}

// restarts returns the number of measurers before the current one.
func (r *records) restarts() int32 {
	if r == nil || r.holder == nil {
		return 0
	}
	return int32(min(max(r.holder.Restarts, 0), 1<<30))
}

// otherMeasurer returns a cause if the measurer and the operator that made the plan were
// built with different protocols, or nil. An image that a user builds or names is not
// replaced with the operator.
func (s *scope) otherMeasurer() *cause {
	if s.plan.Protocol == "" || s.holder == nil || s.holder.Protocol == s.plan.Protocol {
		return nil
	}
	remedy := "use the image of the operator's version, or leave the testbed's spec.generator.image out"
	if g := registry.Of(v1alpha1.GeneratorDriver(s.plan.Instructions.Driver.Name)); g != nil && g.OwnImage != nil {
		remedy = "build the image again from this operator's version, with " + g.OwnImage.Rebuild
	}
	return newCause(v1alpha1.ReasonVersionMismatch, "the measurer in image %q is of another version than the operator: %s, and apply the run under a new name", s.plan.Generator.Image, remedy)
}
