//go:build linux

package main

import (
	"vnfbench.io/operator/internal/guest"
	"vnfbench.io/operator/internal/guest/noisy"
)

// machine is the neighbor as a virtual machine.
var machine = guest.Program{
	Name:    "neighbor",
	Whose:   "neighbour",
	Purpose: "Make the machine a noisy neighbour",
	Run:     noisy.Run,
}
