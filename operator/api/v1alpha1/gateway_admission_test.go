package v1alpha1_test

import "testing"

func TestGatewayAdmission(t *testing.T) {
	for name, chain := range map[string]string{
		"a pair":             "[{name: a, function: EncryptionGateway}, {name: b, function: EncryptionGateway}]",
		"IPsec":              "[{name: a, function: EncryptionGateway, encryptionGateway: {protocol: IPsec}}, {name: b, function: EncryptionGateway, encryptionGateway: {protocol: IPsec}}]",
		"threads":            "[{name: a, function: EncryptionGateway, encryptionGateway: {implementation: Userspace, threads: 2}}, {name: b, function: EncryptionGateway}]",
		"two pairs, routers": "[{name: r, function: Router}, {name: a, function: EncryptionGateway}, {name: b, function: EncryptionGateway}, {name: c, function: EncryptionGateway, encryptionGateway: {protocol: IPsec}}, {name: d, function: EncryptionGateway, encryptionGateway: {protocol: IPsec}}, {name: s, function: Firewall}]",
	} {
		t.Run(name, func(t *testing.T) {
			if err := create(object(t, goodRun, map[string]string{"spec.experiment.chain": chain})); err != nil {
				t.Error(err)
			}
		})
	}
	pairs := []string{"spec.experiment.chain", "encryption gateways work in pairs"}
	for name, test := range map[string]struct {
		chain string
		want  []string
	}{
		"alone":            {"[{name: a, function: EncryptionGateway}]", pairs},
		"three":            {"[{name: a, function: EncryptionGateway}, {name: b, function: EncryptionGateway}, {name: c, function: EncryptionGateway}]", pairs},
		"a router between": {"[{name: a, function: EncryptionGateway}, {name: r, function: Router}, {name: b, function: EncryptionGateway}]", pairs},
		"two protocols":    {"[{name: a, function: EncryptionGateway, encryptionGateway: {protocol: IPsec}}, {name: b, function: EncryptionGateway}]", []string{"spec.experiment.chain", "the same encryptionGateway.protocol"}},
		"IPsec outside of the kernel": {"[{name: a, function: EncryptionGateway, encryptionGateway: {protocol: IPsec, implementation: Userspace}}]",
			[]string{"spec.experiment.chain[0].encryptionGateway.implementation", "IPsec is the kernel's"}},
		"threads of the kernel": {"[{name: a, function: EncryptionGateway, encryptionGateway: {threads: 2}}]",
			[]string{"spec.experiment.chain[0].encryptionGateway.threads", "threads is for WireGuard in user space"}},
		"unknown protocol": {"[{name: a, function: EncryptionGateway, encryptionGateway: {protocol: TLS}}]",
			[]string{"spec.experiment.chain[0].encryptionGateway.protocol", "Unsupported value"}},
		"on a router": {"[{name: a, function: Router, encryptionGateway: {}}]",
			[]string{"spec.experiment.chain[0].encryptionGateway", "only for function EncryptionGateway"}},
	} {
		t.Run(name, func(t *testing.T) {
			requireRefused(t, map[string]string{"spec.experiment.chain": test.chain}, test.want)
		})
	}
}
