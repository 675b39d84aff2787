// Package manifests has the CustomResourceDefinitions and the admission policies of this version, for programs that have no cluster to
// ask. `make generate` copies them from config.
package manifests

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

//go:embed crds/*.yaml admission/*.yaml
var files embed.FS

// CRDs returns the definition of each kind.
func CRDs() ([]apiextensionsv1.CustomResourceDefinition, error) {
	var out []apiextensionsv1.CustomResourceDefinition
	err := each("crds", func(document []byte) error {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(document, &crd); err != nil {
			return err
		}
		out = append(out, crd)
		return nil
	})
	return out, err
}

// Policies returns the ValidatingAdmissionPolicies. Their bindings add nothing: each denies what its policy refuses.
func Policies() ([]admissionregistrationv1.ValidatingAdmissionPolicy, error) {
	var out []admissionregistrationv1.ValidatingAdmissionPolicy
	err := each("admission", func(document []byte) error {
		var policy admissionregistrationv1.ValidatingAdmissionPolicy
		if err := yaml.Unmarshal(document, &policy); err != nil {
			return err
		}
		if policy.Kind == "ValidatingAdmissionPolicy" {
			out = append(out, policy)
		}
		return nil
	})
	return out, err
}

// each calls a function with each YAML document of a folder.
func each(folder string, take func([]byte) error) error {
	names, err := fs.Glob(files, folder+"/*.yaml")
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = take(document)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}
