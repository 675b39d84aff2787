package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/placeholder"
)

// Custom is what is special about a user's own VM. It has only digests of user data and
// network data: they may hold secrets, which do not belong in a plan.
type Custom struct {
	// One of the three holds the disk.
	ContainerDisk         string `json:"containerDisk,omitempty"`
	PersistentVolumeClaim string `json:"persistentVolumeClaim,omitempty"`
	DataVolume            string `json:"dataVolume,omitempty"`
	// ImagePullSecret and ImagePullPolicy are empty where the run's apply.
	ImagePullSecret string            `json:"imagePullSecret,omitempty" digest:"-"`
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty" digest:"-"`

	CloudInit v1alpha1.CloudInit `json:"cloudInit"`
	// UserDataSecret is the user's own; it is not read.
	UserDataSecret string `json:"userDataSecret,omitempty"`
	// UserDataDigest and NetworkDataDigest are of the texts in the run's spec, with their
	// placeholders; empty where there is none.
	UserDataDigest    string `json:"userDataDigest,omitempty"`
	NetworkDataDigest string `json:"networkDataDigest,omitempty"`

	Firmware       v1alpha1.Firmware       `json:"firmware"`
	MachineType    string                  `json:"machineType,omitempty"`
	DiskBus        v1alpha1.DiskBus        `json:"diskBus"`
	ManagementNIC  v1alpha1.ManagementNIC  `json:"managementNIC"`
	InterfaceOrder v1alpha1.InterfaceOrder `json:"interfaceOrder"`
	// ManagementMAC is empty where KubeVirt chooses it.
	ManagementMAC string `json:"managementMAC,omitempty" digest:"-"`

	Readiness v1alpha1.CustomReadiness `json:"readiness" digest:"-"`
}

// IsCustom reports whether the function is the user's own VM or container. Only what it forwards is
// known of it.
func (f *Function) IsCustom() bool { return f.Container != nil || f.IsVM() && f.VM.Custom != nil }

// Readiness returns what shows that the user's own VM or container has started; the zero value for any
// other function.
func (f *Function) Readiness() v1alpha1.CustomReadiness {
	switch {
	case f.Container != nil:
		return f.Container.Readiness
	case f.IsCustom():
		return f.VM.Custom.Readiness
	}
	return v1alpha1.CustomReadiness{}
}

// HasSeed reports whether the VM gets user data or network data.
func (c *Custom) HasSeed() bool {
	return c.UserDataDigest != "" || c.UserDataSecret != "" || c.NetworkDataDigest != ""
}

func nameOf(ref *v1alpha1.LocalReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}

func customOf(spec v1alpha1.CustomFunction) *Custom {
	c := &Custom{
		ContainerDisk: spec.ContainerDisk, PersistentVolumeClaim: nameOf(spec.PersistentVolumeClaimRef), DataVolume: nameOf(spec.DataVolumeRef),
		ImagePullSecret: nameOf(spec.ImagePullSecretRef), ImagePullPolicy: spec.ImagePullPolicy,
		CloudInit: spec.CloudInit, UserDataDigest: textDigest(spec.UserData), NetworkDataDigest: textDigest(spec.NetworkData),
		Firmware: spec.Firmware, MachineType: spec.MachineType, DiskBus: spec.DiskBus,
		ManagementNIC: spec.ManagementNIC, InterfaceOrder: spec.InterfaceOrder,
		Readiness: *spec.Readiness,
	}
	if spec.UserDataSecretRef != nil {
		c.UserDataSecret = spec.UserDataSecretRef.Name
	}
	return c
}

// textDigest returns "sha256:" and hexadecimal digits, or "" for no text.
func textDigest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Seed returns what a user's own VM or container reads, with its placeholders filled in: empty texts
// where its spec has none. Its error is a *measure.Failure that names the field.
func (f *Function) Seed(spec *v1alpha1.CustomFunction) (userData, networkData string, err error) {
	values := placeholder.Of(f.Config)
	fill := func(field, text string) string {
		if err != nil {
			return ""
		}
		filled, problem := values.Fill(text)
		if problem != nil {
			err = fail(v1alpha1.ReasonInvalidPlaceholder,
				fmt.Sprintf("correct custom.%s of function %q in spec.experiment.chain and apply the run under a new name", field, f.Name),
				"custom.%s of function %q: %w", field, f.Name, problem)
		}
		return filled
	}
	userData, networkData = fill("userData", spec.UserData), fill("networkData", spec.NetworkData)
	return userData, networkData, err
}

// checkSeeds finds a wrong placeholder or variable before any object is created.
func checkSeeds(in Input, functions []Function) error {
	for i := range functions {
		if !functions[i].IsCustom() {
			continue
		}
		if _, _, err := functions[i].Seed(in.Run.Spec.Experiment.Chain[i].Custom); err != nil {
			return err
		}
		if err := checkReferences(&functions[i]); err != nil {
			return err
		}
	}
	return nil
}

// bootSeconds returns the longest time that a user's own VM or container must run to count as started.
func bootSeconds(functions []Function) int {
	longest := int32(0)
	for i := range functions {
		longest = max(longest, functions[i].Readiness().BootSeconds)
	}
	return int(longest)
}
