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

// pve is Proxmox' hosts, and Terraform in a copy of the root lab-proxmox that reaches them.
type pve struct {
	t      *testing.T
	url    string
	client *http.Client
	ticket string
	with   tool
	root   string
}

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

// newImageFactory starts an image factory, and says where.
func newImageFactory(t *testing.T) (factory *imageFactory, url string) {
	t.Helper()
	factory = &imageFactory{}
	factory.times.Store(1000)
	server := httptest.NewServer(factory)
	t.Cleanup(server.Close)
	return factory, server.URL
}

// proxmoxEndpoint is where the example's hosts are.
const proxmoxEndpoint = "https://pve1.example:8006/"

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

// withAnswers is Terraform for a root with real providers by their addresses, and substitutes
// that answer for the others.
func withAnswers(t *testing.T, root string, real map[string]string, answers string) tool {
	t.Helper()
	folder := t.TempDir()
	// The schemas as Terraform has them, from recordings or from the providers of a registry.
	command := exec.Command(terraform.path, "providers", "schema", "-json")
	command.Dir, command.Env = initialized(t, root), terraform.env
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
	maps.Copy(programs, real)
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
	values = strings.ReplaceAll(values, proxmoxEndpoint, p.url+"/")
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
	if err == nil || !strings.Contains(words(output), want) {
		p.t.Fatalf("apply: %v; want an error with %q in\n%s", err, want, output)
	}
}

// words are what Terraform says, with a space wherever its lines end.
func words(output string) string {
	return strings.Join(strings.FieldsFunc(output, func(r rune) bool { return r == '│' || unicode.IsSpace(r) }), " ")
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
	p.nothingLeft()
}

// nothingLeft wants hosts without machines, mappings and volumes.
func (p *pve) nothingLeft() {
	p.t.Helper()
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
