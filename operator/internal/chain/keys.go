package chain

import (
	"crypto/ecdh"
	"encoding/base64"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/vnf"
)

// KeysSecrets returns the keys of a run's encryption gateways, one Secret each, so that no
// gateway gets another's: KubeVirt makes a disk of a whole Secret. They are new from a
// source of random bytes every time, and the only objects that do not follow from the plan.
// The Secrets of one call belong together.
func KeysSecrets(p *plan.Plan, random io.Reader) ([]*corev1.Secret, error) {
	var secrets []*corev1.Secret
	for _, pair := range p.Pairs() {
		keys := wireGuardKeys
		if pair[0].Config.Gateway.Protocol == vnf.ProtocolIPsec {
			keys = ipsecKeys
		}
		west, east, err := keys(random)
		if err != nil {
			return nil, fmt.Errorf("making keys for %q and %q: %w", pair[0].Name, pair[1].Name, err)
		}
		for i, files := range []map[string][]byte{west, east} {
			data := map[string][]byte{}
			for file, key := range files {
				data[file] = base64.StdEncoding.AppendEncode(nil, key)
			}
			secrets = append(secrets, &corev1.Secret{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
				ObjectMeta: metadata(p, p.Names().Keys(pair[i].Name), ComponentFunction),
				Immutable:  new(true),
				Type:       corev1.SecretTypeOpaque,
				Data:       data,
			})
		}
	}
	return secrets, nil
}

func wireGuardKeys(random io.Reader) (west, east map[string][]byte, err error) {
	var pair [2]*ecdh.PrivateKey
	for i := range pair {
		if pair[i], err = ecdh.X25519().GenerateKey(random); err != nil {
			return nil, nil, err
		}
	}
	preshared, err := readBytes(random, 32)
	if err != nil {
		return nil, nil, err
	}
	files := func(own, peer *ecdh.PrivateKey) map[string][]byte {
		return map[string][]byte{vnf.KeyPrivate: own.Bytes(), vnf.KeyPeerPublic: peer.PublicKey().Bytes(), vnf.KeyPreshared: preshared}
	}
	return files(pair[0], pair[1]), files(pair[1], pair[0]), nil
}

func ipsecKeys(random io.Reader) (west, east map[string][]byte, err error) {
	eastward, err := readBytes(random, vnf.IPsecKeyBytes)
	if err != nil {
		return nil, nil, err
	}
	westward, err := readBytes(random, vnf.IPsecKeyBytes)
	if err != nil {
		return nil, nil, err
	}
	return map[string][]byte{vnf.KeyOut: eastward, vnf.KeyIn: westward}, map[string][]byte{vnf.KeyOut: westward, vnf.KeyIn: eastward}, nil
}

func readBytes(random io.Reader, number int) ([]byte, error) {
	bytes := make([]byte, number)
	_, err := io.ReadFull(random, bytes)
	return bytes, err
}

// addNeeds mounts into a function's pod what it needs in addition to its configuration:
// its own keys, and the node's TUN device.
func addNeeds(p *plan.Plan, function plan.Function, pod *corev1.PodSpec) {
	needs := function.Config.Needs()
	const tun, tunDevice = "tun", "/dev/net/tun"
	container := &pod.Containers[0]
	if needs.Keys {
		mode := int32(0o400)
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volumeKeys, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: p.Names().Keys(function.Name), DefaultMode: &mode},
		}})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volumeKeys, MountPath: vnf.DefaultKeys, ReadOnly: true})
	}
	if !needs.TUN {
		return
	}
	// The kernel's TUN device is the same file for every process; the process that opens it
	// determines the interface and its network namespace. The type keeps the kubelet from
	// making a folder if the node has none.
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: tun, VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: tunDevice, Type: new(corev1.HostPathCharDev)},
	}})
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: tun, MountPath: tunDevice})
}
