package pki

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Cluster says whom the certificates are for.
type Cluster struct {
	// NodeName is the node's name in the cluster.
	NodeName string
	// ServerNames are the names and addresses of the API server, in addition to those in every
	// cluster.
	ServerNames []string
	// ServerURL is the API server's address inside the node.
	ServerURL string
}

// Ensure writes the certificates, keys and kubeconfigs to dir, unless they exist. A directory that
// exists is complete.
func Ensure(dir string, c Cluster) error {
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
	if err := c.write(temp); err != nil {
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
	for name, r := range c.requests() {
		issued, err := issue(r, authority)
		if err != nil {
			return err
		}
		if err := issued.save(dir, name); err != nil {
			return err
		}
	}
	return c.writeKubeconfigs(dir)
}

// clients are the identities that get a kubeconfig.
var clients = []string{"admin", "controller-manager", "kube-proxy", "kubelet", "multus", "scheduler"}

// requests returns the certificates that the cluster's authority signs.
func (c Cluster) requests() map[string]request {
	serverNames := []string{
		"127.0.0.1", "localhost", c.NodeName, "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	admins := []string{"system:masters"}
	return map[string]request{
		"apiserver":                {commonName: "kube-apiserver", names: slices.Concat(serverNames, c.ServerNames)},
		"apiserver-kubelet-client": {commonName: "kube-apiserver-kubelet-client", organizations: admins},
		"admin":                    {commonName: "kubernetes-admin", organizations: admins},
		"controller-manager":       {commonName: "system:kube-controller-manager"},
		"scheduler":                {commonName: "system:kube-scheduler"},
		"kube-proxy":               {commonName: "system:kube-proxy"},
		"kubelet":                  {commonName: "system:node:" + c.NodeName, organizations: []string{"system:nodes"}},
		"multus":                   {commonName: "multus"},
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

func (c Cluster) writeKubeconfigs(dir string) error {
	for _, name := range clients {
		data, err := Kubeconfig(dir, name, c.ServerURL)
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
