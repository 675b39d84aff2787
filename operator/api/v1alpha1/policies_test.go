package v1alpha1_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// policyFolder holds the rules that join several parts of an object.
var policyFolder = filepath.Join("..", "..", "..", "config", "admission")

// canaryPolicy is the name of the policy, and of its binding, of which canaryRun
// breaks a rule.
const canaryPolicy = "vnfbench-benchmarkrun-chain"

// canaryRun breaks one rule of a policy, so that its refusal shows that the
// policies are in force.
const canaryRun = `
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: canary, namespace: default}
spec:
  experiment:
    testbedRef: {name: lab}
    chain: [{name: r1, function: EncryptionGateway}]
`

// policies reads the objects of config/admission.
func policies() ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(policyFolder, "*-*.yaml"))
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			out = append(out, object)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no policy", policyFolder)
	}
	return out, nil
}

// installPolicies creates the policies and waits until the API server applies
// them, which takes it some seconds. It learns of them in their order, so the
// canary's comes last.
func installPolicies(ctx context.Context, server client.Client) error {
	objects, err := policies()
	if err != nil {
		return err
	}
	last := func(o *unstructured.Unstructured) int { return strings.Count(o.GetName(), canaryPolicy) }
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return last(a) - last(b) })
	if last(objects[len(objects)-1]) == 0 {
		return fmt.Errorf("%s holds no policy %s", policyFolder, canaryPolicy)
	}
	for _, object := range objects {
		if err := server.Create(ctx, object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	var canary map[string]any
	if err := yaml.Unmarshal([]byte(canaryRun), &canary); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		err := create(&unstructured.Unstructured{Object: canary})
		return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"), nil
	})
}
