package terraform_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// exampleRun applies a root with the values of its *.auto.tfvars alone, except
// Matchbox' credentials, which are files that a test has not.
const exampleRun = `
# A mock's own word would be no image and no credential: who is given them checks.
mock_provider "talos" {
  mock_resource "talos_cluster_kubeconfig" {
    defaults = {
      kubernetes_client_configuration = {
        host               = "https://192.0.2.11:6443"
        ca_certificate     = "c2VjcmV0"
        client_certificate = "c2VjcmV0"
        client_key         = "c2VjcmV0"
      }
    }
  }
  mock_data "talos_image_factory_urls" {
    # Every field: OpenTofu's mocks want a nested object whole.
    defaults = {
      urls = {
        disk_image            = ""
        disk_image_secureboot = ""
        initramfs             = ""
        installer             = "factory.example/installer:v1"
        installer_secureboot  = ""
        iso                   = ""
        iso_secureboot        = ""
        kernel                = ""
        kernel_command_line   = ""
        pxe                   = ""
        uki                   = ""
      }
    }
  }
}
mock_provider "helm" {}
mock_provider "kubernetes" {}
mock_provider "%PROVIDER%" {}

run "example" {
  command = apply
%VARIABLES%
  assert {
    condition     = length(output.nodes) > 1 && contains(keys(output.addons), "vnfbench")
    error_message = "machines and the operator"
  }
}
`

// objectsToAdd is how a tutorial says what a plan's last line counts.
var objectsToAdd = regexp.MustCompile(`Expect\* (\d+) objects to add`)

// TestExamplesManifests checks that the files which an example names are downloaded by the
// commands that are printed with it: README.md's quick start, and each tutorial's.
func TestExamplesManifests(t *testing.T) {
	named := regexp.MustCompile(`manifest\s*= "([^"]+)"`)
	for page, values := range map[string]string{
		filepath.Join(source, "README.md"):          filepath.Join(source, "clusters/lab-proxmox/example.tfvars"),
		"../../docs/tutorials/first-lab-proxmox.md": "../../docs/tutorials/first-lab-proxmox.md",
		"../../docs/tutorials/first-lab-metal.md":   "../../docs/tutorials/first-lab-metal.md",
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(values)
		if err != nil {
			t.Fatal(err)
		}
		found := named.FindAllStringSubmatch(string(content), -1)
		if len(found) == 0 {
			t.Errorf("%s names no manifest", values)
		}
		for _, match := range found {
			if !regexp.MustCompile(`(?m)^curl -fLO https://\S+/` + regexp.QuoteMeta(match[1]) + `$`).Match(text) {
				t.Errorf("%s downloads no %s, which %s names", page, match[1], values)
			}
		}
	}
}

// TestExamples checks that what a user copies is accepted, from the roots' example.tfvars
// and from the tutorials: by Terraform, and every machine's configuration by Talos.
func TestExamples(t *testing.T) {
	block := regexp.MustCompile("(?s)```hcl\n(.*?)```")
	for root, provider := range map[string]string{"lab-proxmox": "proxmox", "lab-metal": "matchbox"} {
		tutorial, err := os.ReadFile(filepath.Join("../../docs/tutorials", "first-"+root+".md"))
		if err != nil {
			t.Fatal(err)
		}
		found := block.FindSubmatch(tutorial)
		if found == nil {
			t.Fatalf("the tutorial of %s has no block of hcl", root)
		}
		for name, values := range map[string][]byte{"tutorial": found[1], "example": []byte(exampleValues(t, "clusters/"+root))} {
			t.Run(root+"/"+name, func(t *testing.T) {
				path := initialized(t, filepath.Join("clusters", root))
				variables := ""
				if provider == "matchbox" {
					variables = "  variables {\n    matchbox_credentials = { client_cert = \"/dev/null\", client_key = \"/dev/null\", ca = \"/dev/null\" }\n  }\n"
				}
				files := map[string][]byte{
					"lab.auto.tfvars":          values,
					"tests/example.tftest.hcl": []byte(strings.NewReplacer("%PROVIDER%", provider, "%VARIABLES%", variables).Replace(exampleRun)),
				}
				// Substitutes for the manifests that a user has downloaded.
				for _, manifest := range []string{"kubevirt-operator.yaml", "multus-daemonset-thick.yml"} {
					text, err := os.ReadFile(filepath.Join(source, "modules/addons/tests/fixtures", manifest))
					if err != nil {
						t.Fatal(err)
					}
					files[manifest] = text
				}
				for file, text := range files {
					if err := os.WriteFile(filepath.Join(path, file), text, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				output, err := terraform.run(path, "test", "-json", "-verbose", "-filter=tests/example.tftest.hcl")
				if err != nil || !strings.Contains(output, `"passed":1`) {
					t.Fatalf("%v\n%s", err, output)
				}
				if said := objectsToAdd.FindSubmatch(tutorial); name == "tutorial" && said != nil {
					if got := managed(t, lines(output), "example"); string(said[1]) != strconv.Itoa(got) {
						t.Errorf("the tutorial says that %s objects are added; there are %d", said[1], got)
					}
				}
				// With a root's defaults, Talos of the version that it names takes every machine.
				machines := requested(t, lines(output), "example")
				for _, complaint := range refused(askTalos(t, machines[0].TalosVersion, machines), machines) {
					t.Error(complaint)
				}
			})
		}
	}
}
