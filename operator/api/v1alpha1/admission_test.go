package v1alpha1_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

// server is a real API server with the generated CRDs.
var (
	server       client.Client
	serverConfig *rest.Config
)

func TestMain(m *testing.M) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		println("KUBEBUILDER_ASSETS is not set: run these tests by `make test`, which builds etcd and kube-apiserver")
		os.Exit(1)
	}
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join("..", "..", "..", "config", "crd", "bases")}, ErrorIfCRDPathMissing: true,
		// Its own timeout is short for an API server that starts on a busy machine.
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: 2 * time.Minute,
	}
	config, err := env.Start()
	if err != nil {
		println("starting the API server:", err.Error())
		_ = env.Stop() // what did start must not be left over
		os.Exit(1)
	}
	serverConfig = config
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	if server, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		panic(err)
	}
	code := 1
	if err := installPolicies(context.Background(), server); err != nil {
		println("installing the admission policies:", err.Error())
	} else {
		code = m.Run()
	}
	if err := env.Stop(); err != nil {
		println("stopping the API server:", err.Error())
		code = 1
	}
	os.Exit(code)
}

const (
	goodRun = `
apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkRun
metadata: {name: run, namespace: default}
spec:
  experiment:
    testbedRef: {name: lab}
    chain:
    - {name: r1, function: Router}
`
	goodTestbed = `
apiVersion: vnfbench.io/v1alpha1
kind: Testbed
metadata: {name: lab}
spec: {}
`
)

// object reads base and sets fields by dotted paths to YAML values.
func object(t *testing.T, base string, fields map[string]string) *unstructured.Unstructured {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(base), &content); err != nil {
		t.Fatal(err)
	}
	for path, text := range fields {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := unstructured.SetNestedField(content, value, strings.Split(path, ".")...); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return &unstructured.Unstructured{Object: content}
}

