package xdp

import (
	"errors"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// TestLoadsWithThePodsCapabilities loads the programs with the capabilities that a traffic pod has, BPF and NET_ADMIN. Without PERFMON the verifier
// follows more paths through them.
func TestLoadsWithThePodsCapabilities(t *testing.T) {
	for _, c := range [][2]uint8{{0, 0}, {1, 0}, {1, 1}} {
		several, generic := c[0], c[1]
		failed := make(chan error)
		go func() {
			// The thread ends with the goroutine: no other one gets its capabilities.
			runtime.LockOSThread()
			failed <- loadWith(several, generic, 1<<unix.CAP_BPF|1<<unix.CAP_NET_ADMIN)
		}()
		if err := <-failed; err != nil {
			t.Errorf("with several_cpus %d and generic %d: %v", several, generic, err)
		}
	}
}

// loadWith loads the programs in this thread with no other capabilities than those of a mask.
func loadWith(several, generic uint8, capabilities uint64) error {
	data := [2]unix.CapUserData{}
	for i := range data {
		part := uint32(capabilities >> (32 * i))
		data[i] = unix.CapUserData{Effective: part, Permitted: part}
	}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err != nil {
		return err
	}
	spec, err := loadTraffic()
	if err != nil {
		return err
	}
	if err := errors.Join(spec.Variables[trafficVarSeveralCpus].Set(several), spec.Variables[trafficVarGeneric].Set(generic)); err != nil {
		return err
	}
	collection, err := ebpf.NewCollection(spec)
	if err == nil {
		collection.Close()
	}
	return err
}
