// Package config renders the node's configuration. A few addresses and
// choices go in; files and the daemons' command lines come out.
package config

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"
)

// Node has the differences between labs, and names what is the same.
type Node struct {
	// Name is the node's name in the cluster.
	Name string `json:"name"`
	// CPUManager is the kubelet's CPU manager policy: "none" or "static".
	CPUManager string `json:"cpuManager"`
}

// DaemonCPUs returns the CPUs that the node's daemons may use, "" for all. With the static policy it is the first one: the
// kubelet gives no pod this one alone, so that a pod with a dedicated CPU shares it with none of them.
func (n Node) DaemonCPUs() string {
	if n.CPUManager == "static" {
		return "0"
	}
	return ""
}

// Addresses of the cluster. Every lab has a separate network namespace, so they never conflict.
const (
	NodeIP        = "172.30.0.2"
	NodePrefix    = "172.30.0.2/16"
	Gateway       = "172.30.0.1"
	PodCIDR       = "10.244.0.0/16"
	NodePodCIDR   = "10.244.0.0/24"
	ServiceCIDR   = "10.96.0.0/16"
	DNSIP         = "10.96.0.10"
	APIPort       = "6443"
	APIServerIP   = "10.96.0.1"
	PauseImage    = "localhost/pause:lab"
	CoreDNSImage  = "localhost/coredns:lab"
	BusyboxImage  = "localhost/busybox:1"
	PodBridge     = "cni0"
	ContainerdURL = "unix:///run/containerd/containerd.sock"
)

// Places inside the node.
const (
	PKIDir        = "/etc/kubernetes"
	ConfigDir     = "/etc/lab"
	CNIConfigDir  = "/etc/cni/net.d"
	CNIBinaryDir  = "/opt/cni/bin"
	KubeBinaryDir = "/opt/lab/bin"
	LogDir        = "/var/log/lab"
	// VolumeDir is the volume of the archive of results.
	VolumeDir = "/var/lib/vnfbench"
)

// NodeName is the node's name in the cluster.
const NodeName = "node1"

//go:embed templates
var templates embed.FS

// files maps a template to the place of its file in the node.
var files = map[string]string{
	"containerd.toml":    ConfigDir + "/containerd.toml",
	"kubelet.yaml":       ConfigDir + "/kubelet.yaml",
	"kube-proxy.yaml":    ConfigDir + "/kube-proxy.yaml",
	"00-multus.conf":     CNIConfigDir + "/00-multus.conf",
	"10-bridge.conflist": ClusterNetworkDir + "/10-bridge.conflist",
}

// ClusterNetworkDir holds the pods' first network. Multus gets the directory: with the file, it
// loses fields of a list at DEL, and sandboxes are never removed (multus-cni 4.2).
const ClusterNetworkDir = CNIConfigDir + "/cluster-network"

// Files renders the node's configuration files, by their place in the node.
func (n Node) Files() (map[string][]byte, error) {
	parsed, err := template.New("").Option("missingkey=error").ParseFS(templates, "templates/*")
	if err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	rendered := map[string][]byte{}
	for name, place := range files {
		var out bytes.Buffer
		if err := parsed.ExecuteTemplate(&out, name, n.values()); err != nil {
			return nil, fmt.Errorf("rendering %s: %w", name, err)
		}
		rendered[place] = out.Bytes()
	}
	rendered["/etc/hosts"] = []byte("127.0.0.1 localhost\n::1 localhost\n" + NodeIP + " " + n.Name + "\n")
	rendered["/etc/hostname"] = []byte(n.Name + "\n")
	// The node reaches no name server; pods ask CoreDNS.
	rendered["/etc/resolv.conf"] = nil
	return rendered, nil
}

func (n Node) values() map[string]string {
	return map[string]string{
		"Name":           n.Name,
		"CPUManager":     n.CPUManager,
		"PKIDir":         PKIDir,
		"DNSIP":          DNSIP,
		"PodCIDR":        PodCIDR,
		"NodePodCIDR":    NodePodCIDR,
		"PauseImage":     PauseImage,
		"PodBridge":      PodBridge,
		"ContainerdURL":  ContainerdURL,
		"CNIConfigDir":   CNIConfigDir,
		"CNIBinaryDir":   CNIBinaryDir,
		"ClusterNetwork": ClusterNetworkDir,
	}
}

// Path returns the search path of everything that runs in the node.
func Path() string {
	return strings.Join([]string{
		KubeBinaryDir, "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
	}, ":")
}

// pkiFile returns the path of a certificate, key or kubeconfig in the node.
func pkiFile(name string) string { return path.Join(PKIDir, name) }
