package suite

import (
	"cmp"
	"slices"
	"time"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// checkImage notes the image whose labels describe the subject, and refuses a cell that has another one.
func (s *Suite) checkImage(subject *v1alpha1.SuiteSubject, experiment *v1alpha1.Experiment, what string) error {
	if subject == nil || subject.FromImage == nil {
		return nil
	}
	const field, remedy = "spec.template.subject.fromImage.function", "name a function Custom with custom.containerDisk or custom.container, or give the fields of spec.template.subject and leave fromImage out"
	name := subject.FromImage.Function
	i := slices.IndexFunc(experiment.Chain, func(f v1alpha1.NetworkFunction) bool { return f.Name == name })
	switch {
	case i < 0:
		return measure.Failf(v1alpha1.ReasonInvalidExperiment, remedy, "%s: the chain of %s has no function %q", field, what, name)
	case experiment.Chain[i].Custom == nil || experiment.Chain[i].Custom.Image() == "":
		return measure.Failf(v1alpha1.ReasonInvalidExperiment, remedy, "%s: function %q of %s names no image", field, name, what)
	}
	image := experiment.Chain[i].Custom.Image()
	if s.Image != "" && s.Image != image {
		return measure.Failf(v1alpha1.ReasonInvalidExperiment, "make a suite for each image, or give the fields of spec.template.subject and leave fromImage out",
			"%s: function %q has image %q in one cell and %q in %s, and a suite has one subject", field, name, s.Image, image, what)
	}
	s.Image = image
	return nil
}

// defaultStartupSeconds is the API's default of startupSeconds.
const defaultStartupSeconds = 300

func startupOf(experiment *v1alpha1.Experiment) time.Duration {
	return time.Duration(cmp.Or(experiment.StartupSeconds, defaultStartupSeconds)) * time.Second
}
