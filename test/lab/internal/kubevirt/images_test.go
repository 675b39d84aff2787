package kubevirt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddUsersKeepsThoseThatAreThere(t *testing.T) {
	got := addUsers("root:x:0:\nkvm:x:999:\n", []string{"qemu:x:107:", "kvm:x:103:", "root:x:1:"})
	if diff := cmp.Diff("root:x:0:\nkvm:x:999:\nqemu:x:107:\n", got); diff != "" {
		t.Errorf("unexpected groups (-want +got):\n%s", diff)
	}
}

// modest makes the parts of a tree and of KubeVirt's module from which files are made.
func modest(t *testing.T) ingredients {
	t.Helper()
	dir := t.TempDir()
	i := ingredients{tree: filepath.Join(dir, "tree"), Compiled: Compiled{Source: filepath.Join(dir, "source"), Binaries: dir}}
	files := map[string]string{}
	for place := range users {
		files["tree/"+place] = "root:x:0:\n"
	}
	for name := range moduleFiles {
		files["source/cmd/virt-launcher/"+name] = name
	}
	files["source/cmd/virt-launcher/"+labellerFile] = "if x; then\n    VIRTTYPE=kvm\nfi\n"
	if err := writeTree(dir, files); err != nil {
		t.Fatal(err)
	}
	return i
}

func TestNodeFilesFollowTheProcessor(t *testing.T) {
	for want, kvm := range map[string]bool{"VIRTTYPE=kvm": true, "VIRTTYPE=qemu": false} {
		dir := t.TempDir()
		if err := modest(t).nodeFiles(dir, kvm); err != nil {
			t.Fatal(err)
		}
		labeller, err := os.ReadFile(filepath.Join(dir, "usr/bin/node-labeller.sh"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(labeller), want) {
			t.Errorf("kvm %t: the labeller says\n%s", kvm, labeller)
		}
	}
}

func TestNodeFilesAreWhatLibvirtWants(t *testing.T) {
	dir := t.TempDir()
	if err := modest(t).nodeFiles(dir, true); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"usr/sbin/virtqemud", "etc/libvirt/hooks/qemu"} {
		info, err := os.Stat(filepath.Join(dir, program))
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s cannot be run: %v, %v", program, info, err)
		}
	}
	passwd, err := os.ReadFile(filepath.Join(dir, "etc/passwd"))
	if err != nil || !strings.Contains(string(passwd), "\nqemu:x:107:107:") {
		t.Errorf("the guests' user is missing: %s, %v", passwd, err)
	}
	home, err := os.Stat(filepath.Join(dir, "home/qemu"))
	if err != nil || home.Mode()&0o002 == 0 {
		t.Errorf("guests' user cannot write to its home: %v, %v", home, err)
	}
}

// TestLabellerOfAnotherVersionIsRefused checks that an unknown version is refused: it would label
// the node with what a KVM that runs no guest offers.
func TestLabellerOfAnotherVersionIsRefused(t *testing.T) {
	i := modest(t)
	if err := writeTree(i.Source, map[string]string{"cmd/virt-launcher/" + labellerFile: "VIRT=kvm\n"}); err != nil {
		t.Fatal(err)
	}
	if err := i.nodeFiles(t.TempDir(), false); err == nil {
		t.Error("the script was left as it is")
	}
}

func TestMadeNamesItsImages(t *testing.T) {
	want := map[string]string{
		"virt-operator":   "localhost/kubevirt/virt-operator:v1-x",
		"virt-api":        "localhost/kubevirt/virt-api:v1-x",
		"virt-controller": "localhost/kubevirt/virt-controller:v1-x",
		"virt-handler":    "localhost/kubevirt/virt-handler:v1-x",
	}
	if diff := cmp.Diff(want, Made{Tag: "v1-x"}.Images()); diff != "" {
		t.Errorf("unexpected images (-want +got):\n%s", diff)
	}
}

// TestFingerprint checks that the images' tag changes with their content, and not with the cache's
// place.
func TestFingerprint(t *testing.T) {
	of := func(dir, tree, binaries string, kvm bool) string {
		t.Helper()
		i := ingredients{tree: dir + tree, Compiled: Compiled{Source: dir + "source", Binaries: dir + binaries}}
		fingerprint, err := i.fingerprint(kvm)
		if err != nil {
			t.Fatal(err)
		}
		return fingerprint
	}
	first := of("/a/", "tree-1", "binaries-1", true)
	if of("/b/", "tree-1", "binaries-1", true) != first {
		t.Error("the fingerprint depends on the cache's place")
	}
	for name, other := range map[string]string{
		"the tree":      of("/a/", "tree-2", "binaries-1", true),
		"the binaries":  of("/a/", "tree-1", "binaries-2", true),
		"the processor": of("/a/", "tree-1", "binaries-1", false),
	} {
		if other == first {
			t.Errorf("the fingerprint does not depend on %s", name)
		}
	}
}
