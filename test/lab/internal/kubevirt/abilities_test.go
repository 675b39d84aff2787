package kubevirt

import (
	"strings"
	"testing"
)

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
