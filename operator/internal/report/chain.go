package report

import (
	"cmp"
	"fmt"
	"slices"

	"vnfbench.io/operator/api/v1alpha1"
)

// chainSection shows the state of each function in the run, with more about a
// virtual machine than about a pod.
func chainSection(doc Document) section {
	s := section{title: "Chain", columns: []column{
		left("Function"), left("Runtime"), left("Node"), left("VM"), left("West"), left("East"), left("Image"),
	}}
	reported := slices.ContainsFunc(doc.Chain, func(f v1alpha1.FunctionReport) bool { return f.Summary() != "" })
	if reported {
		s.columns = slices.Insert(s.columns, 3, left("Runs"))
	}
	for _, f := range doc.Chain {
		machine, west, east := "", "", ""
		if vm := f.VirtualMachine; vm != nil {
			machine = fmt.Sprintf("%s, %d vCPU, %d MiB", cmp.Or(vm.MachineType, "unknown type"), vm.VCPUs, vm.MemoryBytes>>20)
			west, east = virtualPort(vm.Ports, "west"), virtualPort(vm.Ports, "east")
		}
		row := []string{f.Name, string(f.Runtime), f.Node, machine, west, east, f.ImageID}
		if reported {
			row = slices.Insert(row, 3, f.Summary())
		}
		s.rows = append(s.rows, row)
	}
	return s
}

// virtualPort returns a NIC's model with its queues, where they are known.
func virtualPort(ports []v1alpha1.VirtualPortReport, name string) string {
	for _, port := range ports {
		switch {
		case port.Name != name:
		case port.Queues == 0:
			return port.Model
		case port.Queues == 1:
			return port.Model + ", 1 queue"
		default:
			return fmt.Sprintf("%s, %d queues", port.Model, port.Queues)
		}
	}
	return ""
}
