package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const goodMeasurement = `
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkMeasurement
metadata: {name: measurement, namespace: default}
spec:
  suite: nightly
  execution: nightly-1
  cell: base
  repeat: 1
  run: nightly-1-base-1
  runUID: 6b1f0b06-3b0e-4b6c-9d0c-1f1d3f1b0c0e
  testbed: lab
  completionTime: "2026-01-02T03:04:05Z"
  experiment: {}
  part: 1
  common: {}
  points: [{}]
`

// executionOf makes an execution of a suite's manifest.
func executionOf(suite string) string {
	return strings.Replace(suite, "kind: BenchmarkSuite\n", "kind: BenchmarkSuiteRun\n", 1)
}

// smallest and largest are manifests of each kind that are admitted: the largest have as many parts that the rules join as the
// schema allows, and a suite and a measurement have as many bytes as the operator takes.
var (
	smallest = map[string]string{
		"BenchmarkRun": goodRun, "Testbed": goodTestbed, "BenchmarkSuite": goodSuite, "BenchmarkSuiteRun": executionOf(goodSuite),
		"BenchmarkMeasurement": goodMeasurement,
	}
	largest = map[string]string{
		"BenchmarkRun": largestRun(), "Testbed": largestTestbed(), "BenchmarkSuite": largestSuite(), "BenchmarkSuiteRun": executionOf(largestSuite()),
		"BenchmarkMeasurement": largestMeasurement(),
	}
)

