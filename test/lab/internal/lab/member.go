package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/enter"
)

// member is one node of a lab. Its files are in a separate directory.
type member struct {
	lab  Lab
	node config.Node
}

// member returns the node with a number, whether it exists or not.
func (l Lab) member(number int) member {
	policy := l.CPUManager
	if number == config.MachineNumber {
		policy = "static" // it has CPUs to give away
	}
	return member{lab: l, node: config.Node{Number: number, CPUManager: policy}}
}

// members returns the nodes that were started and not removed since, in the order of their numbers.
func (l Lab) members() ([]member, error) {
	var known []member
	for number := 1; number <= config.MaxNodes; number++ {
		m := l.member(number)
		switch _, err := os.Stat(m.path(recordName)); {
		case err == nil:
			known = append(known, m)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("looking for the record of %s: %w", m.node.Name(), err)
		}
	}
	return known, nil
}

// find returns the node of that name, which was started before; "" is node 1.
func (l Lab) find(name string) (member, error) {
	if name == "" {
		return l.member(1), nil
	}
	known, err := l.members()
	if err != nil {
		return member{}, err
	}
	names := make([]string, 0, len(known))
	for _, m := range known {
		if m.node.Name() == name {
			return m, nil
		}
		names = append(names, m.node.Name())
	}
	return member{}, fmt.Errorf("the lab has no node %q: it has %q", name, names)
}

// path returns a path in the node's directory: the lab's own for node 1, one below it for a worker.
func (m member) path(elements ...string) string {
	if !m.node.ControlPlane() {
		elements = append([]string{m.node.Name()}, elements...)
	}
	return m.lab.path(elements...)
}

// logDir returns the directory of the node's and its daemons' logs.
func (m member) logDir() string { return m.path("log") }

// group returns the name of the node's control groups. It differs between labs and their nodes.
func (m member) group() string {
	name := "vnfbench-lab-" + cache.Fingerprint(m.lab.StateDir)[:8]
	if m.node.ControlPlane() {
		return name
	}
	return name + "-" + m.node.Name()
}

// subject returns what messages call the node: a lab has mostly the one.
func (m member) subject() string {
	if m.node.ControlPlane() {
		return "the node"
	}
	return m.node.Name()
}

// record is what is known about a node, kept in its directory.
type record struct {
	enter.Node
	// BootID is the machine's boot in which the node's data was written.
	BootID string `json:"bootID"`
	// Port is the API server's on this machine; 0 in a worker.
	Port int `json:"port,omitempty"`
	// First is node 1, whose network a worker is joined to: a worker starts again when that does.
	First enter.Node `json:"first,omitzero"`
	// Fingerprint hashes everything that the node was started with.
	Fingerprint string `json:"fingerprint"`
	// KubeDir is where the node's binaries are on this machine.
	KubeDir string `json:"kubeDir"`
}

const recordName = "record.json"

// load reads the record; without one, it is empty.
func (m member) load() (record, error) {
	var r record
	data, err := os.ReadFile(m.path(recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("reading the record of %s: %w", m.node.Name(), err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("reading the record of %s: %w", m.node.Name(), err)
	}
	return r, nil
}

func (m member) save(r record) error {
	return m.writeJSON(recordName, r)
}

// writeJSON replaces a file of the node's directory atomically, so that no file is half written.
func (m member) writeJSON(name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
		return err
	}
	return replaceFile(m.path(name), data, 0o644)
}

// running returns the record of the node if it runs, and ErrNotUp otherwise.
func (m member) running() (record, error) {
	r, err := m.load()
	if err != nil {
		return r, err
	}
	if !r.Alive() {
		return r, m.notUp()
	}
	return r, nil
}

// notUp is the error of what needs the node while it does not run.
func (m member) notUp() error {
	if m.node.ControlPlane() {
		return ErrNotUp
	}
	return fmt.Errorf("%s does not run: %w", m.node.Name(), ErrNotUp)
}
