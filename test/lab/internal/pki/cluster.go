package pki

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Cluster says whom the certificates of the node with the control plane are for.
type Cluster struct {
	// NodeName is that node's name in the cluster.
	NodeName string
	// ServerNames are the names and addresses of the API server, in addition to those in every
	// cluster.
	ServerNames []string
	// ServerURL is the API server's address inside the node.
	ServerURL string
}

// Worker says whom the certificates of a node without a control plane are for.
type Worker struct {
	// NodeName is the node's name in the cluster.
	NodeName string
	// ServerURL is the API server's address inside the node.
	ServerURL string
}

// Ensure writes the certificates, keys and kubeconfigs to dir, unless they exist. A directory that
// exists is complete.
func Ensure(dir string, c Cluster) error { return ensure(dir, c.write) }

// EnsureWorker writes a worker's to dir, unless they exist. The authority that signs them is the one in
// clusterDir, which Ensure wrote. A worker gets no key but its own: neither the authority's nor an
// administrator's.
func EnsureWorker(dir, clusterDir string, w Worker) error {
	return ensure(dir, func(temp string) error { return w.write(temp, clusterDir) })
}

// ensure calls write with a new directory and gives it the name dir, unless that exists.
func ensure(dir string, write func(dir string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	temp := dir + ".tmp"
	if err := os.RemoveAll(temp); err != nil {
		return fmt.Errorf("removing half-written certificates: %w", err)
	}
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return fmt.Errorf("creating the directory for certificates: %w", err)
	}
	if err := write(temp); err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return os.Rename(temp, dir)
}

func (c Cluster) write(dir string) error {
	authority, err := issue(request{commonName: "kubernetes", authority: true}, nil)
	if err != nil {
		return err
	}
	if err := authority.save(dir, "ca"); err != nil {
		return err
	}
	if err := writeFrontProxy(dir); err != nil {
		return err
	}
	if err := writeServiceAccountKey(dir); err != nil {
		return err
	}
	if err := issueAll(dir, c.requests(), authority); err != nil {
		return err
	}
	return writeKubeconfigs(dir, c.ServerURL, slices.Concat(workerClients, []string{"admin", "controller-manager", "scheduler"}))
}

func (w Worker) write(dir, clusterDir string) error {
	authority, err := load(clusterDir, "ca")
	if err != nil {
		return err
	}
	if err := writeFile(dir, "ca.crt", authority.certPEM); err != nil {
		return err
	}
	if err := issueAll(dir, workerRequests(w.NodeName), authority); err != nil {
		return err
	}
	return writeKubeconfigs(dir, w.ServerURL, workerClients)
}

// issueAll issues and writes certificates, by the name of their files.
func issueAll(dir string, requests map[string]request, authority *certificate) error {
	for name, r := range requests {
		issued, err := issue(r, authority)
		if err != nil {
			return err
		}
		if err := issued.save(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// workerClients are the identities that get a kubeconfig in every node.
var workerClients = []string{"kube-proxy", "kubelet", "multus"}

// requests returns the certificates that the cluster's authority signs.
func (c Cluster) requests() map[string]request {
	serverNames := []string{
		"127.0.0.1", "localhost", c.NodeName, "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	admins := []string{"system:masters"}
	requests := map[string]request{
		"apiserver":                {commonName: "kube-apiserver", names: slices.Concat(serverNames, c.ServerNames)},
		"apiserver-kubelet-client": {commonName: "kube-apiserver-kubelet-client", organizations: admins},
		"admin":                    {commonName: "kubernetes-admin", organizations: admins},
		"controller-manager":       {commonName: "system:kube-controller-manager"},
		"scheduler":                {commonName: "system:kube-scheduler"},
	}
	maps.Copy(requests, workerRequests(c.NodeName))
	return requests
}

// workerRequests returns the certificates that every node has.
func workerRequests(nodeName string) map[string]request {
	return map[string]request{
		"kube-proxy": {commonName: "system:kube-proxy"},
		"kubelet":    {commonName: "system:node:" + nodeName, organizations: []string{"system:nodes"}},
		"multus":     {commonName: "multus"},
	}
}

// writeFrontProxy writes the authority that aggregated API servers trust.
func writeFrontProxy(dir string) error {
	authority, err := issue(request{commonName: "front-proxy-ca", authority: true}, nil)
	if err != nil {
		return err
	}
	client, err := issue(request{commonName: "front-proxy-client"}, authority)
	if err != nil {
		return err
	}
	return errors.Join(authority.save(dir, "front-proxy-ca"), client.save(dir, "front-proxy-client"))
}

// writeServiceAccountKey writes the key pair that signs tokens.
func writeServiceAccountKey(dir string) error {
	pair, err := issue(request{commonName: "service-accounts"}, nil)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(pair.key.Public())
	if err != nil {
		return fmt.Errorf("encoding a key: %w", err)
	}
	return errors.Join(
		writeFile(dir, "sa.key", pair.keyPEM),
		writeFile(dir, "sa.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
	)
}

func writeKubeconfigs(dir, serverURL string, clients []string) error {
	for _, name := range clients {
		data, err := Kubeconfig(dir, name, serverURL)
		if err != nil {
			return err
		}
		if err := writeFile(dir, name+".kubeconfig", data); err != nil {
			return err
		}
	}
	return nil
}

// Kubeconfig renders a kubeconfig for one of the clients whose certificate is
// in dir.
func Kubeconfig(dir, client, serverURL string) ([]byte, error) {
	var files [3][]byte
	for i, name := range []string{"ca.crt", client + ".crt", client + ".key"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("rendering the kubeconfig of %s: %w", client, err)
		}
		files[i] = data
	}
	return renderKubeconfig(client, serverURL, files[0], files[1], files[2])
}
