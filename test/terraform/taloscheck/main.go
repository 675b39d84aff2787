// Taloscheck says what Talos, of the version whose library it is built with, thinks of
// machines' configurations. It reads a Question from its standard input and writes an
// Answer to its standard output, both as JSON.
//
// It is a program and no package because a build has one version of a library, and
// the modules under terraform/ are for several versions of Talos.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	api "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/gendata"
	"github.com/siderolabs/talos/pkg/machinery/imager/quirks"
	"github.com/siderolabs/talos/pkg/machinery/kernel"
)

// Question is what Taloscheck reads.
type Question struct {
	Machines []Machine `json:"machines"`
}

// Machine is what Terraform's data source talos_machine_configuration is given.
type Machine struct {
	Name              string   `json:"name"`
	Type              string   `json:"type"`
	Cluster           string   `json:"cluster"`
	Endpoint          string   `json:"endpoint"`
	TalosVersion      string   `json:"talosVersion"`
	KubernetesVersion string   `json:"kubernetesVersion"`
	Patches           []string `json:"patches"`
	// Configuration is what another version has made; empty: it is made here.
	Configuration string `json:"configuration,omitempty"`
}

// Answer is what Taloscheck writes.
type Answer struct {
	// Version is the library's, such as v1.13.0.
	Version string `json:"version"`
	// Linux is the version of its kernel, such as 6.18.24-talos.
	Linux string `json:"linux"`
	// KubernetesMinors are the minor versions of Kubernetes 1 that this Talos takes.
	KubernetesMinors []int `json:"kubernetesMinors"`
	// KernelArgs are those with which each image of this Talos starts its kernel.
	KernelArgs []string `json:"kernelArgs"`
	// SystemReserved is what the kubelet sets aside where no one says otherwise, without memory and CPU.
	SystemReserved map[string]string  `json:"systemReserved"`
	Machines       map[string]Verdict `json:"machines"`
}

// Verdict is what Talos thinks of one machine.
type Verdict struct {
	Configuration string `json:"configuration,omitempty"`
	Hostname      string `json:"hostname,omitempty"`
	// KubeletConfiguration is what the kubelet's configuration adds to Talos' own.
	KubeletConfiguration map[string]any `json:"kubeletConfiguration,omitempty"`
	Refusals             []string       `json:"refusals,omitempty"`
	Warnings             []string       `json:"warnings,omitempty"`
}

// mode is a way in which Talos runs: metal installs itself, cloud is installed.
type mode struct {
	name     string
	installs bool
}

func (m mode) String() string        { return m.name }
func (m mode) RequiresInstall() bool { return m.installs }
func (m mode) InContainer() bool     { return false }

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var question Question
	if err := json.NewDecoder(in).Decode(&question); err != nil {
		return fmt.Errorf("reading the question: %w", err)
	}
	tag := gendata.VersionTag
	answer := Answer{
		Version:    tag,
		Linux:      constants.DefaultKernelVersion,
		KernelArgs: kernel.DefaultArgs(quirks.New(tag)),
		SystemReserved: map[string]string{
			"pid": constants.KubeletSystemReservedPid, "ephemeral-storage": constants.KubeletSystemReservedEphemeralStorage,
		},
		Machines: map[string]Verdict{},
	}
	for minor := 20; minor < 60; minor++ {
		if supported(fmt.Sprintf("1.%d.0", minor), tag) == nil {
			answer.KubernetesMinors = append(answer.KubernetesMinors, minor)
		}
	}
	bundles := map[string]*secrets.Bundle{}
	for _, one := range question.Machines {
		verdict, err := judge(one, bundles)
		if err != nil {
			verdict.Refusals = append(verdict.Refusals, err.Error())
		}
		answer.Machines[one.Name] = verdict
	}
	return json.NewEncoder(out).Encode(answer)
}

// supported says why a Talos does not take a version of Kubernetes; nil: it does.
func supported(kubernetes, talos string) error {
	version, err := compatibility.ParseKubernetesVersion(kubernetes)
	if err != nil {
		return err
	}
	target, err := compatibility.ParseTalosVersion(&api.VersionInfo{Tag: talos})
	if err != nil {
		return err
	}
	return version.SupportedWith(target)
}

// judge makes a machine's configuration, if it is not there yet, and checks it in each
// mode, as `talosctl validate` and the machine itself do.
func judge(one Machine, bundles map[string]*secrets.Bundle) (Verdict, error) {
	content := []byte(one.Configuration)
	if len(content) == 0 {
		var err error
		if content, err = configuration(one, bundles); err != nil {
			return Verdict{}, err
		}
	}
	verdict := Verdict{Configuration: string(content)}
	// Read again, as a machine reads it: it refuses what it does not know.
	provider, err := configloader.NewFromBytes(content)
	if err != nil {
		return verdict, err
	}
	if err := supported(one.KubernetesVersion, gendata.VersionTag); err != nil {
		verdict.Refusals = append(verdict.Refusals, err.Error())
	}
	if named := provider.NetworkHostnameConfig(); named != nil {
		verdict.Hostname = named.Hostname()
	}
	verdict.KubeletConfiguration = provider.Machine().Kubelet().ExtraConfig()
	resources := state.WrapCore(namespaced.NewState(inmem.Build))
	for _, mode := range []mode{{"metal", true}, {"cloud", false}} {
		warnings, err := provider.Validate(mode)
		verdict.add(mode, warnings, err)
		warnings, err = provider.RuntimeValidate(context.Background(), resources, mode)
		verdict.add(mode, warnings, err)
	}
	return verdict, nil
}

func (v *Verdict) add(mode mode, warnings []string, err error) {
	for _, warning := range warnings {
		v.Warnings = append(v.Warnings, mode.name+": "+warning)
	}
	if err != nil {
		v.Refusals = append(v.Refusals, mode.name+": "+err.Error())
	}
}

// configuration makes a machine's configuration for the version of Talos that it has, as
// Terraform's provider does.
func configuration(one Machine, bundles map[string]*secrets.Bundle) ([]byte, error) {
	contract, err := config.ParseContractFromVersion(one.TalosVersion)
	if err != nil {
		return nil, err
	}
	kind, err := machine.ParseType(one.Type)
	if err != nil {
		return nil, err
	}
	// A cluster's secrets take time to make, and are the same for all of its machines.
	bundle := bundles[one.TalosVersion]
	if bundle == nil {
		if bundle, err = secrets.NewBundle(secrets.NewFixedClock(time.Now()), contract); err != nil {
			return nil, err
		}
		bundles[one.TalosVersion] = bundle
	}
	input, err := generate.NewInput(one.Cluster, one.Endpoint, one.KubernetesVersion, generate.WithVersionContract(contract), generate.WithSecretsBundle(bundle))
	if err != nil {
		return nil, err
	}
	generated, err := input.Config(kind)
	if err != nil {
		return nil, err
	}
	var patches []configpatcher.Patch
	for _, document := range one.Patches {
		patch, err := configpatcher.LoadPatch([]byte(document))
		if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		patches = append(patches, patch)
	}
	output, err := configpatcher.Apply(configpatcher.WithConfig(generated), patches)
	if err != nil {
		return nil, err
	}
	return output.Bytes()
}
