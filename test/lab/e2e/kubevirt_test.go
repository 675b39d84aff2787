package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const kubeVirtNamespace = "lab-kubevirt"

// TestKubeVirt boots a virtual machine that routes between two secondary networks and has the disks
// of an image and of its user data, sends packets through it, reads its console, and removes it.
func TestKubeVirt(t *testing.T) {
	if os.Getenv("VNFBENCH_E2E_KUBEVIRT") != "1" {
		t.Skip("NOT RUN: this lab may be without KubeVirt; make e2e-kubevirt brings up one with it")
	}
	loadGuest(t)
	loadDisk(t)
	vm := func(args ...string) string {
		t.Helper()
		return lab(t, append([]string{"kubectl", "--", "--namespace", kubeVirtNamespace}, args...)...)
	}
	vm("apply", "--filename", filepath.Join("testdata", "kubevirt.yaml"))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(vm("get", "vmi,pods,events", "--output=wide"))
		}
		vm("delete", "namespace", kubeVirtNamespace, "--timeout=180s")
		checkNoGuest(t)
	})
	vm("wait", "--for=jsonpath={.status.phase}=Running", "vmi/router", "--timeout=300s")
	vm("wait", "--for=condition=Ready", "pod/source", "pod/sink", "--timeout=120s")
	pod := strings.TrimSpace(vm("get", "pods", "--selector=kubevirt.io=virt-launcher", "--output=jsonpath={.items[0].metadata.name}"))
	awaitConsole(t, func() string { return vm("logs", pod, "--container=guest-console-log") }, "GUEST READS lab-e2e-disk", "GUEST READS lab-e2e-seed", "GUEST ROUTES", "GUEST RESOLVES")
	// The guest decrements the hop count: only the guest joins the two bridges.
	if got := vm("exec", "source", "--", "ping", "-c", "5", "-w", "60", "10.2.0.10"); !strings.Contains(got, "ttl=63") {
		t.Errorf("the packets did not pass one router:\n%s", got)
	}
}

// bootTimeout is for an emulated processor on a busy machine.
const bootTimeout = 5 * time.Minute

func awaitConsole(t *testing.T, read func() string, marks ...string) {
	t.Helper()
	var console string
	for deadline := time.Now().Add(bootTimeout); time.Now().Before(deadline); time.Sleep(time.Second) {
		console = read()
		missing := slices.ContainsFunc(marks, func(mark string) bool { return !strings.Contains(console, mark) })
		if !missing {
			return
		}
	}
	t.Fatalf("the guest's console does not say all of %q after %s:\n%s", marks, bootTimeout, console)
}

// checkNoGuest waits until no emulator runs in the node.
func checkNoGuest(t *testing.T) {
	t.Helper()
	lab(t, "shell", "--", "sh", "-c", `for i in $(seq 300); do
  pgrep -x qemu-system-x86 >/dev/null || exit 0
  sleep 0.1
done; exit 1`)
}

// loadGuest makes the guest's image of Debian's kernel and the node's busybox, and loads it.
func loadGuest(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	kernel, modules := debianKernel(t, dir)
	busybox, err := exec.Command(os.Getenv("VNFBENCH_LAB"), "shell", "--", "cat", "/bin/busybox").Output()
	if err != nil {
		t.Fatalf("reading the node's busybox: %v", err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "guest-init.sh"))
	if err != nil {
		t.Fatal(err)
	}
	var initrd newc
	for _, d := range []string{"bin", "modules"} {
		initrd.add(d, 0o040755, nil)
	}
	initrd.add("bin/busybox", 0o100755, busybox)
	initrd.add("init", 0o100755, script)
	var order []string
	for _, m := range modules {
		data, err := os.ReadFile(m)
		if err != nil {
			t.Fatal(err)
		}
		initrd.add("modules/"+filepath.Base(m), 0o100644, data)
		order = append(order, filepath.Base(m))
	}
	initrd.add("modules/order", 0o100644, []byte(strings.Join(order, "\n")+"\n"))
	image, archive := filepath.Join(dir, "initrd"), filepath.Join(dir, "guest.tar")
	if err := os.WriteFile(image, initrd.close(), 0o644); err != nil {
		t.Fatal(err)
	}
	lab(t, "image", "--tag", "localhost/lab-e2e/guest:1", "--out", archive, kernel+":/boot/vmlinuz", image+":/boot/initrd")
	lab(t, "load", archive)
}

// loadDisk makes an image with a disk that contains only a marker, and loads it.
func loadDisk(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	disk, archive := filepath.Join(dir, "disk.img"), filepath.Join(dir, "disk.tar")
	const size = 1 << 20
	data := append([]byte("marker: lab-e2e-disk\n"), make([]byte, size)...)[:size]
	if err := os.WriteFile(disk, data, 0o644); err != nil {
		t.Fatal(err)
	}
	lab(t, "image", "--tag", "localhost/lab-e2e/disk:1", "--out", archive, disk+":/disk/disk.img")
	lab(t, "load", archive)
}

// guestModules are the modules that the guest needs of Debian's kernel, where all of virtio is a
// module, in the order of their loading.
var guestModules = []string{
	"virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci",
	"failover", "net_failover", "virtio_net", "virtio_blk",
}

// debianKernel fetches the kernel of the node's Debian release and returns its
// file and the guest's modules.
func debianKernel(t *testing.T, dir string) (kernel string, modules []string) {
	t.Helper()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
		}
		return string(out)
	}
	// A new machine may have no package lists, or old ones.
	run("apt-get", "-qq", "-o", "Acquire::Retries=3", "update")
	name := regexp.MustCompile(`linux-image-\d\S+`).FindString(run("apt-cache", "depends", "linux-image-amd64"))
	if name == "" {
		t.Fatal("apt knows no kernel of the name linux-image-amd64")
	}
	run("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3", "download", name)
	packages, err := filepath.Glob(filepath.Join(dir, "linux-image-*.deb"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("downloading %s left %q, %v", name, packages, err)
	}
	run("dpkg-deb", "--extract", packages[0], "kernel")
	kernels, err := filepath.Glob(filepath.Join(dir, "kernel/boot/vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		t.Fatalf("%s holds the kernels %q, %v", name, kernels, err)
	}
	for _, m := range guestModules {
		found := strings.Fields(run("find", "kernel/lib/modules", "-name", m+".ko"))
		if len(found) != 1 {
			t.Fatalf("%s holds the modules %q for %s", name, found, m)
		}
		modules = append(modules, filepath.Join(dir, found[0]))
	}
	return kernels[0], modules
}

// newc is an archive in cpio's newc format, which kernels accept as their initial file system.
type newc struct {
	buffer bytes.Buffer
	files  int
}

func (n *newc) add(name string, mode int, data []byte) {
	n.files++
	n.header(name, mode, n.files, len(data))
	n.buffer.Write(data)
	n.pad()
}

// close ends the archive and returns it.
func (n *newc) close() []byte {
	n.header("TRAILER!!!", 0, 0, 0)
	return n.buffer.Bytes()
}

func (n *newc) header(name string, mode, inode, size int) {
	const links = 1
	n.buffer.WriteString("070701")
	// inode, mode, uid, gid, links, mtime, size, device and its own (major and
	// minor each), length of the name with its end, checksum.
	for _, field := range []int{inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, len(name) + 1, 0} {
		fmt.Fprintf(&n.buffer, "%08x", field)
	}
	n.buffer.WriteString(name + "\x00")
	n.pad()
}

func (n *newc) pad() {
	for n.buffer.Len()%4 != 0 {
		n.buffer.WriteByte(0)
	}
}
