package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/cgroup"
	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/enter"
	"vnfbench.io/test/lab/internal/node"
	"vnfbench.io/test/lab/internal/pki"
)

// fingerprint hashes everything that a node is started with.
func (m member) fingerprint(made artifacts) (string, error) {
	parts, err := m.ingredients(made)
	return cache.Fingerprint(parts...), err
}

// ingredients lists everything that a node is started with.
func (m member) ingredients(made artifacts) ([]string, error) {
	parts := []string{made.kube, made.cni, made.rootfs}
	if m.node.ControlPlane() {
		parts = append(parts, strconv.Itoa(m.lab.Port))
	}
	files, err := m.node.Files()
	if err != nil {
		return nil, err
	}
	for _, place := range slices.Sorted(maps.Keys(files)) {
		parts = append(parts, place, string(files[place]))
	}
	for _, d := range m.node.Daemons() {
		parts = append(parts, d.Args...)
	}
	// A later version may have more nodes, or other addresses.
	parts = append(parts, m.node.Prefix())
	for _, r := range m.node.Routes() {
		parts = append(parts, r.Destination, r.Via)
	}
	if spec, err := m.machineSpec(made); err != nil {
		return nil, err
	} else if spec != nil {
		parts = append(append(parts, made.machine.tree, spec.Disk, spec.LoadDir), append(spec.Args(), spec.ImageDirs...)...)
	}
	return parts, nil
}

