package e2e

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// checkEvidence checks that every figure has what the chain used, and that both nodes, which in the
// lab are one, are described.
func checkEvidence(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	for _, result := range run.Status.Results {
		uses := usesOf(run, result.Size)
		if want := len(result.Throughput) + len(result.Latency); len(uses) != want {
			t.Errorf("size %s: %d uses of CPU, want %d", result.Size, len(uses), want)
		}
		for _, c := range uses {
			if c.Node == nil || c.Node.CPUs == 0 || len(c.Functions) != len(run.Spec.Experiment.Chain) {
				t.Errorf("size %s, %+v: %+v", result.Size, c.FigureKey, c)
				continue
			}
			used := c.Node.UserMilliCPU + c.Node.SystemMilliCPU + c.Node.IRQMilliCPU + c.Node.SoftirqMilliCPU + c.Node.GuestMilliCPU + c.Node.StealMilliCPU
			// The kernel's counters are up to a tick off for each CPU and kind.
			if most := int64(c.Node.CPUs)*1000*11/10 + 100; used == 0 || used > most {
				t.Errorf("size %s, %+v: %d milliCPU of %d CPUs", result.Size, c.FigureKey, used, c.Node.CPUs)
			}
			if c.Functions[0].ProcessMilliCPU == nil || c.Functions[0].DroppedFrames == nil {
				t.Errorf("size %s, %+v: function %+v", result.Size, c.FigureKey, c.Functions[0])
			}
		}
	}
	device := run.Status.Device
	if device == nil || device.Fingerprint == nil || device.Fingerprint.Kernel == "" || device.Fingerprint.CPUs == 0 {
		t.Fatalf("the device is %+v", device)
	}
	generator := run.Status.Generator.Fingerprint
	if generator == nil || generator.Digest != device.Fingerprint.Digest || len(run.Status.Generator.Interfaces) != 2 {
		t.Errorf("the generator's node is %+v, the device's %+v, and both are one", generator, device.Fingerprint)
	}
}

// usesOf returns what the chain used at the figures of a size.
func usesOf(run *v1alpha1.BenchmarkRun, size string) (uses []v1alpha1.CPUResult) {
	for _, c := range run.Status.CPU {
		if c.Size == size {
			uses = append(uses, c)
		}
	}
	return uses
}

// checkWalk checks that every figure has the firewall's own counters, and that they agree with the
// frames that were sent: all walked the rules, or all but the first of a flow did not.
func checkWalk(t *testing.T, run *v1alpha1.BenchmarkRun, rules int, walked bool) {
	t.Helper()
	if len(run.Status.Chain) != 1 || run.Status.Chain[0].Firewall == nil || int(run.Status.Chain[0].Firewall.Rules) != rules+1 || run.Status.Chain[0].Firewall.Implementation == "" {
		t.Errorf("the chain is %+v, want one firewall with %d rules", run.Status.Chain, rules+1)
	}
	for _, result := range run.Status.Results {
		for _, c := range usesOf(run, result.Size) {
			if len(c.Functions) != 1 || len(c.Functions[0].Counters) == 0 || c.Functions[0].SentFrames == nil {
				t.Errorf("%+v: no counters of the firewall in %+v", c.FigureKey, c.Functions)
				continue
			}
			f := c.Functions[0]
			counted := map[string]int64{}
			for _, counter := range f.Counters {
				counted[counter.Name] = counter.Value
			}
			entered, known := counted["enteredPackets"], counted["knownFlowPackets"]+counted["establishedPackets"]
			passed := entered
			if !walked {
				passed = known
			}
			// At most 0.1 % is lost at these figures; the rest is for frames that are still in
			// transit.
			if sent := *f.SentFrames; passed > sent || passed < sent*9/10 {
				t.Errorf("%+v: %d of %d frames sent, counters %v", c.FigureKey, passed, sent, counted)
			}
			if walked && (counted["matchedPackets"] != entered || known != 0) || counted["unmatchedPackets"] != 0 {
				t.Errorf("%+v: %v", c.FigureKey, counted)
			}
		}
	}
}

// checkEncryption looks for the encrypting implementation, and for the warning about the gateway
// that was to use the kernel (the second) where a program encrypted instead.
func checkEncryption(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	if len(run.Status.Chain) != 2 || run.Status.Chain[0].EncryptionGateway == nil || run.Status.Chain[1].EncryptionGateway == nil {
		t.Fatalf("the chain is %+v, want two gateways that say what encrypts", run.Status.Chain)
	}
	west, east := run.Status.Chain[0].EncryptionGateway, run.Status.Chain[1].EncryptionGateway
	if west.Protocol != "WireGuard" || west.Implementation != "Userspace" || west.Threads < 1 || west.TunnelMTUBytes != 1500 {
		t.Errorf("the western gateway is %+v", west)
	}
	warned := 0
	for _, w := range run.Status.Warnings {
		if w.Code == v1alpha1.WarningUserspaceEncryption {
			warned++
			if !strings.Contains(w.Message, `"east"`) || strings.Contains(w.Message, `"west"`) {
				t.Errorf("the warning is %q", w.Message)
			}
		}
	}
	if want := map[string]int{"Kernel": 0, "Userspace": 1}[east.Implementation]; warned != want || east.Implementation == "" {
		t.Errorf("%d warnings, and the eastern gateway is %+v", warned, east)
	}
}

// checkTCPUse checks that each number of connections has what the chain used.
func checkTCPUse(t *testing.T, run *v1alpha1.BenchmarkRun, repeats int32) {
	t.Helper()
	uses := map[int32]v1alpha1.CPUResult{}
	for _, c := range usesOf(run, "") {
		uses[c.Streams] = c
	}
	for _, s := range run.Status.TCP.Streams {
		if c := uses[s.Streams]; c.Metric != v1alpha1.MetricTCPGoodput || c.Trials != repeats || c.Node == nil || c.Node.SystemMilliCPU == 0 || len(c.Functions) != len(run.Spec.Experiment.Chain) {
			t.Errorf("%d connections: the chain used %+v", s.Streams, c)
		}
	}
}
