package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestAbsentAttachmentsAreWhatTheTestbedOffers plans chains whose functions name no
// attachment.
func TestAbsentAttachmentsAreWhatTheTestbedOffers(t *testing.T) {
	absent := func(in plan.Input) plan.Input {
		for i := range in.Run.Spec.Experiment.Chain {
			in.Run.Spec.Experiment.Chain[i].West.Attachment = ""
			in.Run.Spec.Experiment.Chain[i].East.Attachment = ""
		}
		return in
	}
	veth, virtio, sriov := v1alpha1.AttachmentVeth, v1alpha1.AttachmentVirtio, v1alpha1.AttachmentSRIOV
	e1000 := plantest.VMInput(2)
	e1000.Testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentE1000}
	queues := absent(plantest.VMInput(2))
	queues.Testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentE1000e}
	for i := range queues.Run.Spec.Experiment.Chain {
		queues.Run.Spec.Experiment.Chain[i].West.Queues, queues.Run.Spec.Experiment.Chain[i].East.Queues = new(int32(1)), new(int32(1))
	}
	if _, err := plan.Make(queues); err == nil || !strings.Contains(err.Error(), "Virtio") {
		t.Errorf("got %v, want queues to need Virtio, which this testbed does not offer", err)
	}
	for name, test := range map[string]struct {
		in   plan.Input
		want [][2]v1alpha1.Attachment
	}{
		"pods on bridges":     {plantest.Input(2), [][2]v1alpha1.Attachment{{veth, veth}, {veth, veth}}},
		"machines on bridges": {absent(plantest.VMInput(2)), [][2]v1alpha1.Attachment{{virtio, virtio}, {virtio, virtio}}},
		"only e1000 offered":  {absent(e1000), [][2]v1alpha1.Attachment{{v1alpha1.AttachmentE1000, v1alpha1.AttachmentE1000}, {v1alpha1.AttachmentE1000, v1alpha1.AttachmentE1000}}},
		"virtual functions":   {absent(plantest.SRIOV(2)), [][2]v1alpha1.Attachment{{sriov, veth}, {veth, sriov}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustMake(t, test.in)
			var got [][2]v1alpha1.Attachment
			for _, f := range p.Functions {
				got = append(got, [2]v1alpha1.Attachment{f.WestAttachment, f.EastAttachment})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("attachments (-want +got):\n%s", diff)
			}
		})
	}
}
