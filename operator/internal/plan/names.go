package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

const (
	// maxBaseBytes leaves room for "-", 8 digits, "-fn-" and a function's
	// name of 20 characters within the 63 of a DNS label.
	maxBaseBytes = 30
	hashDigits   = 8
	// maxFunctions is the longest chain that the API takes.
	maxFunctions = 8
)

// Names are the names of a run's objects. They follow only from the run's name and UID, so that
// they are known before there is a plan and after it is lost.
type Names struct {
	// Base is the beginning of every name, at most 39 characters.
	Base string
	// Plan and Results are ConfigMaps.
	Plan    string
	Results string
	// Job is the measurer's; ServiceAccount, Role and RoleBinding are its rights.
	Job            string
	ServiceAccount string
	Role           string
	RoleBinding    string
	// MeasurerPolicy and FunctionsPolicy are NetworkPolicies.
	MeasurerPolicy  string
	FunctionsPolicy string
	// Observer is a Pod, and the NetworkPolicy of that Pod.
	Observer        string
	EndpointsPolicy string
	NeighborsPolicy string
}

// NamesOf returns the names of a run's objects.
func NamesOf(run *v1alpha1.BenchmarkRun) Names { return namesOf(run.Name, run.UID) }

func namesOf(run string, uid types.UID) Names {
	if len(run) > maxBaseBytes {
		run = run[:maxBaseBytes]
	}
	base := strings.Trim(strings.ReplaceAll(run, ".", "-"), "-") + "-" + hash(uid)
	return Names{
		Base:            base,
		Plan:            base + "-plan",
		Results:         base + "-results",
		Job:             base + "-measurer",
		ServiceAccount:  base + "-measurer",
		Role:            base + "-measurer",
		RoleBinding:     base + "-measurer",
		MeasurerPolicy:  base + "-measurer",
		FunctionsPolicy: base + "-functions",
		Observer:        base + "-observer",
		EndpointsPolicy: base + "-endpoints",
		NeighborsPolicy: base + "-neighbors",
	}
}

// Chunks returns the names that the ConfigMaps with the closed chunks of the results can have.
func (n Names) Chunks() []string {
	names := make([]string, measure.MaximumChunks)
	for i := range names {
		names[i] = measure.ChunkName(n.Results, i)
	}
	return names
}

// Workloads returns the names of what a run launches: its Job, its pods and its virtual machines. They follow from its experiment,
// with or without defaults.
func (n Names) Workloads(e *v1alpha1.Experiment) []string {
	names := make([]string, 0, 4+len(e.Chain)+len(e.NoisyNeighbors))
	names = append(names, n.Job, n.Observer)
	for i := range e.Chain {
		names = append(names, n.Function(e.Chain[i].Name))
	}
	if e.Measurements.TCP != nil {
		names = append(names, n.Endpoint(measure.EndWest), n.Endpoint(measure.EndEast))
	}
	for i := range e.NoisyNeighbors {
		names = append(names, n.Neighbor(e.NoisyNeighbors[i].Name))
	}
	return names
}

// Function returns the name of a function's Pod, and of the Pod's ConfigMap.
func (n Names) Function(function string) string { return n.Base + "-fn-" + function }

// Keys returns the name of the Secret with an encryption gateway's keys. Secrets' names may be
// longer than a DNS label.
func (n Names) Keys(function string) string { return n.Base + "-keys-" + function }

// Endpoint returns the name of the Pod at an end of the TCP connections, west or east, and of the
// Pod's ConfigMap.
func (n Names) Endpoint(end string) string { return n.Base + "-tcp-" + end }

// Neighbor returns the name of a neighbor's Pod or VirtualMachineInstance.
func (n Names) Neighbor(name string) string { return n.Base + "-nb-" + name }

// network returns the name of a NetworkAttachmentDefinition: one for each end of each segment.
func (n Names) network(segment, end string) string { return n.Base + "-net-" + segment + "-" + end }

// BridgeNames returns all bridges that runs on a testbed can have left on a node. They belong to
// the testbed and the place in the chain, so runs use them again and their number is bounded.
func BridgeNames(testbed *v1alpha1.Testbed) []string {
	names := make([]string, 0, maxFunctions+2+maxNeighbors)
	for i := range maxFunctions + 1 {
		names = append(names, bridgeName(testbed.UID, fmt.Sprint(i)))
	}
	for i := range maxNeighbors {
		names = append(names, bridgeName(testbed.UID, neighborSegment(i)))
	}
	return append(names, bridgeName(testbed.UID, calibrationSegment))
}

// CleanupName returns the name of the Job that deletes a testbed's bridges from a node.
func CleanupName(testbed *v1alpha1.Testbed, node string) string {
	return "vnfbench-cleanup-" + hash(testbed.UID) + "-" + hash(types.UID(node))
}

// calibrationSegment replaces the segment's number in names.
const calibrationSegment = "c"

// bridgeName returns at most 13 of the 15 characters that the kernel allows.
func bridgeName(testbed types.UID, segment string) string {
	return "vb" + hash(testbed) + "-" + segment
}

func hash(uid types.UID) string {
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:])[:hashDigits]
}
