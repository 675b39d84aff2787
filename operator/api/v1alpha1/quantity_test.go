package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestQuantities(t *testing.T) {
	for text, want := range map[string]int64{
		`2`: 2000, `"2"`: 2000, `"500m"`: 500, `"1.5"`: 1500, `"0.001"`: 1, `"9999999m"`: 9_999_999, `"9999.999"`: 9_999_999, `null`: 0, `""`: 0,
	} {
		var q v1alpha1.CPUQuantity
		if err := json.Unmarshal([]byte(text), &q); err != nil || q.Err() != nil || q.MilliCPU() != want {
			t.Errorf("CPU %s is %d thousandths, want %d: %v, %v", text, q.MilliCPU(), want, err, q.Err())
		}
	}
	for text, want := range map[string]int64{
		`1048576`: 1 << 20, `"64Mi"`: 64 << 20, `"1.5Gi"`: 3 << 29, `"2.0Gi"`: 2 << 30, `"1k"`: 1000, `"16Ti"`: 16 << 40, `"9999.999T"`: 9_999_999_000_000_000,
		`"999999999Gi"`: 999_999_999 << 30, `null`: 0, `""`: 0,
	} {
		var q v1alpha1.ByteQuantity
		if err := json.Unmarshal([]byte(text), &q); err != nil || q.Err() != nil || q.Bytes() != want {
			t.Errorf("%s is %d bytes, want %d: %v, %v", text, q.Bytes(), want, err, q.Err())
		}
	}
}

// hostileQuantities are refused by admission and by Go, and stop neither from reading the object.
var hostileQuantities = []string{
	`"1e1.5"`, `"1e3"`, `"1E3"`, `"1e99999999999"`, `"1e9999999999999999999999"`, `"-1"`, `"+1"`, `"-5Gi"`, `"1n"`, `"1u"`, `"1Ei"`, `"16Pi"`, `"1."`, `".5"`,
	`"1.1.1"`, `"5KK"`, `"9999999999999Ti"`, `" 1"`, `"1 "`, `"0x10"`, `"Inf"`, `"1KiB"`, `18446744073709552`, `9223372036854775807`, `-1`, `0`, `"0"`, `true`, `{}`, `[1]`, `0.0015`,
	`"` + strings.Repeat("9", 1000) + `"`,
}

func TestHostileQuantitiesAreReadAndReported(t *testing.T) {
	for _, text := range hostileQuantities {
		var holder struct {
			CPU    v1alpha1.CPUQuantity  `json:"cpu"`
			Memory v1alpha1.ByteQuantity `json:"memory"`
		}
		if err := json.Unmarshal(fmt.Appendf(nil, `{"cpu":%s,"memory":%s}`, text, text), &holder); err != nil {
			t.Errorf("%s: the object cannot be read: %v", text, err)
		}
		if q := holder.CPU; q.MilliCPU() < 0 || q.Err() != nil && q.MilliCPU() != 0 {
			t.Errorf("CPU %s is %d thousandths: %v", text, q.MilliCPU(), q.Err())
		}
		if q := holder.Memory; q.Bytes() < 0 || q.Err() != nil && q.Bytes() != 0 {
			t.Errorf("%s is %d bytes: %v", text, q.Bytes(), q.Err())
		}
	}
}

func TestHostileQuantitiesAreRefused(t *testing.T) {
	run := func(path, form string) func(string) (string, map[string]string) {
		return func(text string) (string, map[string]string) {
			return goodRun, map[string]string{path: fmt.Sprintf(form, text)}
		}
	}
	testbed := func(path, form string) func(string) (string, map[string]string) {
		return func(text string) (string, map[string]string) {
			return goodTestbed, map[string]string{path: fmt.Sprintf(form, text)}
		}
	}
	const cpu, memory = "cpu", "memory"
	for field, test := range map[string]struct {
		kind   string
		object func(string) (string, map[string]string)
	}{
		"spec.experiment.chain[0].cpu":             {cpu, run("spec.experiment.chain", "[{name: r1, function: Router, cpu: %s}]")},
		"spec.experiment.chain[0].memory":          {memory, run("spec.experiment.chain", "[{name: r1, function: Router, memory: %s}]")},
		"spec.experiment.chain[0].platform.memory": {memory, run("spec.experiment.chain", "[{name: r1, function: Router, runtime: VirtualMachine, platform: {hugepages: 2Mi, memory: %s}}]")},
		"spec.experiment.noisyNeighbors[0].cpu":    {cpu, run("spec.experiment.noisyNeighbors", "[{name: a, kind: CPU, cpu: %s}]")},
		"spec.experiment.noisyNeighbors[0].memory": {memory, run("spec.experiment.noisyNeighbors", "[{name: a, kind: Memory, memory: %s}]")},
		"spec.experiment.noisyNeighbors[0].disk":   {memory, run("spec.experiment.noisyNeighbors", "[{name: a, kind: Disk, disk: %s}]")},
		"spec.generator.cpu":                       {cpu, testbed("spec.generator", "{cpu: %s}")},
		"spec.generator.memory":                    {memory, testbed("spec.generator", "{memory: %s}")},
		"spec.generator.trex.hugepages.memory":     {memory, testbed("spec.generator", "{driver: TRex, cpu: 4, trex: {hugepages: {memory: %s}}}")},
	} {
		t.Run(field, func(t *testing.T) {
			for _, text := range hostileQuantities {
				base, fields := test.object(text)
				err := create(object(t, base, fields))
				if err == nil {
					t.Errorf("%.40s was admitted", text)
				} else if !strings.Contains(err.Error(), field) || failedRule.MatchString(err.Error()) {
					t.Errorf("%.40s: the refusal does not name the field, or has a rule that failed: %s", text, clip(err.Error()))
				}
			}
		})
	}
}