// list writes a list in YAML with a number of items.
func list(number int, item func(i int) string) string {
	var items []string
	for i := range number {
		items = append(items, item(i))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func largestRun() string {
	return fmt.Sprintf(`
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: largest, namespace: default}
spec:
  experiment:
    chain: %s
    traffic: {frameBytes: [], frameRanges: [{from: 100, to: 107, step: 1}, {from: 108, to: 115, step: 1}, {from: 116, to: 123, step: 1}, {from: 124, to: 131, step: 1}]}
    measurements:
      noisyNeighbors: WithAndWithout
      throughput: {goals: [{name: a}, {name: b}, {name: c}, {name: d}]}
      latency: {loads: %s}
    noisyNeighbors: %s
    acceptance: %s
`,
		list(8, func(i int) string {
			return fmt.Sprintf("{name: g%d, function: EncryptionGateway, runtime: VirtualMachine, west: {mtuBytes: 1500}, east: {mtuBytes: 1500}}", i)
		}),
		list(8, func(i int) string { return fmt.Sprintf("{name: l%d, goal: d, percent: 50}", i) }),
		list(8, func(i int) string { return fmt.Sprintf("{name: n%d, kind: Network, framesPerSecond: 1}", i) }),
		list(32, func(i int) string {
			return fmt.Sprintf("{name: c%d, metric: LatencyP99Nanoseconds, load: l7, size: '%d', atMost: 1}", i, 100+i)
		}))
}

func largestTestbed() string {
	name := strings.Repeat("n", 253)
	labels := strings.NewReplacer("[", "{", "]", "}").Replace(list(16, func(i int) string { return fmt.Sprintf("label-%d: value", i) }))
	place := fmt.Sprintf("nodeSelector: %s, tolerations: %s", labels, list(16, func(i int) string { return fmt.Sprintf("{key: taint-%d, operator: Exists}", i) }))
	nic := "{attachment: HostDevice, hostDevice: {pciAddress: '0000:03:00.%d'}}"
	return fmt.Sprintf(`
apiVersion: vnfbench.io/v1alpha1
kind: Testbed
metadata: {name: largest}
spec:
  namespaces: {from: Selector, selector: {matchLabels: %[1]s, matchExpressions: %[2]s}}
  generator: {%[3]s, cpu: 4, memory: 16Ti, xdp: {scheduling: RealTime, threads: 2}}
  ports: {west: %[4]s, east: %[5]s, calibrationNetworks: [{name: %[6]s}, {name: %[6]s}]}
  systemUnderTest:
    %[7]s
    attachments: [Veth, Virtio, E1000, E1000e, RTL8139, SRIOV, HostDevice]
    sriov: {westResourceName: a/%[8]s, eastResourceName: a/%[8]s, innerResourceName: a/%[8]s}
    hostDevices: {west: {pciAddress: '0000:04:00.0', resourceName: a/b, macAddress: '3c:fd:fe:00:00:01'}, east: {pciAddress: '0000:04:00.1', resourceName: a/b, macAddress: '3c:fd:fe:00:00:02'}}
`, labels, list(16, func(i int) string { return fmt.Sprintf("{key: key-%d, operator: In, values: [a, b]}", i) }), place,
		fmt.Sprintf(nic, 0), fmt.Sprintf(nic, 1), name, strings.ReplaceAll(place, ", tolerations", "\n    tolerations"), name[:200])
}

// largestSuite has 8 axes with all the values and variants that they can have, and the experiment of the largest run.
func largestSuite() string {
	text := strings.Repeat("x", 400)
	axes := list(8, func(i int) string {
		if i < 4 {
			return fmt.Sprintf("{name: axis-%d, path: 'chain[g%d].encryptionGateway.protocol', values: %s}", i, i, list(100, func(j int) string { return fmt.Sprintf("%s%d", text, j) }))
		}
		return fmt.Sprintf("{name: axis-%d, variants: %s}", i, list(100, func(j int) string { return fmt.Sprintf("{name: v%d, patch: {a: %s}}", j, text) }))
	})
	included := list(64, func(i int) string { return fmt.Sprintf("{name: cell-%d, patch: {a: %s}}", i, text) })
	excluded := list(64, func(i int) string { return fmt.Sprintf("{axis-0: %s%d}", text[:60], i) })
	return fmt.Sprintf(`
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkSuite
metadata: {name: largest, namespace: default}
spec:
  template:
    experiment: %s
    matrix: {axes: %s, include: %s, exclude: %s}
`, experimentOf(largestRun()), axes, included, excluded)
}

func largestMeasurement() string {
	point := fmt.Sprintf("{figures: %s}", list(60, func(i int) string { return fmt.Sprintf("{number: %d}", 100_000+i) }))
	largest := strings.Replace(goodMeasurement, "points: [{}]", "points: "+list(200, func(int) string { return point }), 1)
	largest = strings.Replace(largest, "name: measurement", "name: largest", 1)
	return strings.Replace(largest, "experiment: {}", "experiment: "+experimentOf(largestRun()), 1)
}

// experimentOf returns the experiment of a run, in one line.
func experimentOf(run string) string {
	var content map[string]any
	if err := yaml.Unmarshal([]byte(run), &content); err != nil {
		panic(err)
	}
	text, err := json.Marshal(content["spec"].(map[string]any)["experiment"])
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestLargestObjectsAreAdmitted keeps the objects of the benchmark and of the bounds of cost valid ones.
func TestLargestObjectsAreAdmitted(t *testing.T) {
	for kind, manifest := range largest {
		o := object(t, manifest, nil)
		if o.GetKind() != kind {
			t.Errorf("%s is a %s", kind, o.GetKind())
		}
		if err := create(o); err != nil {
			t.Errorf("%s: %s", kind, clip(err.Error()))
		}
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", kind, len(text))
	}
}

// fullest makes a value with all members that a schema has, each list and text as long as allowed. The variant chooses among an
// enum's values and between the ends of numbers. Rules may refuse it: what they cost is all that counts.
func fullest(schema map[string]any, variant int) any {
	if choices, ok := schema["enum"].([]any); ok {
		return choices[variant%len(choices)]
	}
	if amount, _ := schema["x-kubernetes-int-or-string"].(bool); amount {
		return "2"
	}
	switch schema["type"] {
	case "object":
		if members, ok := schema["additionalProperties"].(map[string]any); ok {
			_, most := limits(schema, "", "maxProperties", 0, 100)
			out := map[string]any{}
			for i := range most {
				out[fmt.Sprintf("key-%d", i)] = fullest(members, variant)
			}
			return out
		}
		properties, _ := schema["properties"].(map[string]any)
		out := map[string]any{}
		for name, member := range properties {
			out[name] = fullest(member.(map[string]any), variant)
		}
		return out
	case "array":
		_, most := limits(schema, "", "maxItems", 0, 100)
		out := []any{}
		for i := range int(most) {
			item := fullest(schema["items"].(map[string]any), variant+i)
			if members, ok := item.(map[string]any); ok && members["name"] != nil {
				members["name"] = fmt.Sprintf("name-%d", i)
			}
			out = append(out, item)
		}
		return out
	case "integer":
		least, most := limits(schema, "minimum", "maximum", 0, 1<<40)
		return []int64{most, least}[variant%2]
	case "boolean":
		return variant%2 == 0
	}
	_, most := limits(schema, "", "maxLength", 0, 253)
	return strings.Repeat("a", int(most))
}

// fullestOf makes an object of a kind from the schema of its CRD.
func fullestOf(t *testing.T, file, kind string, variant int) *unstructured.Unstructured {
	t.Helper()
	o := object(t, smallest[kind], nil)
	o.Object["spec"] = fullest(schemaOf(t, file)["spec"].(map[string]any), variant)
	return o
}
