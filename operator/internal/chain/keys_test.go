package chain_test

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/plan/plantest"
	"vnfbench.io/operator/internal/vnf"
)

// gateways is a WireGuard pair and an IPsec pair.
func gateways() plan.Input {
	in := plantest.Input(4)
	for i := range in.Run.Spec.Chain {
		function := &in.Run.Spec.Chain[i]
		function.Function = v1alpha1.FunctionEncryptionGateway
		function.Name = []string{"wg-west", "wg-east", "ipsec-west", "ipsec-east"}[i]
		if i >= 2 {
			function.EncryptionGateway = &v1alpha1.EncryptionGateway{Protocol: v1alpha1.ProtocolIPsec}
		}
	}
	return in
}

// TestKeys: each end has its own keys and what belongs to the peer, and nothing
// that is rendered from the plan has any.
func TestKeys(t *testing.T) {
	p := mustMake(t, gateways())
	secret, err := chain.KeysSecret(p, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	data := secret.Data
	if string(data["wg-west.psk"]) != string(data["wg-east.psk"]) || string(data["ipsec-west.key-out"]) != string(data["ipsec-east.key-in"]) {
		t.Error("the ends have different keys")
	}
	if string(data["ipsec-west.key-out"]) == string(data["ipsec-west.key-in"]) || string(data["wg-west.private"]) == string(data["wg-east.private"]) {
		t.Error("two directions or ends have the same key")
	}
	again, err := chain.KeysSecret(p, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	objects := string(render(t, objectsOf(p)))
	for name, key := range data {
		length := 32
		if strings.HasPrefix(name, "ipsec") {
			length = vnf.IPsecKeyBytes
		}
		raw, err := base64.StdEncoding.DecodeString(string(key))
		if err != nil || len(raw) != length {
			t.Errorf("%s has %d bytes: %v", name, len(raw), err)
		}
		if string(again.Data[name]) == string(key) {
			t.Errorf("%s is the same the second time", name)
		}
		if strings.Contains(objects, string(key)) {
			t.Errorf("%s is in an object other than the Secret", name)
		}
	}
	if secret.Immutable == nil || !*secret.Immutable || secret.Labels[v1alpha1.LabelRun] == "" {
		t.Errorf("the Secret is %+v", secret.ObjectMeta)
	}
	mounted := 0
	for i, function := range chain.Functions(p) {
		name := p.Functions[i].Name
		index := slices.IndexFunc(function.Pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil })
		if index < 0 {
			t.Errorf("%s has no keys", name)
			continue
		}
		for _, item := range function.Pod.Spec.Volumes[index].Secret.Items {
			if data[item.Key] == nil || !strings.HasPrefix(item.Key, name+".") {
				t.Errorf("%s mounts %s", name, item.Key)
			}
			mounted++
		}
		tun := slices.ContainsFunc(function.Pod.Spec.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil })
		if tun != strings.HasPrefix(name, "wg") {
			t.Errorf("%s has the TUN device: %t", name, tun)
		}
	}
	if mounted != len(data) {
		t.Errorf("%d keys are mounted, want %d", mounted, len(data))
	}
}

func TestNoKeysWithoutGateways(t *testing.T) {
	secret, err := chain.KeysSecret(mustMake(t, plantest.Input(2)), rand.Reader)
	if err != nil || secret != nil {
		t.Errorf("got %v, %v", secret, err)
	}
}
