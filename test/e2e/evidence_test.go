package e2e

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

// checkEvidence looks for what the chain used beside every figure, and for what
// both nodes are, which in the lab are one.
func checkEvidence(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	for _, result := range run.Status.Results {
		if want := len(result.Throughput) + len(result.Latency); len(result.CPU) != want {
			t.Errorf("%d bytes: %d uses of CPU, want %d", result.FrameBytes, len(result.CPU), want)
		}
		for _, c := range result.CPU {
			if c.Node == nil || c.Node.CPUs == 0 || len(c.Functions) != len(run.Spec.Chain) {
				t.Errorf("%d bytes, %s %s: %+v", result.FrameBytes, c.Figure, c.Name, c)
				continue
			}
			used := c.Node.UserMilliCPU + c.Node.SystemMilliCPU + c.Node.IRQMilliCPU + c.Node.SoftirqMilliCPU + c.Node.GuestMilliCPU + c.Node.StealMilliCPU
			// The kernel's counters are up to a tick off for each CPU and kind.
			if most := int64(c.Node.CPUs)*1000*11/10 + 100; used == 0 || used > most {
				t.Errorf("%d bytes, %s %s: %d milliCPU of %d CPUs", result.FrameBytes, c.Figure, c.Name, used, c.Node.CPUs)
			}
			if c.Functions[0].ProcessMilliCPU == nil || c.Functions[0].DroppedFrames == nil {
				t.Errorf("%d bytes, %s %s: function %+v", result.FrameBytes, c.Figure, c.Name, c.Functions[0])
			}
		}
	}
	device := run.Status.Device
	if device == nil || device.Fingerprint == nil || device.Fingerprint.Kernel == "" || device.Fingerprint.CPUs == 0 {
		t.Fatalf("the device is %+v", device)
	}
	generator := run.Status.Generator.Fingerprint
	if generator == nil || generator.Digest != device.Fingerprint.Digest || len(generator.Ports) != 2 {
		t.Errorf("the generator's node is %+v, the device's %+v, and both are one", generator, device.Fingerprint)
	}
}
