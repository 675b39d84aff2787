//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"vnfbench.io/operator/internal/machine"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/measurer"
	"vnfbench.io/operator/internal/traffic/iperf"
	"vnfbench.io/operator/internal/traffic/xdp"
	"vnfbench.io/operator/internal/trialstore"
)

// assemble reads the instructions and puts the real parts together. close gives
// back what the drivers have kept.
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
	facts := readMachine(instructions, log)
	drivers := &drivers{trex: newTRexPaths(log, facts)}
	return &measurer.Measurer{
		Instructions: instructions,
		Results: trialstore.Config{
			ConfigMaps: client.ConfigMaps(o.namespace), Name: o.results,
			Measurer: o.podName, UID: o.podUID,
		},
		Drivers: drivers, Endpoints: drivers, Stateful: drivers.trex,
		Machine: facts,
		Log:     log,
	}, drivers.trex.close, nil
}

// readMachine says how the CPUs are set. No figure depends on it, so what cannot
// be read is only left out.
func readMachine(instructions measure.Instructions, log *slog.Logger) *measure.Machine {
	cpus, err := machine.Affinity()
	if err != nil {
		log.Warn("the CPUs are not known", "error", err.Error())
		return nil
	}
	facts := machine.Read(os.DirFS("/sys"), cpus)
	fingerprint := machine.Fingerprint(os.DirFS("/"))
	for _, port := range instructions.Chain.Ports {
		if trex := instructions.Driver.TRex; trex != nil && trex.Mode == measure.TRexDPDK {
			// The kernel has let go of it: what it is is known when the server is
			// about to start.
			continue
		}
		driver, err := machine.PortDriver(port.Interface)
		if err != nil {
			log.Warn("the port's driver is not known", "error", err.Error())
			continue
		}
		fingerprint.Ports = append(fingerprint.Ports, driver)
	}
	facts.Fingerprint = &fingerprint
	log.Info("read the machine", "fingerprint", fingerprint.Digest, "cpus", facts.CPUs, "onlineCPUs", facts.OnlineCPUs,
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

// drivers opens the drivers that this binary was built with.
type drivers struct{ trex *trexPaths }

func (d *drivers) Open(ctx context.Context, path measure.Path, settings measure.DriverSettings) (measure.Driver, error) {
	switch settings.Name {
	case "XDP":
		driver, err := xdp.Open(ctx, xdp.Config{
			Path: path, Threads: settings.Threads, TransmitPath: settings.TransmitPath,
			Scheduling: settings.Scheduling,
		})
		if err != nil {
			// A nil *xdp.Driver must not become a measure.Driver that is not nil.
			return nil, err
		}
		return driver, nil
	case "TRex":
		if settings.TRex == nil {
			return nil, errors.New("the instructions have no settings for driver \"TRex\"")
		}
		return d.trex.Open(ctx, path, *settings.TRex)
	}
	return nil, fmt.Errorf("there is no driver %q in this measurer", settings.Name)
}

// OpenEndpoints implements measurer.EndpointOpener.
func (*drivers) OpenEndpoints(ctx context.Context, at measure.Endpoints, tcp measure.TCPInstructions) (measure.Driver, error) {
	driver, err := iperf.Open(ctx, iperf.Config{Endpoints: at, West: tcp.West, East: tcp.East}, tcp.Directions)
	if err != nil {
		return nil, err
	}
	return driver, nil
}
