package subject

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
)

// credentials are the operator's own, by the address of the registry.
type credentials map[string]authn.AuthConfig

// credentialsIn reads the credentials of the folder. It starts no helper programs.
func credentialsIn(folder string) (credentials, error) {
	text, err := readIn(folder, credentialsFile)
	if err != nil || text == nil {
		return nil, err
	}
	var config struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		// The error may quote what is secret.
		return nil, fmt.Errorf("%s of the operator's registry settings is no configuration of Docker: make the Secret by kubectl create secret docker-registry", credentialsFile)
	}
	found := credentials{}
	for key, auth := range config.Auths {
		host := strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
		host, path, _ := strings.Cut(host, "/")
		if path = strings.Trim(path, "/"); path != "" && path != "v1" && path != "v2" {
			return nil, fmt.Errorf("%s of the operator's registry settings has credentials for %q: name the host alone", credentialsFile, key)
		}
		if host == "docker.io" {
			host = "index.docker.io"
		}
		found[address(host, "https")] = auth
	}
	return found, nil
}

// Resolve implements authn.Keychain. It is anonymous where there are no credentials.
func (c credentials) Resolve(of authn.Resource) (authn.Authenticator, error) {
	if auth, known := c[address(of.RegistryStr(), "https")]; known {
		return authn.FromConfig(auth), nil
	}
	return authn.Anonymous, nil
}
