package doctor

import (
	"fmt"

	"vnfbench.io/test/lab/internal/machine"
)

// machineMemoryBytes is what the emulated machine takes: its own memory, and what QEMU adds.
const machineMemoryBytes = (machine.MemoryMiB + 512) << 20

// checkEmulation reports what the emulated machine runs on; missing says why that is not KVM. Its cards are those of a PC.
func checkEmulation(architecture string, memoryBytes uint64, missing error) []Finding {
	const subject = "emulated machine"
	if architecture != "amd64" {
		return []Finding{{subject, Missing, "this computer is " + architecture, "use an amd64 computer"}}
	}
	detail := "it runs on KVM"
	if missing != nil {
		detail = "QEMU emulates its processor: " + missing.Error()
	}
	findings := []Finding{ok(subject, detail)}
	if memoryBytes < machineMemoryBytes {
		detail := fmt.Sprintf("%.1f GiB available", float64(memoryBytes)/(1<<30))
		findings = append(findings, Finding{"memory for it", Warning, detail, fmt.Sprintf("it takes up to %.1f GiB: free some", float64(machineMemoryBytes)/(1<<30))})
	}
	return findings
}
