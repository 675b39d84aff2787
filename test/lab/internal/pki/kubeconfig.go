package pki

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// The part of a kubeconfig that the lab needs; []byte fields become base64.
type (
	kubeconfig struct {
		APIVersion     string         `json:"apiVersion"`
		Kind           string         `json:"kind"`
		Clusters       []namedCluster `json:"clusters"`
		Users          []namedUser    `json:"users"`
		Contexts       []namedContext `json:"contexts"`
		CurrentContext string         `json:"current-context"`
	}
	namedCluster struct {
		Name    string  `json:"name"`
		Cluster cluster `json:"cluster"`
	}
	cluster struct {
		Server    string `json:"server"`
		Authority []byte `json:"certificate-authority-data"`
	}
	namedUser struct {
		Name string `json:"name"`
		User user   `json:"user"`
	}
	user struct {
		Certificate []byte `json:"client-certificate-data"`
		Key         []byte `json:"client-key-data"`
	}
	namedContext struct {
		Name    string      `json:"name"`
		Context contextPair `json:"context"`
	}
	contextPair struct {
		Cluster string `json:"cluster"`
		User    string `json:"user"`
	}
)

// clusterName is the cluster's and the context's name in every kubeconfig.
const clusterName = "vnfbench-lab"

func renderKubeconfig(client, serverURL string, authority, certificate, key []byte) ([]byte, error) {
	data, err := yaml.Marshal(kubeconfig{
		APIVersion:     "v1",
		Kind:           "Config",
		Clusters:       []namedCluster{{clusterName, cluster{serverURL, authority}}},
		Users:          []namedUser{{client, user{certificate, key}}},
		Contexts:       []namedContext{{clusterName, contextPair{clusterName, client}}},
		CurrentContext: clusterName,
	})
	if err != nil {
		return nil, fmt.Errorf("rendering the kubeconfig of %s: %w", client, err)
	}
	return data, nil
}
