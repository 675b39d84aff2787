// Package node is the inside of the lab: process 1 of the namespaces that make
// a node. A Spec goes in; a file tree, a network and running daemons come
// out, and all of it ends with the process.
//
// It runs in two stages of the same program. The first still sees the
// machine's file tree: it joins the node's control groups, builds the node's
// tree and changes into it. The second replaces the first, so that every
// thread has the new namespaces, and supervises the daemons.
package node

import (
	"encoding/json"
	"fmt"
	"os"

	"vnfbench.io/test/lab/internal/cgroup"
	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/machine"
)

// Spec says what the node is made of. Paths are the machine's.
type Spec struct {
	// Node is what its configuration files depend on.
	Node config.Node `json:"node"`
	// Cgroups are the node's control groups, which exist.
	Cgroups []cgroup.Hierarchy `json:"cgroups"`
	// RootFS is the Debian tree; the node does not change it.
	RootFS string `json:"rootFS"`
	// KubeDir and CNIDir hold the binaries; the node does not change them.
	KubeDir string `json:"kubeDir"`
	CNIDir  string `json:"cniDir"`
	// Executable is the lab program itself.
	Executable string `json:"executable"`
	// ScratchDir holds what is new at every start.
	ScratchDir string `json:"scratchDir"`
	// DataDir holds what survives a restart of the node.
	DataDir string `json:"dataDir"`
	// PKIDir holds the certificates.
	PKIDir string `json:"pkiDir"`
	// LogDir takes the daemons' logs.
	LogDir string `json:"logDir"`
	// MachineID is 32 hexadecimal digits.
	MachineID string `json:"machineID"`
	// Machine is the emulated machine that is the node, nil for a node that is only namespaces. RootFS is then the tree
	// in which QEMU runs, and KubeDir, CNIDir and DataDir are not used: the machine has them on its disk.
	Machine *Machine `json:"machine,omitempty"`
}

// Machine says what the emulated machine is made of.
type Machine struct {
	machine.Machine
	// Disk is the file of its disk, which does not change.
	Disk string `json:"disk"`
	// ImageDirs hold archives of images, which the machine imports when it starts.
	ImageDirs []string `json:"imageDirs"`
	// LoadDir takes archives of images that are to be imported later.
	LoadDir string `json:"loadDir"`
}

// LoadPlace is LoadDir's place in the machine.
const LoadPlace = shareDir + "/" + loadName

const loadName = "load"

// Descriptors that the program which starts the node passes on.
const (
	// ReportFD is a pipe: Ready is written to it, or what went wrong.
	ReportFD = 3
	// ListenerFD, in node 1, is a socket in the machine's network namespace: what comes
	// in there is forwarded to the API server.
	ListenerFD = 4
	// NetworkFD, in a worker, is node 1's network namespace.
	NetworkFD = 4
)

// Ready is the report of a node that started.
const Ready = "ready"

// specPlace is the spec's place in the node.
const specPlace = config.ConfigDir + "/node.json"

// executablePlace is the lab program's place in the node.
const executablePlace = "/usr/local/sbin/lab"

// machineSpec is the name of the spec in the directory that the machine shares.
const machineSpec = "node.json"

func readSpec(path string) (Spec, error) {
	var spec Spec
	data, err := os.ReadFile(path)
	if err != nil {
		return Spec{}, fmt.Errorf("reading the node's description: %w", err)
	}
	if err := json.Unmarshal(data, &spec); err != nil {
		return Spec{}, fmt.Errorf("reading the node's description %q: %w", path, err)
	}
	return spec, nil
}

// report sends the program that started the node the result. It fails if that program is gone: then
// nothing has recorded the node, which must end.
func report(message string) error {
	pipe := os.NewFile(ReportFD, "report")
	defer pipe.Close()
	if _, err := pipe.WriteString(message); err != nil {
		return fmt.Errorf("reporting to the program that started the node: %w", err)
	}
	return nil
}
