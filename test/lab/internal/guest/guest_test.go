package guest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cavaliergopher/cpio"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"vnfbench.io/test/lab/internal/image"
)

const (
	dependencies = `kernel/net/virtio_net.ko: kernel/net/net_failover.ko kernel/net/failover.ko
kernel/net/net_failover.ko: kernel/net/failover.ko
kernel/net/failover.ko:
kernel/crypto/aesni-intel.ko:
kernel/fs/isofs.ko:
`
	builtin = "kernel/net/packet/af_packet.ko\n"
)

func TestClosure(t *testing.T) {
	tree, err := readTree(strings.NewReader(dependencies), strings.NewReader(builtin))
	if err != nil {
		t.Fatal(err)
	}
	got, err := tree.closure([]string{"virtio_net", "aesni-intel", "af_packet", "net_failover"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"kernel/crypto/aesni-intel.ko", "kernel/net/failover.ko", "kernel/net/net_failover.ko", "kernel/net/virtio_net.ko"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := tree.closure([]string{"e1000"}); err == nil || !strings.Contains(err.Error(), `no module "e1000"`) {
		t.Errorf("a module that is not there gives %v", err)
	}
}

func TestWanted(t *testing.T) {
	got := wanted("# a comment\n\nvirtio_net\n  e1000  \n")
	if diff := cmp.Diff([]string{"virtio_net", "e1000"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, program := range []string{"vnf", "neighbor"} {
		list, err := moduleList(program)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, name := range wanted(list) {
			if seen[name] {
				t.Errorf("%s is twice in the list of %s", name, program)
			}
			seen[name] = true
		}
	}
	if _, err := moduleList("manager"); err == nil || !strings.Contains(err.Error(), `"manager"`) {
		t.Errorf("a program that has no guest gives %v", err)
	}
}

// populated returns a root with a program in it, made at a given time.
func populated(t *testing.T, program string, made time.Time) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), program)
	g := Guest{Program: program}
	if err := os.WriteFile(source, []byte("program"), 0o775); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := populate(root, Guest{Program: program, Files: []image.File{{Source: source, Destination: g.path()}}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(root, g.path()), made, made); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestInitramfs(t *testing.T) {
	for _, program := range []string{"vnf", "neighbor"} {
		t.Run(program, func(t *testing.T) { testInitramfs(t, program) })
	}
}

func testInitramfs(t *testing.T, program string) {
	var first, second bytes.Buffer
	if err := writeInitramfs(&first, populated(t, program, time.Unix(1, 0))); err != nil {
		t.Fatal(err)
	}
	if err := writeInitramfs(&second, populated(t, program, time.Unix(1e9, 0))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("equal files give different archives")
	}
	decoder, err := zstd.NewReader(&first)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	got := map[string]string{}
	archive := cpio.NewReader(decoder)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.ModTime.Unix() != 0 || header.Uid != 0 || header.Guid != 0 {
			t.Errorf("%s is of %s and belongs to %d:%d", header.Name, header.ModTime, header.Uid, header.Guid)
		}
		got[header.Name] = header.Mode.String() + " " + header.Linkname + string(data)
	}
	for name, want := range map[string]string{
		"usr/local/bin/" + program: cpio.FileMode(cpio.TypeReg|0o755).String() + " program",
		"init":                     cpio.FileMode(cpio.TypeSymlink|0o777).String() + " " + (Guest{Program: program}).path(),
		"sbin/modprobe":            cpio.FileMode(cpio.TypeSymlink|0o777).String() + " /usr/local/bin/" + program,
		"proc":                     cpio.FileMode(cpio.TypeDir|0o755).String() + " ",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// contents reads an initial file system.
func contents(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	decoder, err := zstd.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	files := map[string]string{}
	for reader := cpio.NewReader(decoder); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(data)
	}
}

// TestCards checks that a card of each family, whole and as a virtual function, has its driver in
// the guest, by the alias that the kernel gives the card.
func TestCards(t *testing.T) {
	dir := os.Getenv("VNFBENCH_GUEST")
	if dir == "" {
		t.Skip("VNFBENCH_GUEST is not set: make test-guest makes the guest and looks into it")
	}
	archive, err := os.Open(filepath.Join(dir, initrdFile))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := contents(t, archive)
	aliases, drivers := "", map[string]bool{}
	for name, content := range files {
		switch {
		case path.Base(name) == "modules.alias":
			aliases = content
		case strings.HasSuffix(name, ".ko") && len(content) > 0:
			drivers[nameOf(name)] = true
		}
	}
	for device, want := range map[string]string{
		"00008086d000010FB": "ixgbe", "00008086d000010ED": "ixgbevf", // 82599
		"00008086d00001572": "i40e", "00008086d0000154C": "iavf", // X710
		"00008086d00001592": "ice", "00008086d00001889": "iavf", // E810
		"00008086d00001521": "igb", "00008086d00001520": "igbvf", // I350
		"000015B3d00001017": "mlx5_core", "000015B3d00001018": "mlx5_core", // ConnectX-5
		"00008086d0000100E": "e1000", "00008086d000010D3": "e1000e", "000010ECd00008139": "8139cp",
	} {
		var found []string
		for line := range strings.Lines(aliases) {
			fields := strings.Fields(line)
			if len(fields) != 3 {
				continue
			}
			if matched, _ := path.Match(fields[1], "pci:v"+device+"sv00000000sd00000000bc02sc00i00"); matched {
				found = append(found, fields[2])
			}
		}
		if !slices.Contains(found, want) || !drivers[want] {
			t.Errorf("device %s: its aliases lead to %v, want %s; that file is there: %v", device, found, want, drivers[want])
		}
	}
}

func TestPopulateNeedsTheProgram(t *testing.T) {
	if err := populate(t.TempDir(), Guest{Program: "neighbor"}); err == nil || !strings.Contains(err.Error(), "/usr/local/bin/neighbor") {
		t.Errorf("without the program: %v", err)
	}
}

// TestDisk checks that a disk of the same files is the same at another time.
func TestDisk(t *testing.T) {
	for _, tool := range []string{"mformat", "mmd", "mcopy", "syslinux"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not here: make guest-image installs it", tool)
		}
	}
	var disks [2][]byte
	for i := range disks {
		dir := t.TempDir()
		for name, content := range map[string]string{kernelFile: "kernel", initrdFile: "initial file system", "loader.efi": "what a UEFI starts"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out := filepath.Join(dir, diskFile)
		if err := writeDisk(t.Context(), dir, filepath.Join(dir, "loader.efi"), out); err != nil {
			t.Fatal(err)
		}
		var err error
		if disks[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2100 * time.Millisecond) // FAT counts time in two seconds
	}
	if !bytes.Equal(disks[0], disks[1]) {
		t.Error("equal files give different disks")
	}
	if signature := disks[0][510:512]; signature[0] != 0x55 || signature[1] != 0xaa || !bytes.Contains(disks[0], []byte(KernelArguments)) {
		t.Error("the disk is not one that boots")
	}
	if !bytes.Contains(disks[0], []byte("what a UEFI starts")) || !bytes.Contains(disks[0], []byte("options "+KernelArguments)) {
		t.Error("the disk is not one that a UEFI boots")
	}
}

func TestDiskCylinders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, make([]byte, 1<<20+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := diskCylinders(file, file); err != nil || got != 6 {
		t.Errorf("got %d, %v, want 2 MiB for each and 2 for the rest", got, err)
	}
}
