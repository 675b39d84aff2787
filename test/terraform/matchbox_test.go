package terraform_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// variableMatchbox names Matchbox' program; absent, its tests are not run.
	variableMatchbox = "VNFBENCH_MATCHBOX"
	// variableMatchboxProvider names the real provider's program.
	variableMatchboxProvider = "VNFBENCH_MATCHBOX_PROVIDER"
)

// metalRoot calls the module as lab-metal does; its images are of no factory.
const metalRoot = `
terraform {
  required_providers {
    matchbox = {
      source = "poseidon/matchbox"
    }
  }
}

variable "folder" { type = string }
variable "endpoint" { type = string }
variable "spare" { type = bool }
variable "console" { type = string }

provider "matchbox" {
  endpoint    = var.endpoint
  client_cert = file("${var.folder}/client.crt")
  client_key  = file("${var.folder}/client.key")
  ca          = file("${var.folder}/ca.crt")
}

locals {
  nodes = merge({
    cp-1  = { mac = "0c:c4:7a:00:00:11", role = "controlplane", address = "192.0.2.11/24", install_disk = "/dev/sda" }
    dut-1 = { mac = "0c:c4:7a:00:00:31", role = "worker", address = "192.0.2.31/24", install_disk = "/dev/sda", kernel_args = ["console=${var.console}"] }
    }, var.spare ? {
    a-1 = { mac = "0c:c4:7a:00:00:41", role = "worker", address = "192.0.2.41/24", install_disk = "/dev/sda", kernel_args = [] }
  } : {})
}

module "nodes" {
  source = "../../modules/baremetal-nodes"

  cluster_name = "nfv-lab"
  nodes        = local.nodes
  images = { for name in keys(local.nodes) : name => {
    kernel    = "http://factory.example/${name}/kernel-amd64"
    initramfs = "http://factory.example/${name}/initramfs-amd64.xz"
    installer = "factory.example/installer/${name}:v1.13.0"
  } }
}
`

// TestMatchbox applies the module for bare machines with the real provider to a real
// Matchbox on loopback: apply, a second plan that is empty, another argument of one machine's kernel,
// one machine more and one less, destroy.
func TestMatchbox(t *testing.T) {
	server, provider := os.Getenv(variableMatchbox), os.Getenv(variableMatchboxProvider)
	if server == "" || provider == "" {
		t.Skip("NOT RUN: Matchbox or its provider is not there; " + variableMatchbox + " and " + variableMatchboxProvider + " name them, and make test-terraform builds both")
	}
	m := newMatchbox(t, server)
	real := withProviders(t, map[string]string{"poseidon/matchbox": provider})
	top, err := copyTree(filepath.Join(t.TempDir(), "terraform"))
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(top, "clusters", "matchbox")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "main.tf"), []byte(metalRoot), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(want string, arguments ...string) {
		t.Helper()
		output, err := real.run(root, append(arguments, "-no-color")...)
		if err != nil || !strings.Contains(output, want) {
			t.Fatalf("%v: %v; want %q in\n%s", arguments, err, want, output)
		}
	}
	console := "ttyS1,115200"
	variables := func(spare bool) []string {
		return []string{"-var=folder=" + m.folder, "-var=endpoint=" + m.endpoint, "-var=console=" + console, fmt.Sprintf("-var=spare=%t", spare)}
	}
	run("", "init")
	run("4 added, 0 changed, 0 destroyed", append([]string{"apply", "-auto-approve"}, variables(false)...)...)
	run("No changes", append([]string{"plan"}, variables(false)...)...)

	script := get(t, "http://"+m.address+"/ipxe?mac=0c:c4:7a:00:00:31")
	for _, want := range []string{"http://factory.example/dut-1/kernel-amd64", "http://factory.example/dut-1/initramfs-amd64.xz", "talos.platform=metal", "console=ttyS1,115200"} {
		if !strings.Contains(script, want) {
			t.Errorf("what Matchbox answers lacks %q:\n%s", want, script)
		}
	}
	// Nothing that the configuration has is in what anyone may ask for.
	if generic := get(t, "http://"+m.address+"/generic?mac=0c:c4:7a:00:00:31"); strings.TrimSpace(generic) != "" && !strings.Contains(generic, "404") {
		t.Errorf("Matchbox hands out a configuration: %s", generic)
	}

	// Another argument is what the machine gets at its next boot, and nothing else is another: the
	// provider makes the profile again.
	other := get(t, "http://"+m.address+"/ipxe?mac=0c:c4:7a:00:00:11")
	console = "ttyS0,9600"
	run("1 added, 0 changed, 1 destroyed", append([]string{"apply", "-auto-approve"}, variables(false)...)...)
	run("No changes", append([]string{"plan"}, variables(false)...)...)
	if changed := get(t, "http://"+m.address+"/ipxe?mac=0c:c4:7a:00:00:31"); changed != strings.ReplaceAll(script, "ttyS1,115200", "ttyS0,9600") {
		t.Errorf("with another argument Matchbox answers\n%s", changed)
	}
	if same := get(t, "http://"+m.address+"/ipxe?mac=0c:c4:7a:00:00:11"); same != other {
		t.Errorf("the other machine's answer was\n%s and is\n%s", other, same)
	}

	run("2 added, 0 changed, 0 destroyed", append([]string{"apply", "-auto-approve"}, variables(true)...)...)
	run("0 added, 0 changed, 2 destroyed", append([]string{"apply", "-auto-approve"}, variables(false)...)...)
	run("4 destroyed", append([]string{"destroy", "-auto-approve"}, variables(false)...)...)
	m.nothingLeft(t)
}