// convert reads an object as the operator's client does.
func convert(o *unstructured.Unstructured, into any) error {
	text, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func create(o *unstructured.Unstructured) error {
	return client.WithFieldValidation(server, "Strict").Create(context.Background(), o, client.DryRunAll)
}

func TestBadInputIsRefusedWithFieldAndRemedy(t *testing.T) {
	run := func(kv ...string) func(*testing.T) *unstructured.Unstructured {
		fields := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			fields[kv[i]] = kv[i+1]
		}
		return func(t *testing.T) *unstructured.Unstructured { return object(t, goodRun, fields) }
	}
	testbed := func(path, value string) func(*testing.T) *unstructured.Unstructured {
		return func(t *testing.T) *unstructured.Unstructured {
			return object(t, goodTestbed, map[string]string{path: value})
		}
	}
	router := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("- {name: r" + string(rune('a'+i)) + ", function: Router}\n")
		}
		return b.String()
	}
	tests := map[string]struct {
		object func(*testing.T) *unstructured.Unstructured
		want   []string
	}{
		"no chain":                {run("spec.experiment.chain", "[]"), []string{"spec.experiment.chain", "at least 1 items"}},
		"chain of nine":           {run("spec.experiment.chain", router(9)), []string{"spec.experiment.chain", "at most 8 items"}},
		"duplicate function":      {run("spec.experiment.chain", "[{name: r1, function: Router}, {name: r1, function: Router}]"), []string{"spec.experiment.chain[1]", "Duplicate value", "r1"}},
		"unknown function":        {run("spec.experiment.chain", "[{name: r1, function: Switch}]"), []string{"spec.experiment.chain[0].function", "Unsupported value", "Router"}},
		"unknown attachment":      {run("spec.experiment.chain", "[{name: r, function: Router, east: {attachment: Wire}}]"), []string{"spec.experiment.chain[0].east.attachment", "Unsupported value"}},
		"firewall on a router":    {run("spec.experiment.chain", "[{name: r, function: Router, firewall: {}}]"), []string{"spec.experiment.chain[0].firewall", "only for function Firewall"}},
		"frame of 63":             {run("spec.experiment.traffic", "{frameBytes: [63]}"), []string{"spec.experiment.traffic.frameBytes[0]", "greater than or equal to 64"}},
		"frame of 9019":           {run("spec.experiment.traffic", "{frameBytes: [9019]}"), []string{"spec.experiment.traffic.frameBytes[0]", "less than or equal to 9018"}},
		"frame above own MTU":     {run("spec.experiment.chain", "[{name: r, function: Router, west: {mtuBytes: 1400}}]"), []string{"spec.experiment.traffic.frameBytes", "mtuBytes"}},
		"same frame twice":        {run("spec.experiment.traffic", "{frameBytes: [64, 64]}"), []string{"spec.experiment.traffic.frameBytes", "names a value twice"}},
		"IPv6 frame of 64":        {run("spec.experiment.traffic", "{ipFamily: IPv6, frameBytes: [64]}"), []string{"spec.experiment.traffic.frameBytes", "at least 82 bytes"}},
		"TCP":                     {run("spec.experiment.traffic", "{kind: TCP}"), []string{"spec.experiment.traffic.kind", "measure TCP by measurements.tcp"}},
		"baseline: none named":    {run("spec.experiment.baseline", "{}"), []string{"spec.experiment.baseline.runRef", "Required value"}},
		"onInconclusive: unknown": {run("spec.experiment.onInconclusive", "Maybe"), []string{"spec.experiment.onInconclusive", `"Fail", "Allow"`}},
		"baseline: itself":        {run("spec.experiment.baseline", "{runRef: {name: run}}"), []string{"spec.experiment.baseline.runRef", "name an earlier run"}},
		"baseline: its name":      {run("spec.experiment.baseline", "{runRef: {name: x}}", "spec.experiment.acceptance", "[{name: baseline, metric: LossPartsPerMillion, load: idle, atMost: 1}]"), []string{"spec.experiment.acceptance", "give it another name"}},
		"baseline: a metric":      {run("spec.experiment.baseline", "{runRef: {name: x}, metrics: [LatencyMaxNanoseconds]}"), []string{"spec.experiment.baseline.metrics", "LatencyP99Nanoseconds"}},
		"baseline: twice":         {run("spec.experiment.baseline", "{runRef: {name: x}, metrics: [JitterP99Nanoseconds, JitterP99Nanoseconds]}"), []string{"spec.experiment.baseline.metrics", "names a value twice"}},
		"baseline: a path":        {run("spec.experiment.baseline", "{runRef: {name: a/b}}"), []string{"spec.experiment.baseline.runRef.name", "should match"}},
		"baseline: dots":          {run("spec.experiment.baseline", "{runRef: {name: ..}}"), []string{"spec.experiment.baseline.runRef.name", "should match"}},
		"testbed: a path":         {run("spec.experiment.testbedRef", "{name: a/b}"), []string{"spec.experiment.testbedRef.name", "should match"}},
		"baseline: percent":       {run("spec.experiment.baseline", "{runRef: {name: x}, maximumRegressionPercent: 101}"), []string{"spec.experiment.baseline.maximumRegressionPercent", "less than or equal to 100"}},
		"no testbed":              {run("spec.experiment.testbedRef", "{name: ''}"), []string{"spec.experiment.testbedRef.name", "at least 1 chars long"}},
		"nothing measured":        {run("spec.experiment.measurements", "{}"), []string{"spec.experiment.measurements", "measures nothing: name a profile"}},
		"negative trial":          {run("spec.experiment.measurements", "{latency: {trialMilliseconds: -1}}"), []string{"spec.experiment.measurements.latency.trialMilliseconds", "greater than or equal to 100"}},
		"absurd deadline":         {run("spec.experiment.deadlineSeconds", "99999999"), []string{"spec.experiment.deadlineSeconds", "less than or equal to 604800"}},
		"negative time to live":   {run("spec.ttlSecondsAfterFinished", "-5"), []string{"spec.ttlSecondsAfterFinished", "greater than or equal to 0"}},
		"sum below trial":         {run("spec.experiment.measurements", "{throughput: {goals: [{name: A, trialMilliseconds: 2000}]}}"), []string{"durationSumMilliseconds", "at least trialMilliseconds"}},
		"maximum below minimum":   {run("spec.experiment.measurements", "{throughput: {minimumFramesPerSecond: 10, maximumFramesPerSecond: 5}}"), []string{"maximumFramesPerSecond", "above minimumFramesPerSecond"}},
		"load of unknown goal":    {run("spec.experiment.measurements", "{throughput: {}, latency: {loads: [{name: a, goal: XDR, percent: 50}]}}"), []string{"spec.experiment.measurements.latency", "throughput.goals does not have"}},
		"load without a search":   {run("spec.experiment.measurements", "{latency: {}}"), []string{"spec.experiment.measurements.latency", "give latency.loads in framesPerSecond"}},
		"load both ways":          {run("spec.experiment.measurements", "{throughput: {}, latency: {loads: [{name: a, goal: PDR, percent: 5, framesPerSecond: 5}]}}"), []string{"either framesPerSecond or goal"}},
		"load above 100 percent":  {run("spec.experiment.measurements", "{throughput: {}, latency: {loads: [{name: a, goal: PDR, percent: 101}]}}"), []string{"percent", "less than or equal to 100"}},
		"unknown method":          {run("spec.experiment.measurements", "{throughput: {method: Guess}}"), []string{"spec.experiment.measurements.throughput.method", "Unsupported value", "RFC2544"}},
		"exceed with RFC2544": {run("spec.experiment.measurements", "{throughput: {method: RFC2544, goals: [{name: A, exceedPercent: 50}]}}"),
			[]string{"spec.experiment.measurements.throughput.goals", "exceedPercent must be 0"}},
		"sum with TST009": {run("spec.experiment.measurements", "{throughput: {method: TST009, goals: [{name: A, durationSumMilliseconds: 5000}]}}"),
			[]string{"spec.experiment.measurements.throughput.goals", "durationSumMilliseconds must equal trialMilliseconds"}},
		"verification without its method": {run("spec.experiment.measurements", "{throughput: {method: TST009, lossVerification: {}}}"),
			[]string{"spec.experiment.measurements.throughput.lossVerification", "is for method TST009WithLossVerification"}},
		"no repeat": {run("spec.experiment.measurements", "{throughput: {method: TST009WithLossVerification, lossVerification: {maximumRepeats: -1}}}"),
			[]string{"spec.experiment.measurements.throughput.lossVerification.maximumRepeats", "greater than or equal to 1"}},
		"acceptance of unmeasured load": {run("spec.experiment.acceptance", "[{name: a, metric: LatencyP99Nanoseconds, load: full, atMost: 1}]"),
			[]string{"spec.experiment.acceptance", "which no measurement has"}},
		"acceptance of unmeasured goal": {run("spec.experiment.acceptance", "[{name: a, metric: ThroughputFramesPerSecond, goal: XDR, atLeast: 1}]"),
			[]string{"spec.experiment.acceptance", "measurements.throughput.goals does not have"}},
		"acceptance of unmeasured frame": {run("spec.experiment.acceptance", "[{name: a, metric: ThroughputFramesPerSecond, goal: NDR, size: '128', atLeast: 1}]"),
			[]string{"spec.experiment.acceptance", "names size 128"}},
		"acceptance of unknown metric": {run("spec.experiment.acceptance", "[{name: a, metric: Beauty, load: idle, atLeast: 1}]"),
			[]string{"spec.experiment.acceptance", "no criterion can name metric Beauty", "ThroughputFramesPerSecond"}},
		"acceptance without metric": {run("spec.experiment.acceptance", "[{name: a, load: idle, atLeast: 1}]"),
			[]string{"spec.experiment.acceptance[0].metric", "Required value"}},
		"acceptance without limit": {run("spec.experiment.acceptance", "[{name: a, metric: LossPartsPerMillion, load: idle}]"),
			[]string{"spec.experiment.acceptance[0]", "exactly one of atLeast and atMost"}},
		"throughput without goal": {run("spec.experiment.acceptance", "[{name: a, metric: ThroughputFramesPerSecond, load: idle, atLeast: 1}]"),
			[]string{"spec.experiment.acceptance[0]", "goal is required with a Throughput metric"}},
		"confidence without repeats": {run("spec.experiment.acceptance", "[{name: a, metric: ThroughputFramesPerSecond, goal: NDR, statistic: ConfidenceLimit, atLeast: 1}]"),
			[]string{"spec.experiment.acceptance", "set measurements.repeats to 2 or more"}},
		"confidence of two halving searches": {run("spec.experiment.acceptance", "[{name: a, metric: ThroughputFramesPerSecond, goal: NDR, statistic: ConfidenceLimit, atLeast: 1}]",
			"spec.experiment.measurements", "{repeats: 2, throughput: {method: TST009}}"),
			[]string{"spec.experiment.acceptance", "set measurements.repeats to 3 or more"}},
		"confidence of another metric": {run("spec.experiment.measurements", "{throughput: {}, latency: {}, repeats: 5}",
			"spec.experiment.acceptance", "[{name: a, metric: JitterP99Nanoseconds, load: idle, statistic: ConfidenceLimit, atMost: 1}]"),
			[]string{"spec.experiment.acceptance", "ConfidenceLimit is only for"}},
		"no repeat of the whole": {run("spec.experiment.measurements", "{throughput: {}, latency: {}, repeats: 0}"), []string{"spec.experiment.measurements.repeats", "greater than or equal to 1"}},
		"too many repeats":       {run("spec.experiment.measurements", "{throughput: {}, latency: {}, repeats: 21}"), []string{"spec.experiment.measurements.repeats", "less than or equal to 20"}},
		"unknown field":          {run("spec.speed", "1"), []string{"unknown field", "spec.speed"}},
		"1 MB manifest": {run("spec.experiment.chain", "[{name: r1, function: Custom, runtime: VirtualMachine, custom: {containerDisk: "+strings.Repeat("x", 1<<20)+"}}]"),
			[]string{"spec.experiment.chain[0].custom.containerDisk", "may not be more than 512"}},
		"name too long": {run("metadata.name", strings.Repeat("x", 254)), []string{"metadata.name", "must be no more than 253"}},

		"image of a function":          {run("spec.experiment.chain", "[{name: r1, function: Router, image: x}]"), []string{"unknown field", "image"}},
		"testbed: no selector":         {testbed("spec.namespaces", "{from: Selector}"), []string{"spec.namespaces.selector", "selector is required with from Selector"}},
		"testbed: stray selector":      {testbed("spec.namespaces", "{selector: {}}"), []string{"spec.namespaces.selector", "forbidden with from All"}},
		"testbed: namespaces":          {testbed("spec.namespaces", "{from: Same}"), []string{"spec.namespaces.from", "Unsupported value", "Selector"}},
		"testbed: real-time machines":  {testbed("spec.systemUnderTest", "{realtime: Allowed}"), []string{"spec.systemUnderTest.realtime", "Unsupported value"}},
		"testbed: a network's name":    {testbed("spec.ports", "{west: {attachment: NetworkAttachmentDefinition, networkAttachmentDefinition: {generatorRef: {namespace: a}}}}"), []string{"networkAttachmentDefinition.generatorRef.name", "Required value"}},
		"testbed: no pool":             {testbed("spec.ports", "{west: {attachment: SRIOV}}"), []string{"spec.ports.west", "sriov is required with attachment SRIOV"}},
		"testbed: pool's name":         {testbed("spec.ports", "{west: {attachment: SRIOV, sriov: {resourceName: west}}}"), []string{"spec.ports.west.sriov.resourceName", "openshift.io/west"}},
		"testbed: no NIC":              {testbed("spec.ports", "{west: {attachment: HostDevice}}"), []string{"spec.ports.west", "hostDevice is required with attachment HostDevice"}},
		"testbed: a nameless NIC":      {testbed("spec.systemUnderTest", "{hostDevices: {west: {}}}"), []string{"spec.systemUnderTest.hostDevices.west", "name the NIC by pciAddress"}},
		"testbed: a NIC's MAC":         {testbed("spec.systemUnderTest", "{hostDevices: {west: {resourceName: a/b}}}"), []string{"spec.systemUnderTest.hostDevices.west.macAddress", "finds its ports by their MAC addresses"}},
		"testbed: a pod's MAC":         {testbed("spec.systemUnderTest", "{hostDevices: {east: {pciAddress: '0000:03:00.1', macAddress: '3c:fd:fe:00:00:01'}}}"), []string{"spec.systemUnderTest.hostDevices.east.macAddress", "set resourceName too"}},
		"testbed: a group's MAC":       {testbed("spec.systemUnderTest", "{hostDevices: {east: {resourceName: a/b, macAddress: '01:00:5e:00:00:01'}}}"), []string{"spec.systemUnderTest.hostDevices.east.macAddress", "should match"}},
		"testbed: one NIC twice":       {testbed("spec.systemUnderTest", "{hostDevices: {west: {pciAddress: '0000:0a:00.1'}, east: {pciAddress: '0000:0A:00.1'}}}"), []string{"spec.systemUnderTest.hostDevices.east", "has the same"}},
		"testbed: one MAC twice":       {testbed("spec.systemUnderTest", "{hostDevices: {west: {resourceName: a/b, macAddress: '3c:fd:fe:00:00:01'}, east: {resourceName: a/b, macAddress: '3c:fd:fe:00:00:01'}}}"), []string{"spec.systemUnderTest.hostDevices.east", "same macAddress"}},
		"testbed: no MAC":              {testbed("spec.systemUnderTest", "{hostDevices: {west: {resourceName: a/b, macAddress: '00:00:00:00:00:00'}}}"), []string{"spec.systemUnderTest.hostDevices", "macAddress that no NIC has"}},
		"testbed: one port twice":      {testbed("spec.ports", "{west: {attachment: HostDevice, hostDevice: {pciAddress: '0000:03:00.1'}}, east: {attachment: HostDevice, hostDevice: {pciAddress: '0000:03:00.1'}}}"), []string{"spec.ports.east", "has the same"}},
		"testbed: a bare resource":     {testbed("spec.systemUnderTest", "{hostDevices: {east: {resourceName: nic, macAddress: '3c:fd:fe:00:00:01'}}}"), []string{"spec.systemUnderTest.hostDevices.east.resourceName", "a prefix and a name"}},
		"testbed: PCI address":         {testbed("spec.ports", "{west: {attachment: HostDevice, hostDevice: {pciAddress: eth0}}}"), []string{"spec.ports.west.hostDevice.pciAddress", "should match"}},
		"testbed: no pool named":       {testbed("spec.systemUnderTest", "{sriov: {}}"), []string{"spec.systemUnderTest.sriov", "name at least one of"}},
		"testbed: stray VLAN":          {testbed("spec.systemUnderTest", "{sriov: {westResourceName: a/b, firstInnerVLAN: 7}}"), []string{"spec.systemUnderTest.sriov.firstInnerVLAN", "innerResourceName: set that"}},
		"testbed: VLAN 5000":           {testbed("spec.systemUnderTest", "{sriov: {innerResourceName: a/b, firstInnerVLAN: 5000}}"), []string{"spec.systemUnderTest.sriov.firstInnerVLAN", "less than or equal to 4080"}},
		"testbed: tag 0":               {testbed("spec.ports", "{west: {vlan: 0}}"), []string{"spec.ports.west.vlan", "greater than or equal to 1"}},
		"testbed: tag 4095":            {testbed("spec.ports", "{east: {vlan: 4095}}"), []string{"spec.ports.east.vlan", "less than or equal to 4094"}},
		"testbed: tag of a VF":         {testbed("spec.ports", "{west: {attachment: SRIOV, sriov: {resourceName: a/b}, vlan: 7}}"), []string{"spec.ports.west.vlan", "use sriov.vlan"}},
		"testbed: scheduling":          {testbed("spec.generator", "{cpu: 2, xdp: {scheduling: Fifo}}"), []string{"spec.generator.xdp.scheduling", "Auto", "RealTime"}},
		"testbed: real time, no CPU":   {testbed("spec.generator", "{xdp: {scheduling: RealTime}}"), []string{"spec.generator.cpu", "xdp.scheduling RealTime"}},
		"testbed: real time, shares":   {testbed("spec.generator", "{cpu: 2500m, xdp: {scheduling: RealTime}}"), []string{"spec.generator.cpu", "whole number"}},
		"testbed: real time, one CPU":  {testbed("spec.generator", "{cpu: 1, xdp: {scheduling: RealTime}}"), []string{"spec.generator.cpu", "at least 2"}},
		"testbed: no ring":             {testbed("spec.generator", "{xdp: {ringFrames: -1}}"), []string{"spec.generator.xdp.ringFrames", "greater than or equal to 1"}},
		"testbed: interrupts before":   {testbed("spec.generator", "{xdp: {interruptMicroseconds: -1}}"), []string{"spec.generator.xdp.interruptMicroseconds", "greater than or equal to 0"}},
		"testbed: interrupts too late": {testbed("spec.generator", "{xdp: {interruptMicroseconds: 1001}}"), []string{"spec.generator.xdp.interruptMicroseconds", "less than or equal to 1000"}},
		"testbed: too large a ring":    {testbed("spec.generator", "{xdp: {ringFrames: 16385}}"), []string{"spec.generator.xdp.ringFrames", "less than or equal to 16384"}},
		"testbed: real time, two send": {testbed("spec.generator", "{cpu: '2', xdp: {scheduling: RealTime, threads: 2}}"), []string{"spec.generator.cpu", "at least 3"}},
		"testbed: device's tag":        {testbed("spec.ports", "{west: {attachment: NetworkAttachmentDefinition, networkAttachmentDefinition: {generatorRef: {name: a}, deviceVLAN: 4095}}}"), []string{"spec.ports.west.networkAttachmentDefinition.deviceVLAN", "less than or equal to 4094"}},
		"testbed: half a loop":         {testbed("spec.ports", "{west: {attachment: SRIOV, sriov: {resourceName: a/b}}, calibrationNetworks: [{name: a}]}"), []string{"spec.ports.calibrationNetworks", "at least 2 items"}},
		"testbed: a loop and bridges":  {testbed("spec.ports", "{calibrationNetworks: [{name: a}, {name: b}]}"), []string{"spec.ports.calibrationNetworks", "leave it out"}},
		"testbed: missing network":     {testbed("spec.ports", "{west: {attachment: NetworkAttachmentDefinition}}"), []string{"spec.ports.west", "networkAttachmentDefinition is required"}},
		"testbed: stray network":       {testbed("spec.ports", "{west: {networkAttachmentDefinition: {generatorRef: {name: a}}}}"), []string{"spec.ports.west", "forbidden with any other"}},
		"testbed: MTU":                 {testbed("spec.ports", "{mtuBytes: 100}"), []string{"spec.ports.mtuBytes", "greater than or equal to 1280"}},
		"testbed: half an observer":    {testbed("spec.systemUnderTest", "{observer: Cycles}"), []string{"spec.systemUnderTest.observer", "EnabledWithCycles"}},
		"testbed: no attachment":       {testbed("spec.systemUnderTest", "{attachments: []}"), []string{"spec.systemUnderTest.attachments", "at least 1 items"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := create(test.object(t))
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("does not say %q: %s", want, clip(err.Error()))
				}
			}
		})
	}
}