// clear removes what a node left that crashed or is to be replaced. It also removes data that a
// sudden end of the machine may have damaged.
func (m member) clear(ctx context.Context, before record) error {
	if err := m.end(ctx, before); err != nil {
		return err
	}
	boot, err := bootID()
	if err != nil {
		return err
	}
	if before.BootID != "" && before.BootID != boot {
		m.lab.Log.Printf("dropping the state of %s: it is from before the machine's reboot", m.subject())
		if err := os.RemoveAll(m.path("data")); err != nil {
			return fmt.Errorf("dropping the state of %s: %w", m.subject(), err)
		}
	}
	// It does not fit another CPU manager policy, and all pods start again.
	err = os.Remove(m.path("data/var/lib/kubelet/cpu_manager_state"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return rotateLogs(m.logDir())
}

// end ends a node and all that is left of its processes.
func (m member) end(ctx context.Context, r record) error {
	if err := r.Kill(); err != nil {
		return err
	}
	return cgroup.Remove(ctx, m.group())
}

// rotateLogs keeps the logs of the node's last run, and of the one before.
func rotateLogs(dir string) error {
	if err := os.RemoveAll(dir + ".before"); err != nil {
		return err
	}
	if err := os.Rename(dir, dir+".before"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

// start starts a node and returns when its daemons have been started. The network of a worker is joined
// to that of first, which is node 1.
func (m member) start(made artifacts, fingerprint string, first enter.Node) (record, error) {
	boot, err := bootID()
	if err != nil {
		return record{}, err
	}
	r := record{BootID: boot, First: first, Fingerprint: fingerprint, KubeDir: made.kube}
	var connection *os.File
	if m.node.ControlPlane() {
		r.Port = m.lab.Port
		connection, err = listen(m.lab.Port)
	} else {
		connection, err = first.Network()
	}
	if err != nil {
		return r, err
	}
	defer connection.Close()
	if err := m.writeCredentials(); err != nil {
		return r, err
	}
	spec, err := m.writeSpec(made)
	if err != nil {
		return r, err
	}
	if err := m.save(r); err != nil { // should this program end before the node runs
		return r, err
	}
	r.Node, err = m.spawn(spec, connection, r)
	return r, err
}

var errPortTaken = errors.New("another program listens there: choose a port with --port or VNFBENCH_LAB_PORT")

// listen opens the API server's port on this machine.
func listen(port int) (*os.File, error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("port %d: %w", port, errPortTaken)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	defer listener.Close() // the file is a copy
	return listener.(*net.TCPListener).File()
}

func (m member) writeCredentials() error {
	first := m.lab.member(1)
	if !m.node.ControlPlane() {
		return pki.EnsureWorker(m.path("pki"), first.path("pki"), pki.Worker{NodeName: m.node.Name(), ServerURL: m.node.APIServerURL()})
	}
	err := pki.Ensure(m.path("pki"), pki.Cluster{
		NodeName:    m.node.Name(),
		ServerNames: []string{config.APIServerIP, m.node.IP()},
		ServerURL:   m.node.APIServerURL(),
	})
	if err != nil {
		return err
	}
	data, err := pki.Kubeconfig(m.path("pki"), "admin", fmt.Sprintf("https://127.0.0.1:%d", m.lab.Port))
	if err != nil {
		return err
	}
	return replaceFile(m.lab.KubeconfigPath(), data, 0o600)
}

// writeSpec writes the node's description and creates its control groups.
func (m member) writeSpec(made artifacts) (node.Spec, error) {
	groups, err := cgroup.PlanSelf(m.group())
	if err != nil {
		return node.Spec{}, err
	}
	if err := cgroup.Create(groups); err != nil {
		return node.Spec{}, err
	}
	executable, err := m.lab.copyExecutable()
	if err != nil {
		return node.Spec{}, err
	}
	machine, err := m.machineSpec(made)
	if err != nil {
		return node.Spec{}, err
	}
	spec := node.Spec{
		Node:       m.node,
		Cgroups:    groups,
		RootFS:     made.rootfs,
		KubeDir:    made.kube,
		CNIDir:     made.cni,
		Executable: executable,
		ScratchDir: m.path("scratch"),
		DataDir:    m.path("data"),
		PKIDir:     m.path("pki"),
		LogDir:     m.logDir(),
		MachineID:  cache.Fingerprint(m.path()) + cache.Fingerprint(m.path(), "2"),
		Machine:    machine,
	}
	if machine != nil {
		spec.RootFS = made.machine.tree
	}
	return spec, m.writeJSON(specName, spec)
}

const specName = "node.json"

// copyExecutable keeps this program for the node: "go run" removes its own.
func (l Lab) copyExecutable() (string, error) {
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("reading this program: %w", err)
	}
	path := l.path("bin", "lab")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, replaceFile(path, data, 0o755)
}

// spawn starts the node's first process, records it and waits for its report.
// The process outlives this program.
func (m member) spawn(spec node.Spec, connection *os.File, r record) (enter.Node, error) {
	output, err := os.OpenFile(filepath.Join(m.logDir(), "node.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return enter.Node{}, err
	}
	defer output.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		return enter.Node{}, err
	}
	defer reader.Close()
	cmd := exec.Command(spec.Executable, "node", "enter", m.path(specName))
	cmd.Stdout, cmd.Stderr, cmd.Dir = output, output, "/"
	cmd.ExtraFiles = []*os.File{writer, connection} // node.ReportFD, and node.ListenerFD or node.NetworkFD
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	if err := errors.Join(cmd.Start(), writer.Close()); err != nil {
		return enter.Node{}, fmt.Errorf("starting the node: %w", err)
	}
	if r.Node, err = enter.Identify(cmd.Process.Pid); err != nil {
		return enter.Node{}, errors.Join(err, cmd.Process.Kill())
	}
	if err := m.save(r); err != nil {
		return enter.Node{}, errors.Join(err, cmd.Process.Kill())
	}
	return r.Node, awaitReport(reader, cmd)
}

func awaitReport(reader io.Reader, cmd *exec.Cmd) error {
	report, err := io.ReadAll(reader)
	if err == nil && string(report) == node.Ready {
		return nil
	}
	_ = cmd.Process.Kill() // it may have ended by itself
	_ = cmd.Wait()
	if err != nil {
		return fmt.Errorf("waiting for the node: %w", err)
	}
	message := strings.TrimSpace(string(report))
	if message == "" {
		message = "it ended without saying why"
	}
	return fmt.Errorf("starting the node: %s", message)
}