// matchbox is a Matchbox on loopback: its addresses, and a folder with its data and the certificates of
// its clients.
type matchbox struct{ folder, address, endpoint string }

// newMatchbox starts a Matchbox.
func newMatchbox(t *testing.T, program string) matchbox {
	t.Helper()
	m := matchbox{folder: t.TempDir(), address: freeAddress(t), endpoint: freeAddress(t)}
	writeCertificates(t, m.folder)
	if err := os.Mkdir(m.data(), 0o755); err != nil {
		t.Fatal(err)
	}
	m.start(t, program)
	return m
}

func (m matchbox) data() string { return filepath.Join(m.folder, "data") }

// nothingLeft wants a Matchbox without groups and profiles.
func (m matchbox) nothingLeft(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"groups", "profiles"} {
		left, err := os.ReadDir(filepath.Join(m.data(), kind))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if len(left) > 0 {
			t.Errorf("%d %s are left", len(left), kind)
		}
	}
}

// withProviders is Terraform with real providers, programs by their addresses, and no others.
func withProviders(t *testing.T, programs map[string]string) tool {
	t.Helper()
	configuration, err := writeMirror(t.TempDir(), programs)
	if err != nil {
		t.Fatal(err)
	}
	return tool{path: terraform.path, env: append(slices.Clone(terraform.env), "TF_CLI_CONFIG_FILE="+configuration)}
}

// start starts the server and waits for both of its interfaces.
func (m matchbox) start(t *testing.T, program string) {
	t.Helper()
	log, err := os.Create(filepath.Join(m.folder, "matchbox.log"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "-address="+m.address, "-rpc-address="+m.endpoint, "-data-path="+m.data(), "-assets-path=",
		"-ca-file="+filepath.Join(m.folder, "ca.crt"), "-cert-file="+filepath.Join(m.folder, "server.crt"), "-key-file="+filepath.Join(m.folder, "server.key"))
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended by itself
		_ = command.Wait()         // killed is no success
		_ = log.Close()            // read by nothing any more
	})
	for _, one := range []string{m.address, m.endpoint} {
		for attempt := 0; ; attempt++ {
			connection, err := net.Dial("tcp", one)
			if err == nil {
				_ = connection.Close() // it was only tried
				break
			}
			if attempt == 100 {
				said, readErr := os.ReadFile(log.Name())
				t.Fatalf("Matchbox does not answer: %v, %v\n%s", err, readErr, said)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// get is the text that a server answers, whatever the status.
func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read whole
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// freeAddress is a port of loopback that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// writeCertificates writes an authority with a server's and a client's certificate.
func writeCertificates(t *testing.T, folder string) {
	t.Helper()
	write := func(name, kind string, content []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	authority := template(1, "authority")
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"ca", "server", "client"} {
		one, key := authority, authorityKey
		if name != "ca" {
			one = template(int64(i+1), name)
			if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
				t.Fatal(err)
			}
		}
		signed, err := x509.CreateCertificate(rand.Reader, one, authority, &key.PublicKey, authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		write(name+".crt", "CERTIFICATE", signed)
		private, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		write(name+".key", "EC PRIVATE KEY", private)
	}
}
