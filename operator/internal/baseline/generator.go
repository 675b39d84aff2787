package baseline

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/platform"
)

// GeneratorWarning returns a warning if another generator image made the earlier run, for runs in which generator and
// device share a core. An image that is not known is not compared.
func GeneratorWarning(report v1alpha1.BaselineReport, imageID string) []v1alpha1.Warning {
	before, now := platform.ImageDigest(report.GeneratorImageID), platform.ImageDigest(imageID)
	if before == "" || now == "" || before == now {
		return nil
	}
	return []v1alpha1.Warning{{Code: v1alpha1.WarningBaselineGeneratorDiffers, Message: fmt.Sprintf(
		"Generator image %s made the baseline, and %s this run. Generator and device share a core, so a figure may differ though the device does not. "+
			"Measure the baseline again with this image, or compare serviceTime.", short(before), short(now))}}
}

// maxImageBytes is how much of an image a message names.
const maxImageBytes = 80

func short(image string) string { return image[:min(len(image), maxImageBytes)] }