func clip(s string) string { return s[:min(len(s), 2000)] }

func TestNamesAtTheLimitAreAdmitted(t *testing.T) {
	o := object(t, goodRun, map[string]string{"metadata.name": strings.Repeat("x", 253), "spec.experiment.testbedRef": "{name: " + strings.Repeat("y", 253) + "}"})
	if err := create(o); err != nil {
		t.Fatal(err)
	}
}

func TestConfidenceLimitIsAdmittedWithRepeats(t *testing.T) {
	o := object(t, goodRun, map[string]string{
		"spec.experiment.measurements": "{throughput: {}, latency: {}, repeats: 5}",
		"spec.experiment.acceptance":   "[{name: a, metric: LatencyP99Nanoseconds, load: idle, statistic: ConfidenceLimit, atMost: 1}]",
	})
	if err := create(o); err != nil {
		t.Fatal(err)
	}
}

func TestDefaults(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	o := object(t, goodRun, nil)
	if err := create(o); err != nil {
		t.Fatal(err)
	}
	if err := convert(o, run); err != nil {
		t.Fatal(err)
	}
	if got := run.Spec.Experiment.Traffic.FrameBytes; len(got) != 3 || got[2] != 1518 {
		t.Errorf("frameBytes %v, want 64, 512, 1518", got)
	}
	if got := run.Spec.Experiment.Measurements.Profile; got != v1alpha1.ProfileStandard {
		t.Errorf("profile %q, want Standard", got)
	}
	if got := run.Spec.Experiment.OnInconclusive; got != v1alpha1.OnInconclusiveFail {
		t.Errorf("onInconclusive %q, want Fail", got)
	}
	measured := run.Spec.Experiment.Measurements.Filled()
	throughput, latency := measured.Throughput, measured.Latency
	if throughput == nil || len(throughput.Goals) != 2 || throughput.Goals[1].LossPartsPerMillion != 1000 || throughput.Goals[1].TrialMilliseconds != 1000 {
		t.Errorf("throughput %+v, want goals NDR and PDR with their defaults", throughput)
	}
	if latency == nil || len(latency.MeasuredLoads()) != 3 || latency.TrialMilliseconds != 5000 {
		t.Errorf("latency %+v, want three loads", latency)
	}
	if run.Spec.Experiment.Chain[0].Runtime != v1alpha1.RuntimePod || run.Spec.Experiment.Chain[0].EffectiveAttachment(run.Spec.Experiment.Chain[0].West) != v1alpha1.AttachmentVeth {
		t.Errorf("chain %+v, want a pod with veth ports", run.Spec.Experiment.Chain[0])
	}

	testbed := &v1alpha1.Testbed{}
	o = object(t, goodTestbed, nil)
	if err := create(o); err != nil {
		t.Fatal(err)
	}
	if err := convert(o, testbed); err != nil {
		t.Fatal(err)
	}
	spec := testbed.Spec
	if spec.Generator.Driver != v1alpha1.DriverXDP || spec.Generator.XDP.TransmitPath != v1alpha1.TransmitAuto ||
		spec.Generator.XDP.Scheduling != v1alpha1.SchedulingAuto ||
		spec.Ports.West.Attachment != v1alpha1.PortBridge || spec.Ports.LinkBitsPerSecond != 10_000_000_000 || spec.Ports.MTUBytes != 1500 {
		t.Errorf("testbed's defaults are %+v", spec)
	}
}

