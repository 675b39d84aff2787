package terraform_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	// variableProxmoxProvider names the real provider's program; absent, its tests are not run.
	variableProxmoxProvider = "VNFBENCH_PROXMOX_PROVIDER"
	// variableFakepve names the Python that has fakepve.
	variableFakepve = "VNFBENCH_FAKEPVE"
	// pvePassword is root@pam's, and pveToken that of a user who may do anything but what is root's.
	pvePassword = "a-password-of-the-test"
	pveToken    = "terraform@pve!lab"
	pveSecret   = "a-secret-of-the-test"
)

// otherAnswers is what the substitutes for Talos, Helm and Kubernetes answer; FACTORY is
// the test's own image factory.
const otherAnswers = `{
  "talos_image_factory_schematic": {"id": "${digest}"},
  "talos_image_factory_urls": {"urls": {
    "disk_image": "FACTORY/image/${schematic_id}/${talos_version}/${platform}-amd64.raw.xz",
    "kernel": "FACTORY/image/${schematic_id}/${talos_version}/kernel-amd64",
    "initramfs": "FACTORY/image/${schematic_id}/${talos_version}/initramfs-amd64.xz",
    "installer": "factory.example/${platform}-installer/${schematic_id}:${talos_version}"
  }},
  "talos_cluster_kubeconfig": {"kubernetes_client_configuration": {
    "host": "https://192.0.2.11:6443", "ca_certificate": "c2VjcmV0", "client_certificate": "c2VjcmV0", "client_key": "c2VjcmV0"
  }}
}`

// TestProxmox applies the root lab-proxmox with the real provider: apply, a second plan that is
// empty, changes, a machine more and one less, destroy. After each step it asks the API, and
// not Terraform's state, what there is.
//
// The API is not Proxmox' own: it is fakepve with what test/proxmox/hosts.py adds, which
// says what that is. The images' factory is a server of the test. Talos, Helm and
// Kubernetes are substitutes that make nothing (schemaprovider), so that the root is
// applied whole, in its own order.
func TestProxmox(t *testing.T) {
	provider, python := os.Getenv(variableProxmoxProvider), os.Getenv(variableFakepve)
	if provider == "" || python == "" {
		t.Skip("NOT RUN: Proxmox' provider or fakepve is not there; " + variableProxmoxProvider + " and " + variableFakepve + " name them, and make test-terraform gets both")
	}
	const root = "clusters/lab-proxmox"
	values := exampleValues(t, root)
	factory, url := newImageFactory(t)
	with := withAnswers(t, root, map[string]string{"bpg/proxmox": provider}, strings.ReplaceAll(otherAnswers, "FACTORY", url))
	t.Run("example", func(t *testing.T) { applyExample(t, newPVE(t, python, with), values, factory) })
	t.Run("token", func(t *testing.T) { applyWithToken(t, newPVE(t, python, with), values) })
}

