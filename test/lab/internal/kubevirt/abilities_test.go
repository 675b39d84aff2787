package kubevirt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTryKVM(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	intel := file("intel", "flags\t\t: fpu vme vmx sse\n")
	amd := file("amd", "flags\t\t: fpu vme svm sse\n")
	guest := file("guest", "flags\t\t: fpu hypervisor vmxish\n")
	device := file("kvm", "")
	for name, test := range map[string]struct {
		cpuInfo, device, complaint string
	}{
		"Intel":                        {intel, device, ""},
		"AMD":                          {amd, device, ""},
		"KVM without the processor":    {guest, device, "neither vmx nor svm"},
		"processor without the device": {intel, filepath.Join(dir, "none"), "opening KVM"},
		"unknown processor":            {filepath.Join(dir, "none"), device, "flags"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tryKVM(test.cpuInfo, test.device)
			if (err != nil) != (test.complaint != "") || err != nil && !strings.Contains(err.Error(), test.complaint) {
				t.Errorf("got the error %v, want %q", err, test.complaint)
			}
		})
	}
}

func TestAbilitiesSayWhatFollows(t *testing.T) {
	for _, test := range []struct {
		abilities Abilities
		want      string
	}{
		{Abilities{KVM: true, Dummy: true}, "guests run on KVM"},
		{Abilities{WhyNot: "no svm", Dummy: true}, "emulates: no svm"},
		{Abilities{KVM: true}, "bridges in their place"},
	} {
		if got := test.abilities.String(); !strings.Contains(got, test.want) {
			t.Errorf("%+v: %q does not say %q", test.abilities, got, test.want)
		}
	}
}
