package v1alpha1_test

import (
	"strings"
	"testing"
)

func customChain(custom string) string {
	return "[{name: own, function: Custom, runtime: VirtualMachine, custom: {" + custom + "}}]"
}

func TestCustomIsAdmitted(t *testing.T) {
	for name, custom := range map[string]string{
		"a disk image":     "containerDisk: example/vyos:1",
		"from a registry":  "containerDisk: example/vyos:1, imagePullSecretRef: {name: registry}, imagePullPolicy: Always",
		"a claim":          "persistentVolumeClaimRef: {name: vyos}",
		"a data volume":    "dataVolumeRef: {name: vyos}",
		"user data":        "containerDisk: x, userData: '#cloud-config', networkData: 'version: 2', cloudInit: ConfigDrive",
		"a secret":         "containerDisk: x, userDataSecretRef: {name: seed}, networkData: 'version: 2'",
		"the whole shape":  "containerDisk: x, firmware: EFISecureBoot, machineType: pc-q35-9.2, diskBus: SATA, managementNIC: None, interfaceOrder: EastWest",
		"a minimum boot":   "containerDisk: x, readiness: {bootSeconds: 90}",
		"no NIC, but time": "containerDisk: x, managementNIC: None, readiness: {bootSeconds: 90}",
		"asked over HTTP":  "containerDisk: x, readiness: {kind: HTTP, port: 443, path: /login}",
		"asked over TCP":   "containerDisk: x, readiness: {kind: TCP, port: 22, bootSeconds: 10}",
	} {
		t.Run(name, func(t *testing.T) {
			if err := create(object(t, goodRun, map[string]string{"spec.experiment.chain": customChain(custom)})); err != nil {
				t.Error(err)
			}
		})
	}
}

func containerChain(custom string) string {
	return "[{name: own, function: Custom, custom: {" + custom + "}}]"
}

