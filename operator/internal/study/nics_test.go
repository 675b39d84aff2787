package study_test

import (
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/study"
	"vnfbench.io/operator/internal/testing/resultstest"
)

// virtualFirewall simulates a firewall of the study nics. Where hypervisors are free, every NIC is as fast as none.
type virtualFirewall struct{ free bool }

// nic returns the name of a cell's NIC.
func (f virtualFirewall) nic(values v1alpha1.Combination) v1alpha1.AxisLabel {
	if f.free {
		return "hw"
	}
	return values["nic"]
}

func (f virtualFirewall) measure(values v1alpha1.Combination, repeat int) v1alpha1.SuiteMeasurement {
	if values["neighbor"] != "" {
		return resultstest.Measured(0, 50_000)
	}
	rate := map[v1alpha1.AxisLabel]float64{"hw": 629_000, "passthrough": 470_000, "virtio": 85_000, "e1000": 32_000}[f.nic(values)]
	switch {
	case values["mode"] == "Stateful" && !f.free:
		rate *= 0.61
	case values["mode"] == "Stateless" && !f.free:
		rate *= 0.34
	}
	if size := number(values, "size"); size > 0 {
		// Both directions of a link of 1 Gbit/s.
		rate = min(rate, 2e9/((size+20)*8))
	} else {
		rate /= 3
	}
	return resultstest.Measured(rate*(1+0.004*float64(repeat-1)), 0)
}

func (f virtualFirewall) delays(values v1alpha1.Combination, repeat int) map[string]float64 {
	noise := 1 + 0.01*float64(repeat-1)
	idle := 20_000 * map[v1alpha1.AxisLabel]float64{"hw": 1, "passthrough": 1.39, "virtio": 1.91, "e1000": 2.14}[f.nic(values)]
	loaded := 60_000 * map[v1alpha1.AxisLabel]float64{"hw": 1, "passthrough": 1.18, "virtio": 1.62, "e1000": 23}[f.nic(values)]
	loss := 0.0
	if !f.free {
		switch values["neighbor"] {
		case "work":
			idle, loaded, loss = idle*1.45, loaded*1.2, 100
		case "frames", "frames-e1000":
			idle, loaded, loss = idle*1.6, loaded*1.45, 5_000
		}
	}
	return map[string]float64{"idle": idle * noise, "loaded": loaded * noise, "jitter": 0.1 * loaded * noise, "loss": loss}
}

// TestNICs checks that what was published of NICs is reproduced by a simulation of it, and that the opposite of it is not.
func TestNICs(t *testing.T) {
	report := func(f virtualFirewall) map[string]study.Verdict {
		return verdicts(evaluated(t, "nics", executeWithCriteria(t, "nics", "full", f.measure, f.delays)))
	}
	published, free := report(virtualFirewall{}), report(virtualFirewall{free: true})
	for _, id := range []string{
		"router-passthrough", "router-virtio", "router-e1000", "flat-e1000", "meets-passthrough", "stateful-cost", "rules-cost", "idle-virtio", "loaded-e1000", "work-idle", "work-loss", "frames-loss",
	} {
		if published[id] != study.Reproduced {
			t.Errorf("as published: %s is %s", id, published[id])
		}
	}
	for _, id := range []string{"router-virtio", "stateful-cost", "filter-cost", "stateless-e1000", "idle-passthrough", "loaded-virtio", "work-idle", "frames-loss"} {
		if free[id] != study.NotReproduced {
			t.Errorf("where a hypervisor, a filter and a neighbor cost nothing: %s is %s", id, free[id])
		}
	}
	if free["meets-virtio"] != study.Reproduced || published["meets-virtio"] != study.NotReproduced {
		t.Errorf("meets-virtio is %s and %s", free["meets-virtio"], published["meets-virtio"])
	}
}
