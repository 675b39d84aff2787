package observer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// node is a node's process table for tests.
type node struct {
	t    *testing.T
	root string
}

const nodeStat = "cpu  5000 200 700 90000 40 10 300 60 1000 50\ncpu0 1 1 1 1 1 1 1 1 1 1\ncpu1 1 1 1 1 1 1 1 1 1 1\nintr 1 2\n"

func newNode(t *testing.T) *node {
	n := &node{t: t, root: t.TempDir()}
	n.write("proc/stat", nodeStat)
	n.write("sys/devices/system/cpu/online", "0-1\n")
	n.thread("proc/2", "kthreadd", taskTime{kernel: true})
	return n
}

func (n *node) write(name, text string) {
	n.t.Helper()
	place := filepath.Join(n.root, name)
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(place, []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) remove(name string) {
	n.t.Helper()
	if err := os.Remove(filepath.Join(n.root, name)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) observer(guests []string, now func() time.Time) *Observer {
	n.t.Helper()
	o, err := New(n.root, guests, now)
	if err != nil {
		n.t.Fatal(err)
	}
	return o
}

// taskTime is what a thread has used, in ticks.
type taskTime struct {
	user, system, guest int
	start               int
	policy, priority    int
	kernel              bool
	cpus                string
}

// thread writes a thread's files, as the kernel does.
func (n *node) thread(folder, comm string, t taskTime) {
	flags := 0x00400000
	if t.kernel {
		flags |= kernelThreadFlag
	}
	fields := make([]string, 50)
	for i := range fields {
		fields[i] = "0"
	}
	set := func(field int, value any) { fields[field-3] = fmt.Sprint(value) }
	set(3, "S")
	set(9, flags)
	set(14, t.user)
	set(15, t.system)
	set(22, t.start)
	set(40, t.priority)
	set(41, t.policy)
	set(43, t.guest)
	n.write(folder+"/stat", fmt.Sprintf("%s (%s) %s\n", folder[strings.LastIndexByte(folder, '/')+1:], comm, strings.Join(fields, " ")))
	n.write(folder+"/status", "Name:\t"+comm+"\nHugetlbPages:\t   2097152 kB\nCpus_allowed:\tff\nCpus_allowed_list:\t"+t.cpus+"\n")
}

// guest writes a QEMU process with its threads, "number name".
func (n *node) guest(id int, fixture string, whole taskTime, threads map[string]taskTime) {
	n.t.Helper()
	text, err := os.ReadFile("testdata/" + fixture)
	if err != nil {
		n.t.Fatal(err)
	}
	folder := fmt.Sprintf("proc/%d", id)
	n.thread(folder, "qemu-kvm", whole)
	n.write(folder+"/cmdline", strings.ReplaceAll(string(text), "\n", "\x00"))
	for name, time := range threads {
		number, comm, _ := strings.Cut(name, " ")
		n.thread(folder+"/task/"+number, comm, time)
	}
}
