//go:build linux

// Package guesttest boots guests in QEMU for tests, without hardware virtualization. The guest's
// files and its user data go in; a VM that answers over HTTP, has a readable console and can
// be switched off comes out.
package guesttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vnfbench.io/operator/internal/proc"
)

// BootTimeout is generous: without hardware virtualization a boot takes 5 to 20 s on a busy machine.
const BootTimeout = 3 * time.Minute

// seedLabel is guest.SeedLabel; the tests of that package use this one.
const seedLabel = "cidata"

// answerTimeout is for one answer of a guest that gets little processor time.
const answerTimeout = 30 * time.Second

// Files returns the directory of a guest's files that the variable names. Without it the test is
// skipped.
func Files(t *testing.T, variable string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("%s is not set: make test-guest makes the guest and boots it", variable)
	}
	return dir
}

// Kernel returns QEMU's arguments to boot a guest's kernel, as KubeVirt's kernelBoot does.
func Kernel(dir string) []string {
	return []string{"-kernel", filepath.Join(dir, "vmlinuz"), "-initrd", filepath.Join(dir, "initrd.img"), "-append", "console=ttyS0 quiet"}
}

// VM is a guest in QEMU with a management card.
type VM struct {
	Console *Buffer
	Started time.Time
	// Address is where the guest's port is reached, on the loopback.
	Address string

	monitor string
	process *os.Process
	ended   chan error
}

// Start boots a VM whose management card leads to a port of the guest. The arguments are
// further ones for QEMU: what to boot. QEMU ends with the test, and a test that fails logs the
// console.
func Start(t *testing.T, userData string, port int, arguments ...string) *VM {
	t.Helper()
	const program = "qemu-system-x86_64"
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not here: make test-guest installs it", program)
	}
	dir := SocketDirectory(t)
	m := &VM{Console: &Buffer{}, monitor: filepath.Join(dir, "monitor"), ended: make(chan error, 1)}
	m.Address = freeAddress(t)
	seed := filepath.Join(dir, "seed.iso")
	ISO(t, seed, seedLabel, WriteFiles(t, dir, map[string]string{"user-data": userData, "meta-data": "instance-id: boot\n"})...)
	arguments = append([]string{
		"-accel", "tcg", "-display", "none", "-no-reboot", "-nodefaults",
		"-serial", "stdio", "-monitor", "unix:" + m.monitor + ",server=on,wait=off",
		"-netdev", fmt.Sprintf("user,id=management,restrict=on,hostfwd=tcp:%s-:%d", m.Address, port),
		"-device", "virtio-net-pci,netdev=management,romfile=",
		"-drive", "if=none,id=seed,format=raw,readonly=on,file=" + seed, "-device", "virtio-blk-pci,drive=seed",
	}, arguments...)

	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, arguments...)
	command.Stdout, command.Stderr = m.Console, m.Console
	m.Started = time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	m.process = command.Process
	gone := make(chan struct{})
	go func() {
		m.ended <- command.Wait()
		close(gone)
	}()
	t.Cleanup(func() {
		cancel()
		<-gone
		if t.Failed() {
			t.Logf("the console:\n%s", m.Console)
		}
	})
	return m
}

// SocketDirectory returns a folder whose path is short enough for sockets. It is removed after the
// test.
func SocketDirectory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vnf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// WriteFiles writes files and returns their paths.
func WriteFiles(t *testing.T, dir string, files map[string]string) (paths []string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// ISO makes a file system as KubeVirt does.
func ISO(t *testing.T, path, label string, files ...string) {
	t.Helper()
	if _, err := exec.LookPath("xorrisofs"); err != nil {
		t.Skip("xorrisofs is not here: make test-guest installs it")
	}
	arguments := append([]string{"-output", path, "-volid", label, "-joliet", "-rock"}, files...)
	if output, err := exec.Command("xorrisofs", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("xorrisofs: %v\n%s", err, output)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// Get sends a request to the guest's agent, without a proxy.
func (m *VM) Get(path string) (int, string, error) {
	client := http.Client{Timeout: answerTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + m.Address + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// Line returns the console's first line that contains a text.
func (m *VM) Line(text string) string {
	for line := range strings.Lines(m.Console.String()) {
		if strings.Contains(line, text) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// Await asks for readiness until the answer has the code and contains the text.
func (m *VM) Await(t *testing.T, want int, text string) string {
	t.Helper()
	for {
		// QEMU accepts a connection before the guest listens, and then repeats it to the guest at
		// intervals of many seconds.
		var code int
		var body string
		err := errors.New("the guest does not listen yet")
		if m.Line("msg=listening") != "" {
			code, body, err = m.Get("/readyz")
		}
		if err == nil && code == want && strings.Contains(body, text) {
			return body
		}
		if time.Since(m.Started) > BootTimeout {
			t.Fatalf("/readyz: %d %q %v, want %d and %q", code, body, err, want, text)
		}
		select {
		case err := <-m.ended:
			t.Fatalf("QEMU ended: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// CPU returns the processor time that QEMU has used on this node: that of the guest's
// processors, and its own.
func (m *VM) CPU(t *testing.T) time.Duration {
	t.Helper()
	kernel, err := proc.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	process, err := kernel.Proc(m.process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := process.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(stat.UTime+stat.STime) * proc.Tick
}

// Monitor runs a command in QEMU's monitor, and returns its output.
func (m *VM) Monitor(t *testing.T, command string) string {
	t.Helper()
	monitor, err := net.Dial("unix", m.monitor)
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.Close()
	if err := monitor.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		t.Fatal(err)
	}
	const prompt = "(qemu) "
	until := func() string {
		var said []byte
		for part := make([]byte, 4096); !bytes.HasSuffix(said, []byte(prompt)); {
			n, err := monitor.Read(part)
			if err != nil {
				t.Fatalf("QEMU's monitor: %v after %q", err, said)
			}
			said = append(said, part[:n]...)
		}
		return string(said)
	}
	until()
	if _, err := fmt.Fprintln(monitor, command); err != nil {
		t.Fatal(err)
	}
	return until()
}

// RequirePowerOff pushes the power button, as KubeVirt does to end a VM.
func (m *VM) RequirePowerOff(t *testing.T) {
	t.Helper()
	monitor, err := net.Dial("unix", m.monitor)
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.Close()
	if _, err := fmt.Fprintln(monitor, "system_powerdown"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-m.ended:
		if err != nil {
			t.Errorf("QEMU ended with %v", err)
		}
		m.ended <- err
	case <-time.After(BootTimeout):
		t.Error("the power button did not end it")
	}
}

// Buffer is written by a process and read by the test.
type Buffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *Buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
