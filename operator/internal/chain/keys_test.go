package chain_test

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
	"vnfbench.io/operator/internal/vnf"
)

// TestKeys checks that each end has its own keys and what belongs to the peer, and nothing
// that is rendered from the plan has any.
func TestKeys(t *testing.T) {
	p := mustMake(t, plantest.Gateways())
	data := keysOf(t, p)
	wgWest, wgEast, ipsecWest, ipsecEast := data[0], data[1], data[2], data[3]
	if string(wgWest["psk"]) != string(wgEast["psk"]) || string(ipsecWest["key-out"]) != string(ipsecEast["key-in"]) {
		t.Error("the ends have different keys")
	}
	if string(ipsecWest["key-out"]) == string(ipsecWest["key-in"]) || string(wgWest["private"]) == string(wgEast["private"]) {
		t.Error("two directions or ends have the same key")
	}
	again := keysOf(t, p)
	objects := string(render(t, objectsOf(p)))
	for i, function := range p.Functions {
		length := 32
		if strings.HasPrefix(function.Name, "ipsec") {
			length = vnf.IPsecKeyBytes
		}
		for name, key := range data[i] {
			raw, err := base64.StdEncoding.DecodeString(string(key))
			if err != nil || len(raw) != length {
				t.Errorf("%s of %s has %d bytes: %v", name, function.Name, len(raw), err)
			}
			if string(again[i][name]) == string(key) {
				t.Errorf("%s of %s is the same the second time", name, function.Name)
			}
			if strings.Contains(objects, string(key)) {
				t.Errorf("%s of %s is in an object other than the Secret", name, function.Name)
			}
		}
	}
}

// keysOf returns the keys of each function, by the files that its configuration names.
func keysOf(t *testing.T, p *plan.Plan) []map[string][]byte {
	t.Helper()
	secrets, err := chain.KeysSecrets(p, rand.Reader)
	if err != nil || len(secrets) != len(p.Functions) {
		t.Fatalf("%d Secrets for %d gateways: %v", len(secrets), len(p.Functions), err)
	}
	var data []map[string][]byte
	for i, secret := range secrets {
		if secret.Immutable == nil || !*secret.Immutable || secret.Labels[v1alpha1.LabelRun] == "" {
			t.Errorf("the Secret is %+v", secret.ObjectMeta)
		}
		if secret.Name != p.Names().Keys(p.Functions[i].Name) {
			t.Errorf("the Secret of %s is %s", p.Functions[i].Name, secret.Name)
		}
		files, named := p.Functions[i].Config.Gateway.Keys, 0
		for _, file := range []string{files.Private, files.PeerPublic, files.Preshared, files.Out, files.In} {
			if file == "" {
				continue
			}
			named++
			if secret.Data[file] == nil {
				t.Errorf("%s has no key %q", secret.Name, file)
			}
		}
		if named != len(secret.Data) {
			t.Errorf("%s has %d keys, the configuration names %d", secret.Name, len(secret.Data), named)
		}
		data = append(data, secret.Data)
	}
	return data
}

// TestKeysInPods checks that each pod mounts its own Secret, and WireGuard's the TUN device.
func TestKeysInPods(t *testing.T) {
	p := mustMake(t, plantest.Gateways())
	for i, function := range functionsOf(p) {
		name := p.Functions[i].Name
		var mounted []string
		tun := false
		for _, volume := range function.Pod.Spec.Volumes {
			if volume.Secret != nil {
				mounted = append(mounted, volume.Secret.SecretName)
			}
			tun = tun || volume.HostPath != nil
		}
		if !slices.Equal(mounted, []string{p.Names().Keys(name)}) {
			t.Errorf("%s mounts %v", name, mounted)
		}
		if tun != strings.HasPrefix(name, "wg") {
			t.Errorf("%s has the TUN device: %t", name, tun)
		}
	}
}

// TestKeysInVMs checks that each VM has a disk of its Secret, with the label that the guest
// looks for.
func TestKeysInVMs(t *testing.T) {
	p := mustMake(t, plantest.GatewayVMs())
	for i, function := range functionsOf(p) {
		spec := function.VM.Spec
		index := slices.IndexFunc(spec.Volumes, func(v kubevirtv1.Volume) bool { return v.Secret != nil })
		if index < 0 {
			t.Errorf("%s has no keys", function.VM.Name)
			continue
		}
		volume := spec.Volumes[index]
		if volume.Secret.SecretName != p.Names().Keys(p.Functions[i].Name) || volume.Secret.VolumeLabel != "vnfkeys" {
			t.Errorf("%s has the keys %+v", function.VM.Name, volume.Secret)
		}
		if !slices.ContainsFunc(spec.Domain.Devices.Disks, func(d kubevirtv1.Disk) bool { return d.Name == volume.Name }) {
			t.Errorf("%s has no disk of its keys", function.VM.Name)
		}
	}
	for _, function := range functionsOf(mustMake(t, plantest.VMInput(1))) {
		if len(function.VM.Spec.Volumes) != 1 {
			t.Errorf("a router has the volumes %+v", function.VM.Spec.Volumes)
		}
	}
}

func TestNoKeysWithoutGateways(t *testing.T) {
	secrets, err := chain.KeysSecrets(mustMake(t, plantest.Input(2)), rand.Reader)
	if err != nil || secrets != nil {
		t.Errorf("got %v, %v", secrets, err)
	}
}