// TestAmountsAtTheirBounds checks that the least and the most of each amount are admitted, and that what is just beyond is
// refused with the field and what to write instead.
func TestAmountsAtTheirBounds(t *testing.T) {
	const chain, neighbors, generator = "spec.experiment.chain", "spec.experiment.noisyNeighbors", "spec.generator"
	for name, test := range map[string]struct {
		base, path, form, field             string
		below, least, most, beyond, message string
	}{
		"cpu of a function":                   {goodRun, chain, "[{name: r1, function: Router, cpu: %s}]", chain + "[0].cpu", "9m", "10m", "1024", "1025", "cpu must be 10m to 1024: leave it out for no limit"},
		"memory of a function":                {goodRun, chain, "[{name: r1, function: Router, memory: %s}]", chain + "[0].memory", "15Mi", "16Mi", "16Ti", "16.001Ti", "memory must be 16Mi to 16Ti: leave it out for 64Mi"},
		"memory of a machine":                 {goodRun, chain, "[{name: r1, function: Router, runtime: VirtualMachine, platform: {memory: %s}}]", chain + "[0].platform.memory", "127Mi", "128Mi", "16Ti", "16.001Ti", "memory must be 128Mi to 16Ti"},
		"cpu of a neighbor":                   {goodRun, neighbors, "[{name: a, kind: CPU, cpu: %s}]", neighbors + "[0].cpu", "0m", "1m", "1024", "1024001m", "cpu must be 1m to 1024: leave it out for 100m"},
		"memory of a neighbor":                {goodRun, neighbors, "[{name: a, kind: Memory, memory: %s}]", neighbors + "[0].memory", "4194303", "4Mi", "16Ti", "16.001Ti", "memory must be 4Mi to 16Ti"},
		"disk of a neighbor":                  {goodRun, neighbors, "[{name: a, kind: Disk, disk: %s}]", neighbors + "[0].disk", "4194303", "4Mi", "1Ti", "1.001Ti", "disk must be 4Mi to 1Ti"},
		"cpu of a generator":                  {goodTestbed, generator, "{cpu: %s}", generator + ".cpu", "99m", "100m", "1024", "1024001m", "cpu must be 100m to 1024: leave it out for no limit"},
		"memory of a generator":               {goodTestbed, generator, "{memory: %s}", generator + ".memory", "63Mi", "64Mi", "16Ti", "16.001Ti", "memory must be 64Mi to 16Ti: leave it out for the default"},
		"memory of TRex":                      {goodTestbed, generator, "{driver: TRex, memory: %s, trex: {mode: AFPacket}}", generator + ".memory", "511Mi", "512Mi", "16Ti", "16.001Ti", "memory"},
		"cpu of TRex with two of its threads": {goodTestbed, "spec", "{generator: {driver: TRex, cpu: %s, trex: {hugepages: {memory: 1Gi}}}, ports: " + virtualFunctions + "}", generator + ".cpu", "3999m", "4", "1024", "1025", "cpu must be "},
		"hugepages of TRex":                   {goodTestbed, "spec", "{generator: {driver: TRex, cpu: 4, trex: {hugepages: {pageSize: 2Mi, memory: %s}}}, ports: " + virtualFunctions + "}", generator + ".trex.hugepages.memory", "1022Mi", "1Gi", "16Ti", "16386Gi", "memory must be 1Gi to 16Ti"},
		"cpu of a generator in real time":     {goodTestbed, generator, "{cpu: %s, xdp: {scheduling: RealTime, threads: 2}}", generator + ".cpu", "2", "3", "1024", "1025", "cpu must be "},
	} {
		t.Run(name, func(t *testing.T) {
			try := func(amount string) error {
				return create(object(t, test.base, map[string]string{test.path: fmt.Sprintf(test.form, amount)}))
			}
			for _, amount := range []string{test.least, test.most} {
				if err := try(amount); err != nil {
					t.Errorf("%s: %v", amount, err)
				}
			}
			for _, amount := range []string{test.below, test.beyond} {
				switch err := try(amount); {
				case err == nil:
					t.Errorf("%s was admitted", amount)
				case !strings.Contains(err.Error(), test.field) || !strings.Contains(err.Error(), test.message):
					t.Errorf("%s: the refusal does not say %q of %s: %v", amount, test.message, test.field, err)
				}
			}
		})
	}
}