func TestContainerIsAdmitted(t *testing.T) {
	for name, custom := range map[string]string{
		"an image":        "container: {image: example/vpp:1}",
		"from a registry": "container: {image: x}, imagePullSecretRef: {name: registry}, imagePullPolicy: Always",
		"the whole shape": "container: {image: x, command: [vpp], args: [-c, $(VNFBENCH_WEST_MAC)], env: [{name: A, value: b}, {name: B}], capabilities: [IPC_LOCK, NET_ADMIN, NET_RAW], forwarding: Kernel, hugepages: {pageSize: 2Mi, pages: 512}}",
		"user data":       "container: {image: x}, userData: 'west {{ .West.AddressIPv4 }}'",
		"a secret":        "container: {image: x}, userDataSecretRef: {name: seed}",
		"asked in it":     "container: {image: x}, readiness: {kind: Exec, command: [test, -e, /run/ready], bootSeconds: 5}",
		"asked over TCP":  "container: {image: x}, readiness: {kind: TCP, port: 5002}",
		"asked over HTTP": "container: {image: x}, readiness: {kind: HTTP, port: 80, path: /ready}",
	} {
		t.Run(name, func(t *testing.T) {
			if err := create(object(t, goodRun, map[string]string{"spec.experiment.chain": containerChain(custom)})); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCustomIsRefusedWithFieldAndRemedy(t *testing.T) {
	tests := map[string]struct {
		chain string
		want  []string
	}{
		"in a pod":                 {"[{name: own, function: Custom, custom: {containerDisk: x}}]", []string{"spec.experiment.chain[0].runtime", "a disk for VirtualMachine"}},
		"nothing said":             {"[{name: own, function: Custom, runtime: VirtualMachine}]", []string{"spec.experiment.chain[0].custom", "custom is required"}},
		"of another function":      {"[{name: own, function: Router, runtime: VirtualMachine, custom: {containerDisk: x}}]", []string{"spec.experiment.chain[0].custom", "forbidden with any other"}},
		"no disk":                  {customChain("diskBus: SATA"), []string{"spec.experiment.chain[0].custom", "exactly one of"}},
		"two disks":                {customChain("containerDisk: x, dataVolumeRef: {name: z}"), []string{"spec.experiment.chain[0].custom", "exactly one of"}},
		"a claim's secret":         {customChain("persistentVolumeClaimRef: {name: x}, imagePullSecretRef: {name: z}"), []string{"spec.experiment.chain[0].custom.imagePullSecretRef", "only for an image"}},
		"a claim's policy":         {customChain("persistentVolumeClaimRef: {name: x}, imagePullPolicy: Always"), []string{"spec.experiment.chain[0].custom.imagePullPolicy", "only for an image"}},
		"an unknown policy":        {customChain("containerDisk: x, imagePullPolicy: Sometimes"), []string{"spec.experiment.chain[0].custom.imagePullPolicy", "Unsupported value"}},
		"user data twice":          {customChain("containerDisk: x, userData: x, userDataSecretRef: {name: z}"), []string{"spec.experiment.chain[0].custom.userDataSecretRef", "not both"}},
		"a seed of nothing":        {customChain("containerDisk: x, cloudInit: NoCloud"), []string{"spec.experiment.chain[0].custom.cloudInit", "leave cloudInit out"}},
		"a secret of no name":      {customChain("containerDisk: x, userDataSecretRef: {}"), []string{"spec.experiment.chain[0].custom.userDataSecretRef.name", "Required"}},
		"no NIC to ask":            {customChain("containerDisk: x, managementNIC: None, readiness: {kind: TCP, port: 22}"), []string{"spec.experiment.chain[0].custom.readiness", "set managementNIC First"}},
		"no port":                  {customChain("containerDisk: x, readiness: {kind: HTTP}"), []string{"spec.experiment.chain[0].custom.readiness.port", "port is required"}},
		"a port of nothing":        {customChain("containerDisk: x, readiness: {port: 22}"), []string{"spec.experiment.chain[0].custom.readiness.port", "forbidden with any other"}},
		"a path of TCP":            {customChain("containerDisk: x, readiness: {kind: TCP, port: 22, path: /}"), []string{"spec.experiment.chain[0].custom.readiness.path", "only for kind HTTP"}},
		"unknown firmware":         {customChain("containerDisk: x, firmware: Coreboot"), []string{"spec.experiment.chain[0].custom.firmware", "Unsupported value"}},
		"a container in a machine": {customChain("container: {image: x}"), []string{"spec.experiment.chain[0].runtime", "for runtime Pod"}},
		"a container with a disk":  {containerChain("container: {image: x}, containerDisk: z"), []string{"spec.experiment.chain[0].custom", "exactly one of"}},
		"no image":                 {containerChain("container: {}"), []string{"spec.experiment.chain[0].custom.container.image", "Required"}},
		"a machine's firmware":     {containerChain("container: {image: x}, firmware: EFI"), []string{"spec.experiment.chain[own].custom.container", "leave them out"}},
		"a machine's order":        {containerChain("container: {image: x}, interfaceOrder: EastWest"), []string{"spec.experiment.chain[own].custom.container", "leave them out"}},
		"a machine's NIC":          {containerChain("container: {image: x}, managementNIC: None"), []string{"spec.experiment.chain[own].custom.container", "managementNIC", "leave them out"}},
		"a machine's network data": {containerChain("container: {image: x}, networkData: x"), []string{"spec.experiment.chain[own].custom.container", "leave them out"}},
		"a kernel without rights":  {containerChain("container: {image: x, forwarding: Kernel, capabilities: [NET_RAW]}"), []string{"spec.experiment.chain[own].custom.container.capabilities", "add it, or leave forwarding out"}},
		"a kernel without any":     {containerChain("container: {image: x, forwarding: Kernel}"), []string{"spec.experiment.chain[own].custom.container.capabilities", "needs NET_ADMIN"}},
		"an image with a blank":    {containerChain("container: {image: 'x y'}"), []string{"spec.experiment.chain[0].custom.container.image", "should match"}},
		"all rights":               {containerChain("container: {image: x, capabilities: [SYS_ADMIN]}"), []string{"spec.experiment.chain[0].custom.container.capabilities[0]", "Unsupported value"}},
		"rights to load programs":  {containerChain("container: {image: x, capabilities: [BPF]}"), []string{"spec.experiment.chain[0].custom.container.capabilities[0]", "Unsupported value"}},
		"a variable of the ports":  {containerChain("container: {image: x, env: [{name: VNFBENCH_WEST_MAC, value: z}]}"), []string{"spec.experiment.chain[0].custom.container.env[0].name", "choose another"}},
		"a variable twice":         {containerChain("container: {image: x, env: [{name: A}, {name: A}]}"), []string{"spec.experiment.chain[0].custom.container.env[1]", "Duplicate"}},
		"no name of a variable":    {containerChain("container: {image: x, env: [{name: 'a b'}]}"), []string{"spec.experiment.chain[0].custom.container.env[0].name", "should match"}},
		"other pages":              {containerChain("container: {image: x, hugepages: {pageSize: 4Mi, pages: 1}}"), []string{"spec.experiment.chain[0].custom.container.hugepages.pageSize", "Unsupported value"}},
		"no pages":                 {containerChain("container: {image: x, hugepages: {pageSize: 2Mi, pages: 0}}"), []string{"spec.experiment.chain[0].custom.container.hugepages.pages", "greater than or equal to 1"}},
		"a command of a machine":   {customChain("containerDisk: x, readiness: {kind: Exec, command: [x]}"), []string{"spec.experiment.chain[0].custom.readiness.kind", "only for container"}},
		"no command":               {containerChain("container: {image: x}, readiness: {kind: Exec}"), []string{"spec.experiment.chain[0].custom.readiness.command", "command is required"}},
		"a port of a command":      {containerChain("container: {image: x}, readiness: {kind: Exec, command: [x], port: 1}"), []string{"spec.experiment.chain[0].custom.readiness.port", "forbidden with any other"}},
		"a platform":               {"[{name: own, function: Custom, custom: {container: {image: x}}, platform: {vcpus: 2}}]", []string{"spec.experiment.chain[0].platform", "set cpu and memory"}},
		"a machine's options":      {customChain("containerDisk: x, machineType: 'q35,usb=on'"), []string{"spec.experiment.chain[0].custom.machineType", "should match"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := create(object(t, goodRun, map[string]string{"spec.experiment.chain": test.chain}))
			if err == nil {
				t.Fatal("it was admitted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want it to say %q", err, want)
				}
			}
		})
	}
}
