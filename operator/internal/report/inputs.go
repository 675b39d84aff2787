package report

import (
	"encoding/json"
	"fmt"

	strictjson "sigs.k8s.io/json"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// Inputs are what every figure follows from, together with the trials. Replay needs nothing else.
type Inputs struct {
	// Plan is the run's plan as the operator stored it: instructions are the measurer's, with every
	// seed; testbedSpec is the testbed's. Its layout is that of its field version.
	Plan json.RawMessage `json:"plan"`
	// Generator is what the driver found on both paths, and Device what the chain's node and
	// functions reported; nil before the measurer knew.
	Generator *measure.GeneratorState `json:"generator,omitempty"`
	Device    *measure.DeviceState    `json:"device,omitempty"`
}

// Versions are those of the programs that took part. Images are those of generator and chain.
type Versions struct {
	Operator string `json:"operator,omitempty"`
	Measurer string `json:"measurer,omitempty"`
	// Report is that of the program that wrote the document.
	Report string `json:"report,omitempty"`
	// Protocol names the layout of instructions and trials. Programs with the same one read them alike.
	Protocol string `json:"protocol,omitempty"`
	// Kubelet is that of the chain's node.
	Kubelet string `json:"kubelet,omitempty"`
}

// maxPlanBytes is how much a ConfigMap has.
const maxPlanBytes = 1 << 20

// planned is what a replay reads of a plan. It is independent of the plan's layout.
type planned struct {
	Version         int    `json:"version"`
	Digest          string `json:"digest"`
	Protocol        string `json:"protocol"`
	OperatorVersion string `json:"operatorVersion"`
	GeneratorNode   string `json:"generatorNode"`
	DeviceNode      string `json:"deviceNode"`
	Platform        struct {
		Device struct {
			KubeletVersion string `json:"kubeletVersion"`
		} `json:"device"`
	} `json:"platform"`
	Instructions measure.Instructions `json:"instructions"`
}

// NewInputs reads what the figures follow from: a stored plan, and the data of the results'
// ConfigMap. It returns nil without a plan.
func NewInputs(plan string, results map[string]string) (*Inputs, error) {
	if plan == "" {
		return nil, nil
	}
	in := &Inputs{Plan: json.RawMessage(plan)}
	if _, err := in.planned(); err != nil {
		return nil, err
	}
	for key, into := range map[string]any{measure.KeyGenerator: &in.Generator, measure.KeyDevice: &in.Device} {
		if value, found := results[key]; found {
			if err := measure.Unmarshal(value, into); err != nil {
				return nil, fmt.Errorf("reading %q of the results: %w", key, err)
			}
		}
	}
	return in, nil
}

func (in *Inputs) planned() (planned, error) {
	var p planned
	twice, err := strictjson.UnmarshalStrict(in.Plan, &p, strictjson.DisallowDuplicateFields)
	if err != nil {
		return planned{}, fmt.Errorf("reading the plan: %w", err)
	}
	if len(twice) > 0 {
		return planned{}, fmt.Errorf("reading the plan: %w", twice[0])
	}
	// A replay works through every repeat of everything that the plan names.
	if n := p.Instructions.Repeats; n > v1alpha1.MaxRepeats || len(in.Plan) > maxPlanBytes {
		return planned{}, fmt.Errorf("reading the plan: it has %d repeats in %d bytes, and a plan at most %d repeats in %d bytes", n, len(in.Plan), v1alpha1.MaxRepeats, maxPlanBytes)
	}
	return p, nil
}

// found returns what the measurer found besides the trials.
func (in *Inputs) found(p planned) procedure.Found {
	return procedure.Found{Generator: in.Generator, Device: in.Device, SameNode: p.GeneratorNode == p.DeviceNode}
}

// versions returns those of the inputs, and of the program that writes.
func (in *Inputs) versions(program string) (Versions, error) {
	v := Versions{Report: program}
	if in == nil {
		return v, nil
	}
	p, err := in.planned()
	if err != nil {
		return Versions{}, err
	}
	v.Operator, v.Protocol, v.Kubelet = p.OperatorVersion, p.Protocol, p.Platform.Device.KubeletVersion
	if in.Generator != nil {
		v.Measurer = in.Generator.MeasurerVersion
	}
	return v, nil
}