// exampleValues is the text of a root's example.tfvars.
func exampleValues(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(source, root, "example.tfvars"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// applyExample follows a lab that is made of the example as root@pam.
func applyExample(t *testing.T, p *pve, values string, factory *imageFactory) {
	p.login("PROXMOX_VE_USERNAME=root@pam", "PROXMOX_VE_PASSWORD="+pvePassword)
	p.apply(values, " 0 changed, 0 destroyed")
	p.noChanges(values)

	machines := p.machines()
	if want := []string{"nfv-lab-cp-1", "nfv-lab-dut-1", "nfv-lab-gen-1"}; !slices.Equal(slices.Sorted(maps.Keys(machines)), want) {
		t.Fatalf("machines %v, want %v", slices.Sorted(maps.Keys(machines)), want)
	}
	common := map[string]string{
		"agent": "enabled=0 fstrim_cloned_disks=0 type=virtio", "bios": "ovmf", "balloon": "0", "cpu": "host", "ostype": "l26", "scsihw": "virtio-scsi-single",
		"serial0": "socket", "sockets": "1", "startup": "order=10", "onboot": "1", "nameserver": "192.0.2.1", "citype": "nocloud",
		"net0": "bridge=vmbr0 firewall=0 virtio=MAC", "efidisk0": "efitype=4m local-lvm:disk-0 pre-enrolled-keys=0 size=528K",
		"ide2": "local-lvm:cloudinit media=cdrom size=4M", "scsi0": "aio=io_uring backup=1 cache=none discard=on iothread=1 local-lvm:disk-1 replicate=1 size=32G ssd=1",
	}
	for name, own := range map[string]map[string]string{
		"cp-1": {
			"node": "pve1", "cores": "2", "memory": "4096", "machine": "q35", "tags": "controlplane;nfv-lab;talos",
			"ipconfig0": "gw=192.0.2.1 ip=192.0.2.11/24", "numa": "0",
			"affinity": "", "hugepages": "", "hostpci0": "", "numa0": "", "net1": "",
		},
		"gen-1": {
			"node": "pve2", "cores": "8", "memory": "16384", "machine": "q35 viommu=intel", "tags": "nfv-lab;talos;worker",
			"ipconfig0": "gw=192.0.2.1 ip=192.0.2.21/24", "affinity": "8-15", "hugepages": "", "numa": "1",
			"numa0":    "cpus=0-7 hostnodes=1 memory=16384 policy=bind",
			"hostpci0": "mapping=west pcie=1 rombar=1 x-vga=0", "hostpci1": "mapping=east pcie=1 rombar=1 x-vga=0", "hostpci2": "",
		},
		"dut-1": {
			"node": "pve3", "cores": "8", "memory": "32768", "machine": "q35 viommu=intel", "tags": "nfv-lab;talos;worker",
			"ipconfig0": "gw=192.0.2.1 ip=192.0.2.31/24", "affinity": "8-15", "hugepages": "1024", "keephugepages": "1", "numa": "1",
			"numa0":    "cpus=0-7 hostnodes=1 memory=32768 policy=bind",
			"hostpci0": "mapping=west pcie=1 rombar=1 x-vga=0", "hostpci1": "mapping=east pcie=1 rombar=1 x-vga=0",
		},
	} {
		machine := machines["nfv-lab-"+name]
		for _, wanted := range []map[string]string{common, own} {
			for option, want := range wanted {
				if got := machine.option(option); got != want {
					t.Errorf("%s: %s is %q, want %q", name, option, got, want)
				}
			}
		}
		if machine.status != "running" {
			t.Errorf("%s is %s", name, machine.status)
		}
	}
	mappings := p.mappings()
	for name, address := range map[string]string{"west": "iommugroup=33 %s path=0000:03:00.0", "east": "iommugroup=34 %s path=0000:03:00.1"} {
		want := []string{}
		for _, host := range []string{"pve2", "pve3"} {
			want = append(want, fmt.Sprintf("id=8086:1572 "+address+" subsystem-id=8086:0001", "node="+host))
		}
		if got := mappings[name]; !slices.Equal(got, want) {
			t.Errorf("mapping %s is %q, want %q", name, got, want)
		}
	}
	for host, machine := range map[string]string{"pve1": "cp-1", "pve2": "gen-1", "pve3": "dut-1"} {
		images := slices.Collect(maps.Keys(p.volumes(host, "local")))
		if disk := fmt.Sprintf("local-lvm:vm-%d-disk-1", machines["nfv-lab-"+machine].id); len(images) == 1 && p.volumes(host, "local-lvm")[disk] != images[0] {
			t.Errorf("the disk of %s is of %q, want %q", machine, p.volumes(host, "local-lvm")[disk], images[0])
		}
		if len(images) != 1 || !regexp.MustCompile(`^local:import/nfv-lab-talos-v1\.13\.0-[0-9a-f]{12}\.qcow2$`).MatchString(images[0]) {
			t.Errorf("images of %s are %q, want that of its machine", host, images)
		}
	}

	// A machine that runs gets a NIC and a larger disk at once, and its memory when it is restarted: nothing restarts it.
	values = replaced(t, values, "memory_mib   = 16384", "memory_mib   = 24576\n    traffic_bridges = [\"vmbr10\", \"vmbr11\"]")
	values = replaced(t, values, "hugepages_mib = 1024", "hugepages_mib = 1024\n    disk_gib = 48")
	p.apply(values, "0 added, 2 changed, 0 destroyed")
	p.noChanges(values)
	changed := p.machines()
	gen := changed["nfv-lab-gen-1"]
	for option, want := range map[string]string{
		"memory": "24576", "numa0": "cpus=0-7 hostnodes=1 memory=24576 policy=bind",
		"net1": "bridge=vmbr10 firewall=0 mtu=1 queues=8 virtio=MAC", "net2": "bridge=vmbr11 firewall=0 mtu=1 queues=8 virtio=MAC",
	} {
		if got := gen.option(option); got != want {
			t.Errorf("gen-1 changed: %s is %q, want %q", option, got, want)
		}
	}
	if pending := gen.pending; !slices.Contains(pending, "memory") || slices.Contains(pending, "net1") {
		t.Errorf("what waits for a restart of gen-1 is %v, want its memory and no NIC", pending)
	}
	if dut := changed["nfv-lab-dut-1"]; !strings.Contains(dut.option("scsi0"), "size=48G") || len(dut.pending) > 0 {
		t.Errorf("dut-1 has the disk %q and waits for %v, want 48 GiB and nothing", dut.option("scsi0"), dut.pending)
	}
	p.sameAs(machines, changed)

	// The provider takes no larger disk together with what waits for a restart. The next apply has it.
	values = replaced(t, values, "memory_mib = 4096", "memory_mib = 8192\n    disk_gib   = 64")
	p.refused(values, "cannot resize disks while the VM is running")
	p.apply(values, "0 added, 1 changed, 0 destroyed")
	p.noChanges(values)
	if first := p.machines()["nfv-lab-cp-1"]; !strings.Contains(first.option("scsi0"), "size=64G") || !slices.Contains(first.pending, "memory") {
		t.Errorf("cp-1 has the disk %q and waits for %v, want 64 GiB, and its memory", first.option("scsi0"), first.pending)
	}

	// With restart_on_change a machine is stopped, changed and started, and has all that waited.
	values = replaced(t, values, "cluster_name ", "restart_on_change = true\ncluster_name ")
	values = replaced(t, values, "cpus       = 2", "cpus       = 4")
	p.apply(values, "0 added, 3 changed, 0 destroyed")
	p.noChanges(values)
	restarted := p.machines()
	first := restarted["nfv-lab-cp-1"]
	if first.option("memory") != "8192" || first.option("cores") != "4" || len(first.pending) > 0 || first.status != "running" {
		t.Errorf("cp-1 has memory %s and %s vCPUs, waits for %v, and is %s", first.option("memory"), first.option("cores"), first.pending, first.status)
	}
	p.sameAs(machines, restarted)

	// A machine more, on a host that has the image of its class; then it goes with its disk.
	more := replaced(t, values, "nodes = {", fmt.Sprintf(oneMore, "pve2"))
	p.apply(more, "2 added, 0 changed, 0 destroyed")
	p.noChanges(more)
	grown := p.machines()
	if added := grown["nfv-lab-a-1"]; added.status != "running" || added.option("node") != "pve2" || added.option("cores") != "4" || len(grown) != 4 {
		t.Errorf("the machine more is %+v of %d", added, len(grown))
	}
	if images := p.volumes("pve2", "local"); len(images) != 1 {
		t.Errorf("images of pve2 are %q, want one", images)
	}
	p.sameAs(machines, grown)
	p.apply(values, "0 added, 0 changed, 2 destroyed")
	p.sameAs(machines, p.machines())

	// Another Talos is other images, and no other machine.
	values += "talos_version = \"v1.13.1\"\n"
	p.apply(values, "3 added, 1 changed, 3 destroyed") // Talos' secrets say for which version they are
	p.noChanges(values)
	p.sameAs(machines, p.machines())

	// The factory makes an image again, of another size: a machine's image stays what it is.
	factory.times.Store(2000)
	p.noChanges(values)
	factory.times.Store(1000)

	class := ""
	for image := range p.volumes("pve1", "local") {
		class = regexp.MustCompile(`v1\.13\.1-([0-9a-f]{12})`).FindStringSubmatch(image)[1]
	}
	p.destroy(values)

	// An image that is not what it should be is not taken.
	p.refused(values+"image_checksums = { \""+class+"\" = \""+strings.Repeat("0", 64)+"\" }\n", "checksum mismatch")
	p.destroy(values)
}

// applyWithToken checks what the documentation says of a token: it is refused what root@pam alone
// may set, and builds the rest; here on other storages and bridges than the example's.
func applyWithToken(t *testing.T, p *pve, values string) {
	p.login("PROXMOX_VE_API_TOKEN=" + pveToken + "=" + pveSecret)
	p.refused(values, "only root can set 'affinity' config")
	p.destroy(values)
	values += `
datastore         = "fast"
image_datastore   = "share"
image_host        = "pve2"
management_bridge = "vmbr1"
management_vlan   = 20
`
	for _, line := range []string{"    cpu_affinity = \"8-15\"\n", "    cpu_affinity  = \"8-15\"\n", "    hugepages_mib = 1024\n"} {
		values = replaced(t, values, line, "")
	}
	values = replaced(t, values, "nodes = {", fmt.Sprintf(oneMore, "pve3"))
	p.apply(values, " 0 changed, 0 destroyed")
	p.noChanges(values)
	machines := p.machines()
	if len(machines) != 4 {
		t.Errorf("machines by a token are %+v", machines)
	}
	for option, want := range map[string]string{
		"net0": "bridge=vmbr1 firewall=0 tag=20 virtio=MAC", "numa0": "cpus=0-7 hostnodes=1 memory=16384 policy=bind", "affinity": "",
		"hostpci0": "mapping=west pcie=1 rombar=1 x-vga=0", "ide2": "fast:cloudinit media=cdrom size=4M",
		"efidisk0": "efitype=4m fast:disk-0 pre-enrolled-keys=0 size=528K",
		"scsi0":    "aio=io_uring backup=1 cache=none discard=on fast:disk-1 iothread=1 replicate=1 size=32G ssd=1",
	} {
		if got := machines["nfv-lab-gen-1"].option(option); got != want {
			t.Errorf("gen-1 by a token: %s is %q, want %q", option, got, want)
		}
	}
	if images := p.volumes("pve1", "share"); len(images) != 3 {
		t.Errorf("images on the shared storage are %v, want one for each class", images)
	}
	p.destroy(values)
}

// oneMore is a machine more, of the image class of gen-1.
const oneMore = `nodes = {
  a-1 = {
    host        = "%s"
    role        = "worker"
    address     = "192.0.2.41/24"
    cpus        = 4
    memory_mib  = 4096
    measurement = { reserved_cpus = "0-1", isolated_cpus = "2-7" }
  }`
