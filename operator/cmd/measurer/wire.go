//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/measurer"
	"vnfbench.io/operator/internal/nodefacts"
	"vnfbench.io/operator/internal/trialstore"
)

// assemble reads the instructions and connects the real parts. close releases what the drivers
// keep.
func assemble(o options, log *slog.Logger) (m *measurer.Measurer, close func() error, err error) {
	instructions, err := readInstructions(o.instructions)
	if err != nil {
		return nil, nil, err
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("finding the API server: %w", err)
	}
	config.UserAgent = "vnfbench-measurer/" + version
	client, err := corev1.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client for the API server: %w", err)
	}
	facts := readNode(instructions, log)
	drivers := newDrivers(measure.OpenerConfig{Log: log, Node: facts, AgentToken: o.agentToken})
	return &measurer.Measurer{
		Instructions: instructions,
		Results: trialstore.Config{
			ConfigMaps: client.ConfigMaps(o.namespace), Name: o.results,
			Measurer: o.podName, UID: o.podUID,
		},
		Drivers:    drivers,
		AgentToken: o.agentToken,
		Node:       facts,
		Version:    version,
		Log:        log,
	}, drivers.Close, nil
}

// readNode reports how the CPUs are set. No figure depends on it, so it omits what it cannot
// read.
func readNode(instructions measure.Instructions, log *slog.Logger) *measure.NodeFacts {
	cpus, err := nodefacts.Affinity()
	if err != nil {
		log.Warn("the CPUs are not known", "error", err.Error())
		return nil
	}
	facts := nodefacts.Read(os.DirFS("/sys"), cpus)
	fingerprint := nodefacts.Fingerprint(os.DirFS("/"))
	for _, port := range instructions.Chain.Ports {
		driver, err := nodefacts.PortDriver(port.Interface)
		if err != nil {
			// If the kernel has no driver for the port, the generator fills it in.
			log.Info("the kernel has no driver for the port", "error", err.Error())
			continue
		}
		facts.Ports = append(facts.Ports, driver)
	}
	facts.Fingerprint = &fingerprint
	log.Info("read the node", "fingerprint", fingerprint.Digest, "cpus", facts.CPUs, "onlineCPUs", facts.OnlineCPUs,
		"isolatedCPUs", facts.IsolatedCPUs, "scalingGovernors", facts.ScalingGovernors)
	return &facts
}

func readInstructions(path string) (measure.Instructions, error) {
	var instructions measure.Instructions
	text, err := os.ReadFile(path)
	if err != nil {
		return instructions, fmt.Errorf("reading the instructions: %w", err)
	}
	if err := json.Unmarshal(text, &instructions); err != nil {
		return instructions, fmt.Errorf("reading the instructions in %q: %w", path, err)
	}
	return instructions, nil
}
