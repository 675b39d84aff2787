//go:build linux

package main

import (
	"vnfbench.io/operator/internal/guest"
	"vnfbench.io/operator/internal/guest/function"
)

// machine is the function as a virtual machine.
var machine = guest.Program{
	Name:    "vnf",
	Whose:   "function",
	Purpose: "Make the machine a network function",
	Run:     function.Run,
}
