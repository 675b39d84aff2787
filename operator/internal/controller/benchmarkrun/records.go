package benchmarkrun

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/generator/registry"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/report"
)

// records is the results' ConfigMap, decoded: all that the measurer has reported.
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

// decodeRecords reads the ConfigMap. An error means that another writer has
// written to it: the measurer's own patches are always whole.
func decodeRecords(configMap *corev1.ConfigMap) (*records, error) {
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
			if err := json.Unmarshal([]byte(value), into); err != nil {
				return nil, fmt.Errorf("key %q: %w", key, err)
			}
		}
	}
	if r.failure != nil {
		*r.failure = r.failure.Checked()
	}
	trials, err := report.Records(configMap.Data)
	if err != nil {
		return nil, err
	}
	for i := range trials {
		if trials[i].Index != i {
			return nil, fmt.Errorf("trial %d is missing", i)
		}
	}
	r.trials = trials
	return r, nil
}

// holderOf returns the measurer that holds the results, nil if none is known.
func holderOf(configMap *corev1.ConfigMap) *measure.Holder {
	var holder measure.Holder
	if json.Unmarshal([]byte(configMap.Data[measure.KeyHolder]), &holder) != nil {
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
