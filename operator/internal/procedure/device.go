package procedure

import (
	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/measure"
)

// maxSteal is the share of a node's processor time, in parts per million, that a hypervisor may
// withhold without a warning; the same as for the generator.
const maxSteal = 5000

// DeviceWarnings returns doubts about the chain's agents and the node that it ran on. Where it is the
// generator's too, it leaves out what the generator's warnings already say.
func DeviceWarnings(device *measure.DeviceState, generator *measure.GeneratorState, sameNode bool) []v1alpha1.Warning {
	if device == nil {
		return nil
	}
	d := &warningList{seen: map[string]bool{}}
	if len(device.OpenAgents) > 0 {
		d.add(v1alpha1.WarningAgentsAnswerEveryone, wholeRun,
			"Agents answered a request without the run's token, so other pods may read their counters and start loads: %s. Their images are of an older release; use the operator's, or build them again.",
			excerpt.Text(words(device.OpenAgents), maxDetailBytes))
	}
	if device.Node == nil {
		return d.list
	}
	said := map[string]bool{}
	if sameNode {
		for _, w := range GeneratorWarnings(generator, sameNode) {
			said[w.Code] = true
		}
	}
	m := device.Node
	if changing := unsteadyGovernors(m); len(changing) > 0 && !said[v1alpha1.WarningFrequencyScaling] {
		d.add(v1alpha1.WarningDeviceFrequencyScaling, wholeRun,
			"CPUs of the chain's node change their frequency with their load (scaling governor %s), so figures depend on what ran before; set the governor to %s.",
			words(changing), steadyGovernor)
	}
	if m.OnlineCPUs > 0 && len(m.IsolatedCPUs) == 0 && !said[v1alpha1.WarningNoCPUIsolation] {
		d.add(v1alpha1.WarningDeviceNoCPUIsolation, wholeRun,
			"None of the %s of the chain's node is isolated from the kernel's scheduler, so other work may hold up the chain.",
			plural(m.OnlineCPUs, "CPU", "CPUs"))
	}
	return d.list
}

func unsteadyGovernors(m *measure.NodeFacts) []string {
	var changing []string
	for _, governor := range m.ScalingGovernors {
		if governor != steadyGovernor {
			changing = append(changing, governor)
		}
	}
	return changing
}

// warnEvidence warns about what the trials of a frame size that count show about the chain's
// node, and says in how many of them some of it is missing.
func (w *replay) warnEvidence(d *warningList, size measure.Size) {
	trials, missing, last := 0, 0, ""
	stolen, elapsed := int64(0), int64(0)
	for _, p := range w.parts {
		if p.size.Name != size.Name {
			continue
		}
		for _, r := range p.counted {
			e := r.Evidence
			if e == nil || !WantsEvidence(r.Stage) {
				continue
			}
			trials++
			if len(e.Notes) > 0 {
				missing, last = missing+1, e.Notes[0]
			}
			if e.Node != nil {
				stolen, elapsed = stolen+e.Node.StealMilliseconds, elapsed+e.ElapsedMilliseconds*int64(e.CPUs)
			}
		}
	}
	if elapsed > 0 && stolen*1_000_000 > elapsed*maxSteal {
		d.add(v1alpha1.WarningDeviceSteal, size,
			"A hypervisor held back the CPUs of the chain's node for %d ms of the %d ms that they had in trials that count, which lowers the figures.",
			stolen, elapsed)
	}
	if missing > 0 {
		d.add(v1alpha1.WarningEvidenceMissing, size,
			"In %d of %d trials that count it is not known in full what the chain used, the last time because %s.", missing, trials, last)
	}
}
