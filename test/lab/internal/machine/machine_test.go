package machine

import (
	"flag"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/test/lab/manifests"
)

var update = flag.Bool("update", false, "write the golden files")

func TestGoldens(t *testing.T) {
	for name, m := range map[string]Machine{
		"emulated": {Release: "6.12.1-amd64"},
		"kvm":      {Release: "6.12.1-amd64", KVM: true},
	} {
		got := []byte(strings.Join(m.Args(), " \\\n  ") + "\n")
		path := filepath.Join("testdata", name+".sh")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("unexpected command line (-want +got; -update writes it):\n%s", diff)
		}
	}
}

func TestCards(t *testing.T) {
	const most = 7 // virtual functions of an igb
	ends := map[int]int{}
	seen := map[string]bool{UplinkMAC: true, UplinkTap: true}
	for i, nic := range NICs {
		if nic.VFs > most || nic.UserspaceVFs > nic.VFs {
			t.Errorf("%s has %d virtual functions, %d of them for userspace", nic.Name, nic.VFs, nic.UserspaceVFs)
		}
		if _, err := net.ParseMAC(MAC(i)); err != nil {
			t.Error(err)
		}
		if (nic.Cable == 0) == (nic.Tap == "") {
			t.Errorf("%s is to have one cable: %+v", nic.Name, nic)
		}
		for _, name := range []string{MAC(i), nic.Name, nic.Tap} {
			if name != "" && seen[name] {
				t.Errorf("%s is used twice", name)
			}
			seen[name] = true
		}
		// The kernel's names have at most 15 characters.
		if name := nic.Name + "v9"; len(name) > 15 {
			t.Errorf("the name %s is too long", name)
		}
		ends[nic.Cable]++
	}
	delete(ends, 0)
	for cable, n := range ends {
		if n != 3 { // the generator's, the function's, and TRex's
			t.Errorf("cable %d has %d ends", cable, n)
		}
	}
}

// TestPoolsAgree checks that the device plugin is configured with the pools that lab up waits for.
func TestPoolsAgree(t *testing.T) {
	for _, pool := range Pools() {
		name := strings.TrimPrefix(pool.Resource, ResourcePrefix)
		if !strings.Contains(manifests.SRIOV, `"resourceName": "`+name+`"`) {
			t.Errorf("the device plugin's manifest has no pool %s", name)
		}
	}
	if got, want := strings.Count(manifests.SRIOV, `"resourceName": `), len(Pools()); got != want {
		t.Errorf("the manifest has %d pools, want %d", got, want)
	}
	if !strings.Contains(manifests.SRIOV, "-resource-prefix="+strings.TrimSuffix(ResourcePrefix, "/")) {
		t.Errorf("the manifest does not give pools the prefix %s", ResourcePrefix)
	}
	if want := (Pool{"openshift.io/vm_east", 2}); !slices.Contains(Pools(), want) {
		t.Errorf("%+v has no %+v", Pools(), want)
	}
}

func TestRelease(t *testing.T) {
	tree := t.TempDir()
	if err := os.Mkdir(filepath.Join(tree, "boot"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Release(tree); err == nil {
		t.Error("a tree without a kernel has a release")
	}
	if err := os.WriteFile(filepath.Join(tree, "boot/vmlinuz-6.12.1-amd64"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := Release(tree); err != nil || got != "6.12.1-amd64" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLayout(t *testing.T) {
	got := Content{Node: "/node", Machine: "/machine", Kube: "/kube", CNI: []string{"/cni", "/sriov"}}.layout("6.12")
	want := map[string][]string{
		"usr/lib/modules/6.12": {"/machine/usr/lib/modules/6.12"},
		"/opt/lab/bin":         {"/kube"},
		"/opt/cni/bin":         {"/cni", "/sriov"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected layout (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(string(initScript), "#!/bin/sh\n") {
		t.Error("the init script is no script")
	}
}