// Whole cores, however they are written, are enough for real time.
func TestRealTimeIsAdmitted(t *testing.T) {
	for i, generator := range []string{
		"{cpu: 2, xdp: {scheduling: RealTime}}", "{cpu: '4', xdp: {scheduling: RealTime, threads: 2}}",
		"{cpu: 2000m, xdp: {scheduling: RealTime, threads: 1}}", "{cpu: 500m, xdp: {scheduling: Fair}}", "{xdp: {scheduling: Auto}}", "{xdp: {ringFrames: 1}}", "{xdp: {ringFrames: 16384}}", "{xdp: {interruptMicroseconds: 0}}",
	} {
		name := fmt.Sprintf("real-time-%d", i)
		if err := create(object(t, goodTestbed, map[string]string{"metadata.name": name, "spec.generator": generator})); err != nil {
			t.Errorf("%s: %v", generator, err)
		}
	}
}

// A run may leave its testbed to the cluster's default, and a testbed may choose
// namespaces and join networks of another one.
func TestDefaultAndSharedTestbedsAreAdmitted(t *testing.T) {
	run := object(t, goodRun, nil)
	unstructured.RemoveNestedField(run.Object, "spec", "experiment", "testbedRef")
	if err := create(run); err != nil {
		t.Error(err)
	}
	shared := object(t, goodTestbed, map[string]string{
		"spec.namespaces": "{from: Selector, selector: {matchLabels: {team: network}, matchExpressions: [{key: stage, operator: NotIn, values: [production]}]}}",
		"spec.ports":      "{west: {attachment: NetworkAttachmentDefinition, networkAttachmentDefinition: {generatorRef: {namespace: lab, name: a}, deviceRef: {name: b}}}, calibrationNetworks: [{namespace: lab, name: c}, {name: d}]}",
	})
	if err := create(shared); err != nil {
		t.Error(err)
	}
	plain := object(t, goodTestbed, nil)
	if err := create(plain); err != nil {
		t.Fatal(err)
	}
	if from, _, _ := unstructured.NestedString(plain.Object, "spec", "namespaces", "from"); from != "All" {
		t.Errorf("by default a testbed takes runs of %q, want All", from)
	}
}

// Open sets in the status are plain strings: a newer operator's words can be
// stored by this CRD.
func TestStatusTakesNewWords(t *testing.T) {
	ctx := context.Background()
	o := object(t, goodRun, map[string]string{"metadata.name": "words"})
	if err := server.Create(ctx, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Delete(ctx, o) })
	run := &v1alpha1.BenchmarkRun{}
	if err := server.Get(ctx, client.ObjectKeyFromObject(o), run); err != nil {
		t.Fatal(err)
	}
	run.Status.Acceptance = []v1alpha1.Verdict{{Criterion: "a", FigureKey: v1alpha1.FigureKey{Metric: "EnergyMilliwatts"}, Result: "Postponed"}}
	run.Status.Results = []v1alpha1.FrameResult{{FrameBytes: 64, Size: "64", Throughput: []v1alpha1.ThroughputResult{{
		Goal: "NDR", Regularity: "Bimodal", UpperBoundCause: "PowerLimit", Statistics: []v1alpha1.Statistics{{Metric: "EnergyMilliwatts", N: 2, Values: []int64{1, 1}}},
	}}}}
	if err := server.Status().Update(ctx, run); err != nil {
		t.Error(err)
	}
}
