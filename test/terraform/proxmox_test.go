package terraform_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
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
    "installer": "factory.example/${platform}-installer/${schematic_id}:${talos_version}"
  }},
  "talos_cluster_kubeconfig": {"kubernetes_client_configuration": {
    "host": "https://192.0.2.11:6443", "ca_certificate": "c2VjcmV0", "client_certificate": "c2VjcmV0", "client_key": "c2VjcmV0"
  }}
}`

// pve is Proxmox' hosts, and Terraform in a copy of the root lab-proxmox that reaches them.
type pve struct {
	t      *testing.T
	url    string
	client *http.Client
	ticket string
	with   tool
	root   string
}

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
	example, err := os.ReadFile(filepath.Join(source, "clusters/lab-proxmox/example.tfvars"))
	if err != nil {
		t.Fatal(err)
	}
	factory := &imageFactory{}
	factory.times.Store(1000)
	server := httptest.NewServer(factory)
	t.Cleanup(server.Close)
	with := withAnswers(t, provider, strings.ReplaceAll(otherAnswers, "FACTORY", server.URL))
	t.Run("example", func(t *testing.T) { applyExample(t, newPVE(t, python, with), string(example), factory) })
	t.Run("token", func(t *testing.T) { applyWithToken(t, newPVE(t, python, with), string(example)) })
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

// imageFactory gives disk images by the factory's addresses, in the one format that Proxmox imports.
type imageFactory struct {
	// times is how often an image has its address in it.
	times atomic.Int64
}

func (f *imageFactory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !regexp.MustCompile(`^/image/[0-9a-f]{64}/v[0-9.]+/nocloud-amd64\.qcow2$`).MatchString(r.URL.Path) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = w.Write(bytes.Repeat([]byte(r.URL.Path), int(f.times.Load()))) // a reader that goes away reads nothing
}

// newPVE starts three hosts, and makes a copy of the root for them.
func newPVE(t *testing.T, python string, with tool) *pve {
	t.Helper()
	folder := t.TempDir()
	writeCertificates(t, folder)
	device := func(path string, group int) map[string]any {
		return map[string]any{"path": path, "id": "8086:1572", "iommugroup": group, "subsystem-id": "8086:0001"}
	}
	host := map[string]any{
		"bridges": []string{"vmbr0", "vmbr1", "vmbr10", "vmbr11"}, "numa_nodes": 2,
		"devices": []any{device("0000:03:00.0", 33), device("0000:03:00.1", 34)},
	}
	description, err := json.Marshal(map[string]any{
		"certificate": filepath.Join(folder, "server.crt"), "key": filepath.Join(folder, "server.key"),
		"user": "root@pam", "password": pvePassword,
		"tokens": map[string]string{pveToken: pveSecret},
		"grants": []any{[]any{pveToken, "/", []string{"*"}}},
		"hosts":  map[string]any{"pve1": host, "pve2": host, "pve3": host},
		"storages": map[string]any{
			"local":     map[string]any{"type": "dir", "path": "/var/lib/vz", "content": "iso,vztmpl,import"},
			"local-lvm": map[string]any{"type": "lvmthin", "vgname": "pve", "thinpool": "data", "content": "images,rootdir"},
			"fast":      map[string]any{"type": "lvmthin", "vgname": "nvme", "thinpool": "data", "content": "images"},
			"share":     map[string]any{"type": "nfs", "path": "/mnt/pve/share", "server": "192.0.2.5", "export": "/images", "shared": 1, "content": "import"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "hosts.json")
	if err := os.WriteFile(file, description, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &pve{t: t, root: with.initialized(t, "clusters/lab-proxmox"), url: "https://127.0.0.1:" + startHosts(t, python, file)}
	authority, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	p.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: time.Minute}
	// No credentials are the user's. The provider trusts the authority as a user's would, and its
	// files with the next number are the test's.
	own := slices.DeleteFunc(slices.Clone(with.env), func(variable string) bool { return strings.HasPrefix(variable, "PROXMOX_VE_") })
	p.with = tool{path: with.path, env: append(own, "SSL_CERT_FILE="+filepath.Join(folder, "ca.crt"), "TMPDIR="+folder)}
	for _, manifest := range []string{"kubevirt-operator.yaml", "multus-daemonset-thick.yml"} {
		text, err := os.ReadFile(filepath.Join(source, "modules/addons/tests/fixtures", manifest))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.root, manifest), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// startHosts starts the API and says on which port.
func startHosts(t *testing.T, python, description string) (port string) {
	t.Helper()
	program, err := filepath.Abs("../proxmox/hosts.py")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(python, program, description)
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var said lockedBuffer
	command.Stderr = &said
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended by itself
		_ = command.Wait()         // killed is no success
		if text := said.String(); text != "" {
			t.Errorf("the hosts say: %s", text)
		}
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the hosts do not start: %v\n%s", err, said.String())
	}
	return strings.TrimSpace(line)
}

// lockedBuffer is a buffer that one writes while another reads.
type lockedBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(content []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(content)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}

// withAnswers is Terraform with Proxmox' real provider, and substitutes that answer for the others.
func withAnswers(t *testing.T, provider, answers string) tool {
	t.Helper()
	folder := t.TempDir()
	// The schemas as Terraform has them, from recordings or from the providers of a registry.
	command := exec.Command(terraform.path, "providers", "schema", "-json")
	command.Dir, command.Env = initialized(t, "clusters/lab-proxmox"), terraform.env
	schemas, err := command.Output()
	if err != nil {
		t.Fatalf("reading the providers' schemas: %v", err)
	}
	for name, content := range map[string][]byte{"schema.json": schemas, "answers.json": []byte(answers)} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	standIn, err := buildSchemaProvider()
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{}
	for address := range providers {
		programs[address] = standIn
	}
	programs["bpg/proxmox"] = provider
	configuration, err := writeMirror(folder, programs)
	if err != nil {
		t.Fatal(err)
	}
	return tool{path: terraform.path, env: append(slices.Clone(terraform.env), "TF_CLI_CONFIG_FILE="+configuration,
		"SCHEMAPROVIDER_DIR="+folder, "SCHEMAPROVIDER_ANSWERS="+filepath.Join(folder, "answers.json"))}
}

// login takes credentials for Terraform, and root's for the test itself.
func (p *pve) login(credentials ...string) {
	p.t.Helper()
	p.with.env = append(p.with.env, credentials...)
	answer, err := p.client.PostForm(p.url+"/api2/json/access/ticket", url.Values{"username": {"root@pam"}, "password": {pvePassword}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read whole
	var got struct{ Data struct{ Ticket string } }
	if err := decode(answer, &got); err != nil {
		p.t.Fatal(err)
	}
	p.ticket = got.Data.Ticket
}

// terraform runs a command with the values of a lab.
func (p *pve) terraform(values string, arguments ...string) (string, error) {
	p.t.Helper()
	file := filepath.Join(p.root, "lab.auto.tfvars")
	values = strings.ReplaceAll(values, "https://pve1.example:8006/", p.url+"/")
	if err := os.WriteFile(file, []byte(values), 0o644); err != nil {
		p.t.Fatal(err)
	}
	began := time.Now()
	defer func() { p.t.Logf("%s took %s", arguments[0], time.Since(began).Round(time.Second/10)) }()
	return p.with.run(p.root, append(arguments, "-no-color")...)
}

// apply applies, and wants words in what is said at the end.
func (p *pve) apply(values, want string) {
	p.t.Helper()
	output, err := p.terraform(values, "apply", "-auto-approve")
	if err != nil || !strings.Contains(output, want) {
		p.t.Fatalf("apply: %v; want %q in\n%s", err, want, output)
	}
}

// refused applies, and wants an error with these words, wherever its lines end.
func (p *pve) refused(values, want string) {
	p.t.Helper()
	output, err := p.terraform(values, "apply", "-auto-approve")
	words := strings.Join(strings.FieldsFunc(output, func(r rune) bool { return r == '│' || unicode.IsSpace(r) }), " ")
	if err == nil || !strings.Contains(words, want) {
		p.t.Fatalf("apply: %v; want an error with %q in\n%s", err, want, output)
	}
}

// noChanges wants a plan that is empty.
func (p *pve) noChanges(values string) {
	p.t.Helper()
	if output, err := p.terraform(values, "plan", "-detailed-exitcode"); err != nil {
		p.t.Fatalf("the plan after an apply is not empty: %v\n%s", err, output)
	}
}

// destroy destroys, and wants nothing left on the hosts.
func (p *pve) destroy(values string) {
	p.t.Helper()
	if output, err := p.terraform(values, "destroy", "-auto-approve"); err != nil {
		p.t.Fatalf("destroy: %v\n%s", err, output)
	}
	if machines := p.machines(); len(machines) > 0 {
		p.t.Errorf("machines are left: %v", machines)
	}
	if mappings := p.mappings(); len(mappings) > 0 {
		p.t.Errorf("mappings are left: %v", mappings)
	}
	for _, host := range []string{"pve1", "pve2", "pve3"} {
		var tasks []struct{ Type string }
		p.get("/nodes/"+host+"/tasks?limit=1000", &tasks)
		for _, task := range tasks {
			if task.Type == "qmshutdown" {
				p.t.Errorf("a machine of %s is asked to shut down, which none does that has no configuration yet", host)
			}
		}
		for _, storage := range []string{"local", "local-lvm", "fast", "share"} {
			if left := p.volumes(host, storage); len(left) > 0 {
				p.t.Errorf("volumes are left on %s: %v", host, left)
			}
		}
	}
}

// sameAs wants machines that are still there to be the ones that were.
func (p *pve) sameAs(before, now map[string]pveMachine) {
	p.t.Helper()
	for name, machine := range before {
		if now[name].id != machine.id || now[name].options["vmgenid"] != machine.options["vmgenid"] {
			p.t.Errorf("%s was %d, and is %d: another machine", name, machine.id, now[name].id)
		}
	}
}

// get reads from the API.
func (p *pve) get(path string, into any) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+"/api2/json"+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	request.AddCookie(&http.Cookie{Name: "PVEAuthCookie", Value: p.ticket})
	answer, err := p.client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read whole
	wrapped := struct {
		Data any `json:"data"`
	}{into}
	if err := decode(answer, &wrapped); err != nil {
		p.t.Fatalf("%s: %v", path, err)
	}
}

// decode reads an answer.
func decode(answer *http.Response, into any) error {
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", answer.Status, content)
	}
	return json.Unmarshal(content, into)
}

// pveMachine is a virtual machine as the API shows it.
type pveMachine struct {
	id      int
	status  string
	options map[string]any
	// pending are options that a restart would change.
	pending []string
}

var (
	hardwareAddress = regexp.MustCompile(`=([0-9A-F]{2}:){5}[0-9A-F]{2}$`)
	volumeNumber    = regexp.MustCompile(`:vm-\d+-`)
)

// option is an option with its parts in order, and without what Proxmox itself gives: numbers of
// volumes and hardware addresses.
func (m pveMachine) option(name string) string {
	if m.options[name] == nil {
		return ""
	}
	parts := strings.Split(fmt.Sprint(m.options[name]), ",")
	for i, part := range parts {
		part = hardwareAddress.ReplaceAllString(strings.TrimPrefix(part, "file="), "=MAC")
		parts[i] = volumeNumber.ReplaceAllString(part, ":")
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// machines are all virtual machines by name.
func (p *pve) machines() map[string]pveMachine {
	p.t.Helper()
	var list []struct {
		Name, Node, Status string
		VMID               int
	}
	p.get("/cluster/resources?type=vm", &list)
	found := map[string]pveMachine{}
	for _, one := range list {
		machine := pveMachine{id: one.VMID, status: one.Status}
		path := fmt.Sprintf("/nodes/%s/qemu/%d/", one.Node, one.VMID)
		p.get(path+"config", &machine.options)
		machine.options["node"] = one.Node
		var options []struct {
			Key     string
			Pending any
			Delete  int
		}
		p.get(path+"pending", &options)
		for _, option := range options {
			if option.Pending != nil || option.Delete != 0 {
				machine.pending = append(machine.pending, option.Key)
			}
		}
		found[one.Name] = machine
	}
	return found
}

// mappings are the hardware mappings' devices, each with its parts in order.
func (p *pve) mappings() map[string][]string {
	p.t.Helper()
	var list []struct {
		ID  string
		Map []string
	}
	p.get("/cluster/mapping/pci", &list)
	found := map[string][]string{}
	for _, one := range list {
		for _, device := range one.Map {
			parts := strings.Split(device, ",")
			slices.Sort(parts)
			found[one.ID] = append(found[one.ID], strings.Join(parts, " "))
		}
		slices.Sort(found[one.ID])
	}
	return found
}

// volumes are what a storage has on a host, with the image that each was imported from.
func (p *pve) volumes(host, storage string) map[string]string {
	p.t.Helper()
	var list []struct{ VolID, Notes string }
	p.get("/nodes/"+host+"/storage/"+storage+"/content", &list)
	found := map[string]string{}
	for _, one := range list {
		found[one.VolID] = one.Notes
	}
	return found
}

// replaced is text with one part of it replaced, which has to be there once.
func replaced(t *testing.T, text, part, by string) string {
	t.Helper()
	if strings.Count(text, part) != 1 {
		t.Fatalf("%q is %d times in the example, want once", part, strings.Count(text, part))
	}
	return strings.Replace(text, part, by, 1)
}
